// Which heads, which method, words or tokens, special tokens and the first token or not; and the search for a word.
import { numbersTo } from "../data/counting.js";
import { unitsOf } from "../data/source.js";
import { element, newId } from "./dom.js";
import { percent } from "./format.js";

/** @typedef {import("./pane.js").Pane} Pane */

const methods = {
  raw: ["Weights", "Where a word looks: the weights of attention"],
  norm: ["Norms", "What it takes: the length of weight × value × output projection"],
  rollout: ["Rollout", "What has reached it: weights followed through the layers"],
};

export class Controls {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    const { facts } = pane.source, set = pane.store.set.bind(pane.store);
    const chosen = (/** @type {Event} */ event) => /** @type {HTMLSelectElement} */ (event.target).value;
    this.layer = element("select", { onchange: (/** @type {Event} */ e) => set(chosen(e) === "" ? { layer: null, head: null } : { layer: Number(chosen(e)) }) },
      element("option", { value: "" }, "all"), ...facts.attends.map(({ name }, i) => element("option", { value: i + 1 }, name)));
    this.head = element("select", { onchange: (/** @type {Event} */ e) => set({ head: chosen(e) === "" ? null : Number(chosen(e)) }) },
      element("option", { value: "" }, "all"), ...counted(facts.heads));
    this.method = choice("Method", Object.entries(methods).filter(([name]) => facts.methods.includes(name)).map(([name, [label, title]]) => ({ name, label, title })),
      (name) => set({ method: /** @type {import("../data/source.js").Method} */ (name), ...(name === "rollout" ? { head: null } : {}) }));
    this.units = choice("Units", [{ name: "words", label: "Words", title: "" }, { name: "tokens", label: "Tokens", title: "" }],
      (name) => pane.changeUnits({ units: /** @type {import("../data/source.js").Units} */ (name) }));
    this.special = element("input", { type: "checkbox", onchange: () => pane.changeUnits({ special: this.special.checked }) });
    this.first = element("input", { type: "checkbox", onchange: () => pane.changeUnits({ first: this.first.checked }) });
    this.search = element("input", {
      type: "search", placeholder: "Find a word", "aria-label": "Find a word",
      oninput: () => this.find(0), onkeydown: (/** @type {KeyboardEvent} */ event) => {
        if (event.key !== "Enter") return;
        event.preventDefault();
        this.find(event.shiftKey ? -1 : 1);
      },
    });
    this.found = element("output", { class: "found" });
    this.element = element("div", { class: "controls", role: "group", "aria-label": "What is shown" },
      element("label", {}, "Layer ", this.layer), element("label", {}, "Head ", this.head),
      this.method, this.units,
      element("label", { class: "check", title: "Heads put their weight on [CLS] and [SEP] when they have nothing to do. Without these tokens, each row is made to add up to 1 again." }, this.special, " Special tokens"),
      ...(facts.sink === undefined || facts.sink.special ? [] : [element("label", { class: "check", title: `Heads rest on the first token when they have nothing to do: ${percent(facts.sink.share)} of the weight of all heads is there. Without it, each row is made to add up to 1 again.` }, this.first, " First token")]),
      element("span", { class: "search" }, this.search, this.found));
  }

  show() {
    const { layer, head, method, units, special } = this.pane.store.state;
    this.layer.value = layer === null ? "" : String(layer);
    this.head.value = String(head ?? "");
    this.head.disabled = layer === null || method === "rollout";
    check(this.method, method);
    check(this.units, units);
    this.special.checked = special;
    this.first.checked = this.pane.look().first !== false;
  }

  /** @param {number} step 0: the first from here, 1: the next, -1: the one before */
  find(step) {
    const { facts } = this.pane.source, { row } = this.pane.store.state, { units, special, first } = this.pane.look();
    const wanted = this.search.value.trim().toLowerCase();
    const places = wanted === "" ? [] : [...unitsOf(facts, units, special, first).entries()].filter(([, unit]) => unit.text.toLowerCase().includes(wanted)).map(([i]) => i);
    this.found.textContent = wanted === "" ? "" : places.length === 0 ? "none" : `${places.length}`;
    if (places.length === 0) return;
    const now = row ?? -1;
    const next = step < 0 ? places.findLast((i) => i < now) ?? places[places.length - 1] : places.find((i) => (step === 0 ? i >= now : i > now)) ?? places[0];
    this.pane.store.set({ row: next, col: null, steps: false });
    this.found.textContent = `${places.indexOf(next) + 1} of ${places.length}`;
  }
}

/** @param {number} count */
function counted(count) {
  return numbersTo(count).map((number) => element("option", { value: number }, String(number)));
}

/**
 * A few buttons of which one is pressed.
 * @param {string} legend
 * @param {{name: string, label: string, title: string}[]} options
 * @param {(name: string) => void} choose
 */
function choice(legend, options, choose) {
  const group = newId("choice");
  return element("fieldset", { class: "choice" }, element("legend", { class: "unseen" }, legend),
    ...options.map(({ name, label, title }) => element("label", { title: title || null },
      element("input", { type: "radio", name: group, value: name, onchange: () => choose(name) }), element("span", {}, label))));
}

/** @param {HTMLFieldSetElement} fieldset @param {string} value */
function check(fieldset, value) {
  for (const input of fieldset.querySelectorAll("input")) input.checked = input.value === value;
}
