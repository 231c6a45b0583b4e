// One number of a map, worked out step by step: query, key, product, scale, mask, softmax, value, contribution.
import { unitsOf } from "../data/source.js";
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
    const { source } = this.pane, units = unitsOf(source.facts, look.units, look.special), all = unitsOf(source.facts, look.units, true);
    const from = units[row], to = units[col], whole = { row: all.findIndex((unit) => unit.first === from.first), col: all.findIndex((unit) => unit.first === to.first) };
    const shown = (await source.row({ ...look, row }))[col];
    const everything = await source.row({ ...look, special: true, row: whole.row });
    const title = element("h2", {}, element("q", {}, from.text), ` ${verbOf(look.method)} `, element("q", {}, to.text), `: ${number(shown)}`);
    const close = element("button", { type: "button", class: "close", "aria-label": "Close the steps", onclick: () => this.pane.store.set({ steps: false }) }, "×");
    /** @type {(Node | string)[]} */
    const parts = [element("header", {}, title, close), element("p", { class: "note" }, nameOfLook(look, source.facts))];

    const heads = look.head === null ? await valuesOfHeads(this.pane, look, whole.row, whole.col) : [];
    if (look.head === null) parts.push(...this.manyHeads(look, heads));
    parts.push(this.ending(look, units, everything, shown, whole.col));
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
   * @param {Look} look
   * @param {Unit[]} units those that are shown
   * @param {Float64Array} everything the row with special tokens
   * @param {number} shown
   * @param {number} col counted with special tokens
   */
  ending(look, units, everything, shown, col) {
    if (units.length === everything.length) return "";
    const special = 1 - unitsOf(this.pane.source.facts, look.units, true).reduce((sum, unit, i) => sum + (unit.special ? 0 : everything[i]), 0);
    return element("p", { class: "sum" }, `Special tokens get ${percent(special)} of this row and are left out: ${number(everything[col])} ÷ (1 − ${number(special)}) = `, element("b", {}, number(shown)), ".");
  }
}
