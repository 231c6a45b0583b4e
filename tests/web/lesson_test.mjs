// The textbook mode computes what `attend steps` computes.
import assert from "node:assert/strict";
import { test } from "node:test";
import { RandomScores } from "../../web/math/saturation.js";
import { walk } from "../../web/math/walk.js";
import { allOff, hindrance, lessonOf } from "../../web/textbook/model.js";
import { presets } from "../../web/textbook/presets.js";
import { attendJson } from "./program.mjs";

function assertNear(actual, expected, what) {
  if (Array.isArray(expected)) {
    assert.equal(actual.length, expected.length, what);
    expected.forEach((value, i) => assertNear(actual[i], value, `${what}[${i}]`));
  } else {
    assert.ok(Math.abs(actual - expected) <= 1e-12, `${what}: ${actual}, expected ${expected}`);
  }
}

function assertSame(walked, json, what) {
  const one = walked.heads.length === 1, all = (name) => (one ? walked.heads[0][name] : walked.heads.map((head) => head[name]));
  assertNear(walked.scale, json.scale, `${what}: scale`);
  assertNear(all("scores"), json.scores, `${what}: scores`);
  assertNear(all("weights"), json.weights, `${what}: weights`);
  assertNear(walked.output, json.output, `${what}: output`);
}

const preset = (name) => presets.find((each) => each.name === name);
const on = (...names) => ({ ...allOff, ...Object.fromEntries(names.map((name) => [name, true])) });

test("the sentences are those of the program's examples", () => {
  assertSame(walk(lessonOf(preset("love"), on())), attendJson(["steps"]), "love");
  assertSame(walk(lessonOf(preset("love"), on("mask"))), attendJson(["steps", "--example", "causal"]), "causal");
  assertSame(walk(lessonOf(preset("it"), on())), attendJson(["steps", "--example", "it"]), "it");
  assertSame(walk(lessonOf(preset("cat"), on("projections", "scale", "heads"))), attendJson(["steps", "--example", "heads"]), "heads");
});

// A lesson as a file of the program's.
function fileOf({ tokens, keyTokens, x, q, k, v, wq, wk, wv, wo, heads, causal, scale, context, positions }) {
  return JSON.stringify({ tokens, key_tokens: keyTokens, x, q, k, v, wq, wk, wv, wo, heads, causal, scale, context, positions: positions ? "sinusoidal" : undefined });
}

for (const each of presets) {
  test(`every combination of switches for “${each.label}”`, () => {
    const names = Object.keys(allOff), seen = new Set();
    for (let bits = 0; bits < 64; ++bits) {
      const chosen = on(...names.filter((_, i) => (bits >> i) & 1));
      if (names.some((name) => chosen[name] && hindrance(each, chosen, name) !== "")) continue;
      const lesson = lessonOf(each, chosen), file = fileOf(lesson);
      if (seen.has(file) || (["cat", "apple"].includes(each.name) && bits % 3 === 2)) continue;  // of the later ones two thirds
      seen.add(file);
      assertSame(walk(lesson), attendJson(["steps", "-"], file), JSON.stringify(chosen));
    }
    assert.ok(seen.size >= 3);
  });
}

test("what softmax does without the scale is what the program measures", () => {
  const { saturation } = attendJson(["steps", "--example", "scale"]), scores = new RandomScores();
  for (const d of [4, 16, 64]) {
    const row = scores.measure(d), expected = saturation.find((each) => each.d === d);
    for (const kind of ["unscaled", "scaled"]) {
      assertNear([row[kind].spread, row[kind].largest, row[kind].gradient],
        [expected[kind].spread, expected[kind].largest_weight, expected[kind].gradient], `${kind} at ${d}`);
    }
  }
});
