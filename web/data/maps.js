// Whole maps, made row by row from the layers and kept while they are looked at.
import { indexOf } from "./counting.js";
import { looks } from "./layer.js";
import { breathe } from "./pause.js";
import { addNorm, addRaw } from "./token_rows.js";
import { addByUnit, scaleToOne } from "./units.js";
import { unitsOf } from "./source.js";

/** @typedef {import("./source.js").Facts} Facts */
/** @typedef {import("./source.js").Look} Look */
/** @typedef {import("./source.js").Grid} Grid */
/** @typedef {import("./layer.js").Layer} Layer */

/** @param {Look} look */
function nameOf(look) {
  return [look.layer, look.head, look.method, look.units, look.special, look.first].join(" ");
}

const block = 8;  // rows made together; of 512 tokens in 72 heads they take some 10 ms
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
    /** @type {Map<string, Grid>} those being made, as far as they are */
    this.started = new Map();
    /** @type {Map<number, Promise<Float32Array>>} the mean over heads of a layer, between tokens */
    this.means = new Map();
  }

  /**
   * One row of a map, by itself.
   * @param {Look} look
   * @param {number} row
   * @returns {Promise<Float64Array>}
   */
  row(look, row) {
    return this.rows(look, row, row + 1);
  }

  /**
   * Rows [from, to) of a map.
   * @param {Look} look
   * @param {number} from
   * @param {number} to
   * @returns {Promise<Float64Array>} (to - from, units)
   */
  async rows(look, from, to) {
    const units = unitsOf(this.facts, look.units, look.special, look.first), n = this.facts.tokens.length;
    const out = new Float64Array((to - from) * units.length), chosen = units.slice(from, to);
    const rowOf = (/** @type {Float64Array} */ all, /** @type {number} */ i, /** @type {number} */ size) => all.subarray(i * size, (i + 1) * size);
    if (look.method === "rollout") {
      const tokens = new Float64Array(chosen.length * n);
      chosen.forEach((unit, u) => rowOf(tokens, u, n).fill(1 / (unit.last - unit.first), unit.first, unit.last));
      const arrived = await this.rolledOut(tokens, look.layer ?? this.facts.layers);
      chosen.forEach((_, u) => addByUnit(rowOf(arrived, u, n), units, 1, rowOf(out, u, units.length)));
    } else {
      const first = chosen[0].first, tokens = this.tokenRows(look, first, chosen[chosen.length - 1].last - first);
      chosen.forEach((unit, u) => {
        for (let t = unit.first; t < unit.last; ++t) addByUnit(rowOf(tokens, t - first, n), units, 1 / (unit.last - unit.first), rowOf(out, u, units.length));
      });
    }
    if (units.reduce((sum, unit) => sum + unit.last - unit.first, 0) < n) chosen.forEach((_, u) => scaleToOne(rowOf(out, u, units.length)));
    return out;
  }

  /**
   * @param {Look} look
   * @returns {Promise<Grid>}
   */
  map(look) {
    const key = nameOf(look);
    let map = this.made.get(key);
    if (map === undefined) map = this.make(look);
    this.made.delete(key);
    this.made.set(key, map);
    if (this.made.size > kept) this.made.delete(/** @type {string} */ (this.made.keys().next().value));
    return map;
  }

  /**
   * A map that is being made: what is not made yet is 0.
   * @param {Look} look
   */
  partial(look) {
    return this.started.get(nameOf(look)) ?? null;
  }

  /**
   * @param {Look} look
   * @returns {Promise<Grid>}
   */
  async make(look) {
    const size = unitsOf(this.facts, look.units, look.special, look.first).length;
    const map = { rows: size, cols: size, values: new Float32Array(size * size) };
    this.started.set(nameOf(look), map);
    for (let row = 0; row < size; row += block) {
      map.values.set(await this.rows(look, row, Math.min(size, row + block)), row * size);
      await breathe();
    }
    this.started.delete(nameOf(look));
    return map;
  }

  /**
   * @param {Look} look
   * @param {number} first
   * @param {number} count
   */
  tokenRows(look, first, count) {
    const out = new Float64Array(count * this.facts.tokens.length), add = look.method === "norm" ? addNorm : addRaw;
    const n = this.facts.tokens.length, layers = look.layer === null ? this.facts.attends : [this.facts.attends[indexOf(look.layer)]];
    const headIndex = look.head === null ? null : indexOf(look.head);
    layers.forEach((_, i) => add(this.layer(look.layer ?? i + 1), headIndex, first, count, 1, out));
    // The mean over the layers in which a token looks at others.
    for (let i = 0; i < count; ++i) {
      const share = 1 / Math.max(1, layers.filter((layer) => looks(layer, first + i)).length);
      for (let j = i * n; j < (i + 1) * n; ++j) out[j] *= share;
    }
    return out;
  }

  // How much of each input token has arrived: rows times (weights + identity) / 2 of each layer, from the last to the first.
  /**
   * @param {Float64Array} rows (count, n)
   * @param {number} last
   */
  async rolledOut(rows, last) {
    const n = this.facts.tokens.length, count = rows.length / n;
    for (let layer = last; layer >= 1; --layer) {
      const mean = await this.meanOf(layer), next = new Float64Array(rows.length);
      for (let t = 0; t < n; ++t) {
        const stays = looks(this.facts.attends[indexOf(layer)], t) ? 0.5 : 1;
        for (let r = 0; r < count; ++r) {
          const share = rows[r * n + t];
          if (share === 0) continue;
          for (let j = 0, at = t * n, to = r * n; j < n; ++j) if (mean[at + j] !== 0) next[to + j] += 0.5 * share * mean[at + j];
          next[r * n + t] += stays * share;
        }
      }
      rows = next;
    }
    return rows;
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
    const n = this.facts.tokens.length, mean = new Float32Array(n * n);
    for (let first = 0; first < n; first += block) {
      const rows = new Float64Array(Math.min(block, n - first) * n);
      addRaw(this.layer(layer), null, first, rows.length / n, 1, rows);
      mean.set(rows, first * n);
      await breathe();
    }
    return mean;
  }
}
