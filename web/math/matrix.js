// Small matrices, as rows of numbers.

/** @typedef {number[][]} Matrix */

/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
export function product(a, b) {
  return a.map((row) => b[0].map((_, j) => row.reduce((sum, value, k) => sum + value * b[k][j], 0)));
}

/** @param {Matrix} a @returns {Matrix} */
export function transposed(a) {
  return a[0].map((_, j) => a.map((row) => row[j]));
}

/** @param {Matrix} a @param {Matrix} b @returns {Matrix} */
export function sum(a, b) {
  return a.map((row, i) => row.map((value, j) => value + b[i][j]));
}

/** @param {Matrix} a @param {(value: number, row: number, column: number) => number} change @returns {Matrix} */
export function mapped(a, change) {
  return a.map((row, i) => row.map((value, j) => change(value, i, j)));
}

/** @param {Matrix} a @param {number} from @param {number} to @returns {Matrix} */
export function columns(a, from, to) {
  return a.map((row) => row.slice(from, to));
}

/** @param {Matrix} a */
export function shapeOf(a) {
  return `(${a.length}, ${a[0].length})`;
}

/** The largest distance between two numbers at the same place; NaN where the shapes differ. @param {Matrix} a @param {Matrix} b */
export function farthest(a, b) {
  if (a.length !== b.length || a[0].length !== b[0].length) return NaN;
  let most = 0;
  a.forEach((row, i) => row.forEach((value, j) => {
    if (value !== b[i][j]) most = Math.max(most, Math.abs(value - b[i][j]));
  }));
  return most;
}

/** @param {number[]} a @param {number[]} b */
export function dot(a, b) {
  return a.reduce((total, value, i) => total + value * b[i], 0);
}

/** @param {number[]} a @param {number[]} b */
export function cosine(a, b) {
  const lengths = Math.sqrt(dot(a, a) * dot(b, b));
  return lengths > 0 ? dot(a, b) / lengths : 0;
}

/**
 * Row by row, shifted by the largest, so that no power of e overflows. A row of -Infinity becomes 0.
 * @param {Matrix} scores
 * @returns {Matrix}
 */
export function softmax(scores) {
  return scores.map((row) => {
    const max = Math.max(...row);
    if (max === -Infinity) return row.map(() => 0);
    const powers = row.map((value) => Math.exp(value - max)), total = powers.reduce((a, b) => a + b, 0);
    return powers.map((value) => value / total);
  });
}

/**
 * Sines and cosines of the place, of ever longer waves (Vaswani et al. 2017).
 * @param {number} length
 * @param {number} size
 * @returns {Matrix}
 */
export function sinusoidal(length, size) {
  return [...Array(length).keys()].map((place) => [...Array(size).keys()].map((j) => {
    const angle = place / 10000 ** ((2 * Math.floor(j / 2)) / size);
    return j % 2 === 0 ? Math.sin(angle) : Math.cos(angle);
  }));
}
