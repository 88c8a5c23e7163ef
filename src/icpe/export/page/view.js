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

/** Unpacks what the page holds, and opens the model. */
async function openModel() {
  const packed = async (id) => {
    const text = atob(element(id).textContent.trim());
    const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Uint8Array(await new Response(stream).arrayBuffer());
  };
  const [code, wasm, model] = await Promise.all([packed("runtime"), packed("wasm"), packed("model")]);
  const address = URL.createObjectURL(new Blob([code], { type: "text/javascript" }));
  const ort = await import(address);
  ort.env.wasm.numThreads = 1;
  ort.env.wasm.wasmBinary = wasm.buffer;
  ort.env.logLevel = "error";
  const runtime = await ort.InferenceSession.create(model, { executionProviders: ["wasm"] });
  const run = async (inputs) => {
    const fed = {};
    for (const name of runtime.inputNames) {
      const { shape, dtype, data } = inputs[name];
      fed[name] = new ort.Tensor(dtype, data, shape);
    }
    const found = await runtime.run(fed);
    const outputs = {};
    for (const [name, tensor] of Object.entries(found)) {
      outputs[name] = { shape: tensor.dims, dtype: tensor.type, data: tensor.data };
    }
    return outputs;
  };
  return new Model(JSON.parse(element("document").textContent), run);
}

class Page {
  constructor(model) {
    this.model = model;
    this.spec = model.spec;
    this.session = null;
    this.drawing = null;
    this.busy = false;
    this.offerGoals();
    if (model.document.reveals) this.askBefore();
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
    const session = new Session(this.model, this.goal);
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
    const typing = ["INPUT", "SELECT"].includes(document.activeElement.tagName);
    if (!this.session || this.session.stopped || typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const number = Number(event.key) - 1;
    if (labels.length && number >= 0 && number < labels.length) {
      event.preventDefault();
      this.guarded(() => this.tell(this.session.query, labels[number][1]));
    }
  }

  show() {
    const { session, spec } = this;
    const answers = element("answers");
    answers.replaceChildren();
    answers.className = "";
    const best = session.recommendation;
    if (session.stopped) {
      element("question").textContent = `The answer: ${nameOf(spec.hypothesis_names, best)}`;
      const count = session.history.length;
      element("note").textContent = `After ${count} ${count === 1 ? "query" : "queries"}, since ${session.sentence}.`;
    } else {
      const name = nameOf(spec.query_names, session.query);
      element("question").textContent = this.isPicture
        ? `Show the patch at ${name}.` : spec.question.replaceAll("{query}", name);
      element("note").textContent = this.isPicture
        ? "Click the framed patch, or press Enter. Any other patch is taken as well, but was not asked for."
        : "";
      if (labelsOf(spec, session.query).length) this.offerWords(answers);
      else if (!this.isPicture) this.offerNumbers(answers);
    }
    if (this.picture) this.picture.show();
    this.showPosterior();
    this.showHistory();
    this.showTrust();
    this.focus();
  }

  focus() {
    const first = element("answers").querySelector("input, button");
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

  offerNumbers(answers) {
    const form = make("form");
    const fields = numberFields(this.spec, "outcome", (entry) => !this.isZeroLater(entry));
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
      this.guarded(() => this.tell(this.session.query, fields.read(), ended.checked));
    });
    answers.append(form);
  }

  showPosterior() {
    const { posterior, recommendation } = this.session;
    let order = posterior.map((_, i) => i);
    if (order.length > MOST_SHOWN) {
      order = order.sort((a, b) => posterior[b] - posterior[a]).slice(0, MOST_SHOWN).sort((a, b) => a - b);
    }
    element("posterior").replaceChildren(...order.map((i) => {
      const row = make("li", "", i === recommendation ? { class: "best" } : {});
      const bar = make("span", "", { class: "bar", "aria-hidden": "true" });
      const fill = make("i");
      fill.style.width = `${100 * posterior[i]}%`;
      bar.append(fill);
      row.append(make("span", nameOf(this.spec.hypothesis_names, i)), bar,
        make("span", `${(100 * posterior[i]).toFixed(1)} %`, { class: "share" }));
      return row;
    }));
  }

  showHistory() {
    const { history } = this.session;
    const none = [make("li", "none yet")];
    element("history").replaceChildren(...(history.length ? history.map((answer) => {
      const name = nameOf(this.spec.query_names, answer.query);
      const words = `${name}: ${this.described(answer.outcome, answer.query)}`;
      return make("li", answer.asked ? words : `${words} (not asked for)`,
        answer.asked ? {} : { class: "unasked" });
    }) : none));
  }

  described(outcome, query) {
    const values = Array.from(outcome);
    const label = labelsOf(this.spec, query).find(([, value]) =>
      value.every((x, i) => Math.fround(x) === values[i]));
    if (label) return label[0];
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
        + "promise about each single problem.";
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
        ["Simulated problems", certificate.episodes.toLocaleString("en")],
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
