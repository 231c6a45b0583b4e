// The steps of a weight say what the layer does, also where it is not what most models do.
import assert from "node:assert/strict";
import { test } from "node:test";
import { maskSentence, scaleSentence, softmaxSentence } from "../../web/views/cell_sentences.js";

const plain = { name: "1", rows: [0, 9], keys: [0, 9], causal: false };

test("scores are divided by the root only where they are", () => {
  assert.match(scaleSentence(0.125, 64), /^Divided by √64 = 8\.000/);
  assert.match(scaleSentence(1, 64), /^Multiplied by the scale of this layer, 1\.000/);
});

test("a key outside the window is masked", () => {
  const sentence = (attends, query, key) => maskSentence({ ...plain, ...attends }, query, key, "it", "cat");
  assert.match(sentence({}, 2, 7), /nothing is masked/);
  assert.match(sentence({ window: [2, 2] }, 5, 2), /outside the window .* weight 0/);
  assert.match(sentence({ window: [2, 2] }, 5, 8), /outside the window/);
  assert.match(sentence({ window: [2, 2] }, 5, 3), /inside the window/);
  assert.match(sentence({ window: [2, -1] }, 5, 8), /inside the window/);
  assert.match(sentence({ window: [2, -1], causal: true }, 5, 8), /does not look ahead/);
  assert.match(sentence({ causal: true }, 5, 5), /may be looked at/);
  assert.match(sentence({ rows: [6, 9] }, 5, 5), /does not look at others/);
  assert.match(sentence({ keys: [0, 3] }, 5, 5), /not among the tokens/);
});

test("with a sink the weights of a row add up to less than 1", () => {
  assert.match(softmaxSentence(plain, 2, 3), /add up to 1\.$/);
  assert.match(softmaxSentence({ ...plain, sinks: [0.5] }, 2, 3), /add up to less than 1: .* sink/);
});
