// Numbers and words as people read them.
import { indexOf } from "../data/counting.js";

/**
 * A weight or another number of everyday size: 0.310, 0.0042, −1.25.
 * @param {number} value
 */
export function number(value) {
  if (value === -Infinity) return "−∞";
  if (!Number.isFinite(value)) return "not a number";
  const size = Math.abs(value);
  const text = size === 0 ? "0" : size < 0.0005 ? size.toExponential(1) : size < 0.01 ? size.toFixed(4) : size < 100 ? size.toFixed(3) : size.toPrecision(4);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** @param {number} value */
export function short(value) {
  const text = Math.abs(value) < 10 ? Math.abs(value).toFixed(2) : Math.abs(value).toFixed(1);
  return value < 0 && Number(text) !== 0 ? `−${text}` : text;
}

/** @param {number} share */
export function percent(share) {
  if (Number.isNaN(share)) return "not a number";
  const value = 100 * share;
  return value !== 0 && value < 9.95 ? `${value.toFixed(1)}%` : `${Math.round(value)}%`;
}

/**
 * Short enough for a label.
 * @param {string} text
 * @param {number} most characters
 */
export function shortened(text, most) {
  const characters = [...text.replaceAll(/\s+/g, " ")];
  return characters.length <= most ? characters.join("") : `${characters.slice(0, most - 1).join("")}…`;
}

/** @param {number} layer @param {import("../data/source.js").Facts} facts */
export function layerName(layer, facts) {
  return facts.attends[indexOf(layer)].name;
}

/**
 * Which heads read the same keys and values; null where each has its own.
 * @param {number} layer
 * @param {number} head
 * @param {import("../data/source.js").Facts} facts
 */
export function keyGroup(layer, head, facts) {
  const { keyHeads } = facts.attends[indexOf(layer)];
  if (keyHeads === undefined) return null;
  const size = facts.heads / keyHeads, number = Math.ceil(head / size);
  return { number, count: keyHeads, first: (number - 1) * size + 1, last: number * size };
}

/** @param {{number: number, first: number, last: number}} group */
export function sharedBy({ number: keyHead, first, last }) {
  return `key head ${keyHead}, shared by heads ${first} ${last === first + 1 ? "and" : "to"} ${last}`;
}

/** @param {{layer: number | null, head: number | null, method: string}} look @param {import("../data/source.js").Facts} facts */
export function nameOfLook(look, facts) {
  if (look.method === "rollout") return `layers 1 to ${layerName(look.layer ?? facts.layers, facts)}`;
  if (look.layer === null) return `mean of ${facts.layers} layers × ${facts.heads} heads`;
  if (look.head === null) return `layer ${layerName(look.layer, facts)}, mean of ${facts.heads} heads`;
  const group = keyGroup(look.layer, look.head, facts);
  return `layer ${layerName(look.layer, facts)}, head ${look.head}${group === null ? "" : ` (keys ${group.number} of ${group.count})`}`;
}

/** @param {string} method */
export function verbOf(method) {
  return method === "raw" ? "looks at" : method === "norm" ? "takes from" : "comes from";
}
