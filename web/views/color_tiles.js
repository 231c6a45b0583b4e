// The maps of several heads in one: a cell has the colour of the head whose weight is largest there, as dark as that weight.
import { colorIn, headTable, placeOf } from "../math/color.js";
import { cellsOf } from "./cells.js";
import { Tiles } from "./tiles.js";

/** @typedef {import("../data/source.js").Grid} Grid */
/** @typedef {import("../math/color.js").Theme} Theme */
/** @typedef {{grid: Grid, which: Uint8Array, image: HTMLCanvasElement | null, colored: string}} ColorTile */

export class ColorTiles {
  /**
   * @param {import("../data/source.js").Source} source
   * @param {{name: string, look: import("../data/source.js").Look}[]} heads
   * @param {number} size units of the map
   * @param {() => void} arrived
   * @param {() => number} beside
   */
  constructor(source, heads, size, arrived, beside) {
    this.names = heads.map(({ name }) => name);
    this.each = heads.map(({ look }) => new Tiles(source, look, size, arrived));
    this.size = size;
    this.beside = beside;
    this.top = this.each[0].top;
    this.part = null;
    /** @type {Map<string, ColorTile>} */
    this.tiles = new Map();
  }

  get high() {
    return Math.max(...this.each.map((tiles) => tiles.high));
  }

  get scale() {
    return Math.max(this.high, this.beside());
  }

  get waiting() {
    return this.each.reduce((sum, tiles) => sum + tiles.waiting, 0);
  }

  get failed() {
    return this.each.find((tiles) => tiles.failed !== "")?.failed ?? "";
  }

  /** @param {Theme} theme */
  legend(theme) {
    return this.names.map((name, i) => ({ name, table: headTable(i, theme) }));
  }

  /** @param {number} row @param {number} col @param {number} value @param {Theme} theme */
  colorOf(row, col, value, theme) {
    const values = this.each.map((tiles) => tiles.value(row, col) ?? 0);
    return colorIn(headTable(Math.max(0, values.indexOf(value)), theme), placeOf(value, this.scale, this.size));
  }

  /** @param {number} level @param {number} y @param {number} x */
  get(level, y, x) {
    const key = `${level} ${y} ${x}`, parts = this.each.map((tiles) => tiles.get(level, y, x)), known = this.tiles.get(key);
    if (known !== undefined) return known;
    const grids = parts.map((tile) => tile?.grid ?? null);
    if (grids.some((grid) => grid === null)) return null;
    const tile = { ...strongest(/** @type {Grid[]} */ (grids)), image: null, colored: "" };
    this.tiles.set(key, tile);
    return tile;
  }

  takePartial() {}

  /** @param {ColorTile} tile @param {Theme} theme */
  imageOf(tile, theme) {
    const colored = `${theme} ${this.scale}`;
    if (tile.colored !== colored) {
      tile.image = cellsOf(tile.grid, this.scale, this.size, theme, tile.image ?? undefined, tile.which);
      tile.colored = colored;
    }
    return tile.image;
  }

  /** @param {number} row @param {number} col */
  value(row, col) {
    const values = this.each.map((tiles) => tiles.value(row, col));
    return values.some((value) => value === null) ? null : Math.max(.../** @type {number[]} */ (values));
  }
}

/**
 * The largest value of each cell, and whose it is. What is not a number comes first.
 * @param {Grid[]} grids
 * @returns {{grid: Grid, which: Uint8Array}}
 */
export function strongest(grids) {
  const [{ rows, cols }] = grids, values = Float32Array.from(grids[0].values), which = new Uint8Array(values.length);
  for (let g = 1; g < grids.length; ++g) {
    for (let i = 0; i < values.length; ++i) {
      const value = grids[g].values[i];
      if (!(value > values[i]) && !Number.isNaN(value)) continue;
      values[i] = value;
      which[i] = g;
    }
  }
  return { grid: { rows, cols, values }, which };
}
