// A source whose numbers come from the program, a screenful at a time: attend explore serves them.
import { unitsOf, usuallyFirst } from "./source.js";

/** @typedef {import("./source.js").Facts} Facts */
/** @typedef {import("./source.js").Look} Look */
/** @typedef {import("./source.js").Grid} Grid */
/** @typedef {import("./source.js").Cell} Cell */
/** @typedef {import("./source.js").Source} Source */

const largest = 256;  // cells along a side of a tile

/**
 * The models of this machine, the one that is used where none is named, and the text that the page begins with.
 * @returns {Promise<{models: {name: string}[], default: string, text: string}>}
 */
export async function models() {
  return (await ask("/api/models")).json();
}

/**
 * Has a text read, or a pair of texts.
 * @param {{text: string, second?: string, model?: string}} of
 * @returns {Promise<Source>}
 */
export async function read(of) {
  const { id, facts } = await (await ask("/api/read", of)).json();
  return servedSource(id, facts);
}

/**
 * One word in two texts: how alike it starts, and how far its surroundings take it apart, layer by layer.
 * @param {{first: string, second: string, word: string, model?: string}} of
 * @returns {Promise<import("./source.js").Comparison>}
 */
export async function compare(of) {
  const { staticCosine, cosines, ...rest } = await (await ask("/api/compare", of)).json();
  return { ...rest, staticCosine: numberFrom(staticCosine), cosines: cosines.map(numberFrom) };
}

/**
 * @param {string} id of a text that the server has read
 * @param {Facts} facts
 * @returns {Source}
 */
export function servedSource(id, facts) {
  const get = (/** @type {string} */ what, /** @type {Record<string, string | number | null>} */ of) => ask(`/api/${id}/${what}?${query(of)}`);
  const tile = async (/** @type {Look & {level: number, y: number, x: number}} */ { level, y, x, ...look }) =>
    tileFrom(await get("tile", { ...nameOf(facts, look), level, y, x }));

  /** @type {Map<number, import("./source.js").NextAtPlace>} what is asked for by two views, and takes a while */
  const known = new Map();

  return {
    facts,
    row: async ({ row, ...look }) => numbersFrom(await get("row", { ...nameOf(facts, look), row })),
    tile,
    summary: async ({ buckets, ...look }) => {
      let level = 0;
      for (let cells = unitsOf(facts, look.units, look.special, look.first).length; cells > largest; cells = Math.ceil(cells / 2)) level += 1;
      return shrunk(await tile({ ...look, level, y: 0, x: 0 }), buckets);
    },
    scoresRow: async ({ layer, head, query: row }) => {
      const both = await numbersFrom(await get("scores", { layer, head, query: row })), half = both.length / 2;
      return { scores: both.slice(0, half), weights: both.slice(half) };
    },
    cell: async ({ layer, head, query: row, key }) => cellFrom(await (await get("cell", { layer, head, query: row, key })).json()),
    nextPlaces: facts.inside.next ?? [0, 0],
    blockPlaces: [0, facts.tokens.length],
    block: async ({ place, token }) => blockFrom(await (await get("block", { place, token })).json()),
    ...(facts.inside.next === undefined ? {} : {
      next: async ({ place }) => {
        const found = known.get(place) ?? nextFrom(facts, await (await get("next", { place })).json());
        known.set(place, found);
        return found;
      },
      guesses: async ({ first, last }) => columnsFrom(await (await get("guesses", { first, last })).json()),
    }),
    change: async ({ edits }) => changeFrom(await (await ask(`/api/${id}/change`, { edits })).json()),
    compare: (of) => compare({ ...of, model: facts.model }),
  };
}

/**
 * An answer; or an Error with the server's own sentence, whose name is "NoLongerKept" where the text must be read again.
 * @param {string} address
 * @param {object} [body] is sent as JSON
 * @returns {Promise<Response>}
 */
async function ask(address, body) {
  const sent = body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
  const response = await fetch(address, sent);
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  const error = new Error(typeof said.error === "string" ? said.error : `The server answered ${response.status}.`);
  error.name = response.status === 410 ? "NoLongerKept" : "Refused";
  throw error;
}

/**
 * What is null is left out: no head means the mean over all.
 * @param {Record<string, string | number | null>} of
 */
function query(of) {
  return Object.entries(of).filter(([, value]) => value !== null).map(([name, value]) => `${name}=${value}`).join("&");
}

/** @param {Facts} facts @param {Look} look */
function nameOf(facts, { layer, head, method, units, special, first = usuallyFirst(facts) }) {
  return { layer, head, method, units, special: special ? 1 : 0, first: first ? null : 0 };
}

/** @param {Response} response */
async function numbersFrom(response) {
  return new Float64Array(await response.arrayBuffer());
}

/**
 * JSON has no NaN: there it is null.
 * @param {number | null} value
 */
function numberFrom(value) {
  return value ?? NaN;
}

/**
 * @param {any} answer
 * @returns {import("./source.js").Change}
 */
function changeFrom({ textCosine, textDistance, wordCosines, ...rest }) {
  return { ...rest, textCosine: numberFrom(textCosine), textDistance: numberFrom(textDistance), wordCosines: wordCosines.map(numberFrom) };
}

/**
 * A cell is a square root, so that small weights are told apart: value = low + (high - low) (cell / top)². What is beyond top is not a
 * number.
 * @param {Response} response
 * @returns {Promise<Grid>}
 */
async function tileFrom(response) {
  const header = (/** @type {string} */ name) => Number(response.headers.get(name));
  const low = header("X-Low"), high = header("X-High"), top = header("X-Top");
  const meaning = Float32Array.from({ length: 256 }, (_, cell) => (cell > top ? NaN : low + (high - low) * (cell / top) ** 2));
  const cells = new Uint8Array(await response.arrayBuffer()), values = new Float32Array(cells.length);
  for (let i = 0; i < cells.length; ++i) values[i] = meaning[cells[i]];
  return { rows: header("X-Rows"), cols: header("X-Cols"), values };
}

/**
 * JSON has no infinity either: the score of a key that takes no part is null there.
 * @param {any} answer
 * @returns {Cell}
 */
function cellFrom(answer) {
  const [q, k, v] = [answer.q, answer.k, answer.v].map((values) => Float32Array.from(values, numberFrom));
  const [max, sum, weight, contribution] = [answer.max, answer.sum, answer.weight, answer.contribution].map(numberFrom);
  const score = answer.masked ? -Infinity : numberFrom(answer.score);
  const known = answer.projected === false ? null : contribution;  // a recording has no output projection
  return { ...answer, q, k, v, score, max, sum, weight, contribution: known, bias: answer.bias ?? 0 };
}

/**
 * @param {Facts} facts
 * @param {any} answer
 * @returns {import("./source.js").NextAtPlace}
 */
function nextFrom(facts, { place, following, layers, texts }) {
  const one = facts.inside.temperatures?.indexOf(1) ?? 0;
  return {
    place, following,
    layers: layers.map((/** @type {any} */ { tokens, logits, sums }) => ({
      tokens, texts: tokens.map((/** @type {number} */ token) => texts[token]), logits: logits.map(numberFrom), sums: sums.map(numberFrom), sum: numberFrom(sums[one]),
    })),
  };
}

/**
 * @param {any} answer
 * @returns {import("./source.js").GuessColumn[]}
 */
function columnsFrom({ places, texts }) {
  return places.map((/** @type {any} */ { place, tokens, shares }) => ({ place, tokens, texts: tokens.map((/** @type {number} */ token) => texts[token]), shares: shares.map(numberFrom) }));
}

/**
 * Every null in it is a number that is not finite, but for the parts that there are not.
 * @param {any} answer
 * @returns {import("./source.js").Block}
 */
function blockFrom(answer) {
  const numbers = (/** @type {any} */ value) => Object.fromEntries(Object.entries(value).map(([name, each]) => [name, each === null ? NaN : Array.isArray(each) ? each.map(numberFrom) : each]));
  return {
    place: answer.place,
    layers: answer.layers.map((/** @type {any} */ { attention, feedForward, ...rest }) => ({ ...numbers(rest), attention: numbers(attention), feedForward: feedForward === null ? null : numbers(feedForward) })),
    logits: answer.logits === null ? null : { .../** @type {any} */ (numbers({ ...answer.logits, layers: [] })), layers: answer.logits.layers.map(numbers) },
  };
}

/**
 * At most `most` cells along a side: the largest of each square, as in the server's own levels.
 * @param {Grid} grid
 * @param {number} most
 * @returns {Grid}
 */
function shrunk(grid, most) {
  const side = Math.ceil(Math.max(grid.rows, grid.cols) / Math.max(most, 1));
  if (side <= 1) return grid;
  const rows = Math.ceil(grid.rows / side), cols = Math.ceil(grid.cols / side), values = new Float32Array(rows * cols);
  for (let r = 0; r < grid.rows; ++r) {
    for (let c = 0; c < grid.cols; ++c) {
      const place = Math.floor(r / side) * cols + Math.floor(c / side);
      values[place] = Math.max(values[place], grid.values[r * grid.cols + c]);
    }
  }
  return { rows, cols, values };
}
