// The logit lens as a table: a row for each layer, a column for each token, in a cell what that layer would say comes next.
import { colorAt, css, inkOn } from "../math/color.js";
import { element } from "../ui/dom.js";
import { layerName, percent } from "../ui/format.js";
import { theme } from "../ui/theme.js";
import { quoted, tokenLabel, tokenTexts } from "../ui/tokens.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */
/** @typedef {import("../data/source.js").GuessColumn} GuessColumn */

const window_ = 20;  // columns at a time
const together = 8;  // columns that are asked for at a time

/** @param {number} depth @param {import("../data/source.js").Facts} facts */
export function depthName(depth, facts) {
  return depth === 0 ? "embeddings" : layerName(depth, facts);
}

export class GuessTable {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    const { facts, nextPlaces } = pane.source;
    /** Layers in which the tokens of the answer take part, and the embeddings. */
    this.depths = [0, ...facts.attends.map((_, i) => i + 1).filter((layer) => facts.attends[layer - 1].rows[1] > nextPlaces[0])];
    this.first = -1;
    /** @type {Map<number, GuessColumn>} */
    this.columns = new Map();
    /** @type {Map<string, HTMLTableCellElement>} */
    this.cells = new Map();
    this.table = element("table", { role: "grid", class: "guess-table", "aria-label": "What each layer would say comes next. Rows are layers, columns are tokens; the arrows move." });
    this.table.addEventListener("click", (event) => this.choose(/** @type {HTMLElement} */ (event.target).closest("td")));
    this.table.addEventListener("keydown", (event) => this.onKey(event));
    this.element = element("div", { class: "wide-table" }, this.table);
  }

  /** @param {number} place @param {number} depth @param {number | null} candidate what is marked where it is the guess */
  async show(place, depth, candidate) {
    const [from, to] = this.pane.source.nextPlaces;
    if (this.first < 0 || place < this.first || place >= this.first + window_) {
      this.first = Math.max(from, Math.min(place - (window_ >> 1), to - window_));
      this.build(Math.min(to, this.first + window_));
    }
    this.mark(place, depth, candidate);
    this.reveal(place, depth);
    await this.load(Math.min(to, this.first + window_));
    this.mark(place, depth, candidate);
    this.reveal(place, depth);
  }

  /** @param {number} last */
  build(last) {
    const { facts } = this.pane.source, places = [...Array(last - this.first).keys()].map((i) => this.first + i);
    this.cells.clear();
    const cell = (/** @type {number} */ place, /** @type {number} */ depth) => {
      const made = element("td", { "data-place": place, "data-depth": depth, tabindex: -1 });
      this.cells.set(`${place} ${depth}`, made);
      return made;
    };
    this.table.replaceChildren(
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "after"), ...places.map((place) => element("th", { scope: "col", "data-place": place, title: tokenTexts(facts)[place] }, tokenLabel(tokenTexts(facts)[place]))))),
      element("tbody", {}, ...this.depths.map((depth) => element("tr", {}, element("th", { scope: "row" }, depthName(depth, facts)), ...places.map((place) => cell(place, depth))))));
    for (const place of places) this.fill(place);
  }

  /** @param {number} last */
  async load(last) {
    const { source } = this.pane, first = this.first;
    for (let end = last; end > first; end -= together) {
      const start = Math.max(first, end - together);
      if ([...Array(end - start).keys()].every((i) => this.columns.has(start + i))) continue;
      for (const column of (await source.guesses?.({ first: start, last: end })) ?? []) {
        this.columns.set(column.place, column);
        if (first === this.first) this.fill(column.place);
      }
      if (first !== this.first) return;
    }
  }

  /** @param {number} place */
  fill(place) {
    const column = this.columns.get(place);
    if (column === undefined) return;
    for (const depth of this.depths) {
      const cell = this.cells.get(`${place} ${depth}`), share = column.shares[depth], color = colorAt(share, theme());
      if (cell === undefined) continue;
      cell.textContent = tokenLabel(column.texts[depth]);
      cell.title = `${quoted(column.texts[depth])} ${percent(share)}`;
      cell.setAttribute("aria-label", `${quoted(column.texts[depth])}, ${percent(share)}`);
      cell.style.backgroundColor = css(color);
      cell.style.color = inkOn(color);
    }
  }

  color() {
    for (const place of this.columns.keys()) this.fill(place);
  }

  /** @param {number} place @param {number} depth @param {number | null} candidate */
  mark(place, depth, candidate) {
    for (const [key, cell] of this.cells) {
      const chosen = key === `${place} ${depth}`, [at, layer] = key.split(" ").map(Number);
      cell.tabIndex = chosen ? 0 : -1;
      cell.setAttribute("aria-selected", String(chosen));
      cell.classList.toggle("same", candidate !== null && at === place && this.columns.get(at)?.tokens[layer] === candidate);
    }
    for (const head of this.table.querySelectorAll("thead th[data-place]")) head.classList.toggle("chosen", /** @type {HTMLElement} */ (head).dataset.place === String(place));
    this.depths.forEach((each, i) => this.table.tBodies[0]?.rows[i].cells[0].classList.toggle("chosen", each === depth));
  }

  // Brings the chosen column into the part of the table that is seen; cells change their widths when they are filled.
  /** @param {number} place @param {number} depth */
  reveal(place, depth) {
    const cell = this.cells.get(`${place} ${depth}`), box = this.element, first = this.table.rows[0].cells[0].offsetWidth;
    if (cell === undefined) return;
    if (cell.offsetLeft + cell.offsetWidth > box.scrollLeft + box.clientWidth) box.scrollLeft = cell.offsetLeft + cell.offsetWidth - box.clientWidth;
    else if (cell.offsetLeft < box.scrollLeft + first) box.scrollLeft = cell.offsetLeft - first;
  }

  /** @param {HTMLTableCellElement | null} cell */
  choose(cell) {
    if (cell === null || cell.dataset.place === undefined) return;
    const { layers } = this.pane.source.facts, place = Number(cell.dataset.place), depth = Number(cell.dataset.depth);
    const same = place === this.pane.place();
    this.pane.choosePlace(place, { depth: depth === layers ? null : depth, ...(same ? { candidate: this.pane.store.state.candidate } : {}) });
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], Home: [0, -Infinity], End: [0, Infinity], PageUp: [-5, 0], PageDown: [5, 0] });
    const step = steps[event.key], cell = /** @type {HTMLElement} */ (event.target).closest("td");
    if (step === undefined || cell === null || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    const inside = (/** @type {number} */ value, /** @type {number} */ low, /** @type {number} */ high) => Math.min(high, Math.max(low, value));
    const row = inside(this.depths.indexOf(Number(cell.dataset.depth)) + step[0], 0, this.depths.length - 1);
    const [from, to] = this.pane.source.nextPlaces, place = inside(Number(cell.dataset.place) + step[1], from, to - 1), depth = this.depths[row];
    this.pane.choosePlace(place, { depth: depth === this.pane.source.facts.layers ? null : depth });
    this.cells.get(`${place} ${depth}`)?.focus();
  }
}
