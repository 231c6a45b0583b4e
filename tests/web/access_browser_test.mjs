// For everyone: axe-core finds nothing serious in any view, light or dark, wide or narrow, and nothing hangs over the edge.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, ready, seriousIssues, withPage } from "./browser.mjs";
import { attend, goldenModel } from "./program.mjs";

let browser, html;
before(async () => {
  const cleaners = [];
  const model = goldenModel({ after: (clean) => cleaners.push(clean) }, "bert");
  html = attend(["explain", "The banks of the river, money is the bank.", "--model", model, "--format", "html"]);
  cleaners.forEach((clean) => clean());
  browser = await openBrowser();
});
after(() => browser?.close());

const views = { map: "row=2&col=3&steps=1", lines: "tab=lines&row=2", model: "tab=model", textbook: "tab=textbook" };

for (const [name, hash] of Object.entries(views)) {
  for (const [width, colorScheme] of [[1280, "light"], [390, "dark"]]) {
    test(`${name}, ${width} wide, ${colorScheme}`, () => withPage(browser, html, { hash, width, colorScheme }, async (page) => {
      if (name === "textbook") await page.check("[data-switch=projections] input[role=switch]");
      else await ready(page, name);
      if (name === "map") await page.waitForSelector(".steps[data-ready] .cell-steps");
      assert.deepEqual(await seriousIssues(page), []);
      assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than its window");
    }));
  }
}

test("light and dark can be changed about", () => withPage(browser, html, {}, async (page) => {
  await ready(page);
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  const before_ = await paper();
  await page.click("[aria-label='Light or dark']");
  assert.notEqual(await paper(), before_);
  assert.deepEqual(await seriousIssues(page), []);
}));
