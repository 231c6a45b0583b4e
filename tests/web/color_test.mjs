// The page's colours are the program's scale.
import assert from "node:assert/strict";
import { test } from "node:test";
import { colorAt, inkOn, placeOf } from "../../web/math/color.js";

test("the scales begin and end where the program's do", () => {
  assert.deepEqual(colorAt(0, "dark"), [0x1c, 0x18, 0x41]);
  assert.deepEqual(colorAt(1, "dark"), [0xf5, 0xf4, 0x8d]);
  assert.deepEqual(colorAt(0, "light"), [0xfb, 0xfb, 0xee]);
  assert.deepEqual(colorAt(1, "light"), [0x1e, 0x1b, 0x44]);
  assert.deepEqual(colorAt(2, "light"), colorAt(1, "light"));
});

test("lightness rises in the dark and falls on paper", () => {
  const light = ([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
  for (let i = 1; i <= 12; ++i) {
    assert.ok(light(colorAt(i / 12, "dark")) > light(colorAt((i - 1) / 12, "dark")));
    assert.ok(light(colorAt(i / 12, "light")) < light(colorAt((i - 1) / 12, "light")));
  }
});

test("text on a colour can be read", () => {
  assert.equal(inkOn([255, 255, 255]), "#000");
  assert.equal(inkOn([30, 27, 68]), "#fff");
});

test("few units are placed evenly, many by the square root", () => {
  assert.equal(placeOf(0.25, 1, 12), 0.25);
  assert.equal(placeOf(0.25, 1, 500), 0.5);
  assert.equal(placeOf(0.3, 0, 12), 0);
});
