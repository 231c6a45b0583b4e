// The head view: words that look on the left, words that are looked at on the right, a line for each weight that matters.
import { unitsOf } from "../data/source.js";
import { element } from "../ui/dom.js";
import { shortened } from "../ui/format.js";
import { canvasPainter, sized, svgPainter, unitOf } from "../ui/painter.js";
import { headColor } from "../math/color.js";
import { onTheme, styleColor, theme } from "../ui/theme.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */
/** @typedef {import("../ui/painter.js").Painter} Painter */

const step = 26;  // from one word to the next
const few = 40;  // up to this many words all lines are drawn, beyond it only the strongest of each word
const least = 0.02;  // the smallest weight that gets a line

export class LinesView {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.key = "";
    /** @type {string[]} */
    this.labels = [];
    /** @type {{name: string, look: import("../data/source.js").Look}[]} one, or several heads in colour */
    this.looks = [];
    /** @type {Map<string, Float64Array | null>} null: on its way */
    this.rows = new Map();
    this.drawing = 0;
    this.canvas = element("canvas", { "aria-hidden": "true" });
    this.spacer = element("div", { class: "spacer" });
    this.scroller = element("div", {
      class: "scroller", tabindex: 0, role: "application", "aria-roledescription": "lines",
      "aria-label": "Lines of attention. Words on the left look at words on the right. Up and down choose a word; Enter shows how its strongest line is made.",
    }, this.canvas, this.spacer);
    this.element = element("div", { class: "lines-view" }, this.scroller);
    this.listen();
  }

  show() {
    const { facts } = this.pane.source, looks = this.pane.looks(), { look } = looks[0], key = JSON.stringify(looks);
    if (key !== this.key) {
      this.key = key;
      this.looks = looks;
      this.labels = unitsOf(facts, look.units, look.special, look.first).map((unit) => unit.text);
      this.rows = new Map();
    }
    const { row } = this.pane.store.state;
    const tall = (this.labels.length * step + 16) * unitOf();
    this.spacer.style.height = `${tall}px`;
    this.scroller.style.height = `${Math.min(tall, Math.max(320, innerHeight * 0.74))}px`;
    if (row !== null) {
      const { scrollTop, clientHeight } = this.scroller, at = row * step * unitOf();
      if (at < scrollTop || at > scrollTop + clientHeight - 2 * step * unitOf()) this.scroller.scrollTop = at - clientHeight / 2;
    }
    this.draw();
  }

  draw() {
    if (this.drawing !== 0) return;
    this.drawing = requestAnimationFrame(() => {
      this.drawing = 0;
      const width = this.scroller.clientWidth / unitOf(), height = this.scroller.clientHeight / unitOf();
      if (width === 0) return;
      this.paint(canvasPainter(sized(this.canvas, width, height)), width, height);
    });
  }

  /** @param {number} row @param {number} which of the looks @returns {Float64Array | null} */
  weights(row, which) {
    const name = `${row} ${which}`, known = this.rows.get(name);
    if (known !== undefined) return known;
    this.rows.set(name, null);
    const key = this.key;
    this.pane.source.row({ ...this.looks[which].look, row }).then((values) => {
      if (key !== this.key) return;
      this.rows.set(name, values);
      this.draw();
    }, () => {});
    return null;
  }

  /** @param {Painter} painter @param {number} width @param {number} height */
  paint(painter, width, height) {
    const column = Math.min(170, width * 0.3), left = column, right = width - column;
    const top = this.scroller.scrollTop / unitOf() - 8, y = (/** @type {number} */ i) => (i + 0.5) * step - top;
    const first = Math.max(0, Math.floor(top / step)), last = Math.min(this.labels.length, Math.ceil((top + height) / step));
    const { row: chosen, col } = this.pane.cross(), ink = styleColor("ink"), quiet = styleColor("quiet"), accent = styleColor("accent");
    const colored = this.looks[0]?.name !== "", hue = (/** @type {number} */ which, /** @type {string} */ plain) => (colored ? headColor(which, theme()) : plain);
    const line = (/** @type {number} */ which, /** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ weight, /** @type {boolean} */ strong) => painter.curve(
      [left + 8, y(from)], [right - 8, y(to)], hue(which, strong ? accent : quiet), 1 + 3 * weight, strong ? 0.25 + 0.75 * weight : (chosen === null ? 0.9 : 0.35) * Math.min(1, weight + 0.08));
    const every = this.looks.map((_, which) => which);
    for (let row = first; row < last; ++row) {
      for (const which of every) {
        const values = row === chosen ? null : this.weights(row, which);
        if (values === null) continue;
        for (const to of strongest(values, this.labels.length <= few ? this.labels.length : 2)) line(which, row, to, values[to], false);
      }
    }
    const seen = every.map((which) => (chosen === null ? null : this.weights(chosen, which)));
    seen.forEach((values, which) => {
      if (values !== null && chosen !== null) for (const to of strongest(values, values.length)) line(which, chosen, to, values[to], true);
    });
    const tall = 18 / seen.length;
    for (let i = first; i < last; ++i) {
      seen.forEach((values, which) => {
        const weight = values === null ? 0 : values[i];
        if (weight >= least) painter.rect(right, y(i) - 9 + which * tall, 4, tall, hue(which, accent), 0.15 + 0.85 * weight);
      });
      painter.text(shortened(this.labels[i], 20), left, y(i), { fill: i === chosen ? accent : ink, bold: i === chosen, anchor: "end" });
      painter.text(shortened(this.labels[i], 20), right + 10, y(i), { fill: i === col ? accent : ink, bold: i === col });
    }
  }

  /** @param {string} title */
  svg(title) {
    const width = this.scroller.clientWidth / unitOf(), height = this.scroller.clientHeight / unitOf();
    const painter = svgPainter(width, height + 32, title);
    painter.rect(0, 0, width, height + 32, styleColor("paper"));
    if (this.looks[0]?.name !== "") {
      this.looks.forEach(({ name }, which) => painter.text(name, width - 12 - 44 * (this.looks.length - 1 - which), height + 16, { fill: headColor(which, theme()), bold: true, anchor: "end" }));
    }
    painter.clip(0, 0, width, height);
    this.paint(painter, width, height);
    painter.unclip();
    painter.text(title, 12, height + 16, { fill: styleColor("ink") });
    return painter.finish();
  }

  listen() {
    onTheme(() => this.draw());
    this.scroller.addEventListener("scroll", () => this.draw());
    new ResizeObserver(() => this.draw()).observe(this.element);
    const wordAt = (/** @type {MouseEvent} */ event) => {
      const box = this.scroller.getBoundingClientRect();
      const word = Math.floor(((event.clientY - box.top + this.scroller.scrollTop) / unitOf() - 8) / step);
      return { word: word >= 0 && word < this.labels.length ? word : null, right: event.clientX - box.left > box.width / 2 };
    };
    this.scroller.addEventListener("pointermove", (event) => {
      const { word, right } = wordAt(event), { row } = this.pane.store.state;
      if (word === null) this.pane.hover(null);
      else this.pane.hover(right && row !== null ? { row, col: word } : { row: word, col: null });
    });
    this.scroller.addEventListener("pointerleave", () => this.pane.hover(null));
    this.scroller.addEventListener("click", (event) => {
      const { word, right } = wordAt(event), { row } = this.pane.store.state;
      if (word === null) return;
      if (right && row !== null) this.pane.open(row, word);
      else this.pane.store.set({ row: word, col: null, steps: false });
    });
  }
}

/**
 * The places of the largest weights that deserve a line.
 * @param {Float64Array} values
 * @param {number} most
 */
function strongest(values, most) {
  const places = [...values.keys()].filter((i) => values[i] >= least);
  return places.length <= most ? places : places.sort((a, b) => values[b] - values[a]).slice(0, most);
}
