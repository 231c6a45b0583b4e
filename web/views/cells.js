// Numbers as coloured cells, one pixel each; whoever draws them makes them large.
import { colorTable, placeOf } from "../math/color.js";

/**
 * @param {import("../data/source.js").Grid} grid
 * @param {number} high the value of the last colour
 * @param {number} units of the whole map
 * @param {import("../math/color.js").Theme} theme
 * @param {HTMLCanvasElement} [canvas] to be used again
 */
export function cellsOf(grid, high, units, theme, canvas = document.createElement("canvas")) {
  canvas.width = Math.max(1, grid.cols);
  canvas.height = Math.max(1, grid.rows);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  const image = context.createImageData(canvas.width, canvas.height), table = colorTable(theme);
  for (let i = 0; i < grid.values.length; ++i) {
    const at = 3 * Math.round(255 * Math.min(1, placeOf(grid.values[i], high, units)));
    image.data[4 * i] = table[at];
    image.data[4 * i + 1] = table[at + 1];
    image.data[4 * i + 2] = table[at + 2];
    image.data[4 * i + 3] = 255;
  }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** @param {import("../data/source.js").Grid} grid */
export function largestOf(grid) {
  let largest = 0;
  for (const value of grid.values) if (value > largest) largest = value;
  return largest;
}
