// Lengths and logits as the views of the block show them; a bar to the right for what is added, to the left for what is taken away.
import { element } from "../ui/dom.js";
import { short } from "../ui/format.js";

/**
 * @param {number} value
 * @param {number} most the value of a full bar
 */
export function signedBar(value, most) {
  const inner = element("span", { class: value >= 0 ? "fill up" : "fill down" }), share = most > 0 && Number.isFinite(value) ? Math.min(1, Math.abs(value) / most) : 0;
  inner.style.width = `${50 * share}%`;
  inner.style.left = `${value >= 0 ? 50 : 50 - 50 * share}%`;
  return element("span", { class: "bar signed", "aria-hidden": "true" }, inner);
}

/** @param {number} value with its sign, always */
export function signed(value) {
  if (!Number.isFinite(value)) return "not a number";
  const text = Math.abs(value).toFixed(2);
  return `${value < 0 && Number(text) !== 0 ? "−" : "+"}${text}`;
}

/** @param {number} value of a vector */
export function length(value) {
  return Number.isFinite(value) ? short(value) : "not a number";
}
