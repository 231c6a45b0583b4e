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
    /** @typedef {{text: string, model: string}} Given */
    /** @type {Given | null} what is shown */
    this.first = null;
    /** @type {Given | null} and beside it */
    this.second = null;
    this.text = element("textarea", { rows: 2, "aria-label": "Text", placeholder: "A text to read", title: "Ctrl and Enter read it", onkeydown: (/** @type {KeyboardEvent} */ event) => this.onKey(event) });
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
    if (this.text.value === "") return this.text.focus();
    await this.submit(false);
    const second = given.get("beside");
    if (second === null || second === "") return;
    const first = { text: this.text.value, model: this.model.value }, other = given.get("beside-model") ?? first.model;
    this.text.value = second;
    if ([...this.model.options].some((option) => option.value === other)) this.model.value = other;
    await this.submit(true);
    this.text.value = first.text;
    this.model.value = first.model;
  }

  forgetSecond() {
    this.second = null;
    this.writeAddress();
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
      if (!beside) this.first = { text, model };
      this.second = beside ? { text, model } : null;
      this.show(source, beside);
      this.writeAddress();
      this.beside.disabled = false;
    } catch (error) {
      this.complain(error instanceof Error ? error.message : String(error));
    }
    this.button.disabled = false;
    this.element.removeAttribute("aria-busy");
  }

  writeAddress() {
    const { first, second } = this, parts = new URLSearchParams();
    if (first === null) return;
    if (first.text.length <= longestInAddress) parts.set("text", first.text);
    parts.set("model", first.model);
    if (second !== null && second.text.length <= longestInAddress) {
      parts.set("beside", second.text);
      if (second.model !== first.model) parts.set("beside-model", second.model);
    }
    history.replaceState(null, "", `?${parts}${location.hash}`);
  }
}
