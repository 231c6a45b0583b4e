// The explorer in a browser: every view, the steps, the keyboard, the address, saving.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { openBrowser, ready, withPage } from "./browser.mjs";
import { attend, goldenModel, poison, sourceOf } from "./program.mjs";

const text = "The banks of the river, money is the bank.";
let browser, html, source;

before(async () => {
  const cleaners = [];
  const model = goldenModel({ after: (clean) => cleaners.push(clean) }, "bert");
  html = attend(["explain", text, "--model", model, "--format", "html"]);
  source = sourceOf(html);
  browser = await openBrowser();
  browser.hostile = attend(["explain", 'the </script><img src=x onerror="alert(1)"> <!-- bank', "--model", model, "--format", "html"]);
  browser.pair = attend(["explain", "money is the bank.", "--model", model, "--format", "html"]);
  poison(model, "encoder.layer.0.attention.self.query.bias");
  browser.spoiled = attend(["explain", text, "--model", model, "--format", "html"]);
  cleaners.forEach((clean) => clean());
});
after(() => browser?.close());

const open = (options, act) => withPage(browser, html, options, act);

// The middle of a cell on the canvas.
async function cellAt(page, row, col) {
  return page.evaluate(([r, c]) => {
    const canvas = document.querySelector(".map-view canvas"), box = canvas.getBoundingClientRect();
    return { x: box.left, y: box.top, width: box.width, height: box.height, r, c };
  }, [row, col]);
}

test("the map: pointing says what is under the pointer, a click takes it apart", () => open({ hash: "layer=1&head=2&units=tokens&special=1" }, async (page) => {
  await ready(page);
  const box = await cellAt(page, 0, 0);
  // From the bottom left of the plot rightwards until a cell answers.
  await page.mouse.move(box.x + box.width / 3, box.y + box.height / 2);
  await page.waitForFunction(() => document.querySelector(".readout").textContent !== "");
  assert.match(await page.textContent(".readout"), /^\S+ looks at \S+: [0-9.e−]+$/);
  await page.mouse.click(box.x + box.width / 3, box.y + box.height / 2);
  await page.waitForSelector(".steps[data-ready] .cell-steps li");
  const { row, col } = Object.fromEntries(new URLSearchParams((await page.evaluate(() => location.hash)).slice(1)));
  const cell = await source.cell({ layer: 1, head: 2, query: row - 1, key: col - 1 });
  const shown = await page.$$eval(".cell-steps .sum b", (all) => all.map((each) => Number(each.dataset.value)));
  const dot = cell.q.reduce((sum, value, i) => sum + value * cell.k[i], 0);
  assert.ok(Math.abs(shown[0] - dot) < 1e-9);
  assert.ok(Math.abs(shown[1] - dot * cell.scale) < 1e-9);
  assert.ok(Math.abs(shown[2] - cell.weight) < 1e-12);
  assert.ok(Math.abs(shown[3] - cell.contribution) < 1e-12);
  assert.equal(await page.$$eval(".cell-steps svg.vector", (all) => all.length), 5);
}));

test("a mean is taken apart into its heads", () => open({ hash: "row=2&col=3&steps=1" }, async (page) => {
  await page.waitForSelector(".steps[data-ready] .head-grid");
  const { layers, heads } = source.facts;
  assert.equal(await page.$$eval(".head-grid button", (all) => all.length), layers * heads);
  await page.click(".head-grid button >> nth=1");
  await page.waitForFunction(() => location.hash.includes("layer=1&head=2"));
  assert.equal(await page.isVisible(".head-grid"), false);
}));

test("the keyboard: arrows, Enter, Escape, search, the list of keys", () => open({}, async (page) => {
  await ready(page);
  await page.focus(".map-view canvas");
  for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight"]) await page.keyboard.press(key);
  await page.waitForFunction(() => /^banks looks at of: /.test(document.querySelector("[role=status]").textContent));
  assert.equal(await page.evaluate(() => location.hash), "#layer=mean&row=2&col=3");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".steps[data-ready] .cell-steps");
  await page.keyboard.press("Escape");
  await page.waitForSelector(".steps", { state: "hidden" });
  await page.keyboard.press("/");
  await page.keyboard.type("money");
  await page.waitForFunction(() => document.querySelector(".row-table h2").textContent.includes("money"));
  assert.equal(await page.textContent(".found"), "1 of 1");
  await page.focus(".strip");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelector(".row-table h2").textContent.includes("is"));
  await page.keyboard.press("?");
  assert.ok(await page.isVisible("dialog.keys"));
  await page.keyboard.press("Escape");
  assert.ok(!(await page.isVisible("dialog.keys")));
}));

test("zoom: in, out, the whole map", () => open({ width: 700, height: 500 }, async (page) => {
  await ready(page);
  const picture = () => page.$eval(".map-view canvas", (canvas) => canvas.toDataURL());
  const fit = await picture();
  await page.focus(".map-view canvas");
  await page.keyboard.press("+");
  await page.waitForFunction((before) => document.querySelector(".map-view canvas").toDataURL() !== before, fit);
  await page.keyboard.press("0");
  await page.waitForFunction((before) => document.querySelector(".map-view canvas").toDataURL() === before, fit);
}));

test("a link opens the same part of the map", () => open({ hash: "layer=1&head=1&units=tokens", width: 500, height: 420 }, async (page) => {
  await ready(page);
  await page.focus(".map-view canvas");
  for (let i = 0; i < 2; ++i) await page.keyboard.press("+");
  await page.waitForFunction(() => /zoom=2\.25\+[\d.]+\+[\d.]+/.test(location.hash));
  const picture = () => page.$eval(".map-view canvas", (canvas) => canvas.toDataURL()), zoomed = await picture();
  await page.reload();
  await ready(page);
  await page.waitForFunction((before) => document.querySelector(".map-view canvas").toDataURL() === before, zoomed);
  await page.check("input[value=words]");  // another map is shown as a whole
  await page.waitForFunction(() => !location.hash.includes("zoom"));
}));

test("lines: a word on the left is chosen, one on the right is taken apart", () => open({ hash: "tab=lines&layer=1&head=1" }, async (page) => {
  await ready(page, "lines");
  const box = await (await page.$(".scroller")).boundingBox();
  await page.mouse.click(box.x + 60, box.y + 8 + 26 * 1.5);
  await page.waitForFunction(() => location.hash.includes("row=2"));
  await page.waitForFunction(() => document.querySelectorAll(".row-table tbody tr").length > 0);
  await page.mouse.click(box.x + box.width - 60, box.y + 8 + 26 * 3.5);
  await page.waitForSelector(".steps[data-ready] .cell-steps");
  assert.match(await page.evaluate(() => location.hash), /row=2&col=4&steps=1/);
}));

test("all heads: one thumbnail each, which opens its map", () => open({ hash: "tab=model" }, async (page) => {
  await ready(page, "model");
  assert.equal(await page.$$eval(".thumbnail", (all) => all.length), source.facts.layers * source.facts.heads);
  await page.click(".thumbnail >> nth=1");
  await ready(page);
  assert.equal(await page.evaluate(() => location.hash), "#layer=1&head=2");
  await page.click(".tabs [data-tab=model]");
  await page.check("input[value=rollout]");
  await page.waitForFunction((layers) => document.querySelectorAll(".thumbnail").length === layers, source.facts.layers);
}));

test("method, units and special tokens: the numbers are the source's", () => open({ hash: "row=2" }, async (page) => {
  const firstOf = async (look) => Math.max(...(await source.row(look)));
  const shown = () => page.textContent(".row-table tbody td.number");
  const check = async (look) => {
    const expected = (await firstOf(look)).toFixed(3);
    await page.waitForFunction((value) => document.querySelector(".row-table tbody td.number")?.textContent === value, expected, { timeout: 5000 }).catch(async () => assert.equal(await shown(), expected, JSON.stringify(look)));
  };
  const look = { layer: null, head: null, method: "raw", units: "words", special: false };
  await check({ ...look, row: 1 });
  await page.check("input[value=norm]");
  await check({ ...look, method: "norm", row: 1 });
  await page.check("input[value=tokens]");
  await check({ ...look, method: "norm", units: "tokens", row: 1 });
  await page.check("label:has-text('Special tokens') input");
  await check({ ...look, method: "norm", units: "tokens", special: true, row: 2 });
  await page.selectOption("label:has-text('Layer') select", "1");
  await page.selectOption("label:has-text('Head') select", "2");
  await check({ ...look, layer: 1, head: 2, method: "norm", units: "tokens", special: true, row: 2 });
  await page.check("input[value=rollout]");
  await check({ ...look, layer: 1, method: "rollout", units: "tokens", special: true, row: 2 });
  assert.ok(await page.isDisabled("label:has-text('Head') select"));
}));

test("what is seen can be saved as SVG and PNG", () => open({}, async (page) => {
  for (const tab of ["map", "lines", "model"]) {
    await page.click(`.tabs [data-tab=${tab}]`);
    await ready(page, tab);
    const [drawing] = await Promise.all([page.waitForEvent("download"), page.click("[data-save=svg]")]);
    const svg = readFileSync(await drawing.path(), "utf8");
    assert.equal(drawing.suggestedFilename(), "attention.svg");
    assert.match(svg, /^<svg xmlns=/);
    assert.ok(tab === "lines" ? svg.includes("<path") : svg.includes("data:image/png"));
    if (tab !== "model") assert.ok(svg.includes(">money</text>"));
    assert.equal(await page.evaluate((source_) => new DOMParser().parseFromString(source_, "image/svg+xml").querySelector("parsererror"), svg), null);
    const [picture] = await Promise.all([page.waitForEvent("download"), page.click("[data-save=png]")]);
    const png = readFileSync(await picture.path());
    assert.equal(png.subarray(1, 4).toString(), "PNG");
    assert.ok(png.readUInt32BE(16) >= 400 && png.length > 3000);
  }
}));

test("a second text stands beside the first; what is not a page is refused with a sentence", () => open({}, async (page) => {
  const other = join(browser.folder, "other.html");
  writeFileSync(other, browser.pair);
  await page.setInputFiles("input[type=file]", other);
  await page.waitForFunction(() => document.querySelectorAll(".pane").length === 2);
  await page.check(".pane:first-child input[value=norm]");
  assert.ok(await page.isChecked(".pane:last-child input[value=norm]"));
  await page.click("text=One text");
  assert.equal(await page.$$eval(".pane", (all) => all.length), 1);
  writeFileSync(other, "<p>nothing</p>");
  await page.setInputFiles("input[type=file]", other);
  await page.waitForSelector("[role=alert]:has-text('not a page written by attend')");
}));

test("numbers that are not finite are said and shown as such", () => withPage(browser, browser.spoiled, { hash: "row=2&col=3&steps=1" }, async (page) => {
  await ready(page);
  assert.match(await page.textContent(".pane .problem"), /NaN or infinity first appears in the queries of layer 1, at token 0/);
  await page.waitForSelector(".steps[data-ready] .cell-steps li");
  assert.match(await page.textContent(".readout"), /: not a number$/);
  assert.deepEqual([...new Set(await page.$$eval(".row-table .number", (all) => all.map((each) => each.textContent)))], ["not a number"]);
  const share = await page.evaluate(() => {
    const canvas = document.querySelector(".map-view canvas"), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    let warm = 0;
    for (let i = 0; i < data.length; i += 4) if (data[i] === 0xe0 && data[i + 1] === 0x8a && data[i + 2] === 0x6a) ++warm;
    return (4 * warm) / data.length;
  });
  assert.ok(share > 0.2, `${share} of the map`);
  for (const tab of ["lines", "model"]) {
    await page.click(`.tabs [data-tab=${tab}]`);
    await ready(page, tab);
  }
}));

test("a text that looks like HTML stays text", () => withPage(browser, browser.hostile, {}, async (page) => {
  await ready(page);
  assert.ok((await page.textContent(".strip")).includes("script"));
  assert.equal(await page.$$eval("img", (all) => all.length), 0);
}));

test("the policy lets no other script run", () => open({}, async (page) => {
  await ready(page);
  const ran = await page.evaluate(() => {
    const script = document.createElement("script");
    script.textContent = "globalThis.intruder = true";
    document.body.append(script);
    return globalThis.intruder === true;
  });
  assert.equal(ran, false);
}).catch((error) => {
  if (!/Content Security Policy/.test(error.message)) throw error;  // the page's complaint about the intruder
}));
