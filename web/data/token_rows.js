// Rows of a map between tokens, as the library's lens makes them: docs/lens.md says what each method means. Several rows at a time, so
// that the keys of a head are fetched once for all of them.
import { productAt, valueLength, weightsOf } from "./layer.js";

/** @typedef {import("./layer.js").Layer} Layer */

/**
 * Adds `share` times the rows [first, first + count) of one layer to `out`: the weights of a head, or the mean over all heads. A row adds up
 * to `share`, whatever a sink has taken of it.
 * @param {Layer} layer
 * @param {number | null} headIndex
 * @param {number} first
 * @param {number} count
 * @param {number} share
 * @param {Float64Array} out (count, n)
 */
export function addRaw(layer, headIndex, first, count, share, out) {
  const rows = new Float64Array(count * layer.tokens), sums = new Float64Array(rows.length);
  for (let h = headIndex ?? 0; h < (headIndex === null ? layer.heads : headIndex + 1); ++h) {
    weightsOf(layer, h, first, count, rows);
    for (let j = 0; j < rows.length; ++j) sums[j] += rows[j];
  }
  addShares(sums, layer.tokens, share, out);
}

/**
 * Adds rows of n numbers, each made to add up to `share`; zeros add nothing, whatever the others are.
 * @param {Float64Array} rows
 * @param {number} n
 * @param {number} share
 * @param {Float64Array} out
 */
function addShares(rows, n, share, out) {
  for (let start = 0; start < rows.length; start += n) {
    const row = rows.subarray(start, start + n);
    let sum = 0;
    for (const number of row) sum += number;
    for (let j = 0; j < n; ++j) if (row[j] !== 0) out[start + j] += (share / sum) * row[j];
  }
}

/**
 * The same for what is taken: the length of the sum over heads of weight times projected value, as a share of the row.
 * @param {Layer} layer
 * @param {number | null} headIndex
 * @param {number} first
 * @param {number} count
 * @param {number} share
 * @param {Float64Array} out (count, n)
 */
export function addNorm(layer, headIndex, first, count, share, out) {
  const n = layer.tokens, lengths = headIndex === null ? lengthsOfSums(layer, first, count) : lengthsOfHead(layer, headIndex, first, count);
  addShares(lengths, n, share, out);
}

/** @param {Layer} layer @param {number} headIndex @param {number} first @param {number} count */
function lengthsOfHead(layer, headIndex, first, count) {
  const n = layer.tokens, rows = new Float64Array(count * n);
  weightsOf(layer, headIndex, first, count, rows);
  for (let j = 0; j < n; ++j) {
    const length = valueLength(layer, headIndex, j);
    for (let i = 0; i < count; ++i) if (rows[i * n + j] !== 0) rows[i * n + j] *= length;
  }
  return rows;
}

// |sum over h of w_h f_h|² is a quadratic form in the weights, whose matrix the page carries for each token.
/** @param {Layer} layer @param {number} first @param {number} count */
function lengthsOfSums(layer, first, count) {
  const { tokens: n, heads, products } = layer, size = count * n;
  const weights = new Float64Array(heads * size), squares = new Float64Array(size), pairs = (heads * (heads + 1)) / 2;
  for (let h = 0; h < heads; ++h) weightsOf(layer, h, first, count, weights.subarray(h * size, (h + 1) * size));
  for (let i = 0; i < size; ++i) {
    let square = 0;
    for (let h = 0; h < heads; ++h) {
      const w = weights[h * size + i], at = (i % n) * pairs + productAt(h, h, heads);
      if (w === 0) continue;  // the value of a key that takes no part may be NaN
      square += w * w * products[at];
      for (let g = h + 1; g < heads; ++g) square += 2 * w * weights[g * size + i] * products[at + g - h];
    }
    squares[i] = Math.sqrt(Math.max(0, square));
  }
  return squares;
}
