// What people tell: read as icpe.portable reads it, and refused in the same words.

/** A value as Python writes it. */
function written(value) {
  if (typeof value === "string") return `'${value}'`;
  if (typeof value === "number") {
    if (Number.isNaN(value)) return "nan";
    if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
    return String(value);
  }
  if (value === null || value === undefined) return "None";
  const all = Array.from(value);
  return all.length === 1 ? written(all[0]) : `[${all.map(written).join(", ")}]`;
}

function listed(names, most = 12) {
  const some = names.slice(0, most).join(", ");
  return names.length > most ? `${some} and ${names.length - most} more` : some;
}

function nameOf(names, index) {
  return names.length ? names[index] : String(index);
}

/** Words and outcomes of a query, where outcomes have names. */
function labelsOf(spec, query) {
  const words = spec.query_outcomes || [];
  if (!words.length || query === null) return spec.outcome_labels;
  return words[query].map((word, code) => [word, [code]]);
}

function checkQuery(query, spec, allowed, most = spec.num_queries) {
  const names = spec.query_names;
  if (!Number.isInteger(query) || query < 0 || query >= most) {
    const wanted = `a whole number from 0 to ${most - 1}`
      + (names.length ? `, or a name: ${listed(names.slice(0, most))}` : "");
    throw new Error(`query must be ${wanted}; got ${written(query)}.`);
  }
  if (!allowed[query]) {
    const left = allowed.flatMap((it, i) => (it ? [nameOf(names, i)] : []));
    throw new Error(`query ${nameOf(names, query)} is not allowed now; those allowed are ${listed(left)}.`);
  }
}

function readNumbers(name, told, spec) {
  const size = spec.outcome_size;
  const names = spec.outcome_names || [], of = names.length ? ` (${listed(names)})` : "";
  const wanted = size === 1 ? "one number" : `${size} numbers${of}`;
  const all = Array.isArray(told) || ArrayBuffer.isView(told) ? Array.from(told) : [told];
  if (all.some((x) => typeof x !== "number")) {
    throw new Error(`${name} must be ${wanted}; got ${written(told)}.`);
  }
  if (all.length !== size) {
    const shape = typeof told === "number" ? "()" : `(${all.length},)`;
    throw new Error(`${name} must be ${wanted}; got an array of shape ${shape}.`);
  }
  const outcome = Float32Array.from(all);
  if (!outcome.every(Number.isFinite)) throw new Error(`${name} must be finite; got ${written(told)}.`);
  return outcome;
}

function readOutcome(told, spec, query) {
  const outcome = readNumbers("outcome", told, spec);
  const labels = labelsOf(spec, query);
  const fits = ([, value]) => value.every((x, i) => Math.fround(x) === outcome[i]);
  if (!labels.length || labels.some(fits)) return outcome;
  const named = labels.map(([word, value]) => {
    const numbers = value.map((x) => shown(x)).join(", ");
    const all = value.length === 1 ? numbers : `[${numbers}]`;
    return all === word ? word : `${all} (${word})`;
  });
  const whose = (spec.query_outcomes || []).length ? `${nameOf(spec.query_names, query)}: ` : "";
  throw new Error(`${whose}outcome must be ${named.join(" or ")}; got ${written(told)}.`);
}

const MISSING = -1e30;

/** Answers that say that a value is not known; so does an empty one. */
const NOTHING = ["", "missing", "unknown", "na", "n/a", "nan", "null", "?", "<na>", "none", "-",
  "don't know", "do not know", "not known", "not measured", "unbekannt", "nicht bekannt",
  "keine angabe", "k.a.",
  "#n/a", "#div/0!", "#value!", "#ref!", "#name?", "#num!", "#null!"];
const isMissing = (value) => value === null || NOTHING.includes(String(value).trim().toLowerCase()
  .replace(/\s+/g, " ").replaceAll("\u2019", "'").replaceAll(". ", "."));

/** A text with a plain minus sign, and with nothing between thousands. */
function plainDigits(text) {
  return text.trim().replaceAll("\u2212", "-").replace(/^\u2013(?=[.,]?\d)/, "-").replace(
    /(?<![\d.,])[1-9]\d{0,2}(?:[ \u00a0\u2009\u202f'’]\d{3})+(?!\d)/g, (it) => it.replace(/\D/g, ""));
}

/** A number as people type it, NaN if it is none or may be two; then also why. `marks` of its
    column: the one before decimals and the one between thousands, as far as it tells. */
function typedNumber(value, marks = "") {
  if (typeof value !== "string") return [Number(value), ""];
  let plain = plainDigits(value).replace(/^\(\s*(\d[\d.,]*)\s*\)$/, "-$1");
  let thousands = /^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$/.test(plain);
  let decimal = /^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+([eE][+-]?\d+)?$/.test(plain);
  let points = /^[+-]?[1-9]\d{0,2}(\.\d{3})+$/.test(plain);
  const onePoint = points && plain.split(".").length === 2;
  if ((decimal && thousands) || onePoint) {
    const mark = onePoint ? "." : ",";
    if (!marks.includes(mark)) {
      const [one, other] = [`${plain.replaceAll(",", ".")}0`, plain.replaceAll(mark, "")];
      return [NaN, `, and ${plain} may be ${one} or ${other}; write one of these`];
    }
    const isDecimal = marks[0] === mark;
    [thousands, decimal, points] = [mark === "," && !isDecimal, mark === "," && isDecimal, onePoint && !isDecimal];
  }
  if (decimal) plain = plain.replaceAll(".", "").replace(",", ".");
  else if (thousands) plain = plain.replaceAll(",", "");
  else if (points) plain = plain.replaceAll(".", "");
  return [/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(plain) ? Number(plain) : NaN, ""];
}

/** A number as it was typed, or one next to a limit such as <0.5; and why it is none. */
function measuredNumber(value, marks) {
  if (typeof value !== "string") return typedNumber(value);
  const number = "[+-]?(?:\\d[\\d.,]*|[.,]\\d+)(?:[eE][+-]?\\d+)?", plain = plainDigits(value);
  const limit = plain.match(`^([<>≤≥]=?)\\s*(${number}.*)$`), orMore = plain.match(`^(${number})\\s*\\+$`);
  if (orMore) return typedNumber(orMore[1], marks);
  if (!limit) return typedNumber(value, marks);
  const [at, why] = typedNumber(limit[2], marks), side = { "<": -1, ">": 1 }[limit[1]] || 0;
  return [at + side * 1e-6 * (Math.abs(at) || 1), why];
}

/** What was typed, less its unit before or behind it; short units with their capitals. */
function withoutUnit(value, unit) {
  if (typeof value !== "string" || !unit) return value;
  const text = value.trim(), folds = unit.length > 2;
  const [seen, wanted] = folds ? [text.toLowerCase(), unit.toLowerCase()] : [text, unit];
  if (seen.endsWith(wanted)) return text.slice(0, text.length - unit.length);
  return seen.startsWith(wanted) ? text.slice(unit.length) : text;
}

/** The outcome of values of the features of a query, in their order; empty: not known. */
function readCells(cells, query, values) {
  const numbers = cells.groups[query].map((feature, i) => {
    const value = values[i];
    const levels = cells.levels[feature];
    if (levels.includes(value)) return 1 + levels.indexOf(value);
    if (isMissing(value)) return MISSING;
    const unit = (cells.units || [])[feature] || "";
    const marks = (cells.marks || [])[feature] || "";
    const [number, why] = measuredNumber(withoutUnit(value, unit), marks);
    if (!(Math.abs(number) < -MISSING)) {
      const what = unit ? `a number in ${unit}` : "a number";
      throw new Error(`${cells.features[feature]} must be ${what}, or empty if it is not known; `
        + `got ${written(value)}${why}.`);
    }
    return number;
  });
  return [...numbers, ...new Array(cells.size - numbers.length).fill(0)];
}

/** Whether a number is unlike those seen: negative where none is, or farther from all of
    them than they are from each other. */
function isFar(value, seen) {
  if (!seen.length || value <= MISSING / 2) return false;
  const [low, high] = seen, width = (high - low) || Math.abs(high);
  return (low >= 0 && value < 0) || value < low - width || value > high + width;
}

/** Why no case of the table is like that; null where one may be. */
function whyStrange(cells, query, outcome) {
  for (const [i, feature] of cells.groups[query].entries()) {
    const name = cells.features[feature], seen = (cells.ranges || [])[feature] || [];
    if ((cells.always_known || []).includes(feature) && outcome[i] <= MISSING / 2) {
      return `${name} was not known; every row of the table has a value for it`;
    }
    if (isFar(outcome[i], seen)) {
      const [low, high] = seen.map((it) => shown(it));
      return `${name} was ${shown(outcome[i])}, where the rows of the table have ${low} to ${high}`;
    }
  }
  return null;
}

/** Whether an outcome says that nothing of what was asked is known. */
function isUnknown(cells, query, outcome) {
  return cells.groups[query].every((_, i) => outcome[i] <= MISSING / 2);
}

/** An outcome of a query as it would be answered. */
function wordedCells(cells, query, outcome) {
  const members = cells.groups[query];
  const words = members.map((feature, i) => {
    const level = cells.levels[feature][Math.round(outcome[i]) - 1];
    if (outcome[i] <= MISSING / 2) return "not known";
    const unit = (cells.units || [])[feature];
    return level || `${shown(outcome[i])}${unit ? ` ${unit}` : ""}`;
  });
  if (members.length === 1) return words[0];
  return members.map((feature, i) => `${cells.features[feature]} ${words[i]}`).join(", ");
}

/** The spec with the user's names for its queries, and for what they are about. */
function withNames(spec, names) {
  const good = names.every((name) => name.trim()) && new Set(names).size === names.length;
  if (!good || names.length < 2 || names.length > spec.num_queries) {
    throw new Error(`names must be 2 to ${spec.num_queries} different names, one for each setting; `
      + `got [${names.map((name) => `'${name}'`).join(", ")}].`);
  }
  const others = spec.query_names.slice(names.length).map((name) =>
    (names.includes(name) ? `(${name})` : name));
  const every = [...names, ...others];
  return { ...spec, query_names: every, hypothesis_names: every };
}

/** How finely numbers were read: by their decimals, and by how close they come. */
function resolution(values) {
  const ordered = [...values].sort((a, b) => a - b), places = [...Array(16).keys()];
  const digits = ordered.map((it) => places.find((n) => Number(it.toFixed(n)) === it) ?? 99);
  const apart = ordered.slice(1).map((it, i) => it - ordered[i]).filter((it) => it > 0);
  return Math.max(10 ** -Math.max(...digits), apart.length ? Math.min(...apart) : 0);
}

/** How numbers in the user's units become outcomes: relative, in units of what matters. */
class Reading {
  constructor(known, units, number) {
    for (const name of ["noise", "matters"]) {
      const value = units[name];
      if (value !== null && !(value > 0 && value < Infinity)) {
        throw new Error(`${name} must be a positive finite number; got ${written(value)}.`);
      }
    }
    if (!(number >= known.fewest && number <= known.most)) {
      throw new Error(`the number of settings must be between ${known.fewest} and ${known.most}; got ${number}.`);
    }
    if (units.matters === null) {
      throw new Error("matters is missing from units; give the smallest difference that matters "
        + "to you, in your unit.");
    }
    Object.assign(this, { units, number, grid: known.grid, scale: units.matters });
    let noise = 0;
    if (units.noise !== null) {
      this.checkNoise(known, units);
      this.scale = Math.min(units.matters, units.noise / known.least_noise);
      noise = Math.min(Math.max(units.noise / this.scale, known.least_noise), known.most_noise);
    }
    this.noise = noise ? [noise, noise] : [known.least_noise, known.most_noise];
    this.first_outcome = [0, number, Math.round(noise * 65536) / 65536];
  }

  checkNoise(known, { noise, matters }) {
    if (noise / matters <= known.most_noise * (1 + 1e-9)) return;
    const repeats = Math.ceil((noise / matters / known.most_noise) ** 2);
    throw new Error(`noise must be at most ${shown(known.most_noise)} times matters; got noise `
      + `${shown(noise)} and matters ${shown(matters)}: tell the mean of ${repeats} repeats as one `
      + `answer, whose noise is ${shown(noise / Math.sqrt(repeats), 3)}, or let a larger difference matter.`);
  }

  get question() {
    return `Try {query}: what is the outcome${this.units.unit ? `, in ${this.units.unit}` : ""}?`;
  }

  /** How repeats scatter, in words, if not as the noise that was told; as icpe.portable.noise. */
  strangeNoise(history) {
    const values = new Map();
    for (const { query, outcome } of history) {
      values.set(query, [...(values.get(query) || []), outcome[0]]);
    }
    let degrees = 0, squares = 0;
    for (const all of values.values()) {
      const mean = all.reduce((a, b) => a + b, 0) / all.length;
      degrees += all.length - 1;
      squares += all.reduce((sum, x) => sum + (x - mean) ** 2, 0);
    }
    if (!degrees) return null;
    const [least, most] = this.noise, each = squares / degrees;
    const rounded = resolution(history.map((it) => it.told)) / this.scale;
    const low = Math.min((each + 0.5 * rounded ** 2) / least ** 2, 1);
    const below = Math.max(low, 1e-4), above = Math.max(each / most ** 2, 1);
    const evidence = 0.5 * degrees * Math.max(...[below, above].map((it) => it - 1 - Math.log(it)));
    if (!(evidence > Math.log((2 * degrees * (degrees + 1)) / 5e-3))) return null;
    const { unit, noise } = this.units;
    const say = (x, digits) => `${shown(Number(x.toPrecision(digits)), 10)} ${unit}`.trim();
    const told = noise === null
      ? `a noise from ${say(least * this.scale, 4)} to ${say(most * this.scale, 4)} was assumed`
      : `a noise of ${say(noise, 10)} was told`;
    return `repeats of the same setting scatter by ${say(Math.sqrt(each) * this.scale, 2)}, where ${told}; `
      + "are the units and the noise right?";
  }

  /** What was told last, for sentences about it: itself, ranges of outcomes of the family, and
      what is strange about repeats. */
  measured(history) {
    const { told } = history[history.length - 1], first = history[0].told;
    const { unit, smaller_is_better: smaller } = this.units;
    const between = (low, high) => {
      const away = smaller ? -this.scale : this.scale;
      const ends = [low, high].map((x) => first + away * x).sort((a, b) => a - b);
      const size = Math.max(...ends.map(Math.abs)), width = ends[1] - ends[0];
      let digits = 3;
      if (width > 0 && width < Infinity) {
        const apart = 3 + Math.floor(Math.log10(Math.max(size / width, 1)));
        const whole = Math.floor(Math.log10(Math.max(size, 1))) + 1;
        digits = Math.max(Math.min(apart, 15), Math.min(whole, 6));
      }
      return `${ends.map((end) => shown(end, digits)).join(" to ")} ${unit}`.trim();
    };
    return { words: `${shown(told, 10)} ${unit}`.trim(), between, strange: this.strangeNoise(history) };
  }

  /** The family's outcome of what was told, beside what was told first. */
  outcome(told, first) {
    if (typeof told !== "number" || !Number.isFinite(told)) {
      const unit = this.units.unit ? ` in ${this.units.unit}` : "";
      throw new Error(`outcome must be one finite number${unit}; got ${written(told)}.`);
    }
    const more = first === null ? 0 : told - first;
    const away = this.units.smaller_is_better ? -more : more;
    const steps = Math.floor((away / this.scale) * this.grid + 0.5 + 1e-5);
    return [steps / this.grid, ...this.first_outcome.slice(1).fill(0)];
  }
}
