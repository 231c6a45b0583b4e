// One word in two texts: how alike its vectors are, layer by layer.
import { compare } from "../data/served.js";
import { bar, element, problemOf } from "../ui/dom.js";
import { number } from "../ui/format.js";

export class ComparePanel {
  /** @param {import("../data/source.js").Source} source */
  constructor(source) {
    this.source = source;
    this.other = element("textarea", { rows: 2, "aria-label": "The other text", placeholder: "Another text that has the word" });
    this.word = element("input", { type: "text", "aria-label": "Word", placeholder: "Word" });
    this.button = element("button", { type: "submit" }, "Compare");
    this.result = element("div", { class: "result", "aria-live": "polite" });
    this.element = element("details", { class: "panel" }, element("summary", {}, "Compare a word with another text"),
      element("form", { onsubmit: (/** @type {Event} */ event) => {
        event.preventDefault();
        this.ask();
      } }, this.other, element("div", { class: "row" }, this.word, this.button)), this.result);
  }

  async ask() {
    this.button.disabled = true;
    try {
      const { text, model } = this.source.facts;
      this.show(await compare({ first: text, second: this.other.value, word: this.word.value.trim(), model }));
    } catch (error) {
      this.result.replaceChildren(element("p", { class: "problem" }, error instanceof Error ? error.message : String(error)));
    }
    this.button.disabled = false;
  }

  /** @param {import("../data/source.js").Comparison} found */
  show({ staticCosine, cosines, notFinite }) {
    const rows = [["bare word", staticCosine], ...cosines.map((cosine, layer) => [layer === 0 ? "with position" : `layer ${layer}`, cosine])];
    this.result.replaceChildren(
      problemOf(notFinite) ?? "",
      element("table", {}, element("thead", {}, element("tr", {}, element("th", { scope: "col" }, "where"), element("th", { scope: "col", class: "number" }, "cosine"), element("th", { scope: "col" }, element("span", { class: "unseen" }, "as a bar")))),
        element("tbody", {}, ...rows.map(([name, value]) => element("tr", {}, element("th", { scope: "row" }, String(name)), element("td", { class: "number" }, number(Number(value))), element("td", { class: "wide" }, bar(Number(value))))))),
      element("p", { class: "note" }, "1 is the same vector. The lower the cosine, the more the surroundings have changed the word."));
  }
}
