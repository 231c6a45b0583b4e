// The served source against a fetch that remembers what it was asked: node --test tests/web
import assert from "node:assert/strict";
import { afterEach, test } from "node:test";

import { compare, models, read, servedSource } from "../../web/data/served.js";

const special = { text: "[CLS]", special: true, part: 0, place: [0, 0], first: 0, last: 1 };
const word = (/** @type {number} */ i) => ({ text: `w${i}`, special: false, part: 0, place: [i, i + 1], first: i, last: i + 1 });
const words = [special, ...Array.from({ length: 1000 }, (_, i) => word(i + 1))];
const facts = /** @type {any} */ ({ model: "a/model", words, tokens: words, heads: 2, layers: 1, served: true, inside: { layers: [{ norm: "before", kind: "rms" }], next: [0, 1001], vocabulary: 9, temperatures: [0.5, 1], logits: true } });
const look = /** @type {const} */ ({ layer: 4, head: 1, method: "norm", units: "words", special: false });

/** @type {{address: string, sent: any}[]} */
let asked = [];
const honest = globalThis.fetch;
afterEach(() => {
  globalThis.fetch = honest;
  asked = [];
});

/** @param {BodyInit | object} body @param {ResponseInit} [how] */
function answerWith(body, how = {}) {
  globalThis.fetch = async (address, sent) => {
    asked.push({ address: String(address), sent });
    const bytes = body instanceof ArrayBuffer || ArrayBuffer.isView(body) ? body : JSON.stringify(body);
    return new Response(/** @type {BodyInit} */ (bytes), how);
  };
}

/** @param {number[]} cells @param {number} rows @param {number} cols @param {number} low @param {number} high */
function answerWithTile(cells, rows, cols, low, high) {
  answerWith(Uint8Array.from(cells), { headers: { "X-Rows": `${rows}`, "X-Cols": `${cols}`, "X-Low": `${low}`, "X-High": `${high}`, "X-Top": "255" } });
}

test("reads a text and names what it gets", async () => {
  answerWith({ id: "0a-1", facts });
  const source = await read({ text: "a & b", second: "c" });
  assert.equal(asked[0].address, "/api/read");
  assert.equal(asked[0].sent.method, "POST");
  assert.deepEqual(JSON.parse(asked[0].sent.body), { text: "a & b", second: "c" });
  assert.equal(source.facts.model, "a/model");
  answerWith(new Float64Array([0.25, 0.75]));
  assert.deepEqual(await source.row({ ...look, row: 3 }), new Float64Array([0.25, 0.75]));
  assert.equal(asked[1].address, "/api/0a-1/row?layer=4&head=1&method=norm&units=words&special=0&row=3");
});

test("no head and no layer are left out of the address", async () => {
  answerWith(new Float64Array([1]));
  await servedSource("0a-1", facts).row({ ...look, layer: null, head: null, method: "raw", special: true, row: 0 });
  assert.equal(asked[0].address, "/api/0a-1/row?method=raw&units=words&special=1&row=0");
});

test("cells of a tile are squares between low and high", async () => {
  answerWithTile([0, 255, 51, 102], 2, 2, 0.5, 1.5);
  const tile = await servedSource("0a-1", facts).tile({ ...look, level: 1, y: 2, x: 3 });
  assert.equal(asked[0].address, "/api/0a-1/tile?layer=4&head=1&method=norm&units=words&special=0&level=1&y=2&x=3");
  assert.deepEqual([tile.rows, tile.cols], [2, 2]);
  [0.5, 1.5, 0.54, 0.66].forEach((value, i) => assert.ok(Math.abs(tile.values[i] - value) < 1e-6));
});

test("a summary is the last level, made smaller by the largest of each square", async () => {
  answerWithTile([0, 51, 102, 0, 0, 0, 255, 0, 0, 0, 0, 51], 3, 4, 0, 1);
  const grid = await servedSource("0a-1", facts).summary({ ...look, buckets: 2 });
  assert.match(asked[0].address, /level=2&y=0&x=0$/);  // 1000 units: 500, 250
  assert.deepEqual([grid.rows, grid.cols], [2, 2]);
  [0.04, 1, 0, 0.04].forEach((value, i) => assert.ok(Math.abs(grid.values[i] - value) < 1e-6, `${grid.values}`));
});

test("one weight, and the row that it stands in", async () => {
  const source = servedSource("0a-1", facts);
  answerWith({ q: [1, 2], k: [3, 4], v: [5, 6], scale: 0.5, masked: true, bias: 0, score: null, max: 1, sum: 2, weight: 0, contribution: 0 });
  const cell = await source.cell({ layer: 1, head: 1, query: 5, key: 6 });
  assert.equal(asked[0].address, "/api/0a-1/cell?layer=1&head=1&query=5&key=6");
  assert.deepEqual([cell.q, cell.v, cell.score, cell.masked], [Float32Array.of(1, 2), Float32Array.of(5, 6), -Infinity, true]);
  answerWith(new Float64Array([1, -Infinity, 1, 0]));
  assert.deepEqual(await source.scoresRow({ layer: 1, head: 1, query: 5 }), { scores: Float64Array.of(1, -Infinity), weights: Float64Array.of(1, 0) });
});

test("edits, comparisons and models", async () => {
  const source = servedSource("0a-1", facts);
  answerWith({ textCosine: 1, textDistance: 0, wordCosines: [] });
  assert.equal((await source.change?.({ edits: ["4.2"] }))?.textCosine, 1);
  assert.deepEqual([asked[0].address, JSON.parse(asked[0].sent.body)], ["/api/0a-1/change", { edits: ["4.2"] }]);
  answerWith({ staticCosine: 1, cosines: [1, 0.5] });
  assert.deepEqual((await source.compare?.({ first: "a", second: "b", word: "c" }))?.cosines, [1, 0.5]);
  assert.deepEqual(JSON.parse(asked[1].sent.body), { first: "a", second: "b", word: "c", model: "a/model" });
  assert.equal((await compare({ first: "a", second: "b", word: "c" })).staticCosine, 1);
  answerWith({ models: [{ name: "a/model" }], default: "a/model", text: "hello" });
  assert.equal((await models()).models[0].name, "a/model");
});

test("a refusal is the server's own sentence", async () => {
  answerWith({ error: "that text is no longer in memory: read it again" }, { status: 410 });
  await assert.rejects(servedSource("0a-1", facts).row({ ...look, row: 0 }), { name: "NoLongerKept", message: "that text is no longer in memory: read it again" });
  answerWith(new Uint8Array([1, 2]), { status: 503 });
  await assert.rejects(models(), { name: "Refused", message: "The server answered 503." });
});

test("a cell beyond the top of a tile is not a number", async () => {
  answerWith(Uint8Array.from([0, 254, 255]), { headers: { "X-Rows": "1", "X-Cols": "3", "X-Low": "0", "X-High": "0.5", "X-Top": "254" } });
  const { values } = await servedSource("0a-1", facts).tile({ ...look, level: 0, y: 0, x: 0 });
  assert.deepEqual([...values], [0, 0.5, NaN]);
});

test("null in an answer is not 0", async () => {
  answerWith({ staticCosine: 1, cosines: [0.5, null], notFinite: "Not all numbers are finite." });
  assert.deepEqual(await compare({ first: "a", second: "b", word: "a" }), { staticCosine: 1, cosines: [0.5, NaN], notFinite: "Not all numbers are finite." });
  answerWith({ textCosine: null, textDistance: null, wordCosines: [null, 1] });
  assert.deepEqual(await servedSource("0a-1", facts).change?.({ edits: ["1.1=1e308"] }), { textCosine: NaN, textDistance: NaN, wordCosines: [NaN, 1] });
  answerWith({ q: [null, 1], k: [1, 2], v: [3, 4], scale: 1, masked: false, bias: null, score: null, max: null, sum: null, weight: null, contribution: null });
  const cell = await servedSource("0a-1", facts).cell({ layer: 1, head: 1, query: 0, key: 0 });
  assert.deepEqual([cell.q[0], cell.score, cell.weight, cell.contribution, cell.bias], [NaN, NaN, NaN, NaN, 0]);
});

test("candidates, a table of guesses and the path through the blocks", async () => {
  const source = servedSource("0a-1", facts), texts = { 3: " Paris", 5: "the" };
  answerWith({ place: 4, following: null, layers: [{ tokens: [3, 5], logits: [0, -1], sums: [0.1, 0.3] }], texts });
  assert.deepEqual(await source.next?.({ place: 4 }), { place: 4, following: null, layers: [{ tokens: [3, 5], texts: [" Paris", "the"], logits: [0, -1], sums: [0.1, 0.3], sum: 0.3 }] });
  answerWith({ places: [{ place: 4, tokens: [5], shares: [null] }], texts });
  assert.deepEqual(await source.guesses?.({ first: 4, last: 5 }), [{ place: 4, tokens: [5], texts: ["the"], shares: [NaN] }]);
  const part = { input: 1, length: 2, cosine: null }, layer = { layer: 1, in: 1, middle: 2, out: null, attention: part, heads: [1, null], rest: 0, feedForward: null };
  answerWith({ place: 4, layers: [layer], logits: { token: 3, text: " Paris", logit: 2, embedding: 1, constant: null, layers: [{ heads: [1, null], rest: 0, feedForward: 0 }] } });
  const block = await source.block({ place: 4, token: 3 });
  assert.deepEqual(block.layers, [{ ...layer, out: NaN, heads: [1, NaN], attention: { input: 1, length: 2, cosine: NaN } }]);
  assert.deepEqual(block.logits, { token: 3, text: " Paris", logit: 2, embedding: 1, constant: NaN, layers: [{ heads: [1, NaN], rest: 0, feedForward: 0 }] });
  await source.block({ place: 4, token: null });
  assert.deepEqual(asked.map(({ address }) => address), ["/api/0a-1/next?place=4", "/api/0a-1/guesses?first=4&last=5", "/api/0a-1/block?place=4&token=3", "/api/0a-1/block?place=4"]);
});

test("a model that does not write has no next token", () => {
  const source = servedSource("0a-1", { ...facts, inside: { layers: [] } });
  assert.deepEqual([source.next, source.guesses, source.nextPlaces], [undefined, undefined, [0, 0]]);
});
