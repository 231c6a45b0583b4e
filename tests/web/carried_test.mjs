// Every map that the page makes from q, k and v is the one that the program makes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { attend, attendJson, families, goldenModel, sourceOf, trainedModel } from "./program.mjs";

const text = "The banks of the river, money is the bank.";
const near = 2e-6;  // weights are float32 in the program

function assertNear(actual, expected, what, most = near) {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= most, `${what}, ${i}: ${value}, expected ${expected[i]}`));
}

async function mapOf(source, look) {
  const { rows, cols, values } = await source.tile({ ...look, level: 0, y: 0, x: 0 });
  return [...Array(rows).keys()].map((i) => Array.from(values.subarray(i * cols, (i + 1) * cols)));
}

const looks = [
  { layer: null, head: null, method: "raw", units: "words", special: false },
  { layer: 1, head: 2, method: "raw", units: "tokens", special: true },
  { layer: 2, head: null, method: "norm", units: "words", special: false },
  { layer: null, head: null, method: "norm", units: "tokens", special: true },
  { layer: 1, head: 1, method: "norm", units: "words", special: true },
  { layer: null, head: null, method: "rollout", units: "words", special: false },
  { layer: 1, head: null, method: "rollout", units: "tokens", special: true },
];

function argumentsOf({ layer, head, method, units, special }) {
  return ["--method", method, ...(layer === null ? [] : ["--layer", layer]), ...(head === null ? [] : ["--head", head]),
    ...(units === "tokens" ? ["--tokens"] : []), ...(special ? ["--special"] : [])];
}

async function assertMaps(words, model, some) {
  return assertMapsOf([words, "--model", model], some);
}

async function assertMapsOf(what, some) {
  const source = sourceOf(attend(["explain", ...what, "--format", "html"]));
  for (const look of some) {
    if (look.layer > source.facts.layers) continue;
    const { weights } = attendJson(["explain", ...what, ...argumentsOf(look)]);
    const map = await mapOf(source, look);
    weights.forEach((row, i) => assertNear(map[i], row, `${JSON.stringify(look)} row ${i}`));
    assertNear(Array.from(await source.row({ ...look, row: 2 })), weights[2], "one row by itself");
  }
  return source;
}

for (const family of families) {
  test(`maps of ${family} are the program's`, (t) => assertMaps(text, goldenModel(t, family), looks));
}

test("maps of a trained decoder are the program's", (t) =>
  assertMaps("s1 s5 s3 | s1", trainedModel(t, "copy", ["model.positions=rotary", "model.norm=rms", "model.feed_forward=swiglu"]), looks));

test("maps of a trained decoder with ALiBi are the program's", (t) =>
  assertMaps("s1 s5 s3 | s1", trainedModel(t, "copy", ["model.positions=alibi", "model.scaled=false"]), looks));

test("maps of a recorded pass are the program's, and it says nothing of what values contribute", async () => {
  const file = fileURLToPath(new URL("../golden/recording/two_layers.attn", import.meta.url));
  const source = await assertMapsOf([file], looks.filter((look) => look.method !== "norm"));
  assert.deepEqual(source.facts.methods, ["raw", "rollout"]);
  const cell = await source.cell({ layer: 2, head: 3, query: 4, key: 3 });
  assert.equal(cell.contribution, null);
  assert.ok(cell.weight > 0 && cell.weight < 1);
});

test("maps of a trained encoder and decoder are the program's", async (t) => {
  const parts = [{ layer: 3, head: 2, method: "raw" }, { layer: 4, head: null, method: "norm" }, { layer: 6, head: 1, method: "raw" }].map((look) => ({ ...look, units: "tokens", special: true }));
  const model = trainedModel(t, "reverse", ["model.layers=2", "model.positions=alibi", "data.length=5"]);
  const source = await assertMaps("s4 s2 s7 s1 s3", model, [...looks.filter((look) => look.special), ...parts]);
  assert.deepEqual(source.facts.attends.map((layer) => layer.name), ["encoder 1", "encoder 2", "decoder 1", "cross 1", "decoder 2", "cross 2"]);
  const silent = await source.cell({ layer: 4, head: 1, query: 1, key: 2 });
  assert.deepEqual([silent.masked, silent.weight, silent.sum], [true, 0, 0]);
});

test("one weight is made of the parts that the steps show", async (t) => {
  for (const family of ["bert", "mpnet", "gpt2"]) {
    const model = goldenModel(t, family), source = sourceOf(attend(["explain", text, "--model", model, "--format", "html"]));
    const of = { layer: 1, head: 2, query: 4 }, look = { layer: 1, head: 2, units: "tokens", special: true };
    const { weights } = attendJson(["explain", text, "--model", model, ...argumentsOf({ ...look, method: "raw" })]);
    const taken = attendJson(["explain", text, "--model", model, ...argumentsOf({ ...look, method: "norm" })]).weights[4];
    const row = await source.scoresRow(of);
    assertNear(Array.from(row.weights), weights[4], `${family}: the softmax row`);
    for (let key = 0; key < weights.length; ++key) {
      const cell = await source.cell({ ...of, key });
      const dot = cell.q.reduce((sum, value, i) => sum + value * cell.k[i], 0);
      if (!cell.masked) assert.ok(Math.abs(cell.scale * dot + cell.bias - cell.score) < 1e-12);
      assert.ok(Math.abs(Math.exp(cell.score - cell.max) / cell.sum - weights[4][key]) < near);
      assert.equal(cell.masked, family === "gpt2" && key > 4);
      assert.ok(Math.abs(cell.contribution - taken[key]) < near);
    }
  }
});

test("a cell of a coarse level is the largest of those it covers", async (t) => {
  const model = goldenModel(t, "bert"), source = sourceOf(attend(["explain", text, "--model", model, "--format", "html"]));
  const look = { layer: 1, head: 1, method: "raw", units: "tokens", special: true }, fine = await mapOf(source, look);
  const coarse = await source.tile({ ...look, level: 2, y: 0, x: 0 });
  assert.equal(coarse.rows, Math.ceil(fine.length / 4));
  for (let i = 0; i < coarse.rows; ++i) {
    for (let j = 0; j < coarse.cols; ++j) {
      const covered = fine.slice(4 * i, 4 * i + 4).flatMap((row) => row.slice(4 * j, 4 * j + 4));
      assert.equal(coarse.values[i * coarse.cols + j], Math.max(...covered));
    }
  }
  const thumbnail = await source.summary({ ...look, buckets: 3 });
  assert.equal(thumbnail.rows, 3);
  assert.equal(Math.max(...thumbnail.values), Math.max(...fine.flat()));
});

test("a page of two texts keeps both", (t) => {
  const model = goldenModel(t, "bert");
  const { facts } = sourceOf(attend(["explain", "the bank", "--second", "the river", "--model", model, "--format", "html"]));
  assert.equal(facts.second, "the river");
  assert.deepEqual(facts.words.filter((word) => !word.special).map((word) => word.part), [0, 0, 1, 1]);
});

test("a query that is not a number makes weights that are none, and keys that take no part stay 0", async (t) => {
  const model = goldenModel(t, "gpt2"), source = sourceOf(attend(["explain", text, "--model", model, "--format", "html"]), (layer, numbers) => {
    const { heads, headSize, tokens } = source.facts, token = heads * headSize, n = tokens.length;
    if (layer !== 1) return;
    numbers[2 * token] = NaN;  // the query of token 2, in head 1
    const products = 3 * n * token + 3 * (heads * (heads + 1)) / 2;
    numbers.fill(NaN, products, products + (heads * (heads + 1)) / 2);  // the value of token 3, which token 2 does not look at
  });
  const of = { units: "tokens", special: true }, rowOf = (look) => source.row({ ...of, layer: 1, row: 2, ...look }).then((row) => Array.from(row));
  for (const look of [{ head: 1, method: "raw" }, { head: 1, method: "norm" }, { head: null, method: "norm" }, { head: null, method: "rollout" }]) {
    const row = await rowOf(look);
    assert.deepEqual(row.map((value) => (Number.isNaN(value) ? "nan" : value)), row.map((_, i) => (i <= 2 ? "nan" : 0)), JSON.stringify(look));
  }
  assert.ok((await rowOf({ head: 2, method: "raw" })).every(Number.isFinite));
  const { values, cols } = await source.tile({ ...of, layer: 1, head: 1, method: "raw", level: 1, y: 0, x: 0 });
  assert.ok(Number.isNaN(values[cols]) && values[0] > 0);
  const small = await source.summary({ ...of, layer: 1, head: 1, method: "raw", buckets: 2 });
  assert.ok(Number.isNaN(small.values[0]));
  const cell = await source.cell({ layer: 1, head: 1, query: 2, key: 1 });
  assert.ok([cell.score, cell.weight, cell.contribution].every(Number.isNaN));
  assert.equal((await source.cell({ layer: 1, head: 1, query: 2, key: 3 })).weight, 0);
});
