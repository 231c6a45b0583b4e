// The model view: every head of every layer as a thumbnail. One click opens it.
import { indexOf, numbersTo } from "../data/counting.js";
import { largest } from "../data/order.js";
import { unitsOf } from "../data/source.js";
import { headColor } from "../math/color.js";
import { element } from "../ui/dom.js";
import { keyGroup, layerName, nameOfLook, number, sharedBy } from "../ui/format.js";
import { svgPainter } from "../ui/painter.js";
import { headsOf, nameOfHead } from "../ui/state.js";
import { onTheme, styleColor, theme } from "../ui/theme.js";
import { cellsOf, largestOf } from "./cells.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */
/** @typedef {import("../data/source.js").Grid} Grid */
/** @typedef {{layer: number, head: number | null, canvas: HTMLCanvasElement, grid: Grid | null}} Thumbnail */

const buckets = 64;

export class ModelView {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.key = "";
    /** @type {Thumbnail[]} */
    this.thumbnails = [];
    this.element = element("div", { class: "model-view" });
    this.same = element("input", { type: "checkbox", onchange: () => pane.store.set({ scale: this.same.checked ? "same" : "own" }) });
    this.says = element("span", {});
    onTheme(() => this.recolor());
  }

  show() {
    const { facts } = this.pane.source, { method, units, special, first } = this.pane.look();
    const key = JSON.stringify({ method, units, special, first });
    this.recolor();
    if (key === this.key) return;
    this.key = key;
    // Rollout goes through all heads of a layer; there is one map for each depth.
    const heads = method === "rollout" ? [null] : numbersTo(facts.heads);
    this.thumbnails = [];
    const grid = element("div", { class: method === "rollout" ? "heads depth" : "heads" });
    grid.style.setProperty("--heads", String(heads.length));
    for (let layer = 1; layer <= facts.layers; ++layer) {
      if (method !== "rollout") grid.append(element("span", { class: "layer-name" }, `Layer ${layerName(layer, facts)}`));
      for (const head of heads) grid.append(this.thumbnail(layer, head));
      if (method !== "rollout") this.frameGroups(grid, layer);
    }
    this.element.replaceChildren(
      element("p", { class: "note" }, method === "rollout"
        ? "How much of each word has arrived after each layer. Choose one to enlarge it."
        : "Every head of the model; a cell stands for the largest weight of those it covers. Choose one to enlarge it; with Shift held it joins those that are shown together, in a colour of its own."),
      element("p", { class: "note scale-choice" }, element("label", { class: "check" }, this.same, " One scale for all"), this.says),
      grid);
    this.fill(key);
  }

  /** @param {number} layer @param {number | null} head */
  thumbnail(layer, head) {
    const canvas = element("canvas", { width: 1, height: 1, "aria-hidden": "true" });
    this.thumbnails.push({ layer, head, canvas, grid: null });
    return element("button", {
      type: "button", class: "thumbnail",
      "aria-label": nameOfLook({ layer, head, method: head === null ? "rollout" : "raw" }, this.pane.source.facts),
      onclick: (/** @type {MouseEvent} */ event) => (event.shiftKey && head !== null ? this.pane.toggleColor({ layer, head }) : this.pane.store.set({ tab: "map", layer, head, colors: "" })),
    }, canvas, element("span", { class: head === null ? "depth-name" : "head-name", "aria-hidden": "true" }, head === null ? `After layer ${layerName(layer, this.pane.source.facts)}` : String(head)));
  }

  // A frame around the heads of a layer that share keys and values, which takes the place of no thumbnail.
  /** @param {HTMLElement} grid @param {number} layer */
  frameGroups(grid, layer) {
    const { facts } = this.pane.source;
    for (const thumbnail of this.thumbnails) {
      if (thumbnail.layer !== layer || thumbnail.head === null) continue;
      const group = keyGroup(layer, thumbnail.head, facts), button = /** @type {HTMLElement} */ (thumbnail.canvas.parentElement);
      if (group === null) return;
      button.classList.add("grouped");
      button.classList.toggle("group-start", thumbnail.head === group.first);
      button.classList.toggle("group-end", thumbnail.head === group.last);
      button.title = `Keys and values of ${sharedBy(group)}`;
      if (thumbnail.head === group.first) button.append(element("span", { class: "key-name", "aria-hidden": "true" }, `keys ${group.number}`));
    }
    grid.classList.add("with-groups");
  }

  // One after the other, as long as these are the ones to be shown.
  /** @param {string} key */
  async fill(key) {
    const { method, units, special, first } = this.pane.look();
    delete this.element.dataset.ready;
    for (const thumbnail of this.thumbnails) {
      const { layer, head } = thumbnail;
      try {
        thumbnail.grid = await this.pane.source.summary({ layer, head, method, units, special, first, buckets });
      } catch {
        continue;  // the reading is gone; the shell says so
      }
      if (key !== this.key) return;
      this.color(thumbnail);
    }
    this.recolor();
    this.pane.beside?.views.model.recolor();
    this.element.dataset.ready = "true";
  }

  // After the scale has changed, which they may share with those of the pane beside.
  recolor() {
    const { scale, colors } = this.pane.store.state, same = scale === "same", chosen = headsOf(colors).map(nameOfHead);
    const high = same ? this.high() : null;
    this.same.checked = same;
    this.says.textContent = high !== null ? `Coloured from 0 to ${number(high)}.` : "Each is coloured from 0 to its own largest weight.";
    for (const thumbnail of this.thumbnails) {
      this.color(thumbnail, high);
      const place = thumbnail.head === null ? -1 : chosen.indexOf(nameOfHead({ layer: thumbnail.layer, head: thumbnail.head }));
      thumbnail.canvas.style.outline = place < 0 ? "" : `3px solid ${headColor(place, theme())}`;
    }
  }

  /** The largest weight of all heads, here and in the pane beside this one. */
  high() {
    const largestHere = (/** @type {ModelView} */ view) => largest(view.thumbnails.map(({ grid }) => (grid === null ? 0 : largestOf(grid))));
    return Math.max(largestHere(this), this.pane.beside === null ? 0 : largestHere(this.pane.beside.views.model));
  }

  /** @param {Thumbnail} thumbnail @param {number | null} high the value of the last colour; null: its own largest */
  color({ grid, canvas }, high = null) {
    const { units, special, first } = this.pane.look();
    if (grid !== null) cellsOf(grid, high ?? largestOf(grid), unitsOf(this.pane.source.facts, units, special, first).length, theme(), canvas);
  }

  /** @param {string} title */
  svg(title) {
    const { facts } = this.pane.source, across = this.thumbnails[0].head === null ? 1 : facts.heads, side = 64, gap = 8, left = 64;
    // A wider gap between heads that share no keys and values, and their name above.
    const group = across === 1 ? null : keyGroup(1, 1, facts), together = group === null ? across : group.last, apart = 10, top = group === null ? 24 : 40;
    const leftOf = (/** @type {number} */ place) => left + place * (side + gap) + Math.floor(place / together) * apart;
    const width = leftOf(across - 1) + side + gap + 8, height = top + facts.layers * (side + gap) + 32;
    const painter = svgPainter(width, height, title), ink = styleColor("quiet");
    painter.rect(0, 0, width, height, styleColor("paper"));
    this.thumbnails.forEach(({ layer, head, canvas }, i) => {
      const x = leftOf(i % across), y = top + indexOf(layer) * (side + gap);
      if (i % across === 0) painter.text(`Layer ${layerName(layer, facts)}`, left - 10, y + side / 2, { fill: ink, size: 11, anchor: "end" });
      if (layer === 1 && head !== null) painter.text(String(head), x + side / 2, top - 12, { fill: ink, size: 11, anchor: "middle" });
      if (group !== null && layer === 1 && (i % together) === 0) painter.text(`keys ${i / together + 1}`, x, top - 28, { fill: ink, size: 11 });
      painter.image(canvas, x, y, side, side);
    });
    painter.text(title, left, height - 14, { fill: styleColor("ink") });
    return painter.finish();
  }
}
