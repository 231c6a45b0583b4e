// Rows of a map between tokens, as the library's lens makes them: docs/lens.md says what each method means.
import { productAt, scoresOf, softmaxInPlace, valueLength } from "./layer.js";

/** @typedef {import("./layer.js").Layer} Layer */

/**
 * Adds `share` times the row of one layer to `out`: the weights of a head, or the mean over all heads.
 * @param {Layer} layer
 * @param {number | null} head
 * @param {number} query
 * @param {number} share
 * @param {Float64Array} out (n)
 */
export function addRaw(layer, head, query, share, out) {
  const row = new Float64Array(layer.tokens);
  const each = head === null ? share / layer.heads : share;
  for (let h = head ?? 0; h < (head === null ? layer.heads : head + 1); ++h) {
    scoresOf(layer, h, query, row);
    softmaxInPlace(row);
    for (let j = 0; j < row.length; ++j) out[j] += each * row[j];
  }
}

/**
 * The same for what is taken: the length of the sum over heads of weight times projected value, as a share of the row.
 * @param {Layer} layer
 * @param {number | null} head
 * @param {number} query
 * @param {number} share
 * @param {Float64Array} out (n)
 */
export function addNorm(layer, head, query, share, out) {
  const lengths = head === null ? lengthsOfSums(layer, query) : lengthsOfHead(layer, head, query);
  let sum = 0;
  for (const length of lengths) sum += length;
  if (!(sum > 0)) return;
  for (let j = 0; j < lengths.length; ++j) out[j] += (share / sum) * lengths[j];
}

/** @param {Layer} layer @param {number} head @param {number} query */
function lengthsOfHead(layer, head, query) {
  const row = new Float64Array(layer.tokens);
  scoresOf(layer, head, query, row);
  softmaxInPlace(row);
  for (let j = 0; j < row.length; ++j) row[j] *= valueLength(layer, head, j);
  return row;
}

// |sum over h of w_h f_h|² is a quadratic form in the weights, whose matrix the page carries for each token.
/** @param {Layer} layer @param {number} query */
function lengthsOfSums(layer, query) {
  const { tokens: n, heads, products } = layer;
  const weights = new Float64Array(heads * n), row = new Float64Array(n), pairs = (heads * (heads + 1)) / 2;
  for (let h = 0; h < heads; ++h) {
    scoresOf(layer, h, query, row);
    softmaxInPlace(row);
    weights.set(row, h * n);
  }
  for (let j = 0; j < n; ++j) {
    let square = 0;
    for (let h = 0; h < heads; ++h) {
      const w = weights[h * n + j], at = j * pairs + productAt(h, h, heads);
      square += w * w * products[at];
      for (let g = h + 1; g < heads; ++g) square += 2 * w * weights[g * n + j] * products[at + g - h];
    }
    row[j] = Math.sqrt(Math.max(0, square));
  }
  return row;
}
