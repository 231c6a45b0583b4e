// The next token and the blocks in a browser: what is shown is the source's, the keyboard reaches everything, the address keeps it.
import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { sharesOf } from "../../web/data/inside.js";
import { openBrowser, ready, seriousIssues, withAddress, withPage } from "./browser.mjs";
import { attend, decoderModel, goldenModel, poison, serve, sourceOf } from "./program.mjs";

const text = "The banks of the river, money is the";
const cleaners = [], holder = { after: (clean) => cleaners.push(clean) };
let browser, html, source, encoder, spoiled, model;
before(async () => {
  model = decoderModel(holder, "llama");
  html = attend(["explain", text, "--model", model, "--format", "html"]);
  encoder = attend(["explain", text, "--model", goldenModel(holder, "bert"), "--format", "html"]);
  source = sourceOf(html);
  const poisoned = goldenModel(holder, "gpt2");
  poison(poisoned, "h.1.mlp.c_proj.bias");
  spoiled = attend(["explain", text, "--model", poisoned, "--format", "html"]);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  cleaners.forEach((clean) => clean());
});

const open = (options, act) => withPage(browser, html, options, act);
const values = (page, selector) => page.$$eval(selector, (cells) => cells.map((cell) => Number(cell.dataset.value)));
const addressOf = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const last = () => source.facts.tokens.length - 1;

async function assertCandidates(page, place, layer, temperature) {
  await ready(page, "next");
  const expected = sharesOf((await source.next({ place })).layers[layer], temperature, source.facts.inside.temperatures), shown = await values(page, ".candidates td.number");
  expected.forEach((share, i) => assert.ok(Math.abs(shown[i] - share) < 1e-12, `${shown} is not ${expected}`));
  const rest = 1 - expected.reduce((sum, share) => sum + share, 0);
  assert.ok(Math.abs(shown[expected.length] - rest) < 1e-9, "what is left for all others");
}

test("candidates after the last token, at any temperature", () => open({ hash: "tab=next" }, async (page) => {
  await assertCandidates(page, last(), source.facts.layers, 1);
  assert.match(await page.textContent(".next-view h2"), /^After \[SEP\]$/);
  await page.focus(".temperature input");
  for (let i = 0; i < 5; ++i) await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => location.hash.includes("temperature=0.5"));
  await assertCandidates(page, last(), source.facts.layers, 0.5);
  assert.equal(await page.textContent(".temperature output"), "0.5");
  await page.reload();
  await assertCandidates(page, last(), source.facts.layers, 0.5);
}));

test("a cell of the table lists what that layer would say there; the arrows move", () => open({ hash: "tab=next" }, async (page) => {
  await ready(page, "next");
  const { layers, tokens } = source.facts;
  assert.deepEqual(await page.$$eval(".guess-table tbody tr", (rows) => rows.map((row) => row.cells.length)), Array(layers + 1).fill(tokens.length + 1));
  const [column] = await source.guesses({ first: 2, last: 3 });
  assert.equal(await page.textContent('.guess-table td[data-place="2"][data-depth="1"]'), column.texts[1]);
  await page.click('.guess-table td[data-place="2"][data-depth="1"]');
  await page.waitForFunction(() => location.hash.includes("depth=1"));
  assert.equal((await addressOf(page)).token, "3");
  await assertCandidates(page, 2, 1, 1);
  assert.match(await page.textContent(".next-view .note"), /ended after layer 1\. This page carries other temperatures/);
  assert.ok(await page.isDisabled(".temperature input"));
  assert.match(await page.textContent(".candidates + .note"), /^The text goes on with “s”, which the model gave/);
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowUp");
  await page.waitForFunction(() => location.hash.includes("depth=0") && location.hash.includes("token=4"));
  assert.deepEqual(await page.evaluate(() => ({ ...document.activeElement.dataset })), { place: "3", depth: "0" });
  assert.equal(await page.getAttribute(".guess-table td[tabindex='0']", "aria-selected"), "true");
  await assertCandidates(page, 3, 0, 1);
  await page.focus(".next-view .strip");
  await page.keyboard.press("End");
  await page.waitForFunction((token) => location.hash.includes(`token=${token}`), tokens.length);
  await page.click(".tabs [data-tab=map]");
  await ready(page);
  assert.equal((await addressOf(page)).row, undefined, "the last token is special, and the map leaves it out");
}));

test("the token after a chosen word; a word chosen in the map is followed", () => open({ hash: "tab=next&row=2" }, async (page) => {
  await ready(page, "next");
  assert.match(await page.textContent(".next-view h2"), /^After s$/);  // the end of “banks”
  await page.click(".tabs [data-tab=map]");
  await ready(page);
  await page.click(".strip:not(.token-strip) .word >> nth=0");
  await page.click(".tabs [data-tab=block]");
  await ready(page, "block");
  assert.match(await page.textContent(".block-view h2"), /^The stream of The$/);
}));

test("blocks: every layer, one in detail, with the logit of a candidate", () => open({ hash: "tab=block&layer=1" }, async (page) => {
  await ready(page, "block");
  const { tokens } = (await source.next({ place: last() })).layers.at(-1);
  const check = async (layer, token) => {
    const { layers, logits } = await source.block({ place: last(), token });
    assert.deepEqual(await values(page, ".block-heads td.number"), [...layers[layer - 1].heads.flatMap((length, h) => [length, logits.layers[layer - 1].heads[h]]), layers[layer - 1].rest, logits.layers[layer - 1].rest]);
    assert.deepEqual(await values(page, ".sum-node b"), [layers[layer - 1].attention.length, layers[layer - 1].feedForward.length]);
  };
  assert.equal(await page.$$eval(".stream-table tbody tr", (rows) => rows.length), source.facts.layers + 1);
  await check(1, tokens[0]);
  await page.click(".stream-table [data-layer='2']");
  await page.waitForFunction(() => location.hash.includes("layer=2"));
  await ready(page, "block");
  await check(2, tokens[0]);
  await page.focus(".stream-table [data-layer='2']");
  await page.keyboard.press("ArrowUp");
  await page.waitForFunction(() => location.hash.includes("layer=1") && document.activeElement.dataset.layer === "1");
  await page.selectOption(".which select", String(tokens[1]));
  await page.waitForFunction((token) => location.hash.includes(`next=${token}`), tokens[1]);
  await ready(page, "block");
  await check(1, tokens[1]);
  await page.click(".tabs [data-tab=next]");
  await ready(page, "next");
  assert.equal(await page.getAttribute(".candidates .chosen button", "data-token"), String(tokens[1]));
  await page.click(".tabs [data-tab=block]");
  await page.click(".block-heads button >> nth=1");
  await ready(page);
  assert.match(await page.evaluate(() => location.hash), /layer=1&head=2/);
}));

test("an encoder has blocks, and a sentence where the next token would be", () => withPage(browser, encoder, { hash: "tab=block" }, async (page) => {
  await ready(page, "block");
  assert.equal(await page.isVisible(".tabs [data-tab=next]"), false);
  assert.equal(await page.isVisible(".which"), false);
  assert.equal(await page.$$eval(".block-diagram .sum-node .operation", (all) => all.length), 2);  // norms after the sums
  await page.evaluate(() => (location.hash = "tab=next"));
  await page.waitForSelector(".next-view .problem:has-text('does not write')");
}));

test("numbers that are not finite are said", () => withPage(browser, spoiled, { hash: "tab=next" }, async (page) => {
  await ready(page, "next");
  assert.match(await page.textContent(".candidates td.number"), /not a number/);
  assert.deepEqual(await seriousIssues(page), []);
  await page.click(".tabs [data-tab=block]");
  await ready(page, "block");
  assert.deepEqual(await page.$$eval(".stream-node .number", (all) => all.map((each) => each.textContent === "not a number")), [false, false, true]);
}));

test("a page of an older version beside this one", () => open({ hash: "tab=next" }, async (page) => {
  await ready(page, "next");
  const facts = JSON.parse(/id="facts">([^<]*)</.exec(html)[1]);
  delete facts.inside;
  const file = join(browser.folder, "old.html");
  writeFileSync(file, `<script type="application/json" id="facts">${JSON.stringify(facts).replaceAll("<", "\\u003c")}</script>${[...html.matchAll(/<script [^>]*id="layer-\d+">[^<]*<\/script>/g)].join("")}`);
  await page.setInputFiles("input[type=file]", file);
  await page.waitForSelector(".pane:last-child .next-view .problem:has-text('does not write')");
  await page.click(".tabs [data-tab=block]");
  await page.waitForSelector(".pane:last-child .block-view .problem:has-text('older version')");
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than its window");
}));

test("both are saved as SVG and PNG", () => open({ hash: "tab=next" }, async (page) => {
  for (const tab of ["next", "block"]) {
    await page.click(`.tabs [data-tab=${tab}]`);
    await ready(page, tab);
    const [drawing] = await Promise.all([page.waitForEvent("download"), page.click("[data-save=svg]")]);
    const svg = readFileSync(await drawing.path(), "utf8");
    assert.equal(await page.evaluate((source_) => new DOMParser().parseFromString(source_, "image/svg+xml").querySelector("parsererror"), svg), null);
    assert.match(svg, tab === "next" ? />After “\[SEP\]”</ : />The stream of “\[SEP\]”, and the logit of /);
    const [picture] = await Promise.all([page.waitForEvent("download"), page.click("[data-save=png]")]);
    assert.ok(readFileSync(await picture.path()).readUInt32BE(16) >= 400);
  }
}));

for (const tab of ["next", "block"]) {
  for (const [width, colorScheme] of [[1280, "light"], [390, "dark"]]) {
    test(`${tab}: for everyone, ${width} wide, ${colorScheme}`, () => open({ hash: `tab=${tab}&token=3`, width, colorScheme }, async (page) => {
      await ready(page, tab);
      assert.deepEqual(await seriousIssues(page), []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than its window");
      await page.click("[aria-label='Light or dark']");
      assert.deepEqual(await seriousIssues(page), []);
    }));
  }
}

test("the explorer asks the program for any place", async () => {
  const server = await serve(["--model", model, text]);
  await withAddress(browser, server.address, { hash: "tab=next&token=3&depth=1&temperature=0.4" }, async (page) => {
    await ready(page, "next");
    assert.equal(await page.isDisabled(".temperature input"), false);
    const answer = await page.evaluate(async () => {
      const [{ name }] = performance.getEntriesByType("resource").filter((each) => each.name.includes("/next?place=2"));
      return (await fetch(name)).json();
    });
    const { logits, sums } = answer.layers[1];
    const shown = await values(page, ".candidates td.number");
    logits.forEach((logit, i) => assert.ok(Math.abs(shown[i] - Math.exp(logit / 0.4 - sums[3])) < 1e-12));
    await page.click(".tabs [data-tab=block]");
    await ready(page, "block");
    assert.equal(await page.$$eval(".stream-table tbody tr", (rows) => rows.length), source.facts.layers + 1);
    assert.ok(await page.isVisible(".which"));
    assert.deepEqual(await seriousIssues(page), []);
  });
  assert.equal(await server.close(), 0);
});
