// A source whose numbers are in the page: queries, keys and values, from which everything else is made here.
import { indexOf } from "./counting.js";
import { cut, pooled } from "./pool.js";
import { floatsFrom } from "./floats.js";
import { carriedInside } from "./inside.js";
import { biasOf, layerFrom, scoresOf, softmaxInPlace, valueLength } from "./layer.js";
import { Maps } from "./maps.js";
import { tileSize } from "./source.js";

/** @typedef {import("./source.js").Facts} Facts */
/** @typedef {import("./source.js").Source} Source */
/** @typedef {import("./layer.js").Layer} Layer */

/**
 * @param {Facts} facts
 * @param {(id: string) => string} text of an element of the page
 * @returns {Source}
 */
export function carriedSource(facts, text) {
  /** @type {Map<number, Layer>} */
  const layers = new Map();
  const layer = (/** @type {number} */ number) => {
    let found = layers.get(number);
    if (found === undefined) {
      found = layerFrom(facts, number, floatsFrom(text(`layer-${number}`)));
      layers.set(number, found);
    }
    return found;
  };
  const maps = new Maps(facts, layer);

  return {
    facts,
    row: (look) => maps.row(look, look.row),
    tile: async (look) => cut(await maps.map(look), look.level, look.y, look.x, tileSize),
    partial: (look) => maps.partial(look),
    summary: async (look) => {
      const map = await maps.map(look);
      return pooled(map, Math.min(look.buckets, map.rows), Math.min(look.buckets, map.cols));
    },
    scoresRow: async ({ layer: number, head, query }) => {
      const scores = new Float64Array(facts.tokens.length);
      const found = layer(number);
      scoresOf(found, indexOf(head), query, 1, scores);
      const weights = scores.slice();
      softmaxInPlace(weights, found.sinks?.[indexOf(head)]);
      return { scores, weights };
    },
    cell: async ({ layer: number, head, query, key }) => cellOf(layer(number), indexOf(head), query, key),
    ...carriedInside(facts, text),
  };
}

/**
 * The source of a page: this one, or another that was opened from a file.
 * @param {Document} page
 * @returns {Source}
 */
export function sourceOfPage(page) {
  const text = (/** @type {string} */ id) => page.getElementById(id)?.textContent ?? "";
  if (text("facts") === "") throw new Error("This file is not a page written by attend.");
  return carriedSource({ inside: { layers: [] }, ...JSON.parse(text("facts")) }, text);  // pages of older versions carry less
}

/**
 * @param {Layer} layer
 * @param {number} headIndex
 * @param {number} query
 * @param {number} key
 * @returns {import("./source.js").Cell}
 */
function cellOf(layer, headIndex, query, key) {
  const vector = (/** @type {Float32Array} */ all, /** @type {number} */ token) => {
    const at = (headIndex * layer.tokens + token) * layer.size;
    return all.subarray(at, at + layer.size);
  };
  const row = new Float64Array(layer.tokens);
  scoresOf(layer, headIndex, query, 1, row);
  const score = row[key], { max, sum } = softmaxInPlace(row, layer.sinks?.[headIndex]);
  const lengthOf = (/** @type {number} */ j) => (row[j] === 0 ? 0 : row[j] * valueLength(layer, headIndex, j));
  let taken = 0;
  for (let j = 0; j < row.length; ++j) taken += lengthOf(j);
  return {
    q: vector(layer.q, query), k: vector(layer.k, key), v: vector(layer.v, key),
    scale: layer.scale, masked: score === -Infinity, bias: biasOf(layer, headIndex, query, key),
    score, max, sum, weight: row[key],
    contribution: taken === 0 ? null : lengthOf(key) / taken,
  };
}
