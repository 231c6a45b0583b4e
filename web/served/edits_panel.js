// Heads and links switched off: the model reads the text once more without them, and the vectors that come out are compared.
import { largest, largestFirst } from "../data/order.js";
import { shownUnits } from "../ui/pane.js";
import { bar, element, problemOf } from "../ui/dom.js";
import { number, percent } from "../ui/format.js";
import { editsOf } from "../ui/state.js";

const few = 8; // words that moved most

export class EditsPanel {
  /**
   * @param {import("../ui/pane.js").Pane} pane
   * @param {import("../data/source.js").Source} source
   */
  constructor(pane, source) {
    this.pane = pane;
    this.source = source;
    /** @type {string[]} */
    this.edits = [];
    this.asked = 0;
    this.tried = "";  // of the address; what was refused is not asked for again
    this.head = element("button", { type: "button", onclick: () => this.add(this.chosenHead()) });
    this.link = element("button", { type: "button", onclick: () => this.add(this.chosenLink()) });
    this.input = element("input", { type: "text", placeholder: "4.2, it>animal, 4.2:it>animal=0.5", "aria-label": "Switch off" });
    this.list = element("ul", { class: "chips", "aria-label": "Switched off" });
    this.result = element("div", { class: "result", "aria-live": "polite" });
    this.element = element("details", { class: "panel" }, element("summary", {}, "Switch heads and links off"),
      element("form", { class: "row", onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        this.add(this.input.value.trim());
        this.input.value = "";
      } }, this.head, this.link, this.input, element("button", { type: "submit" }, "Switch off")),
      this.list, this.result);
    pane.store.listen((now) => {
      this.offer();
      this.follow(now.off);
    });
    this.offer();
    this.follow(pane.store.state.off);
  }

  /** As the program names it, "4.2", or "4" for a layer; empty where none is chosen. */
  chosenHead() {
    const { layer, head } = this.pane.store.state;
    return layer === null ? "" : head === null ? String(layer) : `${layer}.${head}`;
  }

  /** "it>animal", numbered where a word occurs more than once; empty where no pair of words is chosen. */
  chosenLink() {
    const { row, col, units } = this.pane.store.state;
    if (row === null || col === null || units !== "words") return "";
    const all = this.source.facts.words, shown = shownUnits(this.source.facts, this.pane.store.state);
    return `${numbered(all, shown[row])}>${numbered(all, shown[col])}`;
  }

  offer() {
    const head = this.chosenHead(), link = this.chosenLink();
    this.head.textContent = head === "" ? "Choose a head" : head.includes(".") ? `Head ${head}` : `Layer ${head}`;
    this.head.disabled = head === "" || this.edits.includes(head);
    this.link.textContent = link === "" ? "Choose a cell" : link.replace(">", " → ");
    this.link.disabled = link === "" || this.edits.includes(link);
  }

  // What the address says is switched off, is.
  /** @param {string} off */
  follow(off) {
    if (off === this.edits.join("\n") || off === this.tried) return;
    this.tried = off;
    this.element.open = true;
    this.change(editsOf(off));
  }

  /** @param {string} edit */
  add(edit) {
    if (edit === "" || this.edits.includes(edit)) return;
    this.change([...this.edits, edit]);
  }

  /** @param {string[]} edits */
  async change(edits) {
    const asked = ++this.asked;
    try {
      const change = edits.length === 0 ? null : (await this.source.change?.({ edits })) ?? null;
      if (asked !== this.asked) return;
      this.edits = edits;
      this.tried = "";
      this.pane.store.set({ off: edits.join("\n") });
      this.show(change);
    } catch (error) {
      if (asked === this.asked) this.result.replaceChildren(element("p", { class: "problem" }, error instanceof Error ? error.message : String(error)));
    }
  }

  /** @param {import("../data/source.js").Change | null} change */
  show(change) {
    this.list.replaceChildren(...this.edits.map((edit) => element("li", {}, edit.replace(">", " → "),
      element("button", { type: "button", class: "link", "aria-label": `Switch ${edit} on again`, onclick: () => this.change(this.edits.filter((each) => each !== edit)) }, "×"))));
    this.offer();
    if (change === null) {
      this.result.replaceChildren();
      return;
    }
    const { words } = this.source.facts, moved = change.wordCosines.map((cosine) => 1 - cosine);
    const order = largestFirst(moved).slice(0, few), most = Math.max(largest(moved), 1e-12);
    this.result.replaceChildren(
      problemOf(change.notFinite) ?? "",
      element("p", {}, `The vector of the text moves by ${percent(change.textDistance)} of its length; the cosine with what it was is ${number(change.textCosine)}.`),
      element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "word"), element("th", { scope: "col", class: "number" }, "cosine"), element("th", { scope: "col", class: "number", title: "1 − cosine" }, "moved"), element("th", { scope: "col" }, element("span", { class: "unseen" }, "moved, as a bar")))),
        element("tbody", {}, ...order.map((i) => element("tr", {}, element("th", { scope: "row" }, words[i].text), element("td", { class: "number" }, number(change.wordCosines[i])), element("td", { class: "number" }, number(moved[i])), element("td", { class: "wide" }, bar(moved[i] / most)))))));
  }
}

/**
 * "the#2" for the second "the", whatever its case, as the program counts.
 * @param {import("../data/source.js").Unit[]} words
 * @param {import("../data/source.js").Unit} word
 */
export function numbered(words, word) {
  const alike = words.filter((each) => each.text.toLowerCase() === word.text.toLowerCase());
  return alike.length === 1 ? word.text : `${word.text}#${alike.findIndex((each) => each.last === word.last) + 1}`;
}
