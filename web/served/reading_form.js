// A text to read, and the model to read it with. The address keeps both, so that a link shows the same.
import { renewed } from "../data/renewed.js";
import { read } from "../data/served.js";
import { element } from "../ui/dom.js";

const longestInAddress = 2000; // characters

export class ReadingForm {
  /**
   * @param {(source: import("../data/source.js").Source, beside: boolean) => void} show
   * @param {(sentence: string) => void} complain
   */
  constructor(show, complain) {
    this.show = show;
    this.complain = complain;
    this.text = element("textarea", { rows: 2, "aria-label": "Text", placeholder: "A text to read", onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event) });
    this.model = element("select", { "aria-label": "Model" });
    this.button = element("button", { type: "submit" }, "Read");
    this.beside = element("button", { type: "button", onclick: () => this.submit(true), disabled: true }, "Read beside");
    this.element = element("form", { class: "reading-form", onsubmit: (/** @type {Event} */ event) => {
      event.preventDefault();
      this.submit(false);
    } }, this.text, element("div", { class: "row" }, element("label", {}, "Model ", this.model), this.button, this.beside));
  }

  /** @param {string[]} names @param {string} first */
  offer(names, first) {
    const all = names.includes(first) ? names : [first, ...names];
    this.model.replaceChildren(...all.map((name) => element("option", { value: name }, name)));
    this.model.value = first;
  }

  /**
   * Reads what the address says, or else the text that the program was started with.
   * @param {string} usual
   */
  async start(usual) {
    const given = new URLSearchParams(location.search), model = given.get("model");
    if (model !== null && [...this.model.options].some((option) => option.value === model)) this.model.value = model;
    this.text.value = given.get("text") ?? usual;
    if (this.text.value !== "") await this.submit(false);
    else this.text.focus();
  }

  askForSecond() {
    this.complain("Write the second text above, and choose “Read beside”.");
    this.text.focus();
    this.text.select();
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    this.submit(false);
  }

  /** @param {boolean} beside */
  async submit(beside) {
    const text = this.text.value, model = this.model.value;
    this.element.setAttribute("aria-busy", "true");
    this.button.disabled = this.beside.disabled = true;
    try {
      const source = renewed(await read({ text, model }), () => read({ text, model }));
      this.complain("");
      if (!beside) this.writeAddress(text, model);
      this.show(source, beside);
      this.beside.disabled = false;
    } catch (error) {
      this.complain(error instanceof Error ? error.message : String(error));
    }
    this.button.disabled = false;
    this.element.removeAttribute("aria-busy");
  }

  /** @param {string} text @param {string} model */
  writeAddress(text, model) {
    const parts = new URLSearchParams(text.length <= longestInAddress ? { text, model } : { model });
    history.replaceState(null, "", `?${parts}${location.hash}`);
  }
}
