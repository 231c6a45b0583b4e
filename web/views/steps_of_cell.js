// The steps from a query and a key to one weight, in one head, between two tokens.
import { indexOf } from "../data/counting.js";
import { looks } from "../data/layer.js";
import { largest, largestFirst } from "../data/order.js";
import { element, scrolling } from "../ui/dom.js";
import { keyGroup, layerName, number, percent, sharedBy } from "../ui/format.js";
import { vectorBars } from "./bars.js";
import { maskSentence, scaleSentence, softcapSentence, softmaxSentence } from "./cell_sentences.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */
/** @typedef {import("../data/source.js").Unit} Unit */
/** @typedef {import("../data/source.js").Cell} Cell */

const few = 8;  // keys of the softmax row

/**
 * @param {Pane} pane
 * @param {Unit} from
 * @param {Unit} to
 * @param {number} layer
 * @param {number} head
 * @param {boolean} picked whether this head was picked for the reader
 * @returns {Promise<Node[]>}
 */
export async function stepsOfCell(pane, from, to, layer, head, picked) {
  const { source } = pane, pairs = [];
  for (let query = from.first; query < from.last; ++query) {
    const { weights } = await source.scoresRow({ layer, head, query });
    for (let key = to.first; key < to.last; ++key) pairs.push({ query, key, weight: weights[key] });
  }
  const strongest = pairs.reduce((best, pair) => (pair.weight > best.weight ? pair : best));
  const body = element("div", { class: "cell-steps" });
  const fill = async (/** @type {{query: number, key: number}} */ pair) => body.replaceChildren(...(await cellSteps(pane, layer, head, pair.query, pair.key)));
  await fill(strongest);
  const name = `Layer ${layerName(layer, pane.source.facts)}, head ${head}`;
  return [
    element("h3", {}, picked ? `How the strongest of them is made: layer ${layerName(layer, pane.source.facts)}, head ${head}` : name),
    ...(pairs.length === 1 ? [] : [tokenPairs(pane, pairs, from, to, strongest, fill)]),
    body,
  ];
}

/**
 * Words of several tokens: which pair of tokens is meant, and how their weights make the word's.
 * @param {Pane} pane
 * @param {{query: number, key: number, weight: number}[]} pairs
 * @param {Unit} from
 * @param {Unit} to
 * @param {{query: number, key: number}} chosen
 * @param {(pair: {query: number, key: number}) => void} choose
 */
function tokenPairs(pane, pairs, from, to, chosen, choose) {
  const { tokens } = pane.source.facts, queries = from.last - from.first;
  const total = pairs.reduce((sum, pair) => sum + pair.weight, 0) / queries;
  const select = element("select", { onchange: (/** @type {Event} */ event) => choose(pairs[/** @type {HTMLSelectElement} */ (event.target).selectedIndex]) },
    ...pairs.map((pair) => element("option", { selected: pair.query === chosen.query && pair.key === chosen.key }, `${tokens[pair.query].text} → ${tokens[pair.key].text}  ${number(pair.weight)}`)));
  return element("p", {},
    `${queries > 1 ? `The mean over the ${queries} tokens of “${from.text}”` : `“${from.text}”`}${to.last - to.first > 1 ? `, the sum over the ${to.last - to.first} tokens of “${to.text}”` : ` on “${to.text}”`}: ${number(total)}. `,
    element("label", {}, "One of these pairs: ", select));
}

/**
 * @param {Pane} pane
 * @param {number} layer
 * @param {number} head
 * @param {number} query
 * @param {number} key
 * @returns {Promise<Node[]>}
 */
async function cellSteps(pane, layer, head, query, key) {
  const { source } = pane, { tokens } = source.facts, attends = source.facts.attends[indexOf(layer)];
  const cell = await source.cell({ layer, head, query, key });
  const { scores, weights } = await source.scoresRow({ layer, head, query });
  const from = tokens[query].text, to = tokens[key].text;
  const products = Array.from(cell.q, (value, i) => value * cell.k[i]), dot = products.reduce((sum, each) => sum + each, 0);
  const high = largest([...cell.q, ...cell.k].map(Math.abs));
  const group = keyGroup(layer, head, source.facts), whose = group === null ? "" : ` (${sharedBy(group)})`;
  const steps = [
    step("What is asked, and what is offered", [
      vector(`q of “${from}”`, cell.q, high), vector(`k of “${to}”${whose}`, cell.k, high), vector("q × k, dimension by dimension", products),
      sum(`These ${products.length} products add up to q · k = `, dot),
    ]),
    step("Scale", [sum(scaleSentence(cell.scale, cell.q.length), dot * cell.scale)]),
  ];
  const { softcap = 0 } = attends, capped = softcap > 0 ? softcap * Math.tanh((dot * cell.scale) / softcap) : dot * cell.scale;
  if (softcap > 0) steps.push(step("Softcap", [sum(softcapSentence(softcap), capped)]));
  if (cell.bias !== 0) steps.push(step("Distance", [sum(`This model adds a number for the distance between the two tokens, ${number(cell.bias)}: `, capped + cell.bias)]));
  steps.push(step("Mask", [element("p", {}, maskSentence(attends, query, key, from, to))]));
  if (!looks(attends, query)) return [element("ol", {}, ...steps)];
  steps.push(step("Softmax", [
    element("p", {}, softmaxSentence(attends, cell.max, cell.sum)),
    softmaxTable(scores, weights, cell.max, key, tokens),
    sum(`e^(${number(cell.score)} − ${number(cell.max)}) ÷ ${number(cell.sum)} = `, cell.weight),
  ]));
  const taken = Array.from(cell.v, (value) => value * cell.weight), tall = largest(cell.v.map(Math.abs));
  steps.push(step("What is taken", [vector(`v of “${to}”${whose}`, cell.v, tall), vector(`${number(cell.weight)} × v`, taken, tall)]));
  if (cell.contribution !== null) steps.push(step("Contribution", [sum(`By its length after the output projection, this vector is the following share of all that “${from}” takes in this head: `, cell.contribution, percent(cell.contribution))]));
  return [element("ol", {}, ...steps)];
}

/** @param {string} title @param {Node[]} content */
function step(title, content) {
  return element("li", {}, element("h4", {}, title), ...content);
}

/** @param {string} text @param {number} value @param {string} [shown] */
function sum(text, value, shown = number(value)) {
  return element("p", { class: "sum" }, text, element("b", { "data-value": value }, shown));
}

/** @param {string} label @param {ArrayLike<number>} values @param {number} [high] */
function vector(label, values, high) {
  return element("figure", {}, element("figcaption", {}, label), vectorBars(values, label, high));
}

/**
 * The largest of a row, and the one in question.
 * @param {Float64Array} scores
 * @param {Float64Array} weights
 * @param {number} max
 * @param {number} key
 * @param {import("../data/source.js").Token[]} tokens
 */
function softmaxTable(scores, weights, max, key, tokens) {
  const order = largestFirst(weights);
  const shown = order.slice(0, few);
  if (!shown.includes(key)) shown.push(key);
  const rest = order.filter((j) => !shown.includes(j)).reduce((total, j) => total + weights[j], 0);
  return scrolling(element("table", { class: "softmax" },
    element("thead", {}, element("tr", {}, ...["token", "score", "e^(score − max)", "weight"].map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {},
      ...shown.map((j) => element("tr", { class: j === key ? "chosen" : null }, element("th", { scope: "row" }, tokens[j].text),
        ...[scores[j], Math.exp(scores[j] - max), weights[j]].map((value) => element("td", { class: "number" }, number(value))))),
      ...(shown.length === order.length ? [] : [element("tr", { class: "rest" }, element("th", { scope: "row" }, order.length - shown.length === 1 ? "1 other" : `${order.length - shown.length} others`), element("td", {}), element("td", {}), element("td", { class: "number" }, number(rest)))]))));
}
