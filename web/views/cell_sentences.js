// What the steps of one weight say, as a layer's scale, softcap, window and sinks would have it.
import { looks } from "../data/layer.js";
import { number } from "../ui/format.js";

/** @typedef {import("../data/source.js").Attends} Attends */

/** @param {number} scale @param {number} size numbers of a query */
export function scaleSentence(scale, size) {
  return Math.abs(scale * Math.sqrt(size) - 1) < 1e-5
    ? `Divided by √${size} = ${number(1 / scale)}, so that scores keep their size whatever the number of dimensions: `
    : `Multiplied by the scale of this layer, ${number(scale)}: `;
}

/** @param {number} softcap */
export function softcapSentence(softcap) {
  return `This layer keeps scores between −${number(softcap)} and ${number(softcap)}: ${number(softcap)} × tanh(score ÷ ${number(softcap)}) = `;
}

/** @param {Attends} attends @param {number} max @param {number} sum */
export function softmaxSentence(attends, max, sum) {
  const start = `Each score of the row, less the largest, ${number(max)}, becomes a power of e; divided by their sum, ${number(sum)}, these add up to `;
  return attends.sinks === undefined ? `${start}1.` : `${start}less than 1: the largest and the sum include a sink, which takes weight and gives no value.`;
}

/**
 * @param {Attends} attends
 * @param {number} query
 * @param {number} key
 * @param {string} from
 * @param {string} to
 */
export function maskSentence(attends, query, key, from, to) {
  if (!looks(attends, query)) return `“${from}” does not look at others in this layer.`;
  if (!looks({ rows: attends.keys }, key)) return `“${to}” is not among the tokens that this layer looks at: the score is −∞, the weight 0.`;
  if (attends.causal && key > query) return `“${to}” comes after “${from}”, and this model does not look ahead: the score is −∞, the weight 0.`;
  if (attends.window !== undefined) {
    const [left, right] = attends.window;
    const outside = (left >= 0 && key < query - left) || (right >= 0 && key > query + right);
    return outside ? `“${to}” is outside the window that “${from}” sees: the score is −∞, the weight 0.` : `“${to}” is inside the window that “${from}” sees.`;
  }
  return attends.causal ? `“${to}” does not come after “${from}”, so it may be looked at.` : "This layer looks both ways: nothing is masked.";
}
