// The tiles of one map: asked for when they come into sight, kept while the map is looked at, recoloured when a larger value turns up.
import { tileSize } from "../data/source.js";
import { colorAt, colorTable, placeOf } from "../math/color.js";
import { cellsOf, largestOf } from "./cells.js";

/** @typedef {import("../data/source.js").Grid} Grid */
/** @typedef {{grid: Grid | null, image: HTMLCanvasElement | null, colored: string}} Tile */

const keptRows = 128;  // of numbers that are written into cells: more than a screen has
const kept = 96;  // tiles: 25 MB of values and as much of colours

export class Tiles {
  /**
   * @param {import("../data/source.js").Source} source
   * @param {import("../data/source.js").Look} look
   * @param {number} size units of the map
   * @param {() => void} arrived
   * @param {() => number} [beside] the largest value of a map that this one is compared with: both have one scale
   */
  constructor(source, look, size, arrived, beside = () => 0) {
    this.source = source;
    this.look = look;
    this.size = size;
    this.arrived = arrived;
    this.beside = beside;
    this.high = 0;
    this.waiting = 0;
    this.failed = "";
    /** @type {Map<number, Float64Array | null>} null: on its way */
    this.rows = new Map();
    /** @type {Tile | null} the whole map while it is being made */
    this.part = null;
    /** @type {Map<string, Tile>} */
    this.tiles = new Map();
    this.top = Math.max(0, Math.ceil(Math.log2(size / tileSize)));
  }

  /** The value of the last colour. */
  get scale() {
    return Math.max(this.high, this.beside());
  }

  /**
   * The colour of a pair, by its value.
   * @param {number} _row
   * @param {number} _col
   * @param {number} value
   * @param {import("../math/color.js").Theme} theme
   */
  colorOf(_row, _col, value, theme) {
    return colorAt(placeOf(value, this.scale, this.size), theme);
  }

  /**
   * The scales of the legend.
   * @param {import("../math/color.js").Theme} theme
   * @returns {{name: string, table: Uint8Array}[]}
   */
  legend(theme) {
    return [{ name: "", table: colorTable(theme) }];
  }

  /**
   * The tile, or null until it has arrived.
   * @param {number} level
   * @param {number} y
   * @param {number} x
   * @returns {Tile | null}
   */
  get(level, y, x) {
    const key = `${level} ${y} ${x}`;
    const known = this.tiles.get(key);
    if (known !== undefined) {
      this.tiles.delete(key);
      this.tiles.set(key, known);
      return known.grid === null ? null : known;
    }
    /** @type {Tile} */
    const tile = { grid: null, image: null, colored: "" };
    this.tiles.set(key, tile);
    if (this.tiles.size > kept) this.tiles.delete(/** @type {string} */ (this.tiles.keys().next().value));
    ++this.waiting;
    this.source.tile({ ...this.look, level, y, x }).then(
      (grid) => {
        tile.grid = grid;
        this.high = Math.max(this.high, largestOf(grid));
      },
      (error) => {
        this.tiles.delete(key);
        this.failed = String(error.message ?? error);
      },
    ).finally(() => {
      --this.waiting;
      if (this.waiting === 0) this.part = null;
      this.arrived();
    });
    return null;
  }

  takePartial() {
    const grid = this.source.partial?.(this.look) ?? null;
    this.part = grid === null ? null : { grid, image: this.part?.image ?? null, colored: "" };
    if (grid !== null) this.high = Math.max(this.high, largestOf(grid));
  }

  /**
   * @param {Tile} tile
   * @param {import("../math/color.js").Theme} theme
   */
  imageOf(tile, theme) {
    const colored = `${theme} ${this.scale}`;
    if (tile.colored !== colored && tile.grid !== null) {
      tile.image = cellsOf(tile.grid, this.scale, this.size, theme, tile.image ?? undefined);
      tile.colored = colored;
    }
    return tile.image;
  }

  /**
   * The value of a pair, exact enough to be printed, null until it is here. Tiles that were served are rounded for the eye, so
   * numbers come from rows.
   * @param {number} row
   * @param {number} col
   * @returns {number | null}
   */
  value(row, col) {
    if (this.source.facts.served) return this.exactRow(row)?.[col] ?? null;
    const y = Math.floor(row / tileSize), x = Math.floor(col / tileSize);
    const grid = this.tiles.get(`0 ${y} ${x}`)?.grid;
    return grid ? grid.values[(row - y * tileSize) * grid.cols + col - x * tileSize] : null;
  }

  /**
   * @param {number} row
   * @returns {Float64Array | null}
   */
  exactRow(row) {
    const known = this.rows.get(row);
    if (known !== undefined) return known;
    this.rows.set(row, null);
    if (this.rows.size > keptRows) this.rows.delete(/** @type {number} */ (this.rows.keys().next().value));
    this.source.row({ ...this.look, row }).then((values) => {
      this.rows.set(row, values);
      this.arrived();
    }, () => this.rows.delete(row));
    return null;
  }
}
