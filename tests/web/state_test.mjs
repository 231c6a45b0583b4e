// The address holds the state, and an address from elsewhere does no harm.
import assert from "node:assert/strict";
import { test } from "node:test";
import { fitted, fromAddress, initialState, Store, toAddress } from "../../web/ui/state.js";

const everything = {
  tab: "lines", layer: 4, head: 2, method: "norm", units: "tokens", special: true, first: false, row: 8, col: 0, steps: true, place: 3, depth: 0, candidate: 7, temperature: 0.3,
};

test("a state comes back from its address", () => {
  for (const state of [initialState, everything, { ...everything, head: null, col: null, steps: false }]) {
    assert.deepEqual(fromAddress(toAddress(state), initialState), state);
  }
});

test("heads and words are counted from 1, as people do", () => {
  assert.equal(toAddress({ ...initialState, layer: 4, head: 2, row: 0 }), "layer=4&head=2&row=1");
});

test("an empty address means what is usual", () => {
  assert.equal(fromAddress("", everything), everything);
});

test("nonsense in an address is left out", () => {
  assert.equal(fromAddress("layer=1&head=0", initialState).head, null);
  assert.deepEqual(fromAddress("tab=x&layer=-1&head=1.5&method=y&row=1e99&units=<b>&token=0&depth=&next=-1&temperature=99", initialState), initialState);
  assert.equal(fromAddress("temperature=0.27", initialState).temperature, 0.3);
});

test("a state is fitted to its reading", () => {
  const facts = { layers: 2, heads: 2, tokens: Array(9) };
  assert.deepEqual(fitted(everything, facts, 5), { ...everything, layer: null, head: null, row: null, col: null, steps: false });
  assert.equal(fitted({ ...everything, place: 9 }, facts, 5).place, null);
  assert.equal(fitted({ ...everything, depth: 3 }, facts, 5).depth, null);
  assert.equal(fitted({ ...everything, layer: 1, method: "rollout" }, facts, 9).head, null);
  assert.equal(fitted({ ...everything, layer: 2, head: 2 }, facts, 9).head, 2);
  assert.equal(fitted({ ...everything, layer: 2, head: 3 }, facts, 9).head, null);
});

test("a store tells of changes, and of nothing else", () => {
  const store = new Store(initialState), heard = [];
  store.listen((now, before) => heard.push([before.row, now.row]));
  store.set({ row: 3 });
  store.set({ row: 3 });
  assert.deepEqual(heard, [[null, 3]]);
});
