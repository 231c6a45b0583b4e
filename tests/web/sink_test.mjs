// The first token of a model that writes: left out where attention rests on it, and shown when it is asked for.
import assert from "node:assert/strict";
import { test } from "node:test";
import { unitsOf } from "../../web/data/source.js";
import { servedSource } from "../../web/data/served.js";
import { sumOver, wholeRow } from "../../web/data/units.js";
import { attend, attendJson, sinkingModel, sourceOf } from "./program.mjs";

const text = "Unknown banks of the river, money is the bank.";
const near = 2e-6;

function assertNear(actual, expected, what) {
  assert.equal(actual.length, expected.length, what);
  actual.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) <= near, `${what}, ${i}: ${value}, expected ${expected[i]}`));
}

const source = sourceOf(attend(["explain", text, "--model", sinkingModel, "--format", "html"]));
const { facts } = source;

for (const method of ["raw", "norm", "rollout"]) {
  for (const units of ["words", "tokens"]) {
    test(`maps by ${method} between ${units}, without the first token and with it, are the program's`, async () => {
      for (const first of [false, true, undefined]) {
        const shown = attendJson(["explain", text, "--model", sinkingModel, "--method", method, ...(units === "tokens" ? ["--tokens"] : []), "--sink", first === true ? "keep" : "fold"]);
        const look = { layer: null, head: null, method, units, special: false, ...(first === undefined ? {} : { first }) };
        for (let row = 0; row < shown.weights.length; ++row) assertNear(Array.from(await source.row({ ...look, row })), shown.weights[row], `${first} row ${row}`);
        const { rows, values } = await source.tile({ ...look, level: 0, y: 0, x: 0 });
        assertNear(Array.from(values), shown.weights.flat(), `${first}, the map`);
        assert.deepEqual(unitsOf(facts, units, false, first).map((unit) => [unit.first, unit.last]), (shown.words ?? shown.units).map((unit) => unit.tokens));
        assert.equal(rows, shown.weights.length);
      }
    });
  }
}

test("a row with nothing left out adds up to 1, and leads to the one that is shown", async () => {
  const look = { layer: 2, head: 3, method: "raw", units: "words", special: false, first: false };
  const units = unitsOf(facts, "words", false, false), from = units[4], to = units[1];
  const row = await wholeRow(source, look, from), shown = await source.row({ ...look, row: 4 });
  assert.ok(Math.abs(row.reduce((sum, value) => sum + value, 0) - 1) < 1e-6);
  assert.ok(Math.abs(sumOver(row, to) / (1 - row[0]) - shown[1]) < 1e-6);
});

test("units without the first token", () => {
  const unit = (first, last, special = false) => ({ text: `${first}`, special, part: 0, place: [first, last], first, last });
  const made = (words) => ({ words, tokens: [] });
  const spans = (words, special, first) => unitsOf(made(words), "words", special, first).map((each) => [each.first, each.last]);
  assert.deepEqual(spans([unit(0, 2), unit(2, 3)], true, false), [[1, 2], [2, 3]]);
  assert.deepEqual(spans([unit(0, 1), unit(1, 3)], true, false), [[1, 3]]);
  assert.deepEqual(spans([unit(0, 1)], true, false), [[0, 1]]);  // nothing else would be left
  assert.deepEqual(spans([unit(0, 1, true), unit(1, 2)], false, false), [[1, 2]]);
  assert.deepEqual(spans([unit(0, 1, true), unit(1, 2)], true, true), [[0, 1], [1, 2]]);
});

test("the explorer asks for maps without the first token where that is usual", async (t) => {
  const asked = [], fetched = globalThis.fetch;
  globalThis.fetch = async (address) => {
    asked.push(address);
    return new Response(new Float64Array(8).buffer);
  };
  t.after(() => (globalThis.fetch = fetched));
  const served = servedSource("0a-1", facts), look = { layer: 1, head: 2, method: "raw", units: "words", special: false };
  await served.row({ ...look, row: 0 });
  await served.row({ ...look, first: true, row: 0 });
  assert.deepEqual(asked.map((address) => address.includes("first=0")), [true, false]);
});
