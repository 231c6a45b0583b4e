// A text that the program has forgotten is read again, once for all who ask.
import assert from "node:assert/strict";
import { test } from "node:test";
import { renewed } from "../../web/data/renewed.js";

function sourceThat(answer) {
  return { facts: {}, row: answer, tile: answer, summary: answer, cell: answer, scoresRow: answer };
}

const gone = () => Promise.reject(Object.assign(new Error("no longer kept"), { name: "NoLongerKept" }));

test("several questions at once make one reading", async () => {
  let readings = 0;
  const source = renewed(sourceThat(gone), async () => {
    ++readings;
    return sourceThat(async ({ row }) => row);
  });
  assert.deepEqual(await Promise.all([source.row({ row: 1 }), source.tile({ row: 2 }), source.cell({ row: 3 })]), [1, 2, 3]);
  assert.equal(readings, 1);
});

test("other refusals are passed on", async () => {
  const source = renewed(sourceThat(() => Promise.reject(new Error("no such row"))), () => assert.fail("was read again"));
  await assert.rejects(source.row({}), /no such row/);
});

test("a reading that fails again is an error", async () => {
  await assert.rejects(renewed(sourceThat(gone), async () => sourceThat(gone)).row({}), { name: "NoLongerKept" });
});
