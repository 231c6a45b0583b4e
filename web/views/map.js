// The heatmap: rows look, columns are looked at. Drag to move, pinch or Ctrl and wheel to zoom, click to take a number apart.
import { unitsOf } from "../data/source.js";
import { element } from "../ui/dom.js";
import { shortened } from "../ui/format.js";
import { canvasPainter, sized, svgPainter, unitOf } from "../ui/painter.js";
import { onTheme, styleColor, theme } from "../ui/theme.js";
import { MapFrame } from "./map_frame.js";
import { ColorTiles } from "./color_tiles.js";
import { labelLetters, paintMap } from "./map_paint.js";
import { Tiles } from "./tiles.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */

export class MapView {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.frame = new MapFrame();
    /** @type {Tiles | ColorTiles | null} */
    this.tiles = null;
    this.key = "";
    /** @type {string[]} */
    this.labels = [];
    this.drawing = 0;
    this.timer = 0;
    this.noting = 0;
    this.room = 0;
    this.seen = "";  // what of the map is in sight, as the address has it
    this.revealed = "";
    this.canvas = element("canvas", {
      tabindex: 0, role: "application", "aria-roledescription": "map",
      "aria-label": "Map of attention. Rows look at columns. Arrow keys move the cross-hair, Enter shows how a number is made.",
    });
    const zoom = (/** @type {number} */ factor) => () => this.zoom(factor);
    this.element = element("div", { class: "map-view" },
      this.canvas,
      element("div", { class: "zoom", role: "group", "aria-label": "Zoom" },
        element("button", { type: "button", onclick: zoom(1.5), "aria-label": "Zoom in" }, "+"),
        element("button", { type: "button", onclick: zoom(1 / 1.5), "aria-label": "Zoom out" }, "−"),
        element("button", { type: "button", onclick: zoom(0), "aria-label": "Fit the whole map" }, "Fit")));
    this.listen();
  }

  show() {
    const { facts } = this.pane.source, looks = this.pane.looks(), { look } = looks[0];
    const key = JSON.stringify(looks);
    if (key !== this.key || this.tiles === null) {
      const units = unitsOf(facts, look.units, look.special, look.first), known = this.labels.length > 0, same = units.length === this.labels.length;
      const arrived = () => this.arrived(), beside = () => this.pane.beside?.views.map.high() ?? 0;
      this.labels = units.map((unit) => unit.text);
      this.tiles = looks[0].name === "" ? new Tiles(this.pane.source, look, units.length, arrived, beside) : new ColorTiles(this.pane.source, looks, units.length, arrived, beside);
      this.key = key;
      this.layOut(!same);
      if (!same && known) this.note();  // another map, as a whole
    } else {
      this.layOut(false);
    }
    this.look();
    this.draw();
  }

  // Goes where the address or the chosen word says, where that has changed.
  look() {
    const { zoom, row, col } = this.pane.store.state, place = `${row} ${col}`;
    if (this.room === 0) return;
    const asked = zoom !== this.seen && this.noting === 0;
    if (asked) {
      this.seen = zoom;
      this.frame.view = zoom;
      this.layOut(false);  // a larger map may take more room
      this.frame.view = zoom;
    }
    if (place !== this.revealed && !asked) this.reveal();
    this.revealed = place;
  }

  // After it was moved or zoomed: the address follows when it has come to rest.
  note() {
    clearTimeout(this.noting);
    this.noting = setTimeout(() => {
      this.noting = 0;
      this.seen = this.frame.view;
      this.frame.view = this.seen;  // as the address has it, rounded
      this.draw();
      this.pane.store.set({ zoom: this.seen });
    }, 250);
  }

  // A pane beside this one has the same scale, and must be drawn again where that has changed.
  arrived() {
    this.draw();
    this.pane.beside?.views.map.draw();
  }

  /** The largest value that is shown; 0 where the map is not. */
  high() {
    return this.pane.store.state.tab === "map" ? this.tiles?.high ?? 0 : 0;
  }

  resized() {
    if (this.pane.store.state.tab === "map" && this.pane.room() !== this.room) this.show();
  }

  /** @param {boolean} reset */
  layOut(reset) {
    const room = this.pane.room();
    this.room = room;
    if (room === 0) return;
    const context = sized(this.canvas, 1, 1);
    context.font = "13px system-ui, sans-serif";
    let longest = 24;
    for (const label of this.labels.slice(0, 600)) longest = Math.max(longest, context.measureText(shortened(label, labelLetters)).width);
    this.frame.layOut(this.labels.length, room / unitOf(), Math.max(320, (innerHeight / unitOf()) * 0.74), longest, reset, this.tiles?.legend(theme()).length);
  }

  draw() {
    if (this.drawing !== 0) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      if (this.tiles === null || this.room === 0) return;
      const context = sized(this.canvas, this.frame.width, this.frame.height);
      this.paint(canvasPainter(context));
      this.canvas.style.touchAction = this.frame.cell > this.frame.fit ? "none" : "pan-y";  // one finger moves the map if part of it is out of sight
      this.element.dataset.ready = String(this.tiles.waiting === 0);
      if (this.tiles.waiting > 0) this.later();
      if (this.tiles.failed !== "") this.pane.readout.textContent = this.tiles.failed;
    });
  }

  // While a map is being made its rows appear as they come.
  later() {
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.tiles?.takePartial();
      this.draw();
    }, 120);
  }

  /** @param {import("../ui/painter.js").Painter} painter */
  paint(painter) {
    if (this.tiles === null) return;
    const { row, col } = this.pane.cross();
    paintMap(painter, this.frame, this.tiles, this.labels, { row, col }, {
      theme: theme(), ink: styleColor("ink"), quiet: styleColor("quiet"), accent: styleColor("accent"), paper: styleColor("paper"),
    }, devicePixelRatio * unitOf());
  }

  /** @param {string} title */
  svg(title) {
    const painter = svgPainter(this.frame.width, this.frame.height + 32, title);
    painter.rect(0, 0, this.frame.width, this.frame.height + 32, styleColor("paper"));
    this.paint(painter);
    painter.text(title, this.frame.left, this.frame.height + 12, { fill: styleColor("ink"), size: 13 });
    return painter.finish();
  }

  /** @param {number} factor 0 shows the whole map */
  zoom(factor) {
    const { frame } = this;
    if (factor === 0) this.layOut(true);
    else frame.zoom(factor, frame.left + frame.plotWidth / 2, frame.top + frame.plotHeight / 2);
    this.note();
    this.draw();
  }

  reveal() {
    const { row, col } = this.pane.store.state;
    if (row !== null) this.frame.reveal(row, col ?? Math.floor(this.frame.x / this.frame.cell));
  }

  listen() {
    onTheme(() => this.draw());
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("pointerleave", () => this.pane.hover(null));
    this.dragging();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const factor = { "+": 1.5, "=": 1.5, "-": 1 / 1.5, "0": 0 }[event.key];
    if (factor === undefined || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    this.zoom(factor);
  }

  /** @param {WheelEvent} event */
  wheel(event) {
    const box = this.canvas.getBoundingClientRect();
    if (event.ctrlKey || event.metaKey) {
      event.preventDefault();
      this.frame.zoom(Math.exp(-event.deltaY / 200), (event.clientX - box.left) / unitOf(), (event.clientY - box.top) / unitOf());
    } else {
      const { x, y } = this.frame;
      this.frame.scrollTo(x + event.deltaX, y + event.deltaY);
      if (this.frame.x === x && this.frame.y === y) return;  // at the map's edge the page scrolls instead
      event.preventDefault();
    }
    this.note();
    this.draw();
  }

  dragging() {
    /** @type {Map<number, {x: number, y: number}>} */
    const fingers = new Map();
    let moved = 0;
    const place = (/** @type {PointerEvent} */ event) => {
      const box = this.canvas.getBoundingClientRect();
      return { x: (event.clientX - box.left) / unitOf(), y: (event.clientY - box.top) / unitOf() };
    };
    const apart = () => {
      const [a, b] = [...fingers.values()];
      return Math.hypot(a.x - b.x, a.y - b.y);
    };
    this.canvas.addEventListener("pointerdown", (event) => {
      fingers.set(event.pointerId, place(event));
      moved = 0;
      this.canvas.setPointerCapture(event.pointerId);
    });
    this.canvas.addEventListener("pointermove", (event) => {
      const now = place(event), before = fingers.get(event.pointerId);
      if (before === undefined) {
        this.pane.hover(this.frame.at(now.x, now.y));
        return;
      }
      const distance = fingers.size === 2 ? apart() : 0;
      fingers.set(event.pointerId, now);
      moved += Math.abs(now.x - before.x) + Math.abs(now.y - before.y);
      if (fingers.size === 2 && distance > 0) this.frame.zoom(apart() / distance, now.x, now.y);
      else if (moved > 4) this.frame.scrollTo(this.frame.x + before.x - now.x, this.frame.y + before.y - now.y);
      this.note();
      this.draw();
    });
    const lift = (/** @type {PointerEvent} */ event) => {
      const known = fingers.delete(event.pointerId), pair = this.frame.at(place(event).x, place(event).y);
      if (known && moved <= 4 && pair !== null && event.type === "pointerup") this.pane.open(pair.row, pair.col);
    };
    this.canvas.addEventListener("pointerup", lift);
    this.canvas.addEventListener("pointercancel", lift);
  }
}
