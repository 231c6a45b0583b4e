// What a page carries of the next token and of the block, and probabilities made of it at any temperature.
import { indexOf, numbersTo } from "./counting.js";
import { floatsFrom } from "./floats.js";

/** @typedef {import("./source.js").Facts} Facts */
/** @typedef {import("./source.js").Guesses} Guesses */

/**
 * The shares of guesses at a temperature; null where this page does not know them.
 * @param {Guesses} guesses
 * @param {number} temperature one of `temperatures`
 * @param {number[]} temperatures
 * @returns {number[] | null}
 */
export function sharesOf({ logits, sum, sums }, temperature, temperatures) {
  const known = temperature === 1 ? sum : sums?.[temperatures.indexOf(temperature)];
  return known === undefined ? null : Array.from(logits, (logit) => Math.exp(logit / temperature - known));
}

/**
 * The part of a source that a page answers from what it carries: src/page/carried_inside.h has the order of the numbers.
 * @param {Facts} facts
 * @param {(id: string) => string} text of an element
 * @returns {Pick<import("./source.js").Source, "block" | "next" | "guesses" | "nextPlaces" | "blockPlaces">}
 */
export function carriedInside(facts, text) {
  const { block, next } = JSON.parse(text("inside") || "{}"), places = facts.tokens.length;
  const blocks = once(() => floatsFrom(text("inside-block")));
  const answers = {
    blockPlaces: [block?.first ?? places, places], nextPlaces: next === undefined ? [0, 0] : [next.first, facts.inside.next?.[1] ?? places],
    block: async (/** @type {{place: number, token: number | null}} */ { place, token }) => blockOf(facts, block, next?.texts, blocks(), place, token),
  };
  if (next === undefined) return answers;
  const table = once(() => new NextTable(facts, next, floatsFrom(text("inside-next")), answers.nextPlaces));
  return {
    ...answers,
    next: async ({ place }) => table().at(place),
    guesses: async ({ first, last }) => [...Array(last - first).keys()].map((i) => table().column(first + i)),
  };
}

/** @template T @param {() => T} make @returns {() => T} */
function once(make) {
  /** @type {T | undefined} */
  let made;
  return () => (made ??= make());
}

class NextTable {
  /**
   * @param {Facts} facts
   * @param {{top: number, texts: Record<string, string>}} carried
   * @param {Float32Array} numbers
   * @param {number[]} places
   */
  constructor(facts, { top, texts }, numbers, [first, last]) {
    this.layers = facts.layers + 1;
    this.steps = facts.inside.temperatures?.length ?? 0;
    this.top = top;
    this.texts = texts;
    this.numbers = numbers;
    this.first = first;
    this.count = last - first;
  }

  /** @param {number} place @param {number} layer @returns {Guesses} */
  guesses(place, layer) {
    const { top, layers, steps, count, numbers } = this, size = 2 * top + 1, row = place - this.first;
    const from = (row * layers + layer) * size, sums = count * layers * size, ofPlace = sums + count * steps;
    const at = row === count - 1 ? ofPlace + layer * steps : layer === layers - 1 ? sums + row * steps : null;
    const tokens = Array.from(numbers.subarray(from, from + top));
    return {
      tokens, texts: tokens.map((token) => this.texts[token]), logits: numbers.subarray(from + top, from + 2 * top), sum: numbers[from + 2 * top],
      sums: at === null ? null : numbers.subarray(at, at + steps),
    };
  }

  /** @param {number} place @returns {import("./source.js").NextAtPlace} */
  at(place) {
    const { layers, steps, count, numbers, top } = this;
    const following = numbers[count * layers * (2 * top + 1) + (count + layers) * steps + place - this.first];
    return { place, following: Number.isNaN(following) ? null : following, layers: [...Array(layers).keys()].map((layer) => this.guesses(place, layer)) };
  }

  /** @param {number} place @returns {import("./source.js").GuessColumn} */
  column(place) {
    const all = this.at(place).layers;
    return { place, tokens: all.map(({ tokens }) => tokens[0]), texts: all.map(({ texts }) => texts[0]), shares: all.map(({ sum }) => Math.exp(-sum)) };
  }
}

/**
 * @param {Facts} facts
 * @param {{first: number, logits: [number, number][]}} carried
 * @param {Record<string, string> | undefined} texts
 * @param {Float32Array} numbers
 * @param {number} place
 * @param {number | null} token
 * @returns {import("./source.js").Block}
 */
function blockOf(facts, { first, logits }, texts, numbers, place, token) {
  const { heads } = facts, places = facts.tokens.length - first, size = heads + 10;
  const layers = numbersTo(facts.layers).map((layer) => {
    const from = ((place - first) * facts.layers + indexOf(layer)) * size, [start, middle, out, input, length, cosine] = numbers.subarray(from, from + 6);
    const [rest, fedInput, fedLength, fedCosine] = numbers.subarray(from + 6 + heads, from + size);
    return {
      layer, in: start, middle, out, attention: { input, length, cosine }, heads: Array.from(numbers.subarray(from + 6, from + 6 + heads)), rest,
      feedForward: facts.inside.layers[indexOf(layer)].feedForward === false ? null : { input: fedInput, length: fedLength, cosine: fedCosine },
    };
  });
  const takesPart = (/** @type {number} */ layer) => facts.attends[indexOf(layer)].rows[0] <= place && place < facts.attends[indexOf(layer)].rows[1];
  const shown = layers.filter(({ layer }) => takesPart(layer)), which = logits.findIndex(([of, id]) => of === place && id === token);
  if (which < 0 || token === null) return { place, layers: shown, logits: null };
  const each = 3 + facts.layers * (heads + 2), from = places * facts.layers * size + which * each;
  const [logit, embedding, constant] = numbers.subarray(from, from + 3);
  const parts = shown.map(({ layer }) => {
    const at = from + 3 + indexOf(layer) * (heads + 2);
    return { heads: Array.from(numbers.subarray(at, at + heads)), rest: numbers[at + heads], feedForward: numbers[at + heads + 1] };
  });
  return { place, layers: shown, logits: { token, text: texts?.[token] ?? "", logit, embedding, constant, layers: parts } };
}
