// The Source of numbers in the served page: asks the server, a screenful at a time.
import { unitsOf } from "./source.js";

/**
 * @typedef {import("./source.js").Facts} Facts
 * @typedef {import("./source.js").Look} Look
 * @typedef {import("./source.js").Grid} Grid
 * @typedef {import("./source.js").Cell} Cell
 * @typedef {import("./source.js").Change} Change
 * @typedef {import("./source.js").Comparison} Comparison
 */

const TILE = 256; // cells along a side, as the server makes them

/**
 * An answer, or an Error with the server's own sentence.
 * @param {string} address
 * @param {object} [body] sent as JSON
 * @returns {Promise<Response>}
 */
async function ask(address, body) {
  const response = await fetch(
    address,
    body === undefined ? {} : { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) },
  );
  if (response.ok) return response;
  let sentence = `the server answered ${response.status}`;
  try {
    sentence = (await response.json()).error ?? sentence;
  } catch {
    // no JSON: the status is all there is to say
  }
  const error = new Error(sentence);
  error.name = response.status === 410 ? "NoLongerKept" : "Refused";
  throw error;
}

/**
 * "?a=1&b=x", without what is null: no layer means all layers, no head all heads.
 * @param {Record<string, string | number | null>} parameters
 */
function query(parameters) {
  const given = Object.entries(parameters).filter(([, value]) => value !== null && value !== undefined);
  return "?" + new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
}

/** @param {Look} look */
function named({ layer, head, method, units, special }) {
  return { layer, head, method, units, special: special ? 1 : 0 };
}

/** @param {Response} response */
async function numbers(response) {
  return new Float64Array(await response.arrayBuffer());
}

/**
 * The models of this machine, and the text that the server was started with.
 * @returns {Promise<{models: {name: string}[], default: string, text: string}>}
 */
export async function models() {
  return (await ask("/api/models")).json();
}

/**
 * Reads a text.
 * @param {{text: string, second?: string, model?: string}} wanted
 * @returns {Promise<ServedSource>}
 */
export async function read(wanted) {
  const { id, facts } = await (await ask("/api/read", wanted)).json();
  return new ServedSource(id, facts);
}

/**
 * One word in two texts.
 * @param {{first: string, second: string, word: string, model?: string}} wanted
 * @returns {Promise<Comparison>}
 */
export async function compare(wanted) {
  return (await ask("/api/compare", wanted)).json();
}

/** A text that the server has read. */
export class ServedSource {
  /**
   * @param {string} id
   * @param {Facts} facts
   */
  constructor(id, facts) {
    this.id = id;
    this.facts = facts;
  }

  /** @param {string} what @param {Record<string, string | number | null>} parameters */
  #get(what, parameters) {
    return ask(`/api/${this.id}/${what}${query(parameters)}`);
  }

  /**
   * One row of a map.
   * @param {Look & {row: number}} wanted
   */
  async row({ row, ...look }) {
    return numbers(await this.#get("row", { ...named(look), row }));
  }

  /**
   * Up to 256 x 256 cells of a map.
   * @param {Look & {level: number, y: number, x: number}} wanted
   * @returns {Promise<Grid>}
   */
  async tile({ level, y, x, ...look }) {
    const response = await this.#get("tile", { ...named(look), level, y, x });
    const [rows, cols, low, high] = ["X-Rows", "X-Cols", "X-Low", "X-High"].map((name) => Number(response.headers.get(name)));
    // Cells are square roots, so that small weights are told apart.
    const meaning = Float32Array.from({ length: 256 }, (_, cell) => low + (high - low) * (cell / 255) ** 2);
    const cells = new Uint8Array(await response.arrayBuffer());
    return { rows, cols, values: Float32Array.from(cells, (cell) => meaning[cell]) };
  }

  /**
   * The whole map, at most `buckets` cells along a side.
   * @param {Look & {buckets: number}} wanted
   */
  async summary({ buckets, ...look }) {
    const most = Math.max(1, Math.min(buckets, TILE));
    let level = 0;
    for (let cells = unitsOf(this.facts, look.units, look.special).length; cells > TILE; cells = Math.ceil(cells / 2)) level += 1;
    return shrunk(await this.tile({ ...look, level, y: 0, x: 0 }), most);
  }

  /**
   * All numbers that one weight between tokens is made of.
   * @param {{layer: number, head: number, query: number, key: number}} wanted
   * @returns {Promise<Cell>}
   */
  async cell(wanted) {
    const answer = await (await this.#get("cell", wanted)).json();
    for (const name of ["q", "k", "v"]) answer[name] = Float32Array.from(answer[name]);
    return answer;
  }

  /**
   * What softmax took, and gave.
   * @param {{layer: number, head: number, query: number}} wanted
   */
  async scoresRow(wanted) {
    const both = await numbers(await this.#get("scores", wanted));
    return { scores: both.slice(0, both.length / 2), weights: both.slice(both.length / 2) };
  }

  /** @param {{text: string, second?: string, model?: string}} wanted */
  read(wanted) {
    return read(wanted);
  }

  async models() {
    return (await models()).models;
  }

  /**
   * What becomes of the output without heads or links: "4.2", "it>animal".
   * @param {{edits: string[]}} wanted
   * @returns {Promise<Change>}
   */
  async change({ edits }) {
    return (await ask(`/api/${this.id}/change`, { edits })).json();
  }

  /** @param {{first: string, second: string, word: string, model?: string}} wanted */
  compare(wanted) {
    return compare(wanted);
  }
}

/**
 * A tile of at most `most` cells along a side: the largest of each square, as in the server's own levels.
 * @param {Grid} tile
 * @param {number} most
 * @returns {Grid}
 */
function shrunk(tile, most) {
  const side = Math.ceil(Math.max(tile.rows, tile.cols) / most);
  if (side <= 1) return tile;
  const rows = Math.ceil(tile.rows / side), cols = Math.ceil(tile.cols / side);
  const values = new Float32Array(rows * cols);
  for (let r = 0; r < tile.rows; r += 1) {
    for (let c = 0; c < tile.cols; c += 1) {
      const place = Math.floor(r / side) * cols + Math.floor(c / side);
      values[place] = Math.max(values[place], tile.values[r * tile.cols + c]);
    }
  }
  return { rows, cols, values };
}
