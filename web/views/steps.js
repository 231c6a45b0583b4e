// One number of a map, worked out step by step: query, key, product, scale, mask, softmax, value, contribution.
import { unitsOf } from "../data/source.js";
import { sumOver, wholeRow } from "../data/units.js";
import { element } from "../ui/dom.js";
import { nameOfLook, number, percent, verbOf } from "../ui/format.js";
import { headGrid, valuesOfHeads } from "./head_grid.js";
import { stepsOfCell } from "./steps_of_cell.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */
/** @typedef {import("../data/source.js").Unit} Unit */
/** @typedef {import("../data/source.js").Look} Look */

export class StepsView {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.key = "";
    this.element = element("section", { class: "steps", "aria-label": "How this number is made", tabindex: -1 });
    this.element.hidden = true;
  }

  /** @returns {Promise<void>} */
  async show() {
    const { row, col, steps } = this.pane.store.state, look = this.pane.look();
    const key = steps ? JSON.stringify({ ...look, row, col }) : "";
    if (key === this.key) return;
    const opened = this.key === "" && key !== "";
    this.key = key;
    this.element.hidden = !steps;
    if (!steps || row === null || col === null) return;
    const content = await this.content(look, row, col);
    if (key !== this.key) return;
    this.element.replaceChildren(...content);
    this.element.dataset.ready = "true";
    if (opened) this.element.scrollIntoView({ block: "nearest", behavior: matchMedia("(prefers-reduced-motion: reduce)").matches ? "auto" : "smooth" });
  }

  /**
   * @param {Look} look
   * @param {number} row
   * @param {number} col
   * @returns {Promise<(Node | string)[]>}
   */
  async content(look, row, col) {
    const { source } = this.pane, units = unitsOf(source.facts, look.units, look.special, look.first);
    const from = units[row], to = units[col];
    const shown = (await source.row({ ...look, row }))[col];
    const everything = await wholeRow(source, look, from);
    const title = element("h2", {}, element("q", {}, from.text), ` ${verbOf(look.method)} `, element("q", {}, to.text), `: ${number(shown)}`);
    const close = element("button", { type: "button", class: "close", "aria-label": "Close the steps", onclick: () => this.pane.store.set({ steps: false }) }, "×");
    /** @type {(Node | string)[]} */
    const parts = [element("header", {}, title, close), element("p", { class: "note" }, nameOfLook(look, source.facts))];

    const heads = look.head === null ? await valuesOfHeads(this.pane, look, from, to) : [];
    if (look.head === null) parts.push(...this.manyHeads(look, heads));
    parts.push(this.ending(units, everything, shown, to));
    const strongest = heads.reduce((best, each) => (each.value > best.value ? each : best), { layer: look.layer ?? 1, head: look.head ?? 1, value: -1 });
    parts.push(...(await stepsOfCell(this.pane, from, to, strongest.layer, strongest.head, look.head === null)));
    return parts;
  }

  /**
   * @param {Look} look
   * @param {import("./head_grid.js").HeadValue[]} heads
   */
  manyHeads(look, heads) {
    const mean = heads.reduce((sum, each) => sum + each.value, 0) / heads.length;
    const text = look.method === "raw" ? `The mean of ${heads.length} weights is ${number(mean)}.`
      : look.method === "norm" ? `The vectors that ${heads.length} heads take from there are added up; these are the heads' weights.`
        : `All paths through these ${heads.length} heads, layer by layer, are added up; these are the heads' weights from the one word to the other.`;
    return [element("p", {}, `${text} Choose one to see how it is made.`), headGrid(heads, this.pane.source.facts, (layer, head) => this.pane.store.set({ layer, head, method: look.method === "rollout" ? "raw" : look.method }))];
  }

  // From the weights of tokens to the number of the map.
  /**
   * @param {Unit[]} units those that are shown
   * @param {Float64Array} everything the row between tokens, of which nothing is left out
   * @param {number} shown
   * @param {Unit} to
   */
  ending(units, everything, shown, to) {
    const { tokens } = this.pane.source.facts, kept = new Set(units.flatMap((unit) => Array.from({ length: unit.last - unit.first }, (_, i) => unit.first + i)));
    if (kept.size === tokens.length) return "";
    const gone = [...tokens.keys()].filter((t) => !kept.has(t)), share = (/** @type {number[]} */ places) => places.reduce((sum, t) => sum + everything[t], 0);
    const special = gone.filter((t) => tokens[t].special), first = gone.filter((t) => !tokens[t].special);
    const left = special.length === 0 ? `The first token gets ${percent(share(first))} of this row and is left out`
      : first.length === 0 ? `Special tokens get ${percent(share(special))} of this row and are left out`
        : `Special tokens get ${percent(share(special))} of this row, the first token gets ${percent(share(first))}, and both are left out`;
    return element("p", { class: "sum" }, `${left}: ${number(sumOver(everything, to))} ÷ (1 − ${number(share(gone))}) = `, element("b", {}, number(shown)), ".");
  }
}
