// One reading: its text, its controls, its views, and what is chosen in it. A page may hold two, side by side.
import { largestAt } from "../data/order.js";
import { unitsOf, usuallyFirst } from "../data/source.js";
import { BlockView } from "../views/block.js";
import { LinesView } from "../views/lines.js";
import { MapView } from "../views/map.js";
import { ModelView } from "../views/model.js";
import { NextView } from "../views/next.js";
import { RowTable } from "../views/row_table.js";
import { StepsView } from "../views/steps.js";
import { Strip } from "../views/strip.js";
import { Controls } from "./controls.js";
import { HeadsBar } from "./heads_bar.js";
import { element, problemOf } from "./dom.js";
import { nameOfLook, number, percent, verbOf } from "./format.js";
import { unknownSentence } from "./unknown.js";
import { fitted, headsOf, mostColors, nameOfHead, Store } from "./state.js";

/** @typedef {import("../data/source.js").Source} Source */
/** @typedef {import("./state.js").State} State */
/** @typedef {{row: number, col: number | null}} Pair */

const sideWidth = 19;  // rem that the table beside a view takes at least

export class Pane {
  /**
   * @param {Source} source
   * @param {State} state
   */
  constructor(source, state) {
    this.source = source;
    this.store = new Store(fitted(state, source.facts, shownUnits(source.facts, state).length));
    /** @type {Pair | null} */
    this.pointed = null;
    /** @type {Pane | null} the other of two readings side by side */
    this.beside = null;
    /** @type {(Float64Array | null)[]} the chosen row, of each head that is shown in a colour of its own */
    this.colored = [];
    this.strip = new Strip(this);
    this.controls = new Controls(this);
    this.heads = new HeadsBar(this);
    this.views = { map: new MapView(this), lines: new LinesView(this), model: new ModelView(this), next: new NextView(this), block: new BlockView(this) };
    this.table = new RowTable(this);
    this.steps = new StepsView(this);
    this.stage = element("div", { class: "stage" });
    this.readout = element("p", { class: "readout" });
    this.live = element("div", { class: "unseen", role: "status", "aria-live": "polite" });
    this.side = element("aside", { class: "side" }, this.table.element);
    this.body = element("div", { class: "views" }, element("div", { class: "main" }, this.stage, this.readout), this.side);
    this.element = element("section", { class: "pane", "aria-label": `Reading: ${source.facts.text.slice(0, 60)}` },
      this.facts(), problemOf(source.facts.notFinite), problemOf(unknownSentence(source.facts)), this.strip.element, this.heads.element, this.controls.element,
      this.body,
      this.steps.element, this.live);
    this.asked = 0;
    this.store.listen((_, before) => this.show(before));
    this.element.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.views.map.resized()).observe(this.element);
  }

  facts() {
    const { model, layers, heads, tokens, dropped, causal, sink, answer } = this.source.facts;
    const parts = [model, `${layers} layers × ${heads} heads`, `${tokens.length} tokens`];
    if (causal) parts.push("looks back only");
    if (sink !== undefined && sink.isSink) parts.push(`${percent(sink.share)} of the attention rests on the first token, ${sink.token.trim()}`);
    if (answer !== undefined) parts.push(`its answer: ${answer.trim()}`);
    if (dropped > 0) parts.push(`${dropped} tokens did not fit and were cut`);
    return element("p", { class: "facts" }, parts.join(" · "));
  }

  /** @returns {import("../data/source.js").Look} */
  look() {
    const { layer, head, method, units, special, first } = this.store.state;
    return { layer, head, method, units, special, first: first ?? usuallyFirst(this.source.facts) };
  }

  /** What is drawn: one map, or each of the heads that are shown in colour, by its name. */
  looks() {
    const look = this.look(), { colors } = this.store.state, heads = headsOf(colors);
    return heads.length === 0 ? [{ name: "", look }] : heads.map(({ layer, head }) => ({ name: nameOfHead({ layer, head }), look: { ...look, layer, head } }));
  }

  /** Adds a head to those that are shown in colour, or takes it away. @param {import("./state.js").Head} head */
  toggleColor(head) {
    const heads = headsOf(this.store.state.colors).map(nameOfHead), name = nameOfHead(head);
    const next = heads.includes(name) ? heads.filter((each) => each !== name) : [...heads, name].slice(-mostColors);
    this.store.set({ colors: next.join(" "), ...(this.store.state.method === "rollout" ? { method: "raw" } : {}) });
  }

  /** How many pixels a view may take across. */
  room() {
    const style = getComputedStyle(this.body), columns = style.gridTemplateColumns.split(" ").length;
    const side = columns > 1 && !this.side.hidden ? sideWidth * parseFloat(getComputedStyle(document.documentElement).fontSize) + parseFloat(style.columnGap) : 0;
    return this.body.clientWidth === 0 ? 0 : Math.max(240, this.body.clientWidth - side);
  }

  /** The token that the views of the next token and of the block are about: what was chosen, the end of the chosen word, or the last. */
  place() {
    const { place, row } = this.store.state, { facts } = this.source;
    if (place !== null) return place;
    return row === null ? facts.tokens.length - 1 : shownUnits(facts, this.store.state)[row].last - 1;
  }

  /**
   * Chooses a token, and the word that it belongs to, where that is shown.
   * @param {number} place
   * @param {Partial<State>} [more]
   */
  choosePlace(place, more = {}) {
    const row = shownUnits(this.source.facts, this.store.state).findIndex((unit) => unit.first <= place && place < unit.last);
    this.pointed = null;
    this.store.set({ place, row: row < 0 ? null : row, col: null, steps: false, candidate: null, ...more });
  }

  /** What the cross-hair is on: where the pointer is, else what was chosen. @returns {{row: number | null, col: number | null}} */
  cross() {
    return this.pointed ?? this.store.state;
  }

  /** @param {State} [before] */
  show(before) {
    const { state } = this.store;
    if (before !== undefined && state.row !== before.row && state.place !== null && state.place === before.place) {
      this.store.set({ place: null });  // another word was chosen; this is shown when that is known
      return;
    }
    if (before === undefined || before.tab !== state.tab) {
      const view = state.tab === "textbook" ? null : this.views[state.tab].element;
      this.stage.replaceChildren(...(view === null ? [] : [view]));
    }
    this.element.hidden = state.tab === "textbook";
    if (state.tab === "textbook") return;
    const inside = state.tab === "next" || state.tab === "block";  // of one token; not about who looks at whom
    this.side.hidden = this.readout.hidden = inside || state.tab === "model";
    this.body.classList.toggle("beside-map", state.tab === "map");
    this.strip.element.hidden = this.controls.element.hidden = this.heads.element.hidden = inside;
    this.steps.element.classList.toggle("away", inside);
    this.views[state.tab].show();
    if (inside) return;
    this.controls.show();
    this.heads.show();
    this.strip.show();
    this.steps.show();
    this.follow();
  }

  // What depends on where the cross-hair is. Where several rows have been asked for, only the last one counts.
  async follow() {
    const asked = ++this.asked, { row } = this.cross();
    const looks = this.looks(), rowOf = (/** @type {import("../data/source.js").Look} */ look) => (row === null ? null : this.source.row({ ...look, row }).catch(() => null));
    const rows = await Promise.all(looks.map(({ look }) => rowOf(look)));
    if (asked !== this.asked) return;
    this.colored = looks[0].name === "" ? [] : rows;
    const values = rows.length === 1 ? rows[0] : strongestOf(rows);
    this.strip.shade(values);
    this.beside?.strip.shadeAgain();
    this.table.show(values);
    this.readout.textContent = this.sentence(values);
  }

  /** @param {Float64Array | null} values */
  sentence(values) {
    const { row, col } = this.cross(), look = this.look(), units = unitsOf(this.source.facts, look.units, look.special, look.first);
    if (values === null || row === null) return "";
    const to = col ?? largestAt(values);
    return `${units[row].text} ${verbOf(look.method)} ${units[to].text}: ${number(values[to])}`;
  }

  /** @param {Pair | null} pair */
  hover(pair) {
    if (pair?.row === this.pointed?.row && pair?.col === this.pointed?.col) return;
    this.pointed = pair;
    const { tab } = this.store.state;
    if (tab === "map" || tab === "lines") this.views[tab].draw();
    this.follow();
  }

  // The steps are those of one head: of several, the one that gives most.
  /** @param {number} row @param {number} col */
  async open(row, col) {
    this.pointed = null;
    const heads = headsOf(this.store.state.colors);
    if (heads.length === 0) return this.store.set({ row, col, steps: true });
    this.store.set({ row, col });
    const rows = await Promise.all(this.looks().map(({ look }) => this.source.row({ ...look, row }))), most = heads[largestAt(rows.map((values) => values[col]))];
    this.store.set({ layer: most.layer, head: most.head, row, col, steps: true });
  }

  /**
   * Other units, the same words: what was chosen is found again among them.
   * @param {Partial<State>} change
   */
  changeUnits(change) {
    const { facts } = this.source, { state } = this.store, next = { ...state, ...change };
    const before = shownUnits(facts, state), after = shownUnits(facts, next);
    const again = (/** @type {number | null} */ place) => {
      if (place === null) return null;
      const found = after.findIndex((unit) => unit.first <= before[place].first && before[place].first < unit.last);
      return found < 0 ? null : found;
    };
    const row = again(state.row), col = row === null ? null : again(state.col);
    this.pointed = null;
    this.store.set({ ...change, row, col, steps: state.steps && col !== null });
  }

  /**
   * The same look at another text; and the same word, if it has it.
   * @param {import("../data/source.js").Facts} facts
   * @returns {State}
   */
  stateFor(facts) {
    const { state } = this.store, name = (/** @type {number | null} */ place) => (place === null ? null : shownUnits(this.source.facts, state)[place].text.toLowerCase());
    const row = shownUnits(facts, state).findIndex((unit) => unit.text.toLowerCase() === name(state.row));
    return { ...state, row: row < 0 ? null : row, col: null, steps: false, place: null, candidate: null };
  }

  /**
   * What is looked at in one text is looked at in the text beside it.
   * @param {State} now of that other text
   * @param {State} before
   */
  lookLike(now, before) {
    const { layer, head, method, units, special, first, colors, scale } = now, { facts } = this.source;
    if (units !== before.units || special !== before.special || first !== before.first) this.changeUnits({ units, special, first });
    if (layer !== before.layer || head !== before.head || method !== before.method || colors !== before.colors || scale !== before.scale) {
      const next = fitted({ ...this.store.state, layer, head, method, colors }, facts, Infinity);
      this.store.set({ layer: next.layer, head: next.head, method, colors: next.colors, scale });
    }
  }

  title() {
    const { tab } = this.store.state;
    if (tab === "next" || tab === "block") return this.source.facts.model;
    const looks = this.looks(), names = looks.map(({ name }) => name);
    if (names[0] !== "") return `${this.source.facts.model}: heads ${names.join(", ")}`;
    return `${this.source.facts.model}: ${nameOfLook(looks[0].look, this.source.facts)}`;
  }

  /** @param {KeyboardEvent} event */
  onKey(event) {
    const target = /** @type {HTMLElement} */ (event.target), { state } = this.store;
    if (event.key === "Escape" && state.steps) {
      this.store.set({ steps: false });
      return;
    }
    const kind = target === this.strip.element ? "strip" : target === this.views.map.canvas ? "map" : target === this.views.lines.scroller ? "lines" : null;
    if (kind === null || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.enter();
      return;
    }
    const count = shownUnits(this.source.facts, state).length;
    const steps = /** @type {Record<string, [number, number]>} */ ({ ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -count], End: [0, count] })[event.key];
    if (steps === undefined) return;
    event.preventDefault();
    this.move(kind === "map" ? steps : [steps[0] + steps[1], 0], kind === "map", count);
  }

  /**
   * @param {[number, number]} step
   * @param {boolean} both whether a column is chosen as well
   * @param {number} count
   */
  move([down, right], both, count) {
    const { row, col } = this.store.state, inside = (/** @type {number} */ place) => Math.min(count - 1, Math.max(0, place));
    this.pointed = null;
    const next = row === null ? 0 : inside(row + down);
    this.store.set({ row: next, col: both ? (col === null ? next : inside(col + right)) : null, steps: false });
    this.announce();
  }

  async announce() {
    const { row } = this.store.state;
    if (row === null) return;
    const rows = await Promise.all(this.looks().map(({ look }) => this.source.row({ ...look, row })));
    const values = strongestOf(rows);
    if (row === this.store.state.row) this.live.textContent = this.sentence(values);
  }

  async enter() {
    const { row, col } = this.store.state;
    if (row === null) return;
    const rows = await Promise.all(this.looks().map(({ look }) => this.source.row({ ...look, row })));
    const values = strongestOf(rows);
    if (values === null) return;
    this.open(row, col ?? largestAt(values));
    this.steps.element.focus({ preventScroll: true });
  }
}

/**
 * @param {import("../data/source.js").Facts} facts
 * @param {State} state
 */
export function shownUnits(facts, { units, special, first }) {
  return unitsOf(facts, units, special, first ?? usuallyFirst(facts));
}

/**
 * The largest of several rows, word by word; null where one of them is missing.
 * @param {(Float64Array | null)[]} rows
 */
function strongestOf(rows) {
  if (rows.some((row) => row === null)) return null;
  const [first, ...others] = /** @type {Float64Array[]} */ (rows);
  return first.map((value, i) => Math.max(value, ...others.map((row) => row[i])));
}
