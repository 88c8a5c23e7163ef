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

/** One explorer on one problem; `begin`, then `tell` until `reason` is not RUNNING. */
class Session {
  constructor(model, request) {
    const { units = null, names = null, ...asked } = request;
    this.model = model;
    this.spec = names === null ? model.spec : withNames(model.spec, names);
    this.reading = units === null ? null : new Reading(model.document.units, units, names.length);
    if (this.reading) this.spec = { ...this.spec, question: this.reading.question };
    this.request = { error_prob: null, budget: null, ...asked };
    this.point = model.serve(request);
    this.stopsOnAlarm = request.on_alarm === "stop";
    this.history = [];
    this.lost = null;
    this.watch = null;
  }

  async begin(firstOutcome = null) {
    const given = this.reading ? this.reading.first_outcome : firstOutcome;
    const first = given || new Array(this.spec.outcome_size).fill(0);
    const outcome = readNumbers("first_outcome", first, this.spec);
    const guard = this.model.document.guard;
    this.watch = guard === null ? null : new Watch(guard, this.spec, outcome);
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
  /** Whether there were answers, and each said that the value is not known. */
  get nothingKnown() {
    const { cells } = this.model.document;
    return cells !== null && this.history.length > 0
      && this.history.every(({ query, outcome }) => isUnknown(cells, query, outcome));
  }
  get query() { return this.stopped ? null : this.next; }
  get recommendation() { return this.posterior.indexOf(Math.max(...this.posterior)); }

  async tell(query, told, terminated = false) {
    if (this.stopped) {
      throw new Error(`The session has stopped, because ${this.sentence}; start a new session.`);
    }
    const most = this.reading ? this.reading.number : undefined;
    checkQuery(query, this.spec, this.allowed, most);
    let given = told;
    if (this.reading) {
      const first = this.history.length ? this.history[0].told : null;
      given = this.reading.outcome(told, first);
    }
    const outcome = readOutcome(given, this.spec, query);
    const asked = query === this.next, answer = { query, outcome, asked, told: this.reading ? told : null };
    const measured = this.reading ? this.reading.measured([...this.history, answer]) : null;
    const turn = await this.step(this.state, query, outcome, this.history.length + 1);
    if (this.watch !== null) this.watch.add(this.belief, query, outcome, measured);
    if (!asked && !this.lost) {
      this.lost = `query ${nameOf(this.spec.query_names, query)} was answered where `
        + `${nameOf(this.spec.query_names, this.next)} had been asked for`;
    }
    const cells = this.model.document.cells;
    if (cells && !this.lost) this.lost = whyStrange(cells, query, outcome);
    if (terminated && this.spec.may_end === false && !this.lost) {
      this.lost = "the task was said to have ended, which tasks of this family never do";
    }
    this.history.push(answer);
    this.take(turn, terminated);
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
      given_mask: { shape: [this.spec.num_queries], dtype: "bool", data: new Uint8Array(this.spec.num_queries) },
      has_mask: { shape: [], dtype: "bool", data: Uint8Array.of(0) },
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
    this.belief = Array.from(found.log_posterior.data, (x) => Math.fround(Math.exp(x)));
    this.posterior = this.reading ? this.belief.slice(0, this.reading.number) : this.belief;
    this.state = {};
    for (const name of Object.keys(this.model.start)) this.state[name] = found[`new_${name}`];
  }
}
