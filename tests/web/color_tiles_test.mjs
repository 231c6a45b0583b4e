// Several heads in one map: a cell belongs to the head that gives most.
import assert from "node:assert/strict";
import { test } from "node:test";
import { colorIn, headColor, headTable } from "../../web/math/color.js";
import { strongest } from "../../web/views/color_tiles.js";

const grid = (...values) => ({ rows: 1, cols: values.length, values: Float32Array.from(values) });

test("each cell has the largest value and its head; what is not a number is shown", () => {
  const { grid: { rows, cols, values }, which } = strongest([grid(0.5, 0.25, 0, 0.5), grid(0.25, 0.75, 0, NaN), grid(0.5, 0.5, 1, 0)]);
  assert.deepEqual([rows, cols, ...values], [1, 4, 0.5, 0.75, 1, NaN]);
  assert.deepEqual([...which], [0, 1, 2, 1]);
});

test("the scales of heads begin alike and end apart, light and dark", () => {
  for (const theme of ["light", "dark"]) {
    const ends = [0, 1, 2, 3, 4, 5].map((i) => colorIn(headTable(i, theme), 1));
    assert.equal(new Set(ends.map(String)).size, 6);
    for (let i = 0; i < 6; ++i) {
      assert.deepEqual(colorIn(headTable(i, theme), 0), colorIn(headTable(0, theme), 0));
      assert.equal(`#${ends[i].map((channel) => channel.toString(16).padStart(2, "0")).join("")}`, headColor(i, theme));
    }
  }
});
