// A vector as bars, one for each dimension, up for what is positive and down for what is negative.
import { largest } from "../data/order.js";
import { number } from "../ui/format.js";

const namespace = "http://www.w3.org/2000/svg";

/**
 * @param {string} tag
 * @param {Record<string, string | number>} attributes
 */
function shape(tag, attributes) {
  const made = document.createElementNS(namespace, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  return made;
}

/**
 * @param {ArrayLike<number>} values
 * @param {string} label what it is, for those who cannot see it
 * @param {number} [high] the value of a full bar; without it the largest of these
 */
export function vectorBars(values, label, high = 0) {
  const all = Array.from(values), height = 46, pitch = 10;
  const most = high || Math.max(1e-12, largest(all.map(Math.abs)));
  const chart = shape("svg", { viewBox: `0 0 ${all.length * pitch} ${height}`, preserveAspectRatio: "none", class: "vector", role: "img" });
  const title = shape("title", {});
  title.textContent = `${label}: ${all.map(number).join(", ")}`;
  chart.append(title, shape("line", { x1: 0, x2: all.length * pitch, y1: height / 2, y2: height / 2, class: "axis" }));
  all.forEach((value, i) => {
    if (Number.isNaN(value)) return;  // has no length
    const length = Math.min(1, Math.abs(value) / most) * (height / 2 - 1);
    chart.append(shape("rect", {
      x: i * pitch + 1, width: pitch - 2, y: value >= 0 ? height / 2 - length : height / 2, height: length,
      class: value >= 0 ? "up" : "down",
    }));
  });
  return chart;
}
