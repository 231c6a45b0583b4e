// Everything that turns the bare formula into what models use, one switch each, with what it changes here and now.
import { farthest } from "../math/matrix.js";
import { walk } from "../math/walk.js";
import { element } from "../ui/dom.js";
import { number } from "../ui/format.js";
import { hindrance, lessonOf } from "./model.js";

/** @typedef {import("./model.js").Book} Book */
/** @typedef {import("./model.js").Switch} Switch */

/** @type {{name: Switch, label: string, text: string}[]} */
export const switches = [
  { name: "projections", label: "Q, K, V", text: "Each word gets three vectors by learned matrices: a query (what it looks for), a key (what it can be found by) and a value (what it gives)." },
  { name: "scale", label: "÷ √d", text: "Scores are divided by the square root of the number of dimensions, so that softmax does not put nearly all the weight on one word." },
  { name: "heads", label: "Two heads", text: "Queries, keys and values are cut in two; each half attends by itself, the results are put side by side, and Wo mixes them. One softmax gives one answer; two heads can give two." },
  { name: "mask", label: "Causal mask", text: "No word sees what comes after it: those scores are −∞, those weights 0. This is how models that write text read it." },
  { name: "positions", label: "Positions", text: "A pattern of sines and cosines, different for each place, is added to every vector. Without it a sentence is a bag of words." },
  { name: "cross", label: "Cross-attention", text: "Queries come from this sentence, keys and values from another: that is how a translation looks at its source." },
];

/**
 * @param {Book} book
 * @param {(name: Switch, on: boolean) => void} turn
 * @param {(name: Switch) => (Node | null)[]} more what stands with a switch: its matrices, its question
 */
export function switchCards(book, turn, more) {
  return switches.map(({ name, label, text }) => {
    const why = hindrance(book.preset, book.on, name), on = book.on[name] && why === "";
    const input = element("input", { type: "checkbox", role: "switch", checked: on, disabled: why !== "", onchange: () => turn(name, input.checked) });
    return element("section", { class: on ? "card on" : "card", "data-switch": name },
      element("h3", {}, element("label", {}, input, ` ${label}`)),
      element("p", {}, text),
      element("p", { class: "changes" }, changes(book, name)),
      ...more(name).filter((node) => node !== null));
  });
}

/**
 * What a switch changes, the others being as they are.
 * @param {Book} book
 * @param {Switch} name
 */
export function changes(book, name) {
  const why = hindrance(book.preset, book.on, name);
  if (why !== "") return why;
  const off = walk(lessonOf(book.preset, { ...book.on, [name]: false })), on = walk(lessonOf(book.preset, { ...book.on, [name]: true }));
  const weights = farthest(off.heads[0].weights, on.heads[0].weights), output = farthest(off.output, on.output);
  const shape = (/** @type {typeof on} */ walked) => `${walked.heads.length > 1 ? `${walked.heads.length} × ` : ""}(${walked.heads[0].weights.length},\u00a0${walked.heads[0].weights[0].length})`;
  const shapes = shape(off) === shape(on) ? "the weights stay " + shape(on) : `the weights go from ${shape(off)} to ${shape(on)}`;
  if (Number.isNaN(weights)) return `On: ${shapes}; the result stays (${on.output.length},\u00a0${on.output[0].length}).`;
  return `On: a weight moves by up to ${number(weights)}, a number of the result by up to ${number(output)}; ${shapes}.`;
}
