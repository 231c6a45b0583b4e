// One row as a table: the map in words, for everyone and for screen readers.
import { largest, largestFirst } from "../data/order.js";
import { unitsOf } from "../data/source.js";
import { headColor } from "../math/color.js";
import { bar, element } from "../ui/dom.js";
import { nameOfLook, number, verbOf } from "../ui/format.js";
import { theme } from "../ui/theme.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */

const few = 12;

export class RowTable {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.all = false;
    /** @type {Float64Array | null} */
    this.values = null;
    this.element = element("section", { class: "row-table", "aria-label": "The chosen word" });
  }

  /** @param {Float64Array | null} values */
  show(values) {
    this.values = values;
    const { row, col } = this.pane.cross(), { facts } = this.pane.source, look = this.pane.look();
    const units = unitsOf(facts, look.units, look.special, look.first);
    if (values === null || row === null || units[row] === undefined) {
      this.element.replaceChildren(element("p", { class: "note" }, "Choose a word in the text, or point at the map, to see what it looks at."));
      return;
    }
    const order = largestFirst(values);
    const shown = this.all ? order : order.slice(0, few), { colored } = this.pane;
    const beside = this.pane.beside?.table.values ?? null, high = Math.max(largest(values), beside === null ? 0 : largest(beside)) || 1;
    const bars = (/** @type {number} */ i) => (colored.length === 0 ? [bar(values[i] / high)] : colored.map((row, which) => {
      const made = bar((row?.[i] ?? 0) / high, "of-head");
      /** @type {HTMLElement} */ (made.firstElementChild).style.background = headColor(which, theme());
      return made;
    }));
    this.element.replaceChildren(
      element("h2", {}, element("q", {}, units[row].text), ` ${verbOf(look.method)}`),
      element("p", { class: "note" }, colored.length === 0 ? nameOfLook(look, facts) : `heads ${this.pane.looks().map(({ name }) => name).join(", ")}: the largest of each word`),
      element("table", {},
        element("thead", { class: "unseen" }, element("tr", {}, element("th", { scope: "col" }, "word"), element("th", { scope: "col" }, "share"), element("td", {}))),
        element("tbody", {}, ...shown.map((i) => element("tr", { class: i === col ? "chosen" : null },
          element("th", { scope: "row" }, element("button", { type: "button", class: "link", onclick: () => this.pane.open(row, i) }, units[i].text)),
          element("td", { class: "number" }, number(values[i])),
          element("td", { class: "wide" }, ...bars(i)))))),
      order.length <= few ? "" : element("button", {
        type: "button", class: "link more",
        onclick: () => {
          this.all = !this.all;
          this.show(this.values);
        },
      }, this.all ? `Only the first ${few}` : `All ${order.length}`));
  }
}
