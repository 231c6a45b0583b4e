// From tokens to words, and what is left out of a row: special tokens, and the first token where it is a sink.

/** @typedef {import("./source.js").Unit} Unit */
/** @typedef {import("./source.js").Look} Look */

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

/**
 * What a unit gives to each token, with nothing left out: the mean over its own tokens.
 * @param {import("./source.js").Source} source
 * @param {Look} look
 * @param {Unit} unit
 * @returns {Promise<Float64Array>} (tokens)
 */
export async function wholeRow(source, look, unit) {
  const places = Array.from({ length: unit.last - unit.first }, (_, i) => unit.first + i);
  const rows = await Promise.all(places.map((row) => source.row({ ...look, units: "tokens", special: true, first: true, row })));
  return rows[0].map((_, t) => rows.reduce((sum, row) => sum + row[t], 0) / rows.length);
}

/**
 * @param {Float64Array} row (tokens)
 * @param {Unit} unit
 */
export function sumOver(row, unit) {
  let sum = 0;
  for (let t = unit.first; t < unit.last; ++t) sum += row[t];
  return sum;
}
