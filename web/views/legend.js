// What the colours mean.
import { colorIn, css, placeOf } from "../math/color.js";
import { number } from "../ui/format.js";

export const scaleHeight = 14;  // from one scale of a legend to the next

/**
 * @param {import("../ui/painter.js").Painter} painter
 * @param {number} x
 * @param {number} y
 * @param {number} width
 * @param {number} high
 * @param {number} units of the map
 * @param {{name: string, table: Uint8Array}[]} scales one above the other, with the names of their heads
 * @param {string} ink
 */
export function paintLegend(painter, x, y, width, high, units, scales, ink) {
  const steps = 64;
  for (const { name, table } of scales) {
    for (let i = 0; i < steps; ++i) painter.rect(x + (i * width) / steps, y, width / steps + 0.6, 8, css(colorIn(table, i / (steps - 1))));
    if (name !== "") painter.text(name, x + width + 8, y + 4, { fill: ink, size: 11 });
    y += scaleHeight;
  }
  y -= scaleHeight;
  const narrow = width < 120;  // numbers between the two ends would run into them
  for (const share of narrow ? [0, 1] : placeOf(0.25, 1, units) === 0.5 ? [0, 0.1, 0.5, 1] : [0, 0.5, 1]) {
    painter.text(share === 0 ? "0" : number(share * high), x + placeOf(share, 1, units) * width, y + 19, {
      fill: ink, size: 11, anchor: share === 0 ? "start" : share === 1 ? "end" : "middle",
    });
  }
}
