// What people see and do. One session at a time.

const MOST_SHOWN = 12;
const element = (id) => document.getElementById(id);

function make(tag, text = "", attributes = {}) {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function percent(x) {
  return `${shown(100 * x, x < 0.1 ? 2 : 3)} %`;
}

class Page {
  constructor(model) {
    this.model = model;
    this.spec = model.spec;
    this.session = null;
    this.drawing = null;
    this.busy = false;
    this.offerGoals();
    if (model.document.units !== null) this.askUnits();
    else if (model.document.reveals) this.askBefore();
    if (this.isPicture) {
      this.drawing = new Drawing(this.spec, model.document.noise || 0);
      element("easel").append(this.drawing.view);
      element("easel").hidden = false;
    }
    element("request").addEventListener("submit", (event) => {
      event.preventDefault();
      this.guarded(() => this.start());
    });
    element("goal").addEventListener("change", () => this.showTrust());
    element("again").addEventListener("click", () => this.reset());
    document.addEventListener("keydown", (event) => this.pressed(event));
    this.reset();
  }

  get isPicture() {
    return this.spec.outcome_shape.length > 0 && this.spec.query_grid.length > 0;
  }

  /** Requests that can be served: certified ones first, then calibrated, then budgets. */
  offerGoals() {
    const { certificates, operating_table: table, objective } = this.model.document;
    const goals = [];
    if (objective !== null) {
      if (objective.error_prob !== null) goals.push({ error_prob: objective.error_prob });
      else goals.push({ budget: objective.budget });
    } else {
      const certified = [...new Set(certificates
        .filter((it) => it.promise !== "belief" && it.confidence >= LEAST_CONFIDENCE).map((it) => it.error_prob))];
      certified.sort((a, b) => a - b).forEach((error_prob) => goals.push({ error_prob, certified: true }));
      if (table !== null) {
        for (const error_prob of [0.01, 0.02, 0.05, 0.1, 0.2]) {
          if (certified.some((it) => it <= error_prob)) continue;
          try {
            this.model.calibratedPrice(error_prob);
            goals.push({ error_prob });
          } catch { /* smaller than it can serve */ }
        }
      }
      for (let budget = 1; budget <= this.spec.horizon; budget = Math.max(budget + 1, Math.round(budget * 1.5))) {
        goals.push({ budget });
      }
    }
    this.goals = goals;
    goals.forEach((goal, i) => {
      const words = goal.budget === undefined
        ? `${percent(goal.error_prob)} wrong at most${goal.certified ? ", certified" : ""}`
        : `after exactly ${goal.budget} ${goal.budget === 1 ? "query" : "queries"}`;
      element("goal").append(make("option", words, { value: i }));
    });
  }

  get goal() {
    const { error_prob = null, budget = null } = this.goals[Number(element("goal").value)];
    return { error_prob, budget };
  }

  askBefore() {
    const some = (this.model.document.reset_entries || []).length > 0;
    const fields = numberFields(this.spec, "first", (entry) => !some || this.isZeroLater(entry));
    element("before").append(make("p", "This problem reveals something before the first query:"), ...fields.nodes);
    this.before = fields;
  }

  /** The user's own names and units, where the family can be asked in any. */
  askUnits() {
    const { fewest, most } = this.model.document.units;
    const names = make("textarea", "", { id: "names", rows: 4, required: "", spellcheck: "false" });
    const field = (id, attributes) => make("input", "", { id, ...attributes });
    const number = { type: "number", step: "any", min: "0", inputmode: "decimal" };
    const matters = field("matters", { ...number, required: "" });
    const noise = field("noise", number), unit = field("unit", { type: "text", maxlength: 12 });
    for (const [label, input] of [
      [`What can be chosen, ${fewest} to ${most} names, one on each line`, names],
      ["The smallest difference that matters", matters],
      ["The noise of one answer, as a standard deviation; empty if not known", noise],
      ["The unit, such as % or ms, if there is one", unit],
    ]) {
      const box = make("div");
      box.append(make("label", label, { for: input.id }), input);
      element("before").append(box);
    }
    const smaller = field("smaller", { type: "checkbox" });
    const better = make("label", " The smallest is best, as with times", { for: "smaller", class: "check" });
    better.prepend(smaller);
    element("before").append(better);
    const read = (input) => (input.value === "" ? null : input.valueAsNumber);
    this.ownUnits = () => ({
      names: names.value.split("\n").map((name) => name.trim()).filter(Boolean),
      units: { unit: unit.value.trim(), noise: read(noise), matters: read(matters), smaller_is_better: smaller.checked },
    });
  }

  isZeroLater(entry) {
    return (this.model.document.reset_entries || []).includes(entry);
  }

  reset() {
    this.session = null;
    this.complain("");
    element("session").hidden = true;
    element("request").hidden = false;
    this.showTrust();
  }

  async start() {
    const session = new Session(this.model, { ...this.goal, ...(this.ownUnits ? this.ownUnits() : {}) });
    const first = this.before ? this.before.read() : null;
    if (this.drawing) this.drawing.finish();
    await session.begin(first);
    this.session = session;
    this.picture = this.isPicture ? new Picture(this) : null;
    element("picture").hidden = !this.isPicture;
    element("request").hidden = true;
    element("session").hidden = false;
    this.show();
  }

  async tell(query, outcome, terminated = false) {
    await this.session.tell(query, outcome, terminated);
    this.show();
  }

  /** Does one thing at a time, and says what went wrong. */
  async guarded(action) {
    if (this.busy) return;
    this.busy = true;
    try {
      this.complain("");
      await action();
    } catch (error) {
      this.complain(error.message);
    } finally {
      this.busy = false;
    }
  }

  complain(message) {
    element("problem").textContent = message;
    element("problem").hidden = !message;
  }

  pressed(event) {
    const labels = this.session ? labelsOf(this.spec, this.session.query) : [];
    const typing = ["INPUT", "SELECT", "TEXTAREA"].includes(document.activeElement.tagName);
    if (!this.session || this.session.stopped || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const number = Number(event.key) - 1;
    if (labels.length && number >= 0 && number < labels.length) {
      event.preventDefault();
      this.guarded(() => this.tell(this.session.query, labels[number][1]));
    }
  }

  show() {
    const { session } = this, { spec } = session;
    const answers = element("answers");
    answers.replaceChildren();
    answers.className = "";
    const best = session.recommendation;
    if (session.stopped) {
      element("question").textContent = `The answer: ${nameOf(spec.hypothesis_names, best)}`;
      const count = session.history.length;
      const guess = session.nothingKnown
        ? "No answer was known: this is a guess, by how common each answer is. " : "";
      element("note").textContent = `${guess}After ${count} ${count === 1 ? "query" : "queries"}, since ${session.sentence}.`;
    } else {
      const name = nameOf(spec.query_names, session.query);
      element("question").textContent = this.isPicture ? `Show the patch at ${name}.`
        : spec.question.replaceAll("{query}", name);
      element("note").textContent = this.isPicture
        ? "Click the framed patch, or press Enter. Any other patch is taken as well, but was not asked for."
        : "";
      if (labelsOf(spec, session.query).length) this.offerWords(answers);
      else if (this.model.document.cells !== null) this.offerCells(answers, this.model.document.cells);
      else if (!this.isPicture) this.offerNumbers(answers);
    }
    if (this.picture) this.picture.show();
    this.showPosterior();
    this.showHistory();
    this.showTrust();
    this.focus();
  }

  focus() {
    const first = element("answers").querySelector("input, select, button");
    if (this.session.stopped) element("question").focus();
    else if (this.picture) this.picture.focus();
    else if (first) first.focus({ preventScroll: true });
  }

  offerWords(answers) {
    answers.className = "words";
    labelsOf(this.spec, this.session.query).forEach(([word, value], i) => {
      const button = make("button", word, { type: "button", "data-word": word });
      button.append(make("kbd", String(i + 1)));
      button.addEventListener("click", () => this.guarded(() => this.tell(this.session.query, value)));
      answers.append(button);
    });
  }

  /** A word or a number for each feature of a table that the query reveals. */
  offerCells(answers, cells) {
    const form = make("form"), { query } = this.session;
    const inputs = cells.groups[query].map((feature, i) => {
      const levels = cells.levels[feature], id = `outcome-${i}`;
      const input = levels.length ? make("select", "", { id })
        : make("input", "", { id, type: "text", inputmode: "decimal", autocomplete: "off" });
      if (levels.length) {
        input.append(make("option", "not known", { value: "" }),
          ...levels.map((level) => make("option", level, { value: level })));
      }
      const box = make("div"), hint = levels.length ? "" : "; empty if not known";
      const unit = (cells.units || [])[feature];
      const name = `${cells.features[feature]}${unit ? ` in ${unit}` : ""}`;
      box.append(make("label", `${name}${hint}`, { for: id }), input);
      form.append(box);
      return input;
    });
    form.append(make("button", "Tell", { type: "submit", class: "primary" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const values = inputs.map((input) => input.value);
      this.guarded(() => this.tell(query, readCells(cells, query, values)));
    });
    answers.append(form);
  }

  offerNumbers(answers) {
    const form = make("form");
    const isOne = this.session.reading !== null;
    const fields = numberFields(this.spec, "outcome", (entry) => (isOne ? entry === 0 : !this.isZeroLater(entry)));
    form.append(...fields.nodes);
    const ended = make("input", "", { type: "checkbox", id: "ended" });
    if (this.spec.may_end !== false) {
      const label = make("label", " the task has ended", { for: "ended" });
      label.prepend(ended);
      form.append(label);
    }
    form.append(make("button", "Tell", { type: "submit", class: "primary" }));
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const told = isOne ? fields.read()[0] : fields.read();
      this.guarded(() => this.tell(this.session.query, told, ended.checked));
    });
    answers.append(form);
  }

  showPosterior() {
    const { posterior, recommendation } = this.session;
    const { spec } = this.session;
    let order = posterior.map((_, i) => i);
    if (order.length > MOST_SHOWN) {
      order = order.sort((a, b) => posterior[b] - posterior[a]).slice(0, MOST_SHOWN).sort((a, b) => a - b);
    }
    const left = posterior.length - order.length;
    const rest = 1 - order.reduce((sum, i) => sum + posterior[i], 0);
    const rows = order.map((i) => {
      const row = make("li", "", i === recommendation ? { class: "best" } : {});
      const bar = make("span", "", { class: "bar", "aria-hidden": "true" });
      const fill = make("i");
      fill.style.width = `${100 * posterior[i]}%`;
      bar.append(fill);
      row.append(make("span", nameOf(spec.hypothesis_names, i)), bar,
        make("span", `${(100 * posterior[i]).toFixed(1)} %`, { class: "share" }));
      return row;
    });
    if (left) {
      const share = (100 * Math.max(rest, 0)).toFixed(1);
      rows.push(make("li", `and ${left} less probable, together ${share} %`, { class: "others" }));
    }
    element("posterior").replaceChildren(...rows);
  }

  showHistory() {
    const { history, spec } = this.session;
    const none = [make("li", "none yet")];
    element("history").replaceChildren(...(history.length ? history.map((answer) => {
      const name = nameOf(spec.query_names, answer.query);
      const said = answer.told === null ? this.described(answer.outcome, answer.query)
        : `${shown(answer.told, 10)} ${this.session.reading.units.unit}`.trim();
      const words = `${name}: ${said}`;
      return make("li", answer.asked ? words : `${words} (not asked for)`,
        answer.asked ? {} : { class: "unasked" });
    }) : none));
  }

  described(outcome, query) {
    const values = Array.from(outcome);
    const label = labelsOf(this.spec, query).find(([, value]) =>
      value.every((x, i) => Math.fround(x) === values[i]));
    if (label) return label[0];
    const { cells } = this.model.document;
    if (cells !== null) return wordedCells(cells, query, values);
    if (this.spec.outcome_shape.length) {
      const mean = values.reduce((a, b) => a + b, 0) / values.length;
      return `${mean.toFixed(2)} on average`;
    }
    const names = this.spec.outcome_names;
    return values.flatMap((x, i) => {
      if (this.isZeroLater(i) && x === 0) return [];
      return [names.length && values.length > 1 ? `${names[i]} ${shown(x, 4)}` : shown(x, 4)];
    }).join(", ");
  }

  /** What is promised, in the words of the service. */
  promise(certificate, lost) {
    if (lost) return `The certificate does not cover this session: ${lost}.`;
    if (certificate !== null) {
      return `Wrong with probability at most ${shown(certificate.error_prob)} on average over `
        + "problems of this family, if answers come as the explorer asks for them. It is no "
        + "promise about each single problem"
        + (this.isPicture ? ", nor about drawings, which are no pictures of the family." : ".");
    }
    const { error_prob, budget } = this.session ? this.session.request : this.goal;
    if (budget !== null) return "A budget of queries promises no accuracy.";
    return `The explorer aims at an error probability of ${shown(error_prob)}, which no `
      + "certificate in its file covers.";
  }

  /** Certificate and guard, as they stand. */
  showTrust() {
    const session = this.session;
    const { guard } = this.model.document;
    let certificate = null;
    try {
      certificate = session ? session.point.certificate : this.model.serve(this.goal).certificate;
    } catch { /* said when it is started */ }
    const lost = session && session.certificateLost;
    const box = element("certificate");
    box.className = certificate === null ? "" : lost ? "bad" : "good";
    const title = certificate === null ? "Not certified" : lost ? "Certificate lost" : "Certified";
    box.replaceChildren(make("strong", title), make("p", this.promise(certificate, lost)));
    if (certificate !== null) {
      const facts = make("dl");
      for (const [name, value] of [
        ["Error probability", `at most ${shown(certificate.error_prob)}`],
        ["Confidence", shown(certificate.confidence)],
        ["Accuracy shown", `at least ${certificate.lower_bound.toFixed(4)}`],
        [certificate.test === "held-out" ? `Held-out ${certificate.cases || "rows"}` : "Simulated problems", certificate.episodes.toLocaleString("en")],
        ["Queries on average", shown(certificate.mean_queries, 3)],
      ]) facts.append(make("dt", name), make("dd", value));
      box.append(facts);
    }
    const watched = element("guard");
    watched.className = "";
    if (guard === null) {
      watched.textContent = "This explorer has no guard: nobody checks whether answers look "
        + "like those of its family.";
    } else if (session && session.alarm) {
      watched.className = "bad";
      watched.textContent = `These answers do not look like this family: ${session.alarm}`;
    } else {
      watched.textContent = "The guard compares every answer with what the family gives; "
        + (session && session.history.length ? "so far nothing is strange." : "it has seen none yet.");
    }
  }
}

/** Inputs for the entries of an outcome; those that are left out are 0. */
function numberFields(spec, prefix, wanted) {
  const nodes = [], inputs = [];
  for (let entry = 0; entry < spec.outcome_size; entry++) {
    const input = make("input", "", {
      type: "number", step: "any", required: "", id: `${prefix}-${entry}`, inputmode: "decimal",
    });
    inputs.push(wanted(entry) ? input : null);
    if (!wanted(entry)) continue;
    const name = spec.outcome_names.length ? spec.outcome_names[entry]
      : spec.outcome_size === 1 ? "outcome" : `outcome ${entry}`;
    const label = make("label", name, { for: `${prefix}-${entry}` });
    const box = make("div");
    box.append(label, input);
    nodes.push(box);
  }
  const read = () => inputs.map((input) => (input === null ? 0 : input.valueAsNumber));
  return { nodes, read };
}

async function begin() {
  try {
    const model = await openModel();
    window.icpe = { model, Session, page: new Page(model) };
    element("loading").hidden = true;
  } catch (error) {
    element("loading").hidden = true;
    element("problem").hidden = false;
    element("problem").textContent = `The explorer could not be opened: ${error.message}`;
    throw error;
  }
}

begin();
