// The page's colours are the program's scale.
import assert from "node:assert/strict";
import { test } from "node:test";
import { largest, largestAt, largestFirst } from "../../web/data/order.js";
import { colorAt, inkOn, placeOf } from "../../web/math/color.js";
import { number, percent } from "../../web/ui/format.js";

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

test("what is not a number has a colour of its own, and places the others as if it were not there", () => {
  assert.ok(Number.isNaN(placeOf(NaN, 1, 12)));
  assert.ok(Number.isNaN(placeOf(NaN, 0, 12)));
  const scale = [...Array(256).keys()].flatMap((i) => [colorAt(i / 255, "dark"), colorAt(i / 255, "light")]).map(String);
  assert.ok(!scale.includes(String(colorAt(NaN, "dark"))));
  assert.deepEqual(colorAt(NaN, "light"), colorAt(NaN, "dark"));
  assert.equal(largest([NaN, 0.25, 0.5]), 0.5);
  assert.equal(largestAt([NaN, 0.25, 0.5]), 2);
  assert.equal(largestAt([NaN, NaN]), 0);
  assert.deepEqual(largestFirst([0.25, NaN, 0.5, 0.5]), [1, 2, 3, 0]);
  assert.equal(number(NaN), "not a number");
  assert.equal(percent(NaN), "not a number");
});

test("percentages below ten have a decimal, as the program's have", () =>
  assert.deepEqual([0, 0.0099, 0.0124, 0.094, 0.0996, 0.5, 1].map(percent), ["0%", "1.0%", "1.2%", "9.4%", "10%", "50%", "100%"]));
