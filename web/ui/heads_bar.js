// The heads worth seeing in this text, each with what it does; the mean over all, one key away; and several heads at once, in colour.
import { headColor } from "../math/color.js";
import { element } from "./dom.js";
import { layerName, nameOfLook, percent, shortened } from "./format.js";
import { headsOf, nameOfHead } from "./state.js";
import { onTheme, theme } from "./theme.js";

/** @typedef {import("./pane.js").Pane} Pane */
/** @typedef {import("../data/source.js").Notable} Notable */

const together = 3;  // heads that are shown in colour at first

export class HeadsBar {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.notable = pane.source.facts.notable ?? [];
    this.list = element("div", { class: "heads-list", role: "group", "aria-label": "Heads worth seeing" });
    this.says = element("p", { class: "says" });
    this.several = element("input", { type: "checkbox", onchange: () => this.turnColors(this.several.checked) });
    this.element = element("div", { class: "heads-bar" }, this.list, this.says);
    onTheme(() => this.show());
  }

  show() {
    const { layer, head, method, colors } = this.pane.store.state, { facts } = this.pane.source;
    const shown = headsOf(colors), names = shown.map(nameOfHead), colored = names.length > 0;
    this.several.checked = colored;
    this.several.disabled = method === "rollout";
    const focused = /** @type {HTMLElement | null} */ (this.list.contains(document.activeElement) ? document.activeElement : null)?.dataset.head;
    const others = shown.filter((each) => !this.notable.some((known) => nameOfHead(known) === nameOfHead(each)));
    const chosen = layer !== null && head !== null ? { layer, head } : null;
    const addable = colored && chosen !== null && !names.includes(nameOfHead(chosen)) && !this.notable.some((known) => nameOfHead(known) === nameOfHead(chosen)) ? chosen : null;
    const isMean = !colored && layer === null && method !== "rollout";
    this.list.replaceChildren(
      ...this.notable.map((each) => this.button(each, this.doing(each), colored ? names.indexOf(nameOfHead(each)) : null)),
      ...others.map((each) => this.button(each, "", names.indexOf(nameOfHead(each)))),
      ...(addable === null ? [] : [element("button", { type: "button", "data-head": "add", onclick: () => this.pane.toggleColor(addable) }, `+ ${nameOfHead(addable)}`)]),
      element("button", { type: "button", class: "worth", "data-head": "mean", "aria-pressed": String(isMean), title: "Key: M", onclick: () => this.pane.store.set({ layer: null, head: null, colors: "", steps: false }) }, "Mean of all"),
      element("label", { class: "check", title: "Each head in a colour of its own; choose which above, in the lists, or in All heads with Shift held" }, this.several, " Several in colour"));
    if (focused !== undefined) /** @type {HTMLElement | null} */ (this.list.querySelector(`[data-head="${focused}"]`))?.focus();
    this.says.textContent = colored ? "A cell or a line has the colour of the head that gives most." : this.sentence(facts);
  }

  /** @param {import("../data/source.js").Facts} facts */
  sentence(facts) {
    const { layer, head, method } = this.pane.store.state, known = this.notable.find((each) => each.layer === layer && each.head === head);
    const name = nameOfLook(this.pane.look(), facts), capital = name[0].toUpperCase() + name.slice(1);
    if (known !== undefined && method !== "rollout") return `${capital}: ${known.says}.`;
    return `${capital}.`;
  }

  /**
   * @param {{layer: number, head: number}} each
   * @param {string} does
   * @param {number | null} color its place among the heads in colour, -1: it is not one of them; null: one map is shown
   */
  button(each, does, color) {
    const { layer, head } = this.pane.store.state, name = `${layerName(each.layer, this.pane.source.facts)}.${each.head}`;
    const pressed = color === null ? each.layer === layer && each.head === head : color >= 0;
    const made = element("button", {
      type: "button", class: "worth", "data-head": nameOfHead(each), "aria-pressed": String(pressed),
      onclick: () => (color === null ? this.pane.store.set({ layer: each.layer, head: each.head, ...this.notRollout() }) : this.pane.toggleColor(each)),
    }, element("b", {}, name), does === "" ? "" : ` ${does}`);
    if (color !== null) {
      const swatch = element("span", { class: "swatch", "aria-hidden": "true" });
      if (color >= 0) swatch.style.background = headColor(color, theme());
      made.prepend(swatch);
    }
    return made;
  }

  /** @param {Notable} head */
  doing({ role, links, share }) {
    if (role !== "links") return `${role === "previous" ? "word before" : "word after"} ${percent(share)}`;
    const { words } = this.pane.source.facts, [from, to] = links[0];
    return `${shortened(words[from].text, 14)} → ${shortened(words[to].text, 14)} ${percent(share)}`;
  }

  notRollout() {
    return this.pane.store.state.method === "rollout" ? { method: /** @type {const} */ ("raw") } : {};
  }

  /** @param {boolean} on */
  turnColors(on) {
    const { layer, head } = this.pane.store.state, here = layer !== null && head !== null ? [{ layer, head }] : [];
    const names = new Set([...here, ...this.notable.filter(({ role }) => role === "links"), ...this.notable].map(nameOfHead));
    const heads = names.size === 0 ? ["1.1", "1.2"] : [...names].slice(0, together);
    this.pane.store.set({ colors: on ? heads.join(" ") : "" });
  }

  // The mean, and back to the head that was shown; of a text in which none stands out, the first head.
  mean() {
    const { layer, head, colors } = this.pane.store.state;
    if (layer !== null || colors !== "") {
      this.before = { layer, head, colors };
      this.pane.store.set({ layer: null, head: null, colors: "", steps: false });
      return;
    }
    const best = this.notable[0] ?? { layer: 1, head: 1 };
    this.pane.store.set({ ...(this.before ?? { layer: best.layer, head: best.head }), ...this.notRollout() });
  }

  /** The next head worth seeing, or the one before. @param {number} step */
  next(step) {
    if (this.notable.length === 0) return;
    const { layer, head } = this.pane.store.state, now = this.notable.findIndex((each) => each.layer === layer && each.head === head);
    const place = now < 0 ? (step > 0 ? 0 : this.notable.length - 1) : (now + step + this.notable.length) % this.notable.length;
    this.pane.store.set({ layer: this.notable[place].layer, head: this.notable[place].head, colors: "", ...this.notRollout() });
  }
}
