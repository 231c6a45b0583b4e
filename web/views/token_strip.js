// The text token by token, to choose one: for views that are about a single token.
import { element } from "../ui/dom.js";
import { tokenLabel, tokenTexts } from "../ui/tokens.js";
import { between, wordOf } from "./strip.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */

export class TokenStrip {
  /**
   * @param {Pane} pane
   * @param {string} label
   */
  constructor(pane, label) {
    this.pane = pane;
    /** @type {HTMLElement[]} */
    this.tokens = [];
    this.element = element("div", {
      class: "strip token-strip", role: "listbox", tabindex: 0, "aria-label": label,
      onclick: (/** @type {Event} */ event) => {
        const place = this.tokens.indexOf(/** @type {HTMLElement} */ (event.target));
        if (place >= 0) this.pane.choosePlace(place);
      },
      onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event),
    });
  }

  /** @param {number} place the chosen token */
  show(place) {
    const { facts } = this.pane.source, { tokens } = facts;
    if (this.tokens.length === 0) {
      const texts = tokenTexts(facts);
      this.tokens = tokens.map((token, i) => wordOf(token, !startsWord(tokens, texts, i), tokenLabel(texts[i])));
      this.tokens.forEach((token, i) => this.element.append(i === 0 || !startsWord(tokens, texts, i) ? "" : " ", ...between(facts, tokens[i - 1], tokens[i]), token));
    }
    this.tokens.forEach((token, i) => {
      if ((token.getAttribute("aria-selected") === "true") === (i === place)) return;
      token.setAttribute("aria-selected", String(i === place));
      token.classList.toggle("looks", i === place);
    });
    const { offsetTop } = this.tokens[place], { scrollTop, clientHeight } = this.element;
    if (offsetTop < scrollTop || offsetTop > scrollTop + clientHeight - 30) this.element.scrollTop = offsetTop - 40;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const steps = /** @type {Record<string, number>} */ ({ ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity });
    const step = steps[event.key];
    if (step === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    this.pane.choosePlace(Math.min(this.tokens.length - 1, Math.max(0, this.pane.place() + step)));
  }
}

/** @param {import("../data/source.js").Token[]} tokens @param {string[]} texts @param {number} i */
function startsWord(tokens, texts, i) {
  const before = tokens[i - 1], token = tokens[i];
  return before === undefined || before.special || token.special || before.part !== token.part || /^\s/.test(texts[i]) || /\s$/.test(texts[i - 1]) || token.place[0] > before.place[1];
}
