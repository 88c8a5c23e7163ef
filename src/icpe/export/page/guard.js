// The guard, one answer at a time: the same as in icpe.portable. Limits have their slack.

const MOST_SURPRISE = 60;
const LEAST = Math.exp(-MOST_SURPRISE);
const LEAST_WEIGHT = 1e-3;
const WIDE = 2.6;
const SPREADS = [0.1, 0.5, 2, 8];
const FIRST_SPREAD = 2;
const LARGEST = 100;

/** A number as Python's format "g" writes it, with so many digits. */
function shown(x, digits = 6) {
  if (x === 0) return Object.is(x, -0) ? "-0" : "0";
  const [mantissa, power] = x.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  const trim = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent < -4 || exponent >= digits) {
    const size = String(Math.abs(exponent)).padStart(2, "0");
    return `${trim(mantissa)}e${exponent < 0 ? "-" : "+"}${size}`;
  }
  return trim(x.toFixed(Math.max(0, digits - 1 - exponent)));
}

/** An array as icpe.export packs it: shape, and all entries as numbers. */
function unpacked(packed) {
  const size = packed.shape.reduce((a, b) => a * b, 1);
  const kinds = {
    float32: Float32Array, float64: Float64Array, int32: Int32Array, bool: Uint8Array,
  };
  const kind = kinds[packed.dtype];
  if (kind === undefined) throw new Error(`arrays of ${packed.dtype} are not known`);
  if ("fill" in packed) {
    return { shape: packed.shape, dtype: packed.dtype, data: new kind(size).fill(packed.fill) };
  }
  const text = atob(packed.data);
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  return { shape: packed.shape, dtype: packed.dtype, data: new kind(bytes.buffer) };
}

function logSumExp(values) {
  const most = Math.max(...values);
  return most + Math.log(values.reduce((sum, x) => sum + Math.exp(x - most), 0));
}

/** The complementary error function: a series of positive terms, a continued fraction. */
function erfc(x) {
  if (x < 0) return 2 - erfc(-x);
  const scale = Math.exp(-x * x);
  if (x < 2.5) {
    let term = x, sum = x;
    for (let n = 1; term > 1e-17 * sum; n++) {
      term *= (2 * x * x) / (2 * n + 1);
      sum += term;
    }
    return 1 - (2 / Math.sqrt(Math.PI)) * scale * sum;
  }
  let tail = x;
  for (let n = 120; n > 0; n--) tail = x + n / 2 / tail;
  return scale / (Math.sqrt(Math.PI) * tail);
}

/** Log of the probability that a standard normal is smaller. */
function logNormal(x) {
  if (x < -20) {
    const i = 1 / (x * x);
    const series = 1 - i * (1 - i * (3 - i * (15 - 105 * i)));
    return -0.5 * x * x - Math.log(-x * Math.sqrt(2 * Math.PI)) + Math.log(series);
  }
  if (x > 1) return Math.log1p(-0.5 * erfc(x / Math.SQRT2));
  return Math.log(0.5 * erfc(-x / Math.SQRT2));
}

/** The inverse of `logNormal` up to one half, by Newton's method from the left. */
function normalScore(log) {
  const wanted = Math.min(Math.max(log, -0.6 * LARGEST ** 2), Math.log(0.5));
  let score = -Math.sqrt(-2 * wanted);
  for (let n = 0; n < 60; n++) {
    const found = logNormal(score);
    const slope = Math.exp(-0.5 * score * score - 0.5 * Math.log(2 * Math.PI) - found);
    const step = (wanted - found) / slope;
    score += step;
    if (Math.abs(step) <= 1e-13 * Math.max(Math.abs(score), 1)) break;
  }
  return Math.min(score, 0);
}

/** Few outcomes, each with a probability. */
class SymbolLaw {
  constructor(arrays) {
    this.others = ["come as if at random", "fit no hypothesis of the family"];
    const [number, entries] = arrays.symbols.shape;
    this.symbols = Array.from({ length: number }, (_, i) =>
      Array.from(arrays.symbols.data.subarray(i * entries, (i + 1) * entries)));
    this.rows = arrays.probability.shape[1];
    this.table = arrays.probability.data;
  }

  contextOf() {
    return 0;
  }

  /** Whether the first answers are held against this other law. */
  atFirst() {
    return true;
  }

  at(query, row, symbol) {
    return this.table[(query * this.rows + row) * this.symbols.length + symbol];
  }

  chances(seen) {
    return this.symbols.map((_, s) => {
      if (this.rows === 1) return this.at(seen.query, 0, s);
      return seen.belief.reduce((sum, p, h) => sum + p * this.at(seen.query, h, s), 0);
    });
  }

  surprise(seen) {
    const chances = this.chances(seen);
    const distance = this.symbols.map((symbol) =>
      symbol.reduce((sum, x, i) => sum + (x - seen.outcome[i]) ** 2, 0));
    const nearest = distance.indexOf(Math.min(...distance));
    let spread = 1;
    this.symbols[0].forEach((_, i) => {
      const column = this.symbols.map((symbol) => symbol[i]);
      spread = Math.max(spread, Math.max(...column) - Math.min(...column));
    });
    if (!(distance[nearest] <= (1e-3 * spread) ** 2)) {
      return { found: MOST_SURPRISE, odds: [[MOST_SURPRISE], [MOST_SURPRISE]] };
    }
    const own = chances[nearest];
    const tail = chances.reduce((sum, c) => sum + (c <= own * (1 + 1e-6) ? c : 0), 0);
    let anyhow = 0;
    for (let h = 0; h < this.rows; h++) anyhow += this.at(seen.query, h, nearest) / this.rows;
    const log = (x) => Math.log(Math.max(x, LEAST));
    return {
      found: -Math.log(Math.min(Math.max(tail, LEAST), 1)),
      odds: [[log(1 / this.symbols.length) - log(own)], [log(anyhow) - log(own)]],
    };
  }

  isNumber(outcome) {
    return outcome.map(() => false);
  }

  expects(seen, spec) {
    const named = [];
    this.chances(seen).forEach((chance, s) => {
      if (chance < 0.01) return;
      const number = this.symbols[s].map((x) => shown(x)).join(", ");
      const label = labelsOf(spec, seen.query).find(([, value]) =>
        value.every((x, i) => x === this.symbols[s][i]));
      named.push(label ? `${number} (${label[0]})` : number);
    });
    return named.join(" or ") || "something else";
  }
}

/** Numbers around a mean that varies between tasks, with noise within each. */
class NumberLaw {
  constructor(arrays) {
    this.others = SPREADS.map((spread) =>
      `vary ${spread < 1 ? "less" : "more"} than this family's do`);
    this.others.push("fit no hypothesis of the family");
    this.arrays = arrays;
    this.contexts = arrays.contexts ?? null;
    [, this.rows, this.entries] = arrays.mean.shape;
    this.words = arrays.words.shape[0];
  }

  /** Whether the first answers are held against this other law. */
  atFirst(other) {
    return other >= SPREADS.length || SPREADS[other] === FIRST_SPREAD;
  }

  /** Of what may be revealed before the first query, the nearest, each entry in its range. */
  contextOf(first) {
    if (this.contexts === null) return 0;
    const { shape: [number, entries], data } = this.contexts;
    const apart = new Array(number).fill(0);
    for (let entry = 0; entry < entries; entry++) {
      const column = apart.map((_, i) => data[i * entries + entry]);
      const width = Math.max(...column) - Math.min(...column);
      if (width > 0) column.forEach((x, i) => { apart[i] += ((first[entry] - x) / width) ** 2; });
    }
    return apart.indexOf(Math.min(...apart));
  }

  cell(seen, row, entry) {
    const table = this.contexts === null ? seen.query : seen.context;
    return (table * this.rows + row) * this.entries + entry;
  }

  of(name, seen, row, entry) {
    return this.arrays[name].data[this.cell(seen, row, entry)];
  }

  chance(seen, row, entry, kind) {
    return this.arrays.chance.data[this.cell(seen, row, entry) * (this.words + 1) + kind];
  }

  weight(seen, row) {
    if (this.contexts !== null) {
      const own = seen.belief[seen.query];
      return row === 0 ? own : 1 - own;
    }
    return this.rows === 1 ? 1 : seen.belief[row];
  }

  wordOf(x, entry) {
    const { data, dtype } = this.arrays.words;
    const read = dtype === "float32" ? Math.fround(x) : x;
    let code = this.words;
    for (let w = 0; w < this.words; w++) {
      if (data[w * this.entries + entry] === read) code = w;
    }
    return code;
  }

  chances(seen, entry) {
    return Array.from({ length: this.words + 1 }, (_, kind) => {
      let sum = 0;
      for (let h = 0; h < this.rows; h++) {
        sum += this.weight(seen, h) * this.chance(seen, h, entry, kind);
      }
      return sum;
    });
  }

  moments(seen, row, entry) {
    const [mean, between, within] = ["mean", "between", "within"].map((name) =>
      this.of(name, seen, row, entry));
    const evidence = seen.count[entry] * between;
    const share = evidence / Math.max(evidence + within, 1e-30);
    const center = mean + share * (seen.mean[entry] - mean);
    return [center, Math.sqrt(Math.max(within + between * (1 - share), 1e-18))];
  }

  tail(seen, entry) {
    const sides = [[], []];
    let total = 0;
    for (let h = 0; h < this.rows; h++) {
      const [center, deviation] = this.moments(seen, h, entry);
      const score = (seen.outcome[entry] - center) / deviation;
      const chance = this.chance(seen, h, entry, this.words);
      const weight = Math.max(this.weight(seen, h) * chance, 1e-30);
      total += weight;
      sides[0].push(Math.log(weight) + logNormal(score));
      sides[1].push(Math.log(weight) + logNormal(-score));
    }
    return Math.min(...sides.map(logSumExp)) - Math.log(total);
  }

  surprise(seen) {
    const odds = this.others.map(() => new Array(this.entries).fill(0));
    let rarest = Infinity;
    for (let entry = 0; entry < this.entries; entry++) {
      const chances = this.chances(seen, entry);
      const code = this.wordOf(seen.outcome[entry], entry);
      const own = chances[code];
      const logs = Math.log(Math.max(own, LEAST));
      const rarer = chances.reduce((sum, c) => sum + (c <= own * (1 + 1e-6) ? c : 0), 0);
      let found = Math.log(Math.min(Math.max(rarer, LEAST), 1));
      if (code === this.words) {
        const tail = this.tail(seen, entry);
        found = Math.log(2) + tail + logs;
        const squared = Math.max(normalScore(tail), -LARGEST) ** 2;
        SPREADS.forEach((spread, i) => {
          odds[i][entry] = 0.5 * squared * (1 - spread ** -2) - Math.log(spread);
        });
      }
      rarest = Math.min(rarest, found);
      let anyhow = 0;
      for (let h = 0; h < this.rows; h++) {
        anyhow += this.chance(seen, h, entry, code) / this.rows;
      }
      odds[SPREADS.length][entry] = Math.log(Math.max(anyhow, LEAST)) - logs;
    }
    rarest += Math.log(this.entries);
    return { found: Math.min(Math.max(-rarest, 0), MOST_SURPRISE), odds };
  }

  isNumber(outcome) {
    return outcome.map((x, entry) => this.wordOf(x, entry) === this.words);
  }

  expects(seen, spec, measured = null) {
    let worst = -Infinity, at = 0, range = [0, 0];
    for (let entry = 0; entry < this.entries; entry++) {
      let low = Infinity, high = -Infinity;
      for (let h = 0; h < this.rows; h++) {
        if (this.weight(seen, h) < LEAST_WEIGHT) continue;
        const [center, deviation] = this.moments(seen, h, entry);
        low = Math.min(low, center - WIDE * deviation);
        high = Math.max(high, center + WIDE * deviation);
      }
      // What was measured is the first number of an outcome.
      if (measured !== null && entry === 0) return measured.between(low, high);
      const x = seen.outcome[entry];
      const counts = this.chances(seen, entry)[this.words] >= LEAST_WEIGHT
        && this.wordOf(x, entry) === this.words;
      const outside = counts ? Math.max(low - x, x - high) : -Infinity;
      if (entry === 0 || outside > worst) [worst, at, range] = [outside, entry, [low, high]];
    }
    const names = spec.outcome_names;
    let name = "";
    if (this.entries > 1) name = ` as ${names.length ? names[at] : `number ${at}`}`;
    return `${shown(range[0], 3)} to ${shown(range[1], 3)}${name}`;
  }
}

/** One session under guard: what was seen so far, and the first alarm. */
class Watch {
  constructor(guard, spec, first) {
    const arrays = {};
    for (const [name, packed] of Object.entries(guard.arrays)) arrays[name] = unpacked(packed);
    this.law = "symbols" in arrays ? new SymbolLaw(arrays) : new NumberLaw(arrays);
    this.limits = guard.limits;
    this.context = this.law.contextOf(first);
    this.spec = spec;
    this.number = 0;
    const empty = () => Array.from({ length: spec.num_queries }, () =>
      new Array(spec.outcome_size).fill(0));
    this.counts = empty();
    this.sums = empty();
    this.odds = null;
    this.alarm = null;
  }

  /** Takes in one more answer; an alarm once raised stays. */
  add(belief, query, outcome, measured = null) {
    const count = this.counts[query].slice();
    const mean = this.sums[query].map((sum, i) => sum / Math.max(count[i], 1));
    const { context } = this;
    const seen = { belief, query, outcome: Array.from(outcome), count, mean, context };
    const { found, odds } = this.law.surprise(seen);
    this.law.isNumber(seen.outcome).forEach((counted, i) => {
      if (!counted) return;
      this.counts[query][i] += 1;
      this.sums[query][i] += seen.outcome[i];
    });
    this.number += 1;
    this.odds = odds.map((row, i) => row.map((x, j) => x + (this.odds ? this.odds[i][j] : 0)));
    this.alarm = this.alarm || this.judged(seen, found, measured);
  }

  judged(seen, found, measured) {
    const first = this.number <= (this.limits.first || 0);
    if (found - Math.log(this.number) > (first ? this.limits.first_one : this.limits.one)) {
      const numbers = seen.outcome.map((x) => shown(x, 4)).join(", ");
      const asked = nameOf(this.spec.query_names, seen.query);
      const expected = this.law.expects(seen, this.spec, measured);
      const strange = measured === null
        ? `${numbers} came for query ${asked}, where this family expects ${expected}`
        : `${measured.words} came for ${asked}, where ${expected} were expected`;
      return `${strange}; are the units and the order of answers right?`;
    }
    if (measured !== null && measured.strange !== null) return measured.strange;
    const wider = first && this.limits.first_wider;
    const others = this.odds.map((_, i) => i).filter((i) => !wider || this.law.atFirst(i));
    const all = others.flatMap((i) => this.odds[i]);
    const most = first ? this.limits.first_together : this.limits.together;
    if (logSumExp(all) - Math.log(all.length) > most) {
      const best = others.map((i) => Math.max(...this.odds[i]));
      const better = this.law.others[others[best.indexOf(Math.max(...best))]];
      return `${this.number} answers together ${better}; are the units, the noise and the `
        + "order of answers right?";
    }
    return null;
  }
}
