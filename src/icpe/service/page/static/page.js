// What the page can do beyond links and forms: shortcuts, a picture to draw, trouble.
"use strict";

const find = (selector) => document.querySelector(selector);

// Shortcuts, which can be switched off.

const keys = find("#keys");
if (keys) {
  find("#shortcuts").hidden = false;
  keys.checked = localStorage.getItem("icpe-keys") !== "off";
  keys.addEventListener("change", () =>
    localStorage.setItem("icpe-keys", keys.checked ? "on" : "off")
  );
}

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input:not([type=checkbox]), select, textarea");
  if (!keys || !keys.checked || typing) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const at = find("#at");
  if (/^[1-9]$/.test(event.key)) {
    press(find(`#label-${event.key - 1}`), event);
  } else if (event.key === "u") {
    press(find("#undo"), event);
  } else if (event.key === "s") {
    press(find("#skip"), event);
  } else if (at && (event.key === "ArrowLeft" || event.key === "ArrowRight")) {
    if (event.key === "ArrowLeft") at.stepDown();
    else at.stepUp();
    at.dispatchEvent(new Event("input", { bubbles: true }));
    event.preventDefault();
  }
});

function press(button, event) {
  if (!button) return;
  event.preventDefault();
  button.click();
}

// The replay slider says where it is.

document.addEventListener("input", (event) => {
  if (event.target.id !== "at") return;
  const words = `${event.target.value} of ${event.target.max}`;
  event.target.setAttribute("aria-valuetext", `after ${words} answers`);
  event.target.form.querySelector("output").textContent = words;
});

// Trouble with the connection is said, and nothing is lost: the form is still there.

const trouble = find("#trouble");
const say = (text) => {
  trouble.textContent = text;
  trouble.hidden = !text;
};
for (const name of ["htmx:sendError", "htmx:timeout"]) {
  document.addEventListener(name, () =>
    say("The service cannot be reached now. Your answer was not confirmed; send it again in a moment. It counts once, however often it is sent.")
  );
}
document.addEventListener("htmx:afterRequest", (event) => {
  if (event.detail.xhr.status) say("");
});
document.addEventListener("htmx:beforeSwap", (event) => {
  const type = event.detail.xhr.getResponseHeader("Content-Type") || "";
  if (type.startsWith("text/html")) return;
  event.detail.shouldSwap = false;
  let text = "The service gave an answer that this page cannot show.";
  try {
    text = JSON.parse(event.detail.xhr.responseText).detail;
  } catch {}
  setTimeout(() => say(text));
});

// Whoever answered by keyboard goes on where the page has changed, and not at its top.

const goOn = () => {
  if (document.activeElement !== document.body) return;
  const next = find("#the-answer") || find("#question");
  if (next) next.focus({ preventScroll: true });
};
document.addEventListener("htmx:afterSettle", goOn);
// An answer sent before htmx had seen its form came back as a whole page.
if (document.referrer === location.href) goOn();

// A picture of one's own, of which only the patches asked for are sent.

const studio = find("#studio");

if (studio) {
  const [rows, columns] = studio.dataset.grid.split(",").map(Number);
  const [height, width] = studio.dataset.tile.split(",").map(Number);
  const canvas = find("#canvas");
  const pen = canvas.getContext("2d", { willReadFrequently: true });
  const scale = Math.max(1, Math.round(360 / (columns * width)));
  const place = `icpe-picture-${find("#session").dataset.session}`;
  canvas.width = columns * width * scale;
  canvas.height = rows * height * scale;
  pen.lineCap = pen.lineJoin = "round";
  pen.lineWidth = 2.4 * scale;
  pen.strokeStyle = "white";
  clear();
  const kept = sessionStorage.getItem(place);
  if (kept) draw(kept, false);

  function clear() {
    pen.fillStyle = "black";
    pen.fillRect(0, 0, canvas.width, canvas.height);
  }

  function keep() {
    sessionStorage.setItem(place, canvas.toDataURL("image/png"));
  }

  function draw(address, fits) {
    const image = new Image();
    image.addEventListener("load", () => {
      clear();
      pen.imageSmoothingEnabled = fits;
      pen.drawImage(image, 0, 0, canvas.width, canvas.height);
      keep();
    });
    image.src = address;
  }

  const spot = (event) => {
    const box = canvas.getBoundingClientRect();
    return [
      ((event.clientX - box.left) * canvas.width) / box.width,
      ((event.clientY - box.top) * canvas.height) / box.height,
    ];
  };
  let last = null;
  canvas.addEventListener("pointerdown", (event) => {
    canvas.setPointerCapture(event.pointerId);
    last = spot(event);
    line(last);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (last) line(spot(event));
  });
  for (const name of ["pointerup", "pointercancel"]) {
    canvas.addEventListener(name, () => {
      last = null;
      keep();
    });
  }

  function line(to) {
    pen.beginPath();
    pen.moveTo(...last);
    pen.lineTo(to[0] + 0.01, to[1]);
    pen.stroke();
    last = to;
  }

  find("#clear").addEventListener("click", () => {
    clear();
    keep();
  });
  find("#load").addEventListener("change", (event) => {
    const [file] = event.target.files;
    if (file) draw(URL.createObjectURL(file), false);
  });

  function brightness(row, column) {
    const pixels = pen.getImageData(column * scale, row * scale, scale, scale).data;
    let sum = 0;
    for (let i = 0; i < pixels.length; i += 4) {
      sum += (pixels[i] + pixels[i + 1] + pixels[i + 2]) / 3;
    }
    return sum / (pixels.length / 4) / 255;
  }

  function enter(query) {
    const form = find("form.tell");
    const [top, left] = [Math.floor(query / columns) * height, (query % columns) * width];
    for (let row = 0; row < height; row++) {
      for (let column = 0; column < width; column++) {
        const field = form.elements[`value-${row * width + column}`];
        field.value = brightness(top + row, left + column).toFixed(4);
      }
    }
    form.requestSubmit();
  }

  function fit() {
    const button = find("#reveal");
    studio.hidden = !button;
    if (!button) return;
    button.hidden = false;
    find("details.pixels").open = false;
    const asked = Number(find("form.tell").elements["query"].value);
    button.onclick = () => enter(asked);
    for (const link of document.querySelectorAll(".picture a")) {
      if (Number(link.dataset.query) !== asked) continue;
      link.addEventListener("click", (event) => {
        event.preventDefault();
        enter(asked);
      });
    }
  }

  fit();
  document.addEventListener("htmx:afterSettle", fit);
}
