// A number that is a mean over heads, taken apart: the same pair in every head.
import { numbersTo } from "../data/counting.js";
import { largest } from "../data/order.js";
import { colorAt, css, inkOn, placeOf } from "../math/color.js";
import { sumOver, wholeRow } from "../data/units.js";
import { element, scrolling } from "../ui/dom.js";
import { layerName, short } from "../ui/format.js";
import { theme } from "../ui/theme.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */
/** @typedef {import("../data/source.js").Unit} Unit */
/** @typedef {{layer: number, head: number, value: number}} HeadValue */

/**
 * The weight of a pair of units in every head that a look covers, in rows from which nothing is left out.
 * @param {Pane} pane
 * @param {import("../data/source.js").Look} look
 * @param {Unit} from
 * @param {Unit} to
 * @returns {Promise<HeadValue[]>}
 */
export async function valuesOfHeads(pane, look, from, to) {
  const { facts } = pane.source, layers = look.layer === null || look.method === "rollout" ? numbersTo(look.layer ?? facts.layers) : [look.layer];
  const pairs = layers.flatMap((layer) => numbersTo(facts.heads).map((head) => ({ layer, head })));
  return Promise.all(pairs.map(async ({ layer, head }) => {
    const row = await wholeRow(pane.source, { ...look, layer, head, method: "raw" }, from);
    return { layer, head, value: sumOver(row, to) };
  }));
}

/**
 * @param {HeadValue[]} values
 * @param {import("../data/source.js").Facts} facts
 * @param {(layer: number, head: number) => void} choose
 */
export function headGrid(values, facts, choose) {
  const { heads } = facts, name = (/** @type {number} */ layer) => layerName(layer, facts);
  const high = largest(values.map((each) => each.value));
  const rows = [];
  for (let i = 0; i < values.length; i += heads) {
    rows.push(element("tr", {}, element("th", { scope: "row" }, `Layer ${name(values[i].layer)}`),
      ...values.slice(i, i + heads).map(({ layer, head, value }) => {
        const color = colorAt(placeOf(value, high, 1), theme());
        const button = element("button", { type: "button", "aria-label": `Layer ${name(layer)}, head ${head}: ${short(value)}`, onclick: () => choose(layer, head) }, short(value).replace(/^0\./, "."));
        button.style.backgroundColor = css(color);
        button.style.color = inkOn(color);
        return element("td", {}, button);
      })));
  }
  return scrolling(element("table", { class: "head-grid" },
    element("thead", {}, element("tr", {}, element("td", {}), ...numbersTo(heads).map((head) => element("th", { scope: "col" }, String(head))))),
    element("tbody", {}, ...rows)));
}
