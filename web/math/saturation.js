// What softmax does with scores of random queries and keys of d numbers, with and without 1/√d: as `attend steps --example scale` measures it.
import { softmax } from "./matrix.js";
import { normals } from "./random.js";

const keys = 16, groups = 32;  // 512 rows of 16 keys

/** @typedef {{spread: number, largest: number, gradient: number}} Saturation */

/** @param {number[]} values */
function median(values) {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)];
}

/** @param {number[]} row @returns {Saturation} */
function measure(row) {
  const mean = row.reduce((a, b) => a + b, 0) / row.length, [weights] = softmax([row]);
  let square = 0;  // of the Jacobian of softmax: w_i (1 if i = j, less w_j)
  weights.forEach((w, i) => weights.forEach((u, j) => (square += (w * ((i === j ? 1 : 0) - u)) ** 2)));
  return {
    spread: Math.sqrt(row.reduce((a, b) => a + (b - mean) ** 2, 0) / row.length),
    largest: Math.max(...weights), gradient: Math.sqrt(square),
  };
}

/** @param {Saturation[]} rows @returns {Saturation} */
function medians(rows) {
  return { spread: median(rows.map((r) => r.spread)), largest: median(rows.map((r) => r.largest)), gradient: median(rows.map((r) => r.gradient)) };
}

export class RandomScores {
  constructor() {
    this.done = 0;
    this.groups = [...Array(groups).keys()].map((seed) => ({ normal: normals(seed), products: new Float64Array(keys * keys) }));
  }

  /**
   * More dimensions; apart from measure(), so that many can be added in small pieces.
   * @param {number} d
   */
  grow(d) {
    for (; this.done < d; ++this.done) for (const group of this.groups) addDimension(group, this.done);
  }

  /**
   * d may only grow from call to call.
   * @param {number} d
   * @returns {{d: number, unscaled: Saturation, scaled: Saturation}}
   */
  measure(d) {
    this.grow(d);
    /** @type {number[][]} */
    const rows = this.groups.flatMap(({ products }) => [...Array(keys).keys()].map((i) => Array.from(products.subarray(i * keys, (i + 1) * keys))));
    return { d, unscaled: medians(rows.map(measure)), scaled: medians(rows.map((row) => measure(row.map((score) => score / Math.sqrt(d))))) };
  }
}

/** @param {{normal: (place: number) => number, products: Float64Array}} group @param {number} dimension */
function addDimension({ normal, products }, dimension) {
  const place = dimension * 2 * keys, all = [...Array(2 * keys).keys()].map((i) => normal(place + i));
  for (let i = 0; i < keys * keys; ++i) products[i] += all[Math.floor(i / keys)] * all[keys + (i % keys)];
}
