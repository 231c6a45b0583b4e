// Maps made smaller: a cell becomes the largest of many, so that thin lines stay visible; NaN where one of
// them is.

/** @typedef {import("./source.js").Grid} Grid */

/**
 * @param {Grid} map
 * @param {number} rows
 * @param {number} cols at most as many as the map has, as are rows
 * @returns {Grid}
 */
export function pooled(map, rows, cols) {
  const values = new Float32Array(rows * cols);
  for (let y = 0; y < map.rows; ++y) {
    const to = Math.floor((y * rows) / map.rows) * cols;
    for (let x = 0; x < map.cols; ++x) {
      const at = to + Math.floor((x * cols) / map.cols), value = map.values[y * map.cols + x];
      if (value > values[at] || Number.isNaN(value)) values[at] = value;
    }
  }
  return { rows, cols, values };
}

/**
 * The part of a map that starts at (y, x) in cells of 2^level, `size` of them at most each way.
 * @param {Grid} map
 * @param {number} level
 * @param {number} y
 * @param {number} x
 * @param {number} size
 * @returns {Grid}
 */
export function cut(map, level, y, x, size) {
  const step = 2 ** level;
  const rows = Math.max(0, Math.min(size, Math.ceil(map.rows / step) - y * size));
  const cols = Math.max(0, Math.min(size, Math.ceil(map.cols / step) - x * size));
  const values = new Float32Array(rows * cols);
  for (let r = 0; r < rows; ++r) {
    for (let c = 0; c < cols; ++c) {
      const top = (y * size + r) * step, left = (x * size + c) * step;
      let largest = 0;
      for (let i = top; i < Math.min(top + step, map.rows); ++i) {
        for (let j = left; j < Math.min(left + step, map.cols); ++j) largest = Math.max(largest, map.values[i * map.cols + j]);
      }
      values[r * cols + c] = largest;
    }
  }
  return { rows, cols, values };
}
