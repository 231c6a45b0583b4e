// From tokens to words, and special tokens left out.

/** @typedef {import("./source.js").Unit} Unit */

/**
 * The keys of a row of tokens added up by unit.
 * @param {ArrayLike<number>} tokens
 * @param {Unit[]} units
 * @param {number} share
 * @param {Float64Array} out (units), added to
 */
export function addByUnit(tokens, units, share, out) {
  for (let u = 0; u < units.length; ++u) {
    let sum = 0;
    for (let t = units[u].first; t < units[u].last; ++t) sum += tokens[t];
    out[u] += share * sum;
  }
}

/**
 * A row made to add up to 1 again, after units were left out of it; 0 where nothing is left.
 * @param {Float64Array} row in place
 */
export function scaleToOne(row) {
  let sum = 0;
  for (const value of row) sum += value;
  for (let j = 0; j < row.length; ++j) row[j] = row[j] === 0 ? 0 : row[j] / sum;
}
