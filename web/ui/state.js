// What is being looked at: one object, changed in one way, written into the address.
import { unitsOf } from "../data/source.js";

/**
 * @typedef {object} State
 * @property {"map" | "lines" | "model" | "next" | "block" | "textbook"} tab
 * @property {number | null} layer its number, from 1, as is that of the head
 * @property {number | null} head
 * @property {string} colors heads that are shown together, each in a colour of its own: "4.2 1.3"; empty: one map
 * @property {"own" | "same"} scale of the thumbnails of all heads: each to its own largest weight, or all to the same
 * @property {import("../data/source.js").Method} method
 * @property {import("../data/source.js").Units} units
 * @property {boolean} special
 * @property {boolean | null} first whether the first token is shown; null: what is usual for the text
 * @property {number | null} row the unit that looks
 * @property {number | null} col the unit that is looked at
 * @property {string} zoom of the map: how many times larger than the whole, and what stands at its left and top; empty: all of it
 * @property {boolean} steps whether the number at (row, col) is taken apart
 * @property {number | null} place the token whose successor is guessed, or whose path is followed; null: that of the row, or the last
 * @property {number | null} depth the layer whose guesses are listed, 0 for the embeddings; null: the last
 * @property {number | null} candidate the id of the token that may come next; null: the most probable
 * @property {number} temperature of the guesses
 * @property {string} off what is switched off, an edit a line; only where the program can read the text without it
 */

/** @typedef {import("../data/source.js").Facts} Facts */

/** @type {State} */
export const initialState = {
  tab: "map", layer: null, head: null, colors: "", scale: "own", method: "raw", units: "words", special: false, first: null, row: null, col: null, zoom: "", steps: false,
  place: null, depth: null, candidate: null, temperature: 1, off: "",
};

export class Store {
  /** @param {State} state */
  constructor(state) {
    this.state = state;
    /** @type {((state: State, before: State) => void)[]} */
    this.listeners = [];
  }

  /** @param {Partial<State>} change */
  set(change) {
    const before = this.state, after = { ...before, ...change };
    if (Object.keys(after).every((key) => after[/** @type {keyof State} */ (key)] === before[/** @type {keyof State} */ (key)])) return;
    this.state = after;
    for (const listener of this.listeners) listener(after, before);
  }

  /** @param {(state: State, before: State) => void} listener */
  listen(listener) {
    this.listeners.push(listener);
  }
}

/**
 * As it stands in an address, where units, too, count from 1: "tab=map&layer=4&head=2&row=9". What is at its default is left out, but for
 * the layer: what is usual may be one that was chosen for the text.
 * @param {State} state
 */
export function toAddress(state) {
  const parts = new URLSearchParams();
  if (state.tab !== initialState.tab) parts.set("tab", state.tab);
  parts.set("layer", state.layer === null ? "mean" : String(state.layer));
  if (state.head !== null) parts.set("head", String(state.head));
  if (state.colors !== "") parts.set("colors", state.colors);
  if (state.scale !== initialState.scale) parts.set("scale", state.scale);
  if (state.method !== initialState.method) parts.set("method", state.method);
  if (state.units !== initialState.units) parts.set("units", state.units);
  if (state.special) parts.set("special", "1");
  if (state.first !== null) parts.set("first", state.first ? "1" : "0");
  if (state.row !== null) parts.set("row", String(state.row + 1));
  if (state.col !== null) parts.set("col", String(state.col + 1));
  if (state.zoom !== "") parts.set("zoom", state.zoom);
  if (state.steps) parts.set("steps", "1");
  if (state.place !== null) parts.set("token", String(state.place + 1));
  if (state.depth !== null) parts.set("depth", String(state.depth));
  if (state.candidate !== null) parts.set("next", String(state.candidate));
  if (state.temperature !== 1) parts.set("temperature", String(state.temperature));
  for (const edit of editsOf(state.off)) parts.append("off", edit);
  return parts.toString();
}

/**
 * @param {string} address
 * @param {State} usual what holds where the address says nothing
 * @returns {State}
 */
export function fromAddress(address, usual) {
  const parts = new URLSearchParams(address);
  if (parts.size === 0) return usual;
  const count = (/** @type {string} */ name, least = 1) => {
    const value = Number(parts.get(name));
    return parts.has(name) && parts.get(name) !== "" && Number.isSafeInteger(value) && value >= least ? value : null;
  };
  /** @template {string} T @param {string} name @param {T[]} known */
  const one = (name, known) => known.find((each) => each === parts.get(name)) ?? known[0];
  const row = count("row"), col = count("col"), token = count("token");
  const tenths = Math.round(10 * Number(parts.get("temperature")));
  return {
    tab: one("tab", ["map", "lines", "model", "next", "block", "textbook"]),
    layer: count("layer"), head: count("head"),
    colors: headsOf(parts.get("colors") ?? "").map(nameOfHead).join(" "), scale: one("scale", ["own", "same"]),
    method: one("method", ["raw", "norm", "rollout"]),
    units: one("units", ["words", "tokens"]),
    special: parts.get("special") === "1",
    first: parts.get("first") === "1" ? true : parts.get("first") === "0" ? false : null,
    row: row === null ? null : row - 1, col: col === null ? null : col - 1,
    zoom: /^\d{1,4}(\.\d\d?)?( \d{1,6}(\.\d\d?)?){2}$/.test(parts.get("zoom") ?? "") ? parts.get("zoom") ?? "" : "",
    steps: parts.get("steps") === "1",
    place: token === null ? null : token - 1, depth: count("depth", 0), candidate: count("next", 0),
    temperature: tenths >= 1 && tenths <= 20 ? tenths / 10 : 1,
    off: [...new Set(parts.getAll("off").map((edit) => edit.replaceAll(/\s+/g, " ").trim()).filter((edit) => edit !== ""))].join("\n"),
  };
}

/**
 * The same state where it fits a reading, and the nearest that does where it does not.
 * @param {State} state
 * @param {Facts} facts
 * @param {number} units how many it shows
 * @returns {State}
 */
export function fitted(state, facts, units) {
  const layer = state.layer === null || state.layer > facts.layers ? null : state.layer;
  const head = layer === null || state.method === "rollout" || state.head === null || state.head > facts.heads ? null : state.head;
  const row = state.row === null || state.row >= units ? null : state.row;
  const col = row === null || state.col === null || state.col >= units ? null : state.col;
  const place = state.place === null || state.place >= facts.tokens.length ? null : state.place;
  const depth = state.depth === null || state.depth > facts.layers ? null : state.depth;
  const known = headsOf(state.colors).filter((each) => each.layer <= facts.layers && each.head <= facts.heads);
  const colors = state.method === "rollout" ? "" : known.map(nameOfHead).join(" ");
  return { ...state, layer, head, colors, row, col, steps: state.steps && col !== null, place, depth };
}

/** @typedef {{layer: number, head: number}} Head */

export const mostColors = 6;

/**
 * "4.2 1.3" as heads; what is no head, or there already, is left out.
 * @param {string} colors
 * @returns {Head[]}
 */
export function headsOf(colors) {
  const names = new Set(colors.split(/[ ,]+/).filter((name) => /^[1-9]\d{0,3}\.[1-9]\d{0,3}$/.test(name)));
  return [...names].slice(0, mostColors).map((name) => {
    const [layer, head] = name.split(".").map(Number);
    return { layer, head };
  });
}

/** @param {Head} head */
export function nameOfHead({ layer, head }) {
  return `${layer}.${head}`;
}

/** @param {string} off */
export function editsOf(off) {
  return off === "" ? [] : off.split("\n");
}

/**
 * What is shown of a text where nothing else is asked for: the head that says most about it, or else the mean.
 * @param {Facts} facts
 * @param {State} state
 * @returns {State}
 */
export function bestLook(facts, state) {
  const best = facts.notable?.[0];
  return best === undefined ? state : withItsWord(facts, { ...state, layer: best.layer, head: best.head });
}

/**
 * The same with the word chosen that the text's best head is about, where that head is shown and no word is chosen.
 * @param {Facts} facts
 * @param {State} state
 * @returns {State}
 */
export function withItsWord(facts, state) {
  const best = facts.notable?.[0], link = best?.links[0];
  if (best === undefined || link === undefined || state.row !== null || best.layer !== state.layer || best.head !== state.head) return state;
  const word = facts.words[link[0]], units = unitsOf(facts, state.units, state.special, state.first ?? undefined);
  const row = units.findIndex((unit) => unit.first <= word.first && word.first < unit.last);
  // Views of a single token begin with the last one all the same.
  return row < 0 ? state : { ...state, row, place: facts.tokens.length - 1 };
}
