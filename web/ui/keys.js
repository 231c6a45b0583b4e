// The keys, listed.
import { element } from "./dom.js";

const keys = [
  ["← ↑ → ↓", "move the cross-hair; in the text and the lines, choose a word; in the table of layers, a layer and a token"],
  ["Page up, Page down", "ten rows at a time"],
  ["Home, End", "the first and the last column"],
  ["Enter", "show how the number is made"],
  ["Escape", "close it again"],
  ["+  −  0", "zoom in, zoom out, the whole map"],
  ["M", "the mean over all heads, and back"],
  ["N, Shift N", "the next head worth seeing, the one before"],
  ["/", "find a word; then Enter and Shift Enter go to the next and the one before"],
  ["Ctrl Enter", "read the text (where texts can be typed)"],
  ["Shift and click", "in All heads: show this head together with others, in colour"],
  ["Tab", "from one part of the page to the next"],
  ["?", "this list"],
];

/** @returns {HTMLDialogElement} */
export function keysDialog() {
  const dialog = element("dialog", { class: "keys", "aria-label": "Keys" },
    element("h2", {}, "Keys"),
    element("dl", {}, ...keys.flatMap(([key, does]) => [element("dt", {}, key), element("dd", {}, does)])),
    element("p", { class: "note" }, "With the mouse or by touch: drag to move the map, pinch or turn the wheel with Ctrl held to zoom, click a cell to see how its number is made."),
    element("form", { method: "dialog" }, element("button", { type: "submit" }, "Close")));
  return dialog;
}
