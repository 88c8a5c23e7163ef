// Pictures: what a person draws, and its patches as they are shown one by one.

const PEN = 1 / 14;
const FILLED = 2 / 3;

/** A black board to draw on in white; also by typing a character. */
class Drawing {
  constructor(spec, noise) {
    const [rows, columns] = spec.query_grid;
    const [height, width] = spec.outcome_shape;
    this.rows = rows * height;
    this.columns = columns * width;
    this.noise = noise;
    this.pixels = null;
    this.board = make("canvas", "", {
      width: 12 * this.columns, height: 12 * this.rows, tabindex: "0", role: "img",
      "aria-label": "A board to draw on; or press a key to have its character drawn",
    });
    this.pen = this.board.getContext("2d", { willReadFrequently: true });
    const clear = make("button", "Clear", { type: "button", id: "clear" });
    clear.addEventListener("click", () => this.clear());
    this.view = make("div");
    this.view.append(make("p", "Draw here, or click the board and type a character:"), this.board, clear);
    this.board.addEventListener("pointerdown", (event) => this.down(event));
    this.board.addEventListener("pointermove", (event) => this.moved(event));
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) {
      this.board.addEventListener(end, () => { this.last = null; });
    }
    this.board.addEventListener("keydown", (event) => {
      if (event.key.length !== 1 || event.key === " " || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      this.type(event.key);
    });
    this.clear();
  }

  clear() {
    this.pixels = null;
    this.last = null;
    this.pen.fillStyle = "#000";
    this.pen.fillRect(0, 0, this.board.width, this.board.height);
  }

  place(event) {
    const box = this.board.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width * this.board.width,
      (event.clientY - box.top) / box.height * this.board.height];
  }

  down(event) {
    event.preventDefault();
    this.board.focus();
    this.board.setPointerCapture(event.pointerId);
    this.last = this.place(event);
    this.line(this.last);
  }

  moved(event) {
    if (!this.last) return;
    const next = this.place(event);
    this.line(next);
    this.last = next;
  }

  line(next) {
    this.pixels = null;
    this.pen.strokeStyle = "#fff";
    this.pen.lineWidth = PEN * this.board.height;
    this.pen.lineCap = this.pen.lineJoin = "round";
    this.pen.beginPath();
    this.pen.moveTo(...this.last);
    this.pen.lineTo(...next);
    this.pen.stroke();
  }

  type(character) {
    this.clear();
    const size = 0.8 * this.board.height;
    this.pen.fillStyle = "#fff";
    this.pen.font = `${size}px system-ui, sans-serif`;
    this.pen.textAlign = "center";
    this.pen.textBaseline = "middle";
    this.pen.fillText(character, this.board.width / 2, this.board.height / 2 + 0.05 * size);
  }

  /** Takes these pixels, row by row, in place of a drawing. */
  use(pixels) {
    if (pixels.length !== this.rows * this.columns) {
      throw new Error(`a picture has ${this.rows * this.columns} pixels; got ${pixels.length}.`);
    }
    this.pixels = Float32Array.from(pixels);
  }

  /** The drawing as pixels: two thirds of the picture high, its weight in the middle. */
  finish() {
    if (this.pixels) return;
    const { width, height } = this.board;
    const { data } = this.pen.getImageData(0, 0, width, height);
    let [left, right, top, bottom] = [width, -1, height, -1];
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        if (data[4 * (y * width + x)] < 32) continue;
        [left, right] = [Math.min(left, x), Math.max(right, x)];
        [top, bottom] = [Math.min(top, y), Math.max(bottom, y)];
      }
    }
    if (right < 0) throw new Error("There is nothing on the board; draw something first.");
    const size = Math.max(right - left + 1, bottom - top + 1);
    const scale = FILLED * Math.min(this.rows, this.columns) / size;
    const small = make("canvas", "", { width: this.columns, height: this.rows });
    const draw = (dx, dy) => {
      const pen = small.getContext("2d", { willReadFrequently: true });
      pen.fillStyle = "#000";
      pen.fillRect(0, 0, this.columns, this.rows);
      pen.imageSmoothingQuality = "high";
      pen.drawImage(this.board, left, top, right - left + 1, bottom - top + 1, dx, dy,
        scale * (right - left + 1), scale * (bottom - top + 1));
      const found = pen.getImageData(0, 0, this.columns, this.rows).data;
      return Float32Array.from({ length: this.rows * this.columns }, (_, i) => found[4 * i] / 255);
    };
    const dx = (this.columns - scale * (right - left + 1)) / 2;
    const dy = (this.rows - scale * (bottom - top + 1)) / 2;
    let [weight, x, y] = [0, 0, 0];
    draw(dx, dy).forEach((value, i) => {
      weight += value;
      x += value * (i % this.columns + 0.5);
      y += value * (Math.floor(i / this.columns) + 0.5);
    });
    const centered = draw(Math.round(dx + this.columns / 2 - x / weight),
      Math.round(dy + this.rows / 2 - y / weight));
    this.pixels = centered.map((value) => value + this.noise * normal());
  }
}

/** One draw from a standard normal. */
function normal() {
  return Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random());
}

/** The patches of a drawing, covered until they are shown. */
class Picture {
  constructor(page) {
    this.page = page;
    const { spec } = page;
    [this.height, this.width] = spec.outcome_shape;
    this.columns = spec.query_grid[1];
    const grid = element("picture");
    grid.style.gridTemplateColumns = `repeat(${this.columns}, 1fr)`;
    this.tiles = Array.from({ length: spec.num_queries }, (_, query) => {
      const tile = make("button", "", { type: "button", "data-query": query });
      tile.addEventListener("click", () =>
        page.guarded(() => page.tell(query, this.patch(query))));
      return tile;
    });
    grid.replaceChildren(...this.tiles);
  }

  patch(query) {
    const { pixels, columns } = this.page.drawing;
    const top = Math.floor(query / this.columns) * this.height;
    const left = (query % this.columns) * this.width;
    return Array.from({ length: this.height * this.width }, (_, i) =>
      pixels[(top + Math.floor(i / this.width)) * columns + left + (i % this.width)]);
  }

  show() {
    const { session, spec } = this.page;
    this.tiles.forEach((tile, query) => {
      const name = nameOf(spec.query_names, query);
      const told = session.history.findLast((answer) => answer.query === query);
      tile.className = session.query === query ? "asked" : "";
      tile.disabled = session.stopped || !session.allowed[query];
      const state = told ? "shown" : session.query === query ? "asked for" : "covered";
      tile.setAttribute("aria-label", `patch at ${name}, ${state}`);
      if ((told || session.stopped) && !tile.firstChild) tile.append(this.painted(query));
      if (session.stopped && !told) tile.style.opacity = "0.45";
    });
  }

  painted(query) {
    const canvas = make("canvas", "", { width: this.width, height: this.height });
    const pen = canvas.getContext("2d");
    const image = pen.createImageData(this.width, this.height);
    this.patch(query).forEach((value, i) => {
      const gray = Math.max(0, Math.min(255, 255 * value));
      image.data.set([gray, gray, gray, 255], 4 * i);
    });
    pen.putImageData(image, 0, 0);
    return canvas;
  }

  focus() {
    const asked = this.tiles[this.page.session.query];
    if (asked) asked.focus({ preventScroll: true });
  }
}
