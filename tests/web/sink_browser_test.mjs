// The first token in a browser: its share is said, it is left out, and a checkbox shows it.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, ready, withPage } from "./browser.mjs";
import { attend, sinkingModel } from "./program.mjs";

const text = "Unknown banks of the river, money is the bank.";
let browser, html;

before(async () => {
  html = attend(["explain", text, "--model", sinkingModel, "--format", "html"]);
  browser = await openBrowser();
});
after(() => browser?.close());

const open = (options, act) => withPage(browser, html, options, act);
const rows = (page) => page.$$eval(".row-table tbody tr", (all) => all.length);

test("it is left out, its share is said, and the checkbox shows it", () => open({ hash: "row=3&units=tokens" }, async (page) => {
  await ready(page);
  assert.match(await page.textContent(".facts"), /\d\d% of the attention rests on the first token, un/);
  const box = "label:has-text('First token') input";
  assert.equal(await page.isChecked(box), false);
  const words = () => page.$$eval(".word", (all) => all.map((each) => each.textContent));
  assert.equal((await words())[0], "##known");
  await page.check(box);
  await page.waitForFunction(() => document.querySelector(".word")?.textContent === "un");
  assert.match(await page.evaluate(() => location.hash), /first=1/);
  assert.match(await page.evaluate(() => location.hash), /row=4/);  // the same word, counted with the first
  await page.uncheck(box);
  await page.waitForFunction(() => location.hash.includes("first=0"));
  assert.equal((await words())[0], "##known");
  assert.ok((await rows(page)) > 0);
}));

test("the steps say what was left out of the row", () => open({ hash: "layer=1&head=2&row=4&col=2&steps=1" }, async (page) => {
  await page.waitForSelector(".steps[data-ready] .cell-steps");
  const said = await page.textContent(".steps");
  const [, share, value, left, result] = said.match(/The first token gets (\d+)% of this row and is left out: ([\d.]+) ÷ \(1 − ([\d.]+)\) = ([\d.]+)\./);
  assert.ok(Math.abs(Number(share) / 100 - Number(left)) < 0.006);
  assert.ok(Math.abs(Number(value) / (1 - Number(left)) - Number(result)) < 0.01, said);
}));

test("heads that share keys and values stand in one frame, and the steps name them", () => open({ hash: "tab=model" }, async (page) => {
  await ready(page, "model");
  const frames = await page.$$eval(".thumbnail", (all) => all.map((each) => [each.classList.contains("group-start"), each.classList.contains("group-end"), each.querySelector(".key-name")?.textContent ?? ""]));
  assert.deepEqual(frames.slice(0, 4), [[true, false, "keys 1"], [false, true, ""], [true, false, "keys 2"], [false, true, ""]]);
  assert.equal(frames.length, 8);
  assert.equal(await page.getAttribute(".thumbnail >> nth=2", "title"), "Keys and values of key head 2, shared by heads 3 and 4");
  assert.equal(await page.getAttribute(".thumbnail >> nth=2", "aria-label"), "layer 1, head 3 (keys 2 of 2)");
  await page.evaluate(() => (location.hash = "layer=1&head=3&row=4&col=2&steps=1"));
  await page.waitForSelector(".steps[data-ready] .cell-steps");
  const said = await page.textContent(".steps");
  assert.match(said, /k of “[^”]+” \(key head 2, shared by heads 3 and 4\)/);
  assert.match(said, /v of “[^”]+” \(key head 2, shared by heads 3 and 4\)/);
}));
