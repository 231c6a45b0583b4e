// Heads that share keys and values are named with them.
import assert from "node:assert/strict";
import { test } from "node:test";
import { keyGroup, nameOfLook, sharedBy } from "../../web/ui/format.js";

const facts = { layers: 2, heads: 9, attends: [{ name: "1", keyHeads: 3 }, { name: "2" }] };

test("a head's keys are those of its group", () => {
  assert.deepEqual(keyGroup(1, 4, facts), { number: 2, count: 3, first: 4, last: 6 });
  assert.deepEqual(keyGroup(1, 9, facts), { number: 3, count: 3, first: 7, last: 9 });
  assert.equal(keyGroup(2, 4, facts), null);
});

test("captions name them where heads share them", () => {
  assert.equal(nameOfLook({ layer: 1, head: 4, method: "raw" }, facts), "layer 1, head 4 (keys 2 of 3)");
  assert.equal(nameOfLook({ layer: 2, head: 4, method: "raw" }, facts), "layer 2, head 4");
  assert.equal(sharedBy({ number: 2, first: 4, last: 6 }), "key head 2, shared by heads 4 to 6");
});
