// Where a map is on its canvas: margins for labels, the size of a cell, what is scrolled out of sight.
import { scaleHeight } from "./legend.js";

export class MapFrame {
  constructor() {
    this.size = 0;
    this.width = 0;  // of the whole canvas, in CSS pixels
    this.height = 0;
    this.left = 0;  // of the cells
    this.top = 0;
    this.cell = 1;
    this.x = 0;  // scrolled, in pixels
    this.y = 0;
    this.fit = 1;
    this.slanted = true;
    this.legend = legendHeight;
  }

  /**
   * @param {number} size units
   * @param {number} width that there is; a small map takes less
   * @param {number} tallest
   * @param {number} labels pixels of the longest label
   * @param {boolean} reset whether to show the whole map again
   * @param {number} [scales] how many the legend has
   */
  layOut(size, width, tallest, labels, reset, scales = 1) {
    const fitted = this.fit === this.cell;
    this.size = size;
    this.legend = legendHeight + (scales - 1) * scaleHeight;
    this.left = Math.min(labels + 14, width * 0.3);
    const across = width - this.left - 8;
    // Slanted labels are easier to read, need 20 pixels not to touch, and lean out to the right.
    for (const slanted of [true, false]) {
      this.slanted = slanted;
      this.top = slanted ? labels * 0.72 + 16 : labels + 14;
      this.fit = Math.max(Math.min((across - (slanted ? labels * 0.6 : 0)) / size, (tallest - this.top) / size, largestCell), 1 / 64);
      if (this.fit >= slantedPitch) break;
    }
    if (reset || fitted) this.cell = this.fit;
    this.cell = Math.max(this.cell, this.fit);
    const lean = this.slanted ? labels * 0.6 : 0;
    this.width = Math.min(width, Math.max(narrowest, Math.ceil(this.left + size * this.fit + lean + 8)));
    this.height = this.top + Math.min(size * this.cell, Math.max(tallest - this.top, size * this.fit)) + this.legend;
    this.scrollTo(this.x, this.y);
  }

  get plotWidth() {
    return Math.min(this.size * this.cell, this.width - this.left - 8);
  }

  get plotHeight() {
    return Math.min(this.size * this.cell, this.height - this.top - this.legend);
  }

  /** @param {number} x @param {number} y */
  scrollTo(x, y) {
    this.x = Math.max(0, Math.min(x, this.size * this.cell - this.plotWidth));
    this.y = Math.max(0, Math.min(y, this.size * this.cell - this.plotHeight));
  }

  /**
   * @param {number} factor
   * @param {number} px the point that stays where it is
   * @param {number} py
   */
  zoom(factor, px, py) {
    const cell = Math.min(largestCell, Math.max(this.fit, this.cell * factor)), ratio = cell / this.cell;
    const x = (this.x + px - this.left) * ratio - (px - this.left), y = (this.y + py - this.top) * ratio - (py - this.top);
    this.cell = cell;
    this.scrollTo(x, y);
  }

  /** What of the map is in sight, as it stands in an address. */
  get view() {
    if (this.cell <= this.fit) return "";
    return [this.cell / this.fit, this.x / this.cell, this.y / this.cell].map((value) => String(Math.round(100 * value) / 100)).join(" ");
  }

  /** @param {string} view */
  set view(view) {
    const [times, x, y] = view === "" ? [1, 0, 0] : view.split(" ").map(Number);
    this.cell = Math.max(this.fit, Math.min(largestCell, this.fit * times));
    this.scrollTo(x * this.cell, y * this.cell);
  }

  /** @param {number} row @param {number} col */
  reveal(row, col) {
    const margin = Math.min(this.cell, 24);
    const within = (/** @type {number} */ at, /** @type {number} */ from, /** @type {number} */ room) =>
      Math.min(Math.max(from, at + this.cell + margin - room), Math.max(0, at - margin));
    this.scrollTo(within(col * this.cell, this.x, this.plotWidth), within(row * this.cell, this.y, this.plotHeight));
  }

  /**
   * The pair under a point of the canvas.
   * @param {number} px
   * @param {number} py
   * @returns {{row: number, col: number} | null}
   */
  at(px, py) {
    if (px < this.left || py < this.top || px >= this.left + this.plotWidth || py >= this.top + this.plotHeight) return null;
    return { row: Math.floor((py - this.top + this.y) / this.cell), col: Math.floor((px - this.left + this.x) / this.cell) };
  }
}

const largestCell = 80;  // pixels
const narrowest = 380;  // pixels that the legend and the buttons beside it take
export const legendHeight = 52;
export const slantedPitch = 20;  // pixels from one slanted label to the next
