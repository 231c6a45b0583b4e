// One layer's attention as the page carries it, and rows of weights made from it in float64.
import { indexOf } from "./counting.js";

/**
 * @typedef {object} Layer
 * @property {number} tokens
 * @property {number} heads
 * @property {number} size numbers of a head's vectors
 * @property {number} scale
 * @property {number[]} rows the tokens [from, to) that look
 * @property {number[]} keys those that they look at
 * @property {boolean} causal
 * @property {number[] | null} window
 * @property {number} softcap 0: none
 * @property {number[] | null} sinks of each head
 * @property {Float32Array} q (H, n, D), as are k and v
 * @property {Float32Array} k
 * @property {Float32Array} v
 * @property {Float32Array} products (n, H (H + 1) / 2): those of the projected values of a token with each other
 * @property {Float32Array | null} bias (H, 2 n - 1), by distance
 */

/** @typedef {import("./source.js").Facts} Facts */

/**
 * @param {Facts} facts
 * @param {number} number from 1
 * @param {Float32Array} numbers one after the other: q, k, v, each (n, H, D); products, bias
 * @returns {Layer}
 */
export function layerFrom(facts, number, numbers) {
  const n = facts.tokens.length, { heads, headSize: size } = facts, attends = facts.attends[indexOf(number)];
  const { rows, keys, causal, window = null, softcap = 0, sinks = null, scale = facts.scale } = attends;
  let at = 0;
  const take = (/** @type {number} */ count) => numbers.subarray(at, (at += count));
  return {
    tokens: n, heads, size, scale, rows, keys, causal, window, softcap, sinks,
    q: byHead(take(n * heads * size), n, heads, size),
    k: byHead(take(n * heads * size), n, heads, size),
    v: byHead(take(n * heads * size), n, heads, size),
    products: take((n * heads * (heads + 1)) / 2),
    bias: facts.distanceBias ? take(heads * (2 * n - 1)) : null,
  };
}

// One head's vectors side by side, so that they stay in the cache.
/** @param {Float32Array} numbers (n, H, D) @param {number} n @param {number} heads @param {number} size */
function byHead(numbers, n, heads, size) {
  const out = new Float32Array(numbers.length);
  for (let t = 0; t < n; ++t) {
    for (let h = 0; h < heads; ++h) out.set(numbers.subarray((t * heads + h) * size, (t * heads + h + 1) * size), (h * n + t) * size);
  }
  return out;
}

/**
 * @param {Layer} layer
 * @param {number} headIndex
 * @param {number} query
 * @param {number} key
 */
export function biasOf(layer, headIndex, query, key) {
  return layer.bias === null ? 0 : layer.bias[headIndex * (2 * layer.tokens - 1) + layer.tokens - 1 + key - query];
}

/** @param {{rows: number[]}} layer @param {number} token */
export function looks(layer, token) {
  return token >= layer.rows[0] && token < layer.rows[1];
}

/**
 * The scores of queries [first, first + count), after scale, bias and mask: -Infinity for a key that may not be seen.
 * @param {Layer} layer
 * @param {number} headIndex
 * @param {number} first
 * @param {number} count
 * @param {Float64Array} out (count, n)
 */
export function scoresOf(layer, headIndex, first, count, out) {
  const { tokens: n, size, scale } = layer;
  const q = layer.q.subarray(headIndex * n * size, (headIndex + 1) * n * size), k = layer.k.subarray(headIndex * n * size, (headIndex + 1) * n * size);
  let done = 0;
  for (; done + 4 <= count; done += 4) fourRows(q, k, n, size, scale, first + done, out.subarray(done * n, (done + 4) * n));
  for (; done < count; ++done) oneRow(q, k, n, size, scale, first + done, out.subarray(done * n, (done + 1) * n));
  for (let i = 0; i < count; ++i) {
    const row = out.subarray(i * n, (i + 1) * n);
    if (layer.softcap > 0) for (let j = 0; j < n; ++j) row[j] = layer.softcap * Math.tanh(row[j] / layer.softcap);
    if (layer.bias !== null) for (let j = 0; j < n; ++j) row[j] += biasOf(layer, headIndex, first + i, j);
    if (layer.causal) row.fill(-Infinity, first + i + 1);
    if (layer.window !== null) {
      const [left, right] = layer.window;
      if (left >= 0) row.fill(-Infinity, 0, Math.max(0, first + i - left));
      if (right >= 0) row.fill(-Infinity, first + i + right + 1);
    }
    row.fill(-Infinity, 0, layer.keys[0]).fill(-Infinity, layer.keys[1]);
    if (!looks(layer, first + i)) row.fill(-Infinity);
  }
}

// Four queries at a time: each number of a key is fetched once for all of them, and no addition waits for another.
/**
 * @param {Float32Array} q
 * @param {Float32Array} k
 * @param {number} n
 * @param {number} size
 * @param {number} scale
 * @param {number} query
 * @param {Float64Array} out (4, n)
 */
function fourRows(q, k, n, size, scale, query, out) {
  const at = query * size;
  for (let j = 0, to = 0; j < n; ++j, to += size) {
    let a = 0, b = 0, c = 0, d = 0;
    for (let i = 0; i < size; ++i) {
      const x = k[to + i], from = at + i;
      a += q[from] * x;
      b += q[from + size] * x;
      c += q[from + 2 * size] * x;
      d += q[from + 3 * size] * x;
    }
    out[j] = scale * a;
    out[n + j] = scale * b;
    out[2 * n + j] = scale * c;
    out[3 * n + j] = scale * d;
  }
}

/** @param {Float32Array} q @param {Float32Array} k @param {number} n @param {number} size @param {number} scale @param {number} query @param {Float64Array} out (n) */
function oneRow(q, k, n, size, scale, query, out) {
  for (let j = 0, to = 0; j < n; ++j, to += size) {
    let sum = 0;
    for (let i = 0, from = query * size; i < size; ++i) sum += q[from + i] * k[to + i];
    out[j] = scale * sum;
  }
}

/**
 * The weights of queries [first, first + count).
 * @param {Layer} layer
 * @param {number} headIndex
 * @param {number} first
 * @param {number} count
 * @param {Float64Array} out (count, n)
 */
export function weightsOf(layer, headIndex, first, count, out) {
  scoresOf(layer, headIndex, first, count, out);
  for (let i = 0; i < count; ++i) softmaxInPlace(out.subarray(i * layer.tokens, (i + 1) * layer.tokens), layer.sinks?.[headIndex]);
}

/**
 * Scores to weights, in place: exp of the distance to the largest, over their sum. A row without keys becomes 0; one with a score that is
 * not finite becomes NaN, except for the keys that take no part.
 * @param {Float64Array} row
 * @param {number} [sink] one more score, which takes weight and is not in the row
 * @returns {{max: number, sum: number}}
 */
export function softmaxInPlace(row, sink = -Infinity) {
  let max = -Infinity, finite = true;
  for (let j = 0; j < row.length; ++j) {
    if (row[j] > max) max = row[j];
    finite = finite && row[j] < Infinity;  // false for NaN, too
  }
  if (!finite) {
    for (let j = 0; j < row.length; ++j) row[j] = row[j] === -Infinity ? 0 : NaN;
    return { max: NaN, sum: NaN };
  }
  if (max === -Infinity) {
    row.fill(0);
    return { max, sum: 0 };
  }
  max = Math.max(max, sink);
  let sum = Math.exp(sink - max);
  for (let j = 0; j < row.length; ++j) sum += row[j] = Math.exp(row[j] - max);
  for (let j = 0; j < row.length; ++j) row[j] /= sum;
  return { max, sum };
}

/**
 * The place of the product of heads h <= g in a token's part of `products`.
 * @param {number} h
 * @param {number} g
 * @param {number} heads
 */
export function productAt(h, g, heads) {
  return h * heads - (h * (h - 1)) / 2 + (g - h);
}

/**
 * How long the projected value of a token is in one head: |v Wo|.
 * @param {Layer} layer
 * @param {number} headIndex
 * @param {number} token
 */
export function valueLength(layer, headIndex, token) {
  const { heads, products } = layer;
  return Math.sqrt(Math.max(0, products[(token * heads * (heads + 1)) / 2 + productAt(headIndex, headIndex, heads)]));
}
