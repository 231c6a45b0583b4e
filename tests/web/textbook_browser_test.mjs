// The textbook mode in a browser: numbers follow from what is typed and switched.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { walk } from "../../web/math/walk.js";
import { allOff, lessonOf } from "../../web/textbook/model.js";
import { presets } from "../../web/textbook/presets.js";
import { openBrowser, withPage } from "./browser.mjs";
import { attend, attendJson, goldenModel } from "./program.mjs";

let browser, html;
before(async () => {
  const cleaners = [];
  html = attend(["explain", "the bank", "--model", goldenModel({ after: (clean) => cleaners.push(clean) }, "bert"), "--format", "html"]);
  cleaners.forEach((clean) => clean());
  browser = await openBrowser();
});
after(() => browser?.close());

const open = (act) => withPage(browser, html, { hash: "tab=textbook" }, act);
const matrix = (page, name) => page.$$eval(`table[aria-label="${name}"] tbody tr`, (rows) => rows.map((row) => [...row.querySelectorAll("td.number")].map((cell) => Number(cell.dataset.value))));
const live = (page, name) => page.textContent(`[data-live=${name}]`);

function assertNear(actual, expected) {
  assert.equal(actual.length, expected.length);
  expected.flat().forEach((value, i) => assert.ok(Math.abs(actual.flat()[i] - value) < 1e-9, `${actual} is not ${expected}`));
}

test("X Xᵀ, softmax and the mixture are the program's", () => open(async (page) => {
  const { scores, weights, output } = attendJson(["steps"]);
  assertNear(await matrix(page, "Scores"), scores);
  assertNear(await matrix(page, "Weights"), weights);
  assertNear(await matrix(page, "Result"), output);
}));

test("a number that is changed changes everything after it", () => open(async (page) => {
  await page.fill('input[aria-label="X, love, number 3"]', "2.5");
  const x = structuredClone(presets[0].x);
  x[1][2] = 2.5;
  const { weights, output } = attendJson(["steps", "-"], JSON.stringify({ tokens: presets[0].tokens, x }));
  assertNear(await matrix(page, "Weights"), weights);
  assertNear(await matrix(page, "Result"), output);
  await page.fill('input[aria-label="X, love, number 3"]', "");
  assertNear(await matrix(page, "Weights"), weights);
}));

test("each switch says what it changes, and changes it", () => open(async (page) => {
  const on = { ...allOff };
  for (const name of ["projections", "scale", "heads", "mask", "positions", "cross"]) {
    assert.match(await page.textContent(`[data-switch=${name}] .changes`), /^On: /);
    await page.check(`[data-switch=${name}] input[role=switch]`);
    on[name] = true;
    const walked = walk(lessonOf(presets[0], on)), one = walked.heads.length === 1;
    for (const [h, head] of walked.heads.entries()) assertNear(await matrix(page, one ? "Weights" : `Weights, head ${h + 1}`), head.weights);
    assertNear(await matrix(page, "Result"), walked.output);
  }
  await page.fill('input[aria-label="Wq, 1, number 1"]', "3");
  const changed = structuredClone(presets[0]);
  changed.wq[0][0] = 3;
  assertNear(await matrix(page, "Result"), walk(lessonOf(changed, on)).output);
  assert.ok((await page.$$eval(".shapes tbody tr", (rows) => rows.length)) >= 10);
}));

test("with queries, keys and values, Wo makes the new vector of the mixture", () => open(async (page) => {
  assert.equal(await page.locator("[data-live=projected]").count(), 0);
  const said = () => page.textContent(".question:has([data-live=mixed])");
  assert.match(await said(), /The new vector of “love” is/);
  await page.check("[data-switch=projections] input[role=switch]");
  const walked = walk(lessonOf(presets[0], { ...allOff, projections: true })), row = (values) => `[${values.map((value) => value.toFixed(2).replace("-", "−")).join(", ")}]`;
  assert.equal(await live(page, "mixed"), row(walked.heads[0].output[1]));
  assert.equal(await live(page, "projected"), row(walked.output[1]));
  assert.match(await said(), /The mixture of “love” is .* Times Wo, it becomes the new vector/);
  assertNear(await matrix(page, "Mixture"), walked.heads[0].output);
  assert.match(await page.textContent(".question:has([data-live=output-shape])"), /Wo brings the mixture, 4 numbers a word, back to the length of the input/);
  assert.match(await page.textContent(".textbook"), /4\. The mixture: weights V, and Wo/);
  await page.check("[data-switch=heads] input[role=switch]");
  assert.match(await said(), /in the first head.* Side by side and times Wo, the heads' mixtures become the new vector/);
}));

test("questions stand beside numbers that answer them", () => open(async (page) => {
  assert.equal(await live(page, "pairs"), "16");
  assert.equal(await live(page, "row-sum"), "1.000");
  assert.equal(await live(page, "symmetry"), "0");
  assert.notEqual(await live(page, "asymmetry"), "0");
  assert.equal(await live(page, "order"), "0");
  assert.equal(await live(page, "output-shape"), "(4, 3)");
  await page.check("[data-switch=positions] input[role=switch]");
  assert.notEqual(await live(page, "order"), "0");
  const { saturation } = attendJson(["steps", "--example", "scale"]);
  await page.waitForFunction(() => document.querySelectorAll(".saturation tbody tr").length === 4);
  const rows = await page.$$eval(".saturation tbody tr", (all) => all.map((row) => [...row.querySelectorAll("td")].map((cell) => Number(cell.dataset.value))));
  assertNear(rows, [4, 16, 64, 256].map((d) => {
    const { unscaled, scaled } = saturation.find((each) => each.d === d);
    return [unscaled, scaled].flatMap((each) => [each.spread, each.largest_weight, each.gradient]);
  }));
}));

test("every sentence can be chosen; words that occur twice part when order counts", () => open(async (page) => {
  for (const { name, tokens } of presets) {
    await page.selectOption(".textbook select", name);
    assert.equal((await matrix(page, "Weights")).length, tokens.length);
  }
  assert.equal(await live(page, "twins"), "1.000");
  await page.check("[data-switch=positions] input[role=switch]");
  assert.notEqual(await live(page, "twins"), "1.000");
}));
