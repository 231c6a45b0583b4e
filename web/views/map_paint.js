// A map as it is seen and saved: cells, labels, cross-hair, legend.
import { tileSize } from "../data/source.js";
import { inkOn } from "../math/color.js";
import { shortened } from "../ui/format.js";
import { paintLegend } from "./legend.js";

/** @typedef {import("./map_frame.js").MapFrame} MapFrame */
/** @typedef {import("./tiles.js").Tiles | import("./color_tiles.js").ColorTiles} Tiles */
/** @typedef {import("../ui/painter.js").Painter} Painter */
/** @typedef {{theme: import("../math/color.js").Theme, ink: string, quiet: string, accent: string, paper: string}} Colors */

export const labelLetters = 16;
const zoomButtons = 130;  // pixels that they take to the right of the legend

/**
 * @param {Painter} painter
 * @param {MapFrame} frame
 * @param {Tiles} tiles
 * @param {string[]} labels
 * @param {{row: number | null, col: number | null}} cross
 * @param {Colors} colors
 * @param {number} density pixels of the screen to a unit
 */
export function paintMap(painter, frame, tiles, labels, cross, colors, density) {
  painter.clip(frame.left, frame.top, frame.plotWidth, frame.plotHeight);
  const level = Math.min(tiles.top, Math.max(0, Math.floor(-Math.log2(frame.cell * density))));
  if (tiles.top > level) paintLevel(painter, frame, tiles, tiles.top, colors);
  const part = tiles.part && /** @type {import("./tiles.js").Tiles} */ (tiles).imageOf(tiles.part, colors.theme);
  if (part) painter.image(part, frame.left - frame.x, frame.top - frame.y, frame.size * frame.cell, frame.size * frame.cell);
  paintLevel(painter, frame, tiles, level, colors);
  if (frame.cell >= 36) paintNumbers(painter, frame, tiles, colors);
  paintCross(painter, frame, cross, colors);
  painter.unclip();
  paintLabels(painter, frame, labels, cross, colors);
  const width = Math.max(90, Math.min(220, frame.width - frame.left - zoomButtons));
  paintLegend(painter, frame.left, frame.top + frame.plotHeight + 22, width, tiles.scale, frame.size, tiles.legend(colors.theme), colors.quiet);
}

/** @param {MapFrame} frame */
function shown(frame) {
  return {
    top: Math.floor(frame.y / frame.cell), bottom: Math.min(frame.size, Math.ceil((frame.y + frame.plotHeight) / frame.cell)),
    left: Math.floor(frame.x / frame.cell), right: Math.min(frame.size, Math.ceil((frame.x + frame.plotWidth) / frame.cell)),
  };
}

/** @param {Painter} painter @param {MapFrame} frame @param {Tiles} tiles @param {number} level @param {Colors} colors */
function paintLevel(painter, frame, tiles, level, colors) {
  const span = tileSize * 2 ** level, cell = frame.cell * 2 ** level, { top, bottom, left, right } = shown(frame);
  for (let y = Math.floor(top / span); y * span < bottom; ++y) {
    for (let x = Math.floor(left / span); x * span < right; ++x) {
      const tile = tiles.get(level, y, x);
      const image = tile && tiles.imageOf(/** @type {any} */ (tile), colors.theme);
      if (!tile?.grid || !image) continue;
      painter.image(image, frame.left + x * span * frame.cell - frame.x, frame.top + y * span * frame.cell - frame.y, tile.grid.cols * cell, tile.grid.rows * cell);
    }
  }
}

/** @param {Painter} painter @param {MapFrame} frame @param {Tiles} tiles @param {Colors} colors */
function paintNumbers(painter, frame, tiles, colors) {
  const { top, bottom, left, right } = shown(frame);
  for (let row = top; row < bottom; ++row) {
    for (let col = left; col < right; ++col) {
      const value = tiles.value(row, col);
      if (value === null) continue;
      painter.text(value.toFixed(2), frame.left + (col + 0.5) * frame.cell - frame.x, frame.top + (row + 0.5) * frame.cell - frame.y, {
        fill: inkOn(tiles.colorOf(row, col, value, colors.theme)), size: 12, anchor: "middle",
      });
    }
  }
}

/** @param {Painter} painter @param {MapFrame} frame @param {{row: number | null, col: number | null}} cross @param {Colors} colors */
function paintCross(painter, frame, { row, col }, colors) {
  const room = frame.cell < 6 ? 2 : 0, thick = frame.cell + 2 * room;  // around thin rows, not over them
  if (row !== null) painter.frame(frame.left - 2, frame.top + row * frame.cell - frame.y - room, frame.plotWidth + 4, thick, colors.accent, room === 0 ? 1.5 : 1);
  if (col !== null) painter.frame(frame.left + col * frame.cell - frame.x - room, frame.top - 2, thick, frame.plotHeight + 4, colors.accent, room === 0 ? 1.5 : 1);
}

/** @param {Painter} painter @param {MapFrame} frame @param {string[]} labels @param {{row: number | null, col: number | null}} cross @param {Colors} colors */
function paintLabels(painter, frame, labels, cross, colors) {
  const { top, bottom, left, right } = shown(frame);
  const every = Math.ceil(14 / frame.cell);  // labels that would touch are thinned out
  const near = (/** @type {number} */ i, /** @type {number | null} */ chosen) => chosen !== null && i !== chosen && Math.abs(i - chosen) < every;
  const style = (/** @type {boolean} */ chosen) => ({ fill: chosen ? colors.accent : colors.ink, bold: chosen, size: 13 });
  for (let row = top; row < bottom; ++row) {
    const y = frame.top + (row + 0.5) * frame.cell - frame.y;
    if ((row % every !== 0 && row !== cross.row) || near(row, cross.row) || y < frame.top || y > frame.top + frame.plotHeight) continue;
    painter.text(shortened(labels[row], labelLetters), frame.left - 8, y, { ...style(row === cross.row), anchor: "end" });
  }
  for (let col = left; col < right; ++col) {
    const x = frame.left + (col + 0.5) * frame.cell - frame.x;
    if ((col % every !== 0 && col !== cross.col) || near(col, cross.col) || x < frame.left || x > frame.left + frame.plotWidth) continue;
    painter.text(shortened(labels[col], labelLetters), x, frame.top - 8, { ...style(col === cross.col), turn: frame.slanted ? -45 : -90 });
  }
}
