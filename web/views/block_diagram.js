// One layer as its stream runs through it: norm, attention with its heads, feed-forward part, and the sums.
import { indexOf } from "../data/counting.js";
import { largest } from "../data/order.js";
import { bar, element } from "../ui/dom.js";
import { layerName } from "../ui/format.js";
import { length, signed, signedBar } from "./signed_bar.js";

/** @typedef {import("../data/source.js").Facts} Facts */
/** @typedef {import("../data/source.js").BlockLayer} BlockLayer */
/** @typedef {{heads: number[], rest: number, feedForward: number}} LayerLogits */

/** @typedef {{stream: number, logit: number}} Scales the values of full bars, over all layers */

/** @param {LayerLogits} logits what attention as a whole adds */
export function attentionLogit({ heads, rest }) {
  return heads.reduce((sum, each) => sum + each, rest);
}

/**
 * @param {Facts} facts
 * @param {BlockLayer} layer
 * @param {LayerLogits | null} logits
 * @param {Scales} scales
 * @param {(head: number) => void} openHead
 */
export function blockDiagram(facts, layer, logits, scales, openHead) {
  const { norm, kind, attentionNorm = true, parallel = false } = facts.inside.layers[indexOf(layer.layer)];
  const name = kind === "rms" ? "RMS norm" : "Layer norm", reads = norm === "before" || norm === "around", own = norm === "around" || norm === "inside";
  const stream = (/** @type {string} */ what, /** @type {number} */ size) => element("li", { class: "stream-node" },
    element("span", { class: "what" }, what), bar(size / scales.stream, "stream"), element("span", { class: "number" }, length(size)));
  const operation = (/** @type {string} */ what) => element("p", { class: "operation" }, what);
  const sum = (/** @type {import("../data/source.js").BlockPart} */ { length: size, cosine }, /** @type {number | null} */ logit) => element("li", { class: "sum-node" },
    element("span", { class: "plus", "aria-hidden": "true" }, "+"),
    element("span", {}, "adds ", element("b", { "data-value": size }, length(size)), ` · cosine ${length(cosine)}`, logit === null ? "" : ` · ${signed(logit)} to the logit`),
    norm === "after" ? element("span", { class: "operation" }, `then ${name.replace("Layer", "layer")}`) : "");
  const { attention, feedForward } = layer;

  /** @type {HTMLElement[]} */
  const items = [stream("Stream in", layer.in),
    element("li", { class: "branch" },
      reads && attentionNorm ? operation(`${name}: length ${length(attention.input)}`) : null,
      element("h3", {}, facts.attends[indexOf(layer.layer)].name.startsWith("cross") ? "Attention to the source" : "Attention"),
      headTable(layer, logits, scales, openHead),
      own ? operation(`${name} of all heads together`) : null),
    sum(attention, logits === null ? null : attentionLogit(logits)),
  ];
  if (feedForward !== null) {
    items.push(stream("Stream", layer.middle),
      element("li", { class: "branch" },
        reads ? operation(`${name}${parallel ? " of the stream that came in" : ""}: length ${length(feedForward.input)}`) : null,
        element("h3", {}, parallel ? "Feed-forward part, beside attention" : "Feed-forward part"),
        own ? operation(name) : null),
      sum(feedForward, logits?.feedForward ?? null));
  }
  items.push(stream("Stream out", layer.out));
  return element("ol", { class: "block-diagram", "aria-label": `Layer ${layerName(layer.layer, facts)}, step by step` }, ...items);
}

/**
 * @param {BlockLayer} layer
 * @param {LayerLogits | null} logits
 * @param {Scales} scales
 * @param {(head: number) => void} openHead
 */
function headTable(layer, logits, scales, openHead) {
  const high = largest([...layer.heads, layer.rest]) || 1, biases = layer.rest > 1e-5 * high;
  const row = (/** @type {Node | string} */ name, /** @type {number} */ size, /** @type {number | undefined} */ logit) => element("tr", {},
    element("th", { scope: "row" }, name), element("td", { class: "number", "data-value": size }, length(size)), element("td", { class: "wide" }, bar(size / high)),
    ...(logit === undefined ? [] : [element("td", { class: "number", "data-value": logit }, signed(logit)), element("td", { class: "wide" }, signedBar(logit, scales.logit))]));
  return element("table", { class: "block-heads" },
    element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "head"), element("th", { scope: "col", colspan: 2 }, "adds"), logits === null ? "" : element("th", { scope: "col", colspan: 2 }, "to logit"))),
    element("tbody", {}, ...layer.heads.map((size, i) => row(
      element("button", { type: "button", class: "link", "aria-label": `Head ${i + 1}: open its map`, title: "Open its map", onclick: () => openHead(i + 1) }, String(i + 1)), size, logits?.heads[i])),
    biases ? row("biases", layer.rest, logits?.rest) : ""));
}
