// A layer whose scores depend on more than queries, keys and causality: the page makes the weights that the formulas say.
import assert from "node:assert/strict";
import { test } from "node:test";
import { layerFrom, weightsOf } from "../../web/data/layer.js";

const n = 6, heads = 2, size = 3;

function numbers() {
  const all = new Float32Array(3 * n * heads * size + (n * heads * (heads + 1)) / 2);
  for (let i = 0; i < all.length; ++i) all[i] = Math.sin(1.7 * i + 0.3) * 1.5;
  return all;
}

function layerWith(attends) {
  const facts = {
    tokens: Array(n).fill({}), heads, headSize: size, scale: 0.5,
    attends: [{ name: "1", rows: [0, n], keys: [0, n], causal: true, ...attends }],
  };
  return layerFrom(/** @type {any} */ (facts), 1, numbers());
}

function expected({ window = [-1, -1], softcap = 0, sinks = null, scale = 0.5 }, head, query) {
  const all = numbers(), at = (part, token, i) => all[part * n * heads * size + (token * heads + head) * size + i];
  const scores = [...Array(n).keys()].map((key) => {
    if (key > query || (window[0] >= 0 && key < query - window[0]) || (window[1] >= 0 && key > query + window[1])) return -Infinity;
    let score = 0;
    for (let i = 0; i < size; ++i) score += at(0, query, i) * at(1, key, i);
    score *= scale;
    return softcap > 0 ? softcap * Math.tanh(score / softcap) : score;
  });
  const sum = scores.reduce((total, score) => total + Math.exp(score), sinks === null ? 0 : Math.exp(sinks[head]));
  return scores.map((score) => Math.exp(score) / sum);
}

for (const [name, attends] of Object.entries({
  "a window": { window: [2, -1] },
  "a window of its own key": { window: [0, 0] },
  "a cap on scores": { softcap: 0.7 },
  "sinks": { sinks: [0.4, -1] },
  "a scale of its own": { scale: 2 },
  "all of them": { window: [1, -1], softcap: 1.5, sinks: [3, 0], scale: 1.25 },
})) {
  test(`weights with ${name}`, () => {
    const layer = layerWith(attends), rows = new Float64Array(n * n);
    for (let head = 0; head < heads; ++head) {
      weightsOf(layer, head, 0, n, rows);
      for (let query = 0; query < n; ++query) {
        expected(attends, head, query).forEach((weight, key) =>
          assert.ok(Math.abs(rows[query * n + key] - weight) < 1e-12, `${head}, ${query}, ${key}`));
      }
    }
  });
}
