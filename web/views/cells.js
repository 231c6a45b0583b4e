// Numbers as coloured cells, one pixel each, to be drawn larger.
import { largest } from "../data/order.js";
import { colorTable, headTable, notANumber, placeOf } from "../math/color.js";

/**
 * @param {import("../data/source.js").Grid} grid
 * @param {number} high the value of the last colour
 * @param {number} units of the whole map
 * @param {import("../math/color.js").Theme} theme
 * @param {HTMLCanvasElement} [canvas] to be used again
 * @param {Uint8Array | null} [which] of several heads, the one that each cell belongs to
 */
export function cellsOf(grid, high, units, theme, canvas = document.createElement("canvas"), which = null) {
  canvas.width = Math.max(1, grid.cols);
  canvas.height = Math.max(1, grid.rows);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(canvas.width, canvas.height), table = colorTable(theme);
  for (let i = 0; i < grid.values.length; ++i) {
    const place = placeOf(grid.values[i], high, units), bad = Number.isNaN(place);
    const colors = bad ? notANumber : which === null ? table : headTable(which[i], theme), at = bad ? 0 : 3 * Math.round(255 * Math.min(1, place));
    image.data[4 * i] = colors[at];
    image.data[4 * i + 1] = colors[at + 1];
    image.data[4 * i + 2] = colors[at + 2];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** @param {import("../data/source.js").Grid} grid */
export function largestOf(grid) {
  return largest(grid.values);
}
