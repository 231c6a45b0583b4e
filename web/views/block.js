// The whole block: the stream of one token through all layers, and one layer in detail.
import { largest } from "../data/order.js";
import { bar, element, problemOf } from "../ui/dom.js";
import { layerName, number } from "../ui/format.js";
import { svgPainter } from "../ui/painter.js";
import { styleColor } from "../ui/theme.js";
import { quoted, tokenLabel, tokenTexts } from "../ui/tokens.js";
import { attentionLogit, blockDiagram } from "./block_diagram.js";
import { length, signed, signedBar } from "./signed_bar.js";
import { TokenStrip } from "./token_strip.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */
/** @typedef {import("../data/source.js").Block} Block */

export class BlockView {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.asked = 0;
    this.key = "";
    /** @type {Block | null} */
    this.found = null;
    this.strip = new TokenStrip(pane, "The text, token by token. Choose the token whose path is followed.");
    this.problem = element("div", {});
    this.title = element("h2", {});
    this.note = element("p", { class: "note" });
    this.candidates = element("select", { onchange: () => pane.store.set({ candidate: Number(this.candidates.value) }) });
    this.which = element("label", { class: "which" }, "Logit of ", this.candidates);
    this.layers = element("table", { class: "stream-table" });
    this.layers.addEventListener("keydown", (event) => this.onKey(event));
    this.detailTitle = element("h2", {});
    this.detail = element("div", {});
    this.columns = element("div", { class: "block-columns" },
      element("section", { "aria-label": "All layers" }, this.title, this.note, this.which, element("div", { class: "wide-table" }, this.layers)),
      element("section", { "aria-label": "One layer" }, this.detailTitle, element("p", { class: "note" }, "Each part reads the stream and adds to it. Lengths are Euclidean; a cosine near 0 is something new, near −1 takes back what is there."), this.detail));
    this.element = element("div", { class: "block-view" }, this.strip.element, this.problem, this.columns);
  }

  async show() {
    const { source, store } = this.pane, place = this.pane.place(), asked = ++this.asked, [from, to] = source.blockPlaces;
    this.strip.show(place);
    const missing = from === to ? "This page was written by an older version, which did not carry the path of tokens through the blocks."
      : place < from ? `This page carries the path of tokens from ${from + 1} on; attend explore has it for every token.` : undefined;
    this.columns.hidden = missing !== undefined;
    this.problem.replaceChildren(problemOf(missing) ?? "");
    if (missing !== undefined) {
      this.element.dataset.ready = "true";
      return;
    }
    delete this.element.dataset.ready;
    try {
      const token = await this.offer(place);
      const key = `${place} ${token}`;
      if (asked !== this.asked) return;
      if (key !== this.key) {
        const found = await source.block({ place, token });
        if (asked !== this.asked) return;
        this.found = found;
        this.key = key;
      }
      this.draw();
    } catch (error) {
      if (asked === this.asked) this.problem.replaceChildren(problemOf(error instanceof Error ? error.message : String(error)) ?? "");
    }
    if (asked === this.asked && store.state.tab === "block") this.element.dataset.ready = "true";
  }

  /**
   * The tokens whose logit can be taken apart at a place; returns the chosen one.
   * @param {number} place
   * @returns {Promise<number | null>}
   */
  async offer(place) {
    const { source, store } = this.pane, [from, to] = source.nextPlaces, asked = this.asked;
    const possible = source.next !== undefined && source.facts.inside.logits === true && place >= from && place < to;
    const last = possible ? (await source.next?.({ place }))?.layers.at(-1) : undefined;
    if (asked !== this.asked) return null;
    this.which.hidden = last === undefined;
    if (last === undefined) return null;
    const { candidate } = store.state, known = last.tokens.indexOf(candidate ?? last.tokens[0]), chosen = known < 0 && candidate !== null ? candidate : last.tokens[Math.max(0, known)];
    const options = last.tokens.map((token, i) => element("option", { value: token }, quoted(last.texts[i])));
    if (known < 0 && candidate !== null) options.push(element("option", { value: candidate }, `token ${candidate}`));
    this.candidates.replaceChildren(...options);
    this.candidates.value = String(chosen);
    return chosen;
  }

  layer() {
    const layers = this.found?.layers ?? [], chosen = layers.findIndex(({ layer }) => layer === this.pane.store.state.layer);
    return chosen < 0 ? layers.length - 1 : chosen;
  }

  scales() {
    const layers = this.found?.layers ?? [], logits = this.found?.logits ?? null;
    const parts = logits?.layers.flatMap((each) => [attentionLogit(each), each.feedForward, ...each.heads]) ?? [];
    return {
      stream: largest(layers.flatMap((each) => [each.in, each.middle, each.out])) || 1,
      part: largest(layers.flatMap(({ attention, feedForward }) => [attention.length, feedForward?.length ?? 0])) || 1,
      logit: largest([...parts, logits?.embedding ?? 0].map(Math.abs)) || 1,
    };
  }

  draw() {
    if (this.found === null || this.found.layers.length === 0) return;
    const { facts } = this.pane.source, { layers, logits, place } = this.found, scales = this.scales(), chosen = this.layer();
    this.title.replaceChildren("The stream of ", element("q", {}, tokenLabel(tokenTexts(facts)[place])));
    this.note.textContent = logits === null
      ? facts.inside.logits && !this.which.hidden ? "This page carries the parts of the logits of the likeliest tokens only; attend explore has them for every token." : "How long the stream is after each layer, and how much attention and the feed-forward part add."
      : `The logit of ${quoted(logits.text)} is ${number(logits.logit)}: the sum of what each part adds to it, the final norm held fixed${Math.abs(logits.constant) > 1e-6 ? `, and ${signed(logits.constant)} from that norm's bias` : ""}.`;
    const cells = (/** @type {number | null} */ value, /** @type {number} */ scale) => [element("td", { class: "number" }, value === null ? "" : length(value)), element("td", { class: "thin" }, value === null ? "" : bar(value / scale))];
    const logitCells = (/** @type {number | null} */ value) => (logits === null ? [] : [element("td", { class: "number" }, value === null ? "" : signed(value)), element("td", { class: "thin" }, value === null ? "" : signedBar(value, scales.logit))]);
    this.layers.replaceChildren(
      element("thead", {}, ...headRows(logits !== null)),
      element("tbody", {},
        element("tr", {}, element("th", { scope: "row" }, "embedding"), ...cells(layers[0].in, scales.stream), ...cells(null, 1), ...logitCells(logits?.embedding ?? null), ...cells(null, 1), ...logitCells(null)),
        ...layers.map((layer, i) => element("tr", { class: i === chosen ? "chosen" : null },
          element("th", { scope: "row" }, element("button", { type: "button", class: "link", "data-layer": layer.layer, "aria-pressed": String(i === chosen), "aria-label": `Layer ${layerName(layer.layer, facts)}`, onclick: () => this.pane.store.set({ layer: layer.layer, head: null }) }, layerName(layer.layer, facts))),
          ...cells(layer.out, scales.stream), ...cells(layer.attention.length, scales.part), ...logitCells(logits === null ? null : attentionLogit(logits.layers[i])),
          ...cells(layer.feedForward?.length ?? null, scales.part), ...logitCells(layer.feedForward === null ? null : logits?.layers[i].feedForward ?? null)))));
    const layer = layers[chosen];
    this.detailTitle.textContent = `Layer ${layerName(layer.layer, facts)}`;
    this.detail.replaceChildren(blockDiagram(facts, layer, logits?.layers[chosen] ?? null, scales, (head) => this.pane.store.set({ tab: "map", layer: layer.layer, head })));
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0, layers = this.found?.layers ?? [];
    if (step === 0 || event.ctrlKey || event.metaKey || event.altKey || layers.length === 0) return;
    event.preventDefault();
    const next = layers[Math.min(layers.length - 1, Math.max(0, this.layer() + step))].layer;
    this.pane.store.set({ layer: next, head: null });
    // Drawn again when the numbers are there, which they are.
    setTimeout(() => /** @type {HTMLElement | null} */ (this.layers.querySelector(`[data-layer="${next}"]`))?.focus());
  }

  /** @param {string} title */
  svg(title) {
    const { facts } = this.pane.source, ink = styleColor("ink"), quiet = styleColor("quiet"), layers = this.found?.layers ?? [], logits = this.found?.logits ?? null;
    const step = 20, top = 72, wide = 150, columns = logits === null ? 3 : 5, width = 110 + columns * wide, height = top + (layers.length + 1) * step + 40;
    const painter = svgPainter(width, height, title), scales = this.scales();
    painter.rect(0, 0, width, height, styleColor("paper"));
    if (this.found === null) return painter.finish();
    painter.text(`The stream of “${tokenLabel(tokenTexts(facts)[this.found.place])}”${logits === null ? "" : `, and the logit of ${quoted(logits.text)}: ${number(logits.logit)}`}`, 12, 22, { fill: ink, bold: true, size: 15 });
    const at = (/** @type {number} */ column) => 100 + column * wide;
    ["stream", "attention adds", "feed-forward adds", ...(logits === null ? [] : ["attention, logit", "feed-forward, logit"])].forEach((name, c) => painter.text(name, at(c), top - 16, { fill: quiet, size: 11 }));
    const lengthAt = (/** @type {number} */ column, /** @type {number} */ y, /** @type {number} */ value, /** @type {number} */ scale) => {
      painter.rect(at(column), y - 4, (wide - 70) * Math.min(1, value / scale), 8, styleColor("accent"), 0.75);
      painter.text(length(value), at(column) + wide - 14, y, { fill: ink, size: 11, anchor: "end" });
    };
    const logit = (/** @type {number} */ column, /** @type {number} */ y, /** @type {number} */ value) => {
      const half = (wide - 70) / 2, share = half * Math.min(1, Math.abs(value) / scales.logit);
      painter.rect(at(column) + half - (value < 0 ? share : 0), y - 4, share, 8, styleColor(value < 0 ? "quiet" : "accent"), 0.75);
      painter.text(signed(value), at(column) + wide - 14, y, { fill: ink, size: 11, anchor: "end" });
    };
    painter.text("embedding", 88, top + step / 2, { fill: quiet, size: 11, anchor: "end" });
    lengthAt(0, top + step / 2, layers[0].in, scales.stream);
    if (logits !== null) logit(3, top + step / 2, logits.embedding);
    layers.forEach((layer, i) => {
      const y = top + (i + 1.5) * step;
      painter.text(layerName(layer.layer, facts), 88, y, { fill: i === this.layer() ? styleColor("accent") : quiet, size: 11, anchor: "end" });
      lengthAt(0, y, layer.out, scales.stream);
      lengthAt(1, y, layer.attention.length, scales.part);
      if (layer.feedForward !== null) lengthAt(2, y, layer.feedForward.length, scales.part);
      if (logits === null) return;
      logit(3, y, attentionLogit(logits.layers[i]));
      if (layer.feedForward !== null) logit(4, y, logits.layers[i].feedForward);
    });
    painter.text(title, 12, height - 16, { fill: ink });
    return painter.finish();
  }
}

// Over the columns of the table; each number has a bar beside it.
/** @param {boolean} logits */
function headRows(logits) {
  const name = (/** @type {string} */ text, /** @type {Record<string, unknown>} */ more = {}) => element("th", { scope: "col", colspan: 2, ...more }, text);
  const layer = (/** @type {number} */ rowspan) => name("layer", { colspan: 1, rowspan });
  if (!logits) return [element("tr", {}, layer(1), name("stream"), name("attention adds"), name("feed-forward adds"))];
  return [
    element("tr", {}, layer(2), name("stream", { rowspan: 2 }), name("attention", { scope: "colgroup", colspan: 4 }), name("feed-forward", { scope: "colgroup", colspan: 4 })),
    element("tr", {}, name("adds"), name("to logit"), name("adds"), name("to logit")),
  ];
}
