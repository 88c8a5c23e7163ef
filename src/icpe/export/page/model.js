// An exported explorer: unpacked, checked, and the requests that it serves.

const LEAST_CONFIDENCE = 0.95;
const FORMAT = 2;
const SEAL = "icpe-seal-";

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
    const rows = table.filter((row) => row.max_queries === this.spec.horizon);
    const served = rows.filter((row) => row.lower_bound + error_prob >= 1);
    if (!served.length) {
      const best = Math.max(...rows.map((row) => row.lower_bound));
      let steps = Math.floor((1 - best) * 10000);
      while (best + steps / 10000 < 1) steps += 1;
      throw new Error(`error_prob=${error_prob} is smaller than this explorer can serve; the smallest `
        + `is ${steps / 10000} (for less, ${this.remedy(error_prob, rows)}, or ask for a budget).`);
    }
    served.sort((a, b) => a.mean_cost - b.mean_cost || a.price - b.price);
    return served[0].price;
  }

  /** What would help where an error probability is not served. */
  remedy(error_prob, rows) {
    const best = rows.reduce((a, b) => (b.lower_bound > a.lower_bound
      || (b.lower_bound === a.lower_bound && b.accuracy > a.accuracy) ? b : a));
    if (best.accuracy + error_prob >= 1) return "measure it on more episodes by icpe calibrate";
    if (this.spec.ask_once && best.max_queries === this.spec.num_queries) {
      return "other questions are needed, since all of them can be asked already";
    }
    if (best.quantiles[2] >= best.max_queries) {
      const often = best.quantiles[0] >= best.max_queries ? "half of all episodes or more"
        : "one episode in a hundred or more";
      return `the cap of ${best.max_queries} queries, which ${often} reach, must be larger: give the family a longer horizon`;
    }
    return this.document.is_rule ? "use another rule, or train an explorer"
      : "train longer and with a smaller min_price";
  }
}

/** The bytes that an element of the page holds. */
async function packedIn(id) {
  const text = atob(element(id).textContent.trim());
  const bytes = Uint8Array.from(text, (c) => c.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** Where a text of single bytes lies, or -1. */
function placeOf(text, bytes, from = 0) {
  const wanted = Array.from(text, (c) => c.charCodeAt(0));
  for (let at = bytes.indexOf(wanted[0], from); at >= 0; at = bytes.indexOf(wanted[0], at + 1)) {
    if (wanted.every((byte, i) => bytes[at + i] === byte)) return at;
  }
  return -1;
}

/** Throws unless the model is as it was written. */
async function checkSeal(model) {
  let at = placeOf(SEAL, model);
  for (let next = at; next >= 0; next = placeOf(SEAL, model, next + 1)) at = next;
  if (at < 0) throw new Error("it is damaged or was not written by icpe");
  const start = at + SEAL.length;
  const found = new TextDecoder().decode(model.subarray(start, start + 64));
  const blank = model.slice().fill("0".charCodeAt(0), start, start + 64);
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", blank));
  const wanted = Array.from(hash, (byte) => byte.toString(16).padStart(2, "0")).join("");
  if (found !== wanted) {
    throw new Error("it has changed since it was written, since its seal is another; get the "
      + "file again from where it came from");
  }
}

/** What a model says about itself: the value of the entry "icpe" of its metadata. */
function documentOf(model) {
  const key = "\x0a\x04icpe\x12";
  let at = placeOf(key, model) + key.length, length = 0, shift = 1;
  do {
    length += (model[at] & 127) * shift;
    shift *= 128;
  } while (model[at++] & 128);
  return JSON.parse(new TextDecoder().decode(model.subarray(at, at + length)));
}

/** Unpacks what the page holds, and opens the model. */
async function openModel() {
  let model, found;
  try {
    model = await packedIn("model");
    if (globalThis.crypto && crypto.subtle) await checkSeal(model);
    found = documentOf(model);
  } catch (error) {
    const reason = error instanceof TypeError ? "it is damaged or was not written by icpe" : error.message;
    throw new Error(`this page is not an artifact that can be used: ${reason}.`);
  }
  if (found.format !== FORMAT) {
    throw new Error(`this page has format ${found.format}, where ${FORMAT} is read; export it again.`);
  }
  const [code, wasm] = await Promise.all([packedIn("runtime"), packedIn("wasm")]);
  const ort = await import(URL.createObjectURL(new Blob([code], { type: "text/javascript" })));
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
    const outputs = {};
    for (const [name, tensor] of Object.entries(await runtime.run(fed))) {
      outputs[name] = { shape: tensor.dims, dtype: tensor.type, data: tensor.data };
    }
    return outputs;
  };
  return new Model(found, run);
}
