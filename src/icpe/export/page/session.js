// Sessions: the same rules and sentences as in icpe.portable.

const SENTENCES = {
  RUNNING: "the episode is still running",
  EXPLORER: "the explorer decided to stop",
  BUDGET: "the budget of queries was used up",
  TERMINATED: "the task itself ended the episode",
  HORIZON: "the horizon was reached, so the answer was forced",
  NO_QUERY: "no query was left to make",
  ALARM: "answers did not look like those of the family",
};
const LEAST_CONFIDENCE = 0.95;

/** An exported explorer: its document, and a runtime that makes its steps. */
class Model {
  constructor(document, run) {
    this.document = document;
    this.spec = document.spec;
    this.run = run;
    this.start = {};
    document.state.forEach((packed, i) => { this.start[`state_${i}`] = unpacked(packed); });
  }

  /** The price or budget that serves a request, and its certificate, if any. */
  serve({ error_prob = null, budget = null, confidence = LEAST_CONFIDENCE }) {
    const horizon = this.spec.horizon;
    if ((error_prob === null) === (budget === null)) {
      throw new Error("Exactly one of error_prob and budget must be given.");
    }
    if (budget !== null) {
      if (!Number.isInteger(budget) || budget < 1 || budget > horizon) {
        throw new Error(`budget must be between 1 and the family's horizon ${horizon}; got ${budget}.`);
      }
      return { price: 0, max_queries: budget, is_budget: true, certificate: null };
    }
    const point = { price: 0, max_queries: horizon, is_budget: false, certificate: null };
    if (this.document.objective !== null) return point;
    const serving = this.document.certificates
      .map((it, order) => ({ it, order }))
      .filter(({ it }) => it.promise !== "belief" && it.error_prob <= error_prob
        && it.confidence >= confidence)
      .sort((a, b) => a.it.error_prob - b.it.error_prob
        || (a.it.promise === null) - (b.it.promise === null) || a.it.confidence - b.it.confidence || a.order - b.order);
    if (serving.length) {
      const certificate = serving[serving.length - 1].it;
      return { ...point, price: certificate.price, certificate };
    }
    return { ...point, price: this.calibratedPrice(error_prob) };
  }

  calibratedPrice(error_prob) {
    const table = this.document.operating_table;
    if (table === null) {
      throw new Error("error_prob needs the operating table, which this file does not have "
        + "yet; make it with icpe calibrate FILE.");
    }
    const rows = table.rows.filter((row) => row.price !== null && row.max_queries === table.horizon);
    const served = rows.filter((row) => row.lower_bound + error_prob >= 1);
    if (!served.length) {
      throw new Error(`error_prob=${error_prob} is smaller than this explorer can serve.`);
    }
    served.sort((a, b) => a.mean_cost - b.mean_cost || a.price - b.price);
    return served[0].price;
  }
}

/** One explorer on one problem; `begin`, then `tell` until `reason` is not RUNNING. */
class Session {
  constructor(model, request) {
    this.model = model;
    this.spec = model.spec;
    this.request = { error_prob: null, budget: null, ...request };
    this.point = model.serve(request);
    this.stopsOnAlarm = request.on_alarm === "stop";
    this.history = [];
    this.lost = null;
    const guard = model.document.guard;
    this.watch = guard === null ? null : new Watch(guard, this.spec);
  }

  async begin(firstOutcome = null) {
    const first = firstOutcome || new Array(this.spec.outcome_size).fill(0);
    const outcome = this.read("first_outcome", first);
    this.take(await this.step(this.model.start, -1, outcome, 0), false);
    return this;
  }

  get stopped() { return this.reason !== "RUNNING"; }
  get sentence() { return SENTENCES[this.reason]; }
  get alarm() { return this.watch === null ? null : this.watch.alarm; }
  get certified() { return this.point.certificate !== null && !this.lost && !this.alarm; }
  get certificateLost() {
    return this.point.certificate === null ? null : this.lost || this.alarm;
  }
  get query() { return this.stopped ? null : this.next; }
  get recommendation() { return this.posterior.indexOf(Math.max(...this.posterior)); }

  async tell(query, told, terminated = false) {
    if (this.stopped) {
      throw new Error(`The session has stopped, because ${this.sentence}; start a new session.`);
    }
    if (!Number.isInteger(query) || query < 0 || query >= this.spec.num_queries) {
      throw new Error(`query must be a whole number from 0 to ${this.spec.num_queries - 1}; got ${query}.`);
    }
    if (!this.allowed[query]) {
      const allowed = this.allowed.flatMap((it, i) => (it ? [i] : [])).join(", ");
      throw new Error(`query ${query} is not allowed now; those allowed are ${allowed}.`);
    }
    const outcome = this.read("outcome", told);
    this.checkLabels(query, outcome, told);
    const asked = query === this.next;
    const turn = await this.step(this.state, query, outcome, this.history.length + 1);
    if (this.watch !== null) this.watch.add(this.posterior, query, outcome);
    if (!asked && !this.lost) {
      this.lost = `query ${nameOf(this.spec.query_names, query)} was answered where `
        + `${nameOf(this.spec.query_names, this.next)} had been asked for`;
    }
    if (terminated && this.spec.may_end === false && !this.lost) {
      this.lost = "the task was said to have ended, which tasks of this family never do";
    }
    this.history.push({ query, outcome, asked });
    this.take(turn, terminated);
  }

  read(name, told) {
    const size = this.spec.outcome_size;
    const wanted = size === 1 ? "one number" : `${size} numbers`;
    if (!told || told.length !== size) throw new Error(`${name} must be ${wanted}.`);
    const outcome = Float32Array.from(told);
    if (!outcome.every(Number.isFinite)) throw new Error(`${name} must be finite; got ${told}.`);
    return outcome;
  }

  checkLabels(query, outcome, told) {
    const labels = labelsOf(this.spec, query);
    const fits = ([, value]) => value.every((x, i) => Math.fround(x) === outcome[i]);
    if (!labels.length || labels.some(fits)) return;
    const named = labels.map(([word, value]) => {
      const numbers = value.map((x) => shown(x)).join(", ");
      return `${value.length === 1 ? numbers : `[${numbers}]`} (${word})`;
    });
    const words = this.spec.query_outcomes || [];
    const whose = words.length ? `${nameOf(this.spec.query_names, query)}: ` : "";
    throw new Error(`${whose}outcome must be ${named.join(" or ")}; got ${told}.`);
  }

  step(state, query, outcome, position) {
    const index = (x) => ({ shape: [], dtype: "int32", data: Int32Array.of(x) });
    return this.model.run({
      ...state,
      query: index(query),
      outcome: { shape: [outcome.length], dtype: "float32", data: outcome },
      price: { shape: [], dtype: "float32", data: Float32Array.of(this.point.price) },
      max_queries: index(this.point.max_queries),
      position: index(position),
    });
  }

  /** The world comes first, then the cap, then what there is to ask, then the explorer. */
  take(found, terminated) {
    const every = new Array(this.spec.num_queries).fill(true);
    const mask = found.query_mask ? Array.from(found.query_mask.data, Boolean) : every;
    if (this.spec.ask_once) this.history.forEach(({ query }) => { mask[query] = false; });
    const ranking = found.ranking.data;
    let best = -1;
    mask.forEach((allowed, i) => {
      if (allowed && (best < 0 || ranking[i] > ranking[best])) best = i;
    });
    this.reason = "RUNNING";
    if (terminated) this.reason = "TERMINATED";
    else if (this.history.length >= this.point.max_queries) {
      this.reason = this.point.is_budget ? "BUDGET" : "HORIZON";
    } else if (best < 0) this.reason = "NO_QUERY";
    else if (found.gain.data[best] <= 0) this.reason = "EXPLORER";
    else if (this.stopsOnAlarm && this.alarm) this.reason = "ALARM";
    this.allowed = mask;
    this.next = best;
    this.posterior = Array.from(found.log_posterior.data, (x) => Math.fround(Math.exp(x)));
    this.state = {};
    for (const name of Object.keys(this.model.start)) this.state[name] = found[`new_${name}`];
  }
}
