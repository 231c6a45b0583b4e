// One layer's attention as the page carries it, and rows of weights made from it in float64.

/**
 * @typedef {object} Layer
 * @property {number} tokens
 * @property {number} heads
 * @property {number} size numbers of a head's vectors
 * @property {number} scale
 * @property {boolean} causal
 * @property {Float32Array} q (n, H, D), as are k and v
 * @property {Float32Array} k
 * @property {Float32Array} v
 * @property {Float32Array} products (n, H (H + 1) / 2): those of the projected values of a token with each other
 * @property {Float32Array | null} bias (H, 2 n - 1), by distance
 */

/** @typedef {import("./source.js").Facts} Facts */

/**
 * @param {string} text
 * @returns {Float32Array}
 */
export function floatsFrom(text) {
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; ++i) bytes[i] = binary.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

/**
 * @param {Facts} facts
 * @param {Float32Array} numbers one after the other: q, k, v, products, bias
 * @returns {Layer}
 */
export function layerFrom(facts, numbers) {
  const n = facts.tokens.length, { heads, headSize: size } = facts;
  let at = 0;
  const take = (/** @type {number} */ count) => numbers.subarray(at, (at += count));
  return {
    tokens: n, heads, size, scale: facts.scale, causal: facts.causal,
    q: take(n * heads * size), k: take(n * heads * size), v: take(n * heads * size),
    products: take((n * heads * (heads + 1)) / 2),
    bias: facts.distanceBias ? take(heads * (2 * n - 1)) : null,
  };
}

/**
 * @param {Layer} layer
 * @param {number} head
 * @param {number} query
 * @param {number} key
 */
export function biasOf(layer, head, query, key) {
  return layer.bias === null ? 0 : layer.bias[head * (2 * layer.tokens - 1) + layer.tokens - 1 + key - query];
}

/**
 * The scores of a query, after scale, bias and mask: -Infinity for a key that it may not see.
 * @param {Layer} layer
 * @param {number} head
 * @param {number} query
 * @param {Float64Array} out (n)
 */
export function scoresOf(layer, head, query, out) {
  const { tokens, heads, size, scale, causal, q, k } = layer;
  const from = (query * heads + head) * size;
  const seen = causal ? query + 1 : tokens;
  for (let j = 0; j < seen; ++j) {
    const to = (j * heads + head) * size;
    let sum = 0;
    for (let c = 0; c < size; ++c) sum += q[from + c] * k[to + c];
    out[j] = scale * sum;
  }
  if (layer.bias !== null) for (let j = 0; j < seen; ++j) out[j] += biasOf(layer, head, query, j);
  out.fill(-Infinity, seen);
}

/**
 * Scores to weights, in place: exp of the distance to the largest, over their sum. A row without keys becomes 0.
 * @param {Float64Array} row
 * @returns {{max: number, sum: number}}
 */
export function softmaxInPlace(row) {
  let max = -Infinity, sum = 0;
  for (let j = 0; j < row.length; ++j) if (row[j] > max) max = row[j];
  if (max === -Infinity) {
    row.fill(0);
    return { max, sum };
  }
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
 * @param {number} head
 * @param {number} token
 */
export function valueLength(layer, head, token) {
  const { heads, products } = layer;
  return Math.sqrt(Math.max(0, products[(token * heads * (heads + 1)) / 2 + productAt(head, head, heads)]));
}
