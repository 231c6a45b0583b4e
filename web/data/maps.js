// Whole maps, made row by row from the layers and kept while they are looked at.
import { breathe } from "./pause.js";
import { addNorm, addRaw } from "./token_rows.js";
import { addByUnit, scaleToOne } from "./units.js";
import { unitsOf } from "./source.js";

/** @typedef {import("./source.js").Facts} Facts */
/** @typedef {import("./source.js").Look} Look */
/** @typedef {import("./source.js").Grid} Grid */
/** @typedef {import("./layer.js").Layer} Layer */

const kept = 128;  // maps; of 512 tokens they are 1 MB each

export class Maps {
  /**
   * @param {Facts} facts
   * @param {(layer: number) => Layer} layer
   */
  constructor(facts, layer) {
    this.facts = facts;
    this.layer = layer;
    /** @type {Map<string, Promise<Grid>>} */
    this.made = new Map();
    /** @type {Map<number, Promise<Float32Array>>} the mean over heads of a layer, between tokens */
    this.means = new Map();
  }

  /**
   * One row of a map, by itself.
   * @param {Look} look
   * @param {number} row
   * @returns {Promise<Float64Array>}
   */
  async row(look, row) {
    const units = unitsOf(this.facts, look.units, look.special), unit = units[row];
    const out = new Float64Array(units.length), share = 1 / (unit.last - unit.first);
    let tokens = new Float64Array(this.facts.tokens.length);
    if (look.method === "rollout") {
      tokens.fill(share, unit.first, unit.last);
      addByUnit(await this.rolledOut(tokens, look.layer ?? this.facts.layers), units, 1, out);
    } else {
      for (let t = unit.first; t < unit.last; ++t) {
        this.addTokenRow(look, t, tokens.fill(0));
        addByUnit(tokens, units, share, out);
      }
    }
    if (units.length < this.unitCount(look)) scaleToOne(out);
    return out;
  }

  /**
   * @param {Look} look
   * @returns {Promise<Grid>}
   */
  map(look) {
    const key = [look.layer, look.head, look.method, look.units, look.special].join(" ");
    let map = this.made.get(key);
    if (map === undefined) map = this.make(look);
    this.made.delete(key);
    this.made.set(key, map);
    if (this.made.size > kept) this.made.delete(/** @type {string} */ (this.made.keys().next().value));
    return map;
  }

  /** @param {Look} look */
  unitCount(look) {
    return look.units === "words" ? this.facts.words.length : this.facts.tokens.length;
  }

  /**
   * @param {Look} look
   * @returns {Promise<Grid>}
   */
  async make(look) {
    const size = unitsOf(this.facts, look.units, look.special).length;
    const values = new Float32Array(size * size);
    for (let row = 0; row < size; ++row) {
      values.set(await this.row(look, row), row * size);
      await breathe();
    }
    return { rows: size, cols: size, values };
  }

  /**
   * @param {Look} look
   * @param {number} query
   * @param {Float64Array} out
   */
  addTokenRow(look, query, out) {
    const add = look.method === "norm" ? addNorm : addRaw;
    const layers = look.layer === null ? this.facts.layers : 1;
    for (let i = 0; i < layers; ++i) add(this.layer(look.layer ?? i + 1), look.head, query, 1 / layers, out);
  }

  // How much of each input token has arrived: a row vector times (weights + identity) / 2 of each layer, from the last to the first.
  /**
   * @param {Float64Array} row
   * @param {number} last
   */
  async rolledOut(row, last) {
    const n = row.length;
    for (let layer = last; layer >= 1; --layer) {
      const mean = await this.meanOf(layer), next = new Float64Array(n);
      for (let t = 0; t < n; ++t) {
        const half = 0.5 * row[t];
        if (half === 0) continue;
        for (let j = 0, at = t * n; j < n; ++j) next[j] += half * mean[at + j];
        next[t] += half;
      }
      row = next;
    }
    return row;
  }

  /**
   * @param {number} layer
   * @returns {Promise<Float32Array>}
   */
  meanOf(layer) {
    let mean = this.means.get(layer);
    if (mean === undefined) {
      mean = this.makeMean(layer);
      this.means.set(layer, mean);
    }
    return mean;
  }

  /** @param {number} layer */
  async makeMean(layer) {
    const n = this.facts.tokens.length, mean = new Float32Array(n * n), row = new Float64Array(n);
    for (let query = 0; query < n; ++query) {
      addRaw(this.layer(layer), null, query, 1, row.fill(0));
      mean.set(row, query * n);
      await breathe();
    }
    return mean;
  }
}
