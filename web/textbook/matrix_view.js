// A matrix as a table: plain, coloured, or with numbers that can be changed.
import { colorAt, css, inkOn, placeOf } from "../math/color.js";
import { element, scrolling } from "../ui/dom.js";
import { short } from "../ui/format.js";
import { theme } from "../ui/theme.js";

/** @typedef {import("../math/matrix.js").Matrix} Matrix */

/**
 * @typedef {object} MatrixOptions
 * @property {string} name
 * @property {string[]} [rows] labels
 * @property {string[]} [columns]
 * @property {boolean} [colored] by weight, from 0 to 1
 * @property {number | null} [chosen] a row to stand out
 * @property {(row: number) => void} [choose]
 * @property {(row: number, column: number, value: number) => void} [change] makes the numbers editable
 */

/**
 * @param {Matrix} matrix
 * @param {MatrixOptions} options
 */
export function matrixTable(matrix, { name, rows, columns, colored = false, chosen = null, choose, change }) {
  const label = (/** @type {number} */ i) => rows?.[i] ?? String(i + 1);
  const head = columns === undefined ? [] : [element("thead", {}, element("tr", {}, element("td", {}), ...columns.map((text) => element("th", { scope: "col" }, text))))];
  return element("figure", { class: "matrix" },
    element("figcaption", {}, element("b", {}, name), ` (${matrix.length}, ${matrix[0].length})`),
    scrolling(element("table", { "aria-label": name }, ...head,
      element("tbody", {}, ...matrix.map((row, i) => element("tr", { class: i === chosen ? "chosen" : null },
        element("th", { scope: "row" }, choose === undefined ? label(i) : element("button", { type: "button", class: "link", "aria-pressed": String(i === chosen), onclick: () => choose(i) }, label(i))),
        ...row.map((value, j) => cell(value, colored, change === undefined ? null : { label: `${name}, ${label(i)}, number ${j + 1}`, set: (to) => change(i, j, to) }))))))));
}

/**
 * @param {number} value
 * @param {boolean} colored
 * @param {{label: string, set: (value: number) => void} | null} edit
 */
function cell(value, colored, edit) {
  if (edit !== null) {
    const input = element("input", {
      type: "number", step: "0.1", value: Math.round(value * 1000) / 1000, "aria-label": edit.label,
      oninput: () => {
        if (input.value !== "" && Number.isFinite(input.valueAsNumber) && Math.abs(input.valueAsNumber) <= 1000) edit.set(input.valueAsNumber);
      },
    });
    return element("td", {}, input);
  }
  const made = element("td", { class: "number", "data-value": value }, value === -Infinity ? "−∞" : short(value));
  if (colored) {
    const color = colorAt(placeOf(value, 1, 1), theme());
    made.style.backgroundColor = css(color);
    made.style.color = inkOn(color);
  }
  return made;
}
