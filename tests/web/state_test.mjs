// The address holds the state, and an address from elsewhere does no harm.
import assert from "node:assert/strict";
import { test } from "node:test";
import { bestLook, fitted, fromAddress, headsOf, initialState, Store, toAddress, withItsWord } from "../../web/ui/state.js";

const everything = {
  tab: "lines", layer: 4, head: 2, colors: "4.2 1.3", scale: "same", method: "norm", units: "tokens", special: true, first: false, row: 8, col: 0, zoom: "2.5 3 0.25", steps: true, place: 3, depth: 0, candidate: 7, temperature: 0.3, off: "4.2\nit>animal",
};

test("a state comes back from its address", () => {
  for (const state of [initialState, everything, { ...everything, head: null, col: null, steps: false }]) {
    assert.deepEqual(fromAddress(toAddress(state), initialState), state);
  }
});

test("heads and words are counted from 1, as people do", () => {
  assert.equal(toAddress({ ...initialState, layer: 4, head: 2, row: 0 }), "layer=4&head=2&row=1");
});

test("the mean is said, because a text may choose a head", () => {
  assert.equal(toAddress(initialState), "layer=mean");
  const usual = { ...initialState, layer: 3, head: 1 };
  assert.deepEqual(fromAddress(toAddress(initialState), usual), initialState);
});

test("heads in colour are few, each once, and exist", () => {
  assert.deepEqual(headsOf("4.2,1.3 4.2 0.1 x 5"), [{ layer: 4, head: 2 }, { layer: 1, head: 3 }]);
  assert.equal(headsOf("1.1 1.2 1.3 1.4 1.5 1.6 1.7").length, 6);
  const facts = { layers: 2, heads: 3, tokens: Array(9) };
  assert.equal(fitted({ ...initialState, colors: "4.2 1.3 2.9" }, facts, 9).colors, "1.3");
  assert.equal(fitted({ ...initialState, colors: "1.3", method: "rollout" }, facts, 9).colors, "");
});

test("a text is first seen through its best head, and the word that this links", () => {
  const word = (text, first, special = false) => ({ text, first, last: first + 1, special, part: 0, place: [0, 0] });
  const words = [word("[CLS]", 0, true), word("the", 1), word("cat", 2), word("slept", 3)];
  const facts = { words, tokens: words, notable: [{ layer: 2, head: 1, role: "links", share: 0.9, links: [[3, 2, 0.9]], says: "" }] };
  assert.deepEqual(bestLook(facts, initialState), { ...initialState, layer: 2, head: 1, row: 2, place: 3 });
  assert.equal(bestLook({ ...facts, notable: [] }, initialState), initialState);
  assert.equal(bestLook({ words }, initialState), initialState);  // a page of an older version
  assert.equal(withItsWord(facts, { ...initialState, layer: 1, head: 1 }).row, null);
  assert.equal(withItsWord(facts, { ...initialState, layer: 2, head: 1, special: true }).row, 3);
});

test("an empty address means what is usual", () => {
  assert.equal(fromAddress("", everything), everything);
});

test("nonsense in an address is left out", () => {
  assert.equal(fromAddress("layer=1&head=0", initialState).head, null);
  assert.deepEqual(fromAddress("tab=x&layer=-1&head=1.5&method=y&colors=1.x&scale=z&off=&off=+&row=1e99&units=<b>&token=0&depth=&next=-1&zoom=1+x+3&temperature=99", initialState), initialState);
  assert.equal(fromAddress("temperature=0.27", initialState).temperature, 0.3);
});

test("a state is fitted to its reading", () => {
  const facts = { layers: 2, heads: 2, tokens: Array(9) };
  assert.deepEqual(fitted(everything, facts, 5), { ...everything, layer: null, head: null, colors: "", row: null, col: null, steps: false });
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
