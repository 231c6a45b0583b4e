// Pages in Debian's chromium. Whatever a page asks of the network, and whatever it complains of, is kept and looked at.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const require = createRequire(new URL("../../web/package.json", import.meta.url));
const { chromium } = require("playwright-core");
export const axeSource = require("axe-core").source;

/** A browser and a folder for its pages; both go when the tests end. */
export async function openBrowser() {
  const folder = mkdtempSync(join(tmpdir(), "attend-browser-"));
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: process.getuid?.() === 0 ? ["--no-sandbox"] : [] });
  return {
    browser, folder,
    async close() {
      await browser.close();
      rmSync(folder, { recursive: true });
    },
  };
}

/** Opens a page of its own in a window of its own. `act` gets it; then it must not have asked for anything nor complained. */
export async function withPage(opened, html, how, act) {
  const file = join(opened.folder, `page-${Math.random().toString(36).slice(2)}.html`);
  writeFileSync(file, html);
  await withAddress(opened, pathToFileURL(file).href, how, act);
}

/** The same for a page at an address; it may ask for what lies below it. expected: complaints that belong to the test. */
export async function withAddress({ browser }, address, { hash = "", width = 1280, height = 900, colorScheme = "light", expected = [] }, act) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme, acceptDownloads: true });
  const page = await context.newPage(), asked = [], complaints = [];
  page.setDefaultTimeout(10000);
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (message) => ["error", "warning"].includes(message.type()) && complaints.push(message.text()));
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("dialog", (dialog) => complaints.push(`dialog: ${dialog.message()}`));
  try {
    await page.goto(address + (hash === "" ? "" : `#${hash}`));
    await act(page);
    assert.deepEqual([...new Set(complaints)], expected);
    assert.deepEqual(asked.filter((url) => !url.startsWith(address) && !/^(data|blob):/.test(url)), []);
  } finally {
    await context.close();
  }
}

/** The page has come to rest: its map is whole. */
export async function ready(page, view = "map") {
  await page.waitForSelector(view === "lines" ? ".lines-view canvas" : `.${view}-view[data-ready=true]`, { timeout: 20000 });
}

/** Of the kinds that keep people out. */
export async function seriousIssues(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"] }));
  return violations.filter(({ impact }) => ["serious", "critical"].includes(impact))
    .map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => `${node.target} ${node.any?.[0]?.message ?? ""}`).join("; ")}`);
}
