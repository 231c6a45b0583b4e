// The page of attend explore in a real browser: texts are typed, heads switched off, words compared; nothing leaves the server's address.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { openBrowser, ready, seriousIssues, withAddress } from "./browser.mjs";
import { attendJson, goldenModel, serve } from "./program.mjs";

const text = "The banks of the river, money is the bank.";
let browser, server, model;
const cleaners = [];
before(async () => {
  model = goldenModel({ after: (clean) => cleaners.push(clean) }, "bert");
  server = await serve(["--model", model, text]);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  assert.equal(await server?.close(), 0);
  cleaners.forEach((clean) => clean());
});

const visit = (how, act) => withAddress(browser, server.address, how, act);
const open = (page, panel) => page.click(`summary:has-text("${panel}")`);

test("the text that the program was started with", () => visit({ hash: "layer=2&head=3&row=2" }, async (page) => {
  await ready(page);
  const rows = await page.$$eval(".row-table tbody tr", (lines) => lines.map((line) => [line.querySelector("th").textContent, Number(line.querySelector(".number").textContent)]));
  const { words, weights } = attendJson(["explain", text, "--model", model, "--layer", "2", "--head", "3"]);
  for (const [word, value] of rows.slice(0, 3)) {
    const places = words.flatMap((each, i) => (each.text === word ? [i] : []));
    assert.ok(places.some((i) => Math.abs(weights[1][i] - value) < 0.001), `${word} ${value}`);
  }
}));

for (const [width, colorScheme] of [[1280, "light"], [390, "dark"]]) {
  test(`every panel open, ${width} wide, ${colorScheme}`, () => visit({ width, colorScheme, hash: "layer=1&head=1" }, async (page) => {
    await ready(page);
    for (const panel of ["Switch heads", "Compare a word"]) await open(page, panel);
    assert.deepEqual(await seriousIssues(page), []);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than its window");
  }));
}

test("another text, and one beside it; the address keeps the first", () => visit({}, async (page) => {
  await ready(page);
  await page.fill("[aria-label=Text]", "money of the bank");
  await page.keyboard.press("Control+Enter");
  await page.waitForSelector("text=6 tokens");
  assert.equal(new URL(page.url()).searchParams.get("text"), "money of the bank");
  await page.fill("[aria-label=Text]", "the river");
  await page.click("button:has-text('Read beside')");
  await page.waitForSelector(".readings.two");
  assert.equal(await page.locator(".pane").count(), 2);
  await page.click("button:has-text('One text')");
  assert.equal(await page.locator(".pane").count(), 1);
  await page.reload();
  await page.waitForSelector("text=6 tokens");
}));

test("heads and links are switched off and on again", () => visit({ hash: "layer=2&head=3&row=2&col=4" }, async (page) => {
  await ready(page);
  await open(page, "Switch heads");
  await page.click("button:has-text('Head 2.3')");
  await page.waitForSelector(".chips li");
  const { change } = attendJson(["explain", text, "--model", model, "--ablate", "2.3"]);
  assert.match(await page.textContent(".result p"), new RegExp(`the cosine with what it was is ${change.text_cosine.toFixed(3)}`));
  await page.click("button:has-text('→')");
  await page.waitForFunction(() => document.querySelectorAll(".chips li").length === 2);
  for (const left of [1, 0]) {
    await page.click(".chips button >> nth=0");
    await page.waitForFunction((count) => document.querySelectorAll(".chips li").length === count, left);
  }
  assert.equal(await page.textContent(".result"), "");
}));

test("the bar of a word is as long as the number beside it says", () => visit({ hash: "layer=2&head=3&off=2.3" }, async (page) => {
  await page.waitForSelector(".result table");  // the address switches it off
  assert.deepEqual(await page.$$eval(".chips li", (all) => all.map((each) => each.firstChild.textContent)), ["2.3"]);
  const rows = await page.$$eval(".result tbody tr", (all) => all.map((row) => ({
    numbers: [...row.querySelectorAll(".number")].map((cell) => Number(cell.textContent)), bar: parseFloat(row.querySelector(".fill").style.width),
  })));
  const most = Math.max(...rows.map(({ numbers: [, moved] }) => moved));
  for (const { numbers: [cosine, moved], bar } of rows) {
    assert.ok(Math.abs(1 - cosine - moved) < 0.002, `${cosine} ${moved}`);
    assert.ok(Math.abs(bar - (100 * moved) / most) < 6, `${bar} ${moved} of ${most}`);
  }
  await page.click(".chips button");
  await page.waitForFunction(() => !location.hash.includes("off="));
}));

test("a link opens the text beside as well, and both have one scale", () => visit({}, async (page) => {
  await ready(page);
  await page.fill("[aria-label=Text]", "the river");
  await page.click("button:has-text('Read beside')");
  await page.waitForFunction(() => document.querySelectorAll(".pane").length === 2);
  assert.equal(new URL(page.url()).searchParams.get("beside"), "the river");
  await page.selectOption(".pane:last-child label:has-text('Layer') select", "2");
  await page.reload();
  await page.waitForFunction(() => document.querySelectorAll(".pane .map-view[data-ready=true]").length === 2);
  assert.deepEqual(await page.$$eval(".pane", (all) => all.map((pane) => pane.querySelector(".controls select").value)), ["2", "2"]);
  assert.equal(await page.inputValue("[aria-label=Text]"), text);  // the form keeps the first
  // The end of the legend of the first map, as it is saved.
  const end = async () => {
    const [drawing] = await Promise.all([page.waitForEvent("download"), page.click("[data-save=svg]")]);
    return Number([...readFileSync(await drawing.path(), "utf8").matchAll(/text-anchor="end"[^>]*>([\d.]+)<\/text>/g)].at(-1)[1]);
  };
  const together = await end();
  await page.click("button:has-text('One text')");
  assert.equal(new URL(page.url()).searchParams.get("beside"), null);
  await ready(page);
  assert.ok(together > (await end()) + 0.01, `${together}`);  // alone it has a scale of its own
}));

test("in the textbook, Read shows what was read", () => visit({ hash: "tab=textbook&layer=mean;book=cat&on=projections,mask&word=4" }, async (page) => {
  await page.waitForSelector("text=tokens", { state: "attached" });
  assert.equal(await page.inputValue(".textbook select"), "cat");
  assert.ok(await page.isChecked("[data-switch=mask] input[role=switch]"));
  await page.check("[data-switch=scale] input[role=switch]");
  await page.waitForFunction(() => location.hash.includes("book=cat&on=projections,scale,mask&word=4"));
  await page.fill("[aria-label=Text]", "money of the bank");
  await page.click("button:text-is('Read')");
  await ready(page);
  assert.ok(await page.isVisible(".map-view canvas"));
}));

test("numbers in cells come from rows, which are exact", () => visit({ hash: "layer=1&head=1" }, async (page) => {
  const [row] = await Promise.all([page.waitForResponse((response) => response.url().includes("/row?")), page.reload()]);
  assert.equal(row.status(), 200);
  await ready(page);
}));

test("a text that the program has forgotten is read again", () => visit({ expected: ["Failed to load resource: the server responded with a status of 410 (Gone)"] }, async (page) => {
  await ready(page);
  for (const other of ["the", "bank", "river", "money", "of"]) {
    const { ok } = await fetch(`${server.address}api/read`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ text: other }) });
    assert.ok(ok);
  }
  await page.focus(".map-view canvas");
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction(() => document.querySelector(".row-table h2")?.textContent.includes("The"));
  await page.selectOption("label:has-text('Layer') select", "1");
  await ready(page);
}));

test("a mistake is one sentence, and nothing is lost", () => visit({ expected: ["Failed to load resource: the server responded with a status of 400 (Bad Request)"] }, async (page) => {
  await ready(page);
  await open(page, "Switch heads");
  await page.fill("[aria-label='Switch off']", "9.9");
  await page.click("button:has-text('Switch off')");
  await page.waitForSelector(".result .problem:has-text('layer is 9')");
}));

test("a word in two texts", () => visit({}, async (page) => {
  await ready(page);
  await open(page, "Compare a word");
  await page.fill("[aria-label='The other text']", "the bank of money");
  await page.fill("[aria-label=Word]", "bank");
  await page.click("button:has-text('Compare')");
  await page.waitForSelector(".result table");
  const shown = await page.$$eval(".result .number", (cells) => cells.slice(1).map((cell) => Number(cell.textContent.replace("−", "-"))));
  const { pairs } = attendJson(["compare", text, "the bank of money", "--word", "bank", "--model", model]);
  const expected = [pairs[0].static, ...pairs[0].layers];
  assert.equal(shown.length, expected.length);
  shown.forEach((value, i) => assert.ok(Math.abs(value - expected[i]) < 0.001, `${i}: ${value} ${expected[i]}`));
}));
