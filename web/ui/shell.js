// The page around the readings: tabs, theme, saving, keys, the address, and a second reading beside the first.
import { sourceOfPage } from "../data/carried.js";
import { Textbook } from "../textbook/textbook.js";
import { element } from "./dom.js";
import { keysDialog } from "./keys.js";
import { Pane, shownUnits } from "./pane.js";
import { savePng, saveSvg } from "./save.js";
import { printsWell } from "./print.js";
import { bestLook, fitted, fromAddress, toAddress } from "./state.js";
import { toggleTheme } from "./theme.js";

/** @typedef {import("../data/source.js").Source} Source */
/** @typedef {import("./state.js").State} State */

const tabs = /** @type {const} */ ({ map: "Map", lines: "Lines", model: "All heads", next: "Next token", block: "Blocks", textbook: "Textbook" });

export class Shell {
  /**
   * @param {HTMLElement} root
   * @param {State} usual what is shown where the address says nothing
   * @param {boolean} [best] whether each text then chooses its head
   */
  constructor(root, usual, best = false) {
    this.usual = usual;
    this.best = best;
    /** @type {Pane[]} */
    this.panes = [];
    this.textbook = new Textbook(() => this.writeAddress());
    this.keys = keysDialog();
    this.problem = element("p", { class: "problem", role: "alert" });
    this.problem.hidden = true;
    this.readings = element("div", { class: "readings" });
    this.tabs = element("nav", { class: "tabs", "aria-label": "Views" }, ...Object.entries(tabs).map(([name, label]) =>
      element("button", { type: "button", "data-tab": name, onclick: () => this.open(/** @type {State["tab"]} */ (name)) }, label)));
    const { panes: [first = ""], book } = addressParts();
    this.tab = fromAddress(first, usual).tab;
    this.textbook.read(book);
    this.other = element("input", { type: "file", accept: ".html,text/html", class: "unseen", "aria-label": "Another page written by attend", tabindex: -1, onchange: () => this.openFile() });
    this.askForSecond = () => this.other.click();
    this.closedSecond = () => {};
    this.beside = element("button", { type: "button", onclick: () => (this.panes.length > 1 ? this.closeSecond() : this.askForSecond()) }, "Second text…");
    this.tools = element("div", { class: "tools" }, this.beside, this.other,
      element("button", { type: "button", onclick: () => this.save("svg"), "data-save": "svg" }, "Save SVG"),
      element("button", { type: "button", onclick: () => this.save("png"), "data-save": "png" }, "Save PNG"),
      element("button", { type: "button", onclick: toggleTheme, "aria-label": "Light or dark", title: "Light or dark" }, "◐"),
      element("button", { type: "button", onclick: () => this.keys.showModal(), "aria-label": "Keys", title: "Keys" }, "?"));
    this.top = element("div", { class: "above" });
    root.replaceChildren(
      element("header", { class: "head" }, element("h1", {}, "attend"), this.tabs, this.tools),
      this.top, element("main", {}, this.problem, this.readings, this.textbook.element), this.keys);
    addEventListener("hashchange", () => this.readAddress());
    addEventListener("keydown", (event) => this.onKey(event));
    printsWell(this);
    this.showTab();
  }

  /** What is shown of a text where the address says nothing. @param {Source} source @returns {State} */
  usualOf({ facts }) {
    return this.best ? bestLook(facts, this.usual) : this.usual;
  }

  /**
   * Shows a reading, beside the first one or instead of all.
   * @param {Source} source
   * @param {{beside?: boolean, state?: State}} [how]
   */
  add(source, { beside = false, state } = {}) {
    const part = addressParts().panes[beside ? 1 : 0] ?? "";
    const usual = beside ? this.panes[0].stateFor(source.facts) : this.usualOf(source);
    const pane = new Pane(source, state ?? { ...fromAddress(part, usual), tab: this.tab });
    this.panes = beside ? [this.panes[0], pane] : [pane];
    this.join();
    pane.store.listen((now, before) => {
      if (now.tab !== this.tab) this.open(now.tab);
      for (const other of this.panes) if (other !== pane) other.lookLike(now, before);
      this.writeAddress();
    });
    this.readings.replaceChildren(...this.panes.map((each) => each.element));
    this.readings.classList.toggle("two", this.panes.length > 1);
    this.beside.textContent = this.panes.length > 1 ? "One text" : "Second text…";
    for (const each of this.panes) each.show();
    this.showTab();
  }

  // Two panes are looked at with one scale.
  join() {
    this.panes.forEach((pane, i) => (pane.beside = this.panes[1 - i] ?? null));
  }

  /** @param {() => void} ask what “Second text…” does instead of opening a file */
  offerSecond(ask) {
    this.askForSecond = ask;
  }

  closeSecond() {
    this.panes = this.panes.slice(0, 1);
    this.join();
    this.closedSecond();
    this.readings.replaceChildren(this.panes[0].element);
    this.readings.classList.remove("two");
    this.beside.textContent = "Second text…";
    this.panes[0].show();
    this.writeAddress();
  }

  /** @param {State["tab"]} tab */
  open(tab) {
    if (tab === this.tab) return;
    this.tab = tab;
    for (const pane of this.panes) pane.store.set({ tab });
    this.showTab();
    this.writeAddress();
  }

  showTab() {
    for (const button of this.tabs.querySelectorAll("button")) {
      if (button.dataset.tab === this.tab) button.setAttribute("aria-current", "page");
      else button.removeAttribute("aria-current");
    }
    const [next, block] = ["next", "block"].map((name) => /** @type {HTMLElement} */ (this.tabs.querySelector(`[data-tab=${name}]`)));
    next.hidden = this.tab !== "next" && !this.panes.some((pane) => pane.source.next !== undefined);
    // A recorded pass has no blocks to look into.
    block.hidden = this.tab !== "block" && this.panes.length > 0 && !this.panes.some((pane) => pane.source.facts.inside.layers.length > 0);
    this.textbook.element.hidden = this.tab !== "textbook";
    document.body.dataset.tab = this.tab;
    if (this.tab === "textbook" && !this.textbook.shown) this.textbook.show();
    for (const button of this.tools.querySelectorAll("button[data-save]")) /** @type {HTMLButtonElement} */ (button).disabled = this.tab === "textbook" || this.panes.length === 0;
  }

  writeAddress() {
    const parts = this.panes.map((pane) => toAddress(pane.store.state)), book = this.textbook.address();
    if (this.panes.length === 0) return;  // what it says is still to be shown
    history.replaceState(null, "", `#${[...parts, ...(book === "" ? [] : [book])].join(";")}`);
  }

  readAddress() {
    const { panes, book } = addressParts();
    this.textbook.read(book);
    this.panes.forEach((pane, i) => {
      const { facts } = pane.source, state = fromAddress(panes[i] ?? "", this.usualOf(pane.source));
      pane.store.set(fitted(state, facts, shownUnits(facts, state).length));
    });
  }

  /** @param {"svg" | "png"} kind */
  async save(kind) {
    const [pane] = this.panes, { tab } = this;
    if (tab === "textbook") return;
    const svg = pane.views[tab].svg(pane.title());
    if (kind === "svg") saveSvg(svg);
    else await savePng(svg);
  }

  // Another page that attend wrote, read from disk: its reading is shown beside this one.
  async openFile() {
    const file = this.other.files?.[0];
    this.other.value = "";
    if (file === undefined) return;
    try {
      this.add(sourceOfPage(new DOMParser().parseFromString(await file.text(), "text/html")), { beside: true });
      this.complain("");
    } catch (error) {
      this.complain(error instanceof Error ? error.message : String(error));
    }
  }

  /** @param {string} sentence empty: nothing is wrong */
  complain(sentence) {
    this.problem.textContent = sentence;
    this.problem.hidden = sentence === "";
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLTextAreaElement || event.target instanceof HTMLSelectElement;
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    const maps = this.panes.length > 0 && ["map", "lines", "model"].includes(this.tab);
    if (event.key === "?") this.keys.showModal();
    else if (maps && (event.key === "m" || event.key === "M")) this.panes[0].heads.mean();
    else if (maps && (event.key === "n" || event.key === "N")) this.panes[0].heads.next(event.shiftKey ? -1 : 1);
    else if (event.key === "/" && maps) {
      event.preventDefault();
      this.panes[0].controls.search.focus();
    }
  }
}

/** The parts of the address: a state for each pane, and what the textbook shows. */
export function addressParts() {
  const parts = location.hash.slice(1).split(";");
  return { panes: parts.filter((part) => !part.startsWith("book=")), book: parts.find((part) => part.startsWith("book=")) ?? "" };
}
