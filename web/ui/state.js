// What is being looked at: one object, changed in one way, written into the address.

/**
 * @typedef {object} State
 * @property {"map" | "lines" | "model" | "next" | "block" | "textbook"} tab
 * @property {number | null} layer its number, from 1, as is that of the head
 * @property {number | null} head
 * @property {import("../data/source.js").Method} method
 * @property {import("../data/source.js").Units} units
 * @property {boolean} special
 * @property {boolean | null} first whether the first token is shown; null: what is usual for the text
 * @property {number | null} row the unit that looks
 * @property {number | null} col the unit that is looked at
 * @property {boolean} steps whether the number at (row, col) is taken apart
 * @property {number | null} place the token whose successor is guessed, or whose path is followed; null: that of the row, or the last
 * @property {number | null} depth the layer whose guesses are listed, 0 for the embeddings; null: the last
 * @property {number | null} candidate the id of the token that may come next; null: the most probable
 * @property {number} temperature of the guesses
 */

/** @typedef {import("../data/source.js").Facts} Facts */

/** @type {State} */
export const initialState = {
  tab: "map", layer: null, head: null, method: "raw", units: "words", special: false, first: null, row: null, col: null, steps: false,
  place: null, depth: null, candidate: null, temperature: 1,
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
 * As it stands in an address, where units, too, count from 1: "tab=map&layer=4&head=2&row=9". What is at its default is left out.
 * @param {State} state
 */
export function toAddress(state) {
  const parts = new URLSearchParams();
  if (state.tab !== initialState.tab) parts.set("tab", state.tab);
  if (state.layer !== null) parts.set("layer", String(state.layer));
  if (state.head !== null) parts.set("head", String(state.head));
  if (state.method !== initialState.method) parts.set("method", state.method);
  if (state.units !== initialState.units) parts.set("units", state.units);
  if (state.special) parts.set("special", "1");
  if (state.first !== null) parts.set("first", state.first ? "1" : "0");
  if (state.row !== null) parts.set("row", String(state.row + 1));
  if (state.col !== null) parts.set("col", String(state.col + 1));
  if (state.steps) parts.set("steps", "1");
  if (state.place !== null) parts.set("token", String(state.place + 1));
  if (state.depth !== null) parts.set("depth", String(state.depth));
  if (state.candidate !== null) parts.set("next", String(state.candidate));
  if (state.temperature !== 1) parts.set("temperature", String(state.temperature));
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
    method: one("method", ["raw", "norm", "rollout"]),
    units: one("units", ["words", "tokens"]),
    special: parts.get("special") === "1",
    first: parts.get("first") === "1" ? true : parts.get("first") === "0" ? false : null,
    row: row === null ? null : row - 1, col: col === null ? null : col - 1,
    steps: parts.get("steps") === "1",
    place: token === null ? null : token - 1, depth: count("depth", 0), candidate: count("next", 0),
    temperature: tenths >= 1 && tenths <= 20 ? tenths / 10 : 1,
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
  return { ...state, layer, head, row, col, steps: state.steps && col !== null, place, depth };
}
