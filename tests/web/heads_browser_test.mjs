// The heads worth seeing in a browser: the best one first, the mean one key away, several in colour; wide and narrow, and on paper.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { openBrowser, ready, seriousIssues, withAddress, withPage } from "./browser.mjs";
import { attend, attendJson, goldenModel, madeUpRecording, serve, trainedModel } from "./program.mjs";

let browser, html, recording, server;
const pages = {}, cleaners = [];
before(async () => {
  const test = { after: (clean) => cleaners.push(clean) };
  recording = madeUpRecording(test);
  html = attend(["explain", recording, "--format", "html"]);
  pages.mean = attend(["explain", recording, "--mean", "--format", "html"]);
  pages.unknown = attend(["explain", "the zebra of the bank", "--model", goldenModel(test, "bert"), "--format", "html"]);
  pages.answer = attend(["explain", "s4 s2 s7 s1 s3", "--model", trainedModel(test, "reverse", ["model.layers=2", "data.length=5"]), "--format", "html"]);
  server = await serve([recording]);
  browser = await openBrowser();
});
after(async () => {
  await browser?.close();
  await server?.close();
  cleaners.forEach((clean) => clean());
});

const open = (how, act) => withPage(browser, html, how, act);
const pressed = (page) => page.$$eval(".heads-list [aria-pressed=true]", (all) => all.map((each) => each.dataset.head));
const address = (page) => page.evaluate(() => location.hash);
const picture = (page) => page.$eval(".map-view canvas", (canvas) => canvas.toDataURL());

test("the first view is the best head, with the word that it links, and says why", async () => {
  const { notable_heads: notable, weights } = attendJson(["explain", recording]);
  assert.deepEqual(notable.map(({ layer, head, role }) => `${layer}.${head} ${role}`), ["2.1 links", "2.2 links", "1.2 previous", "1.3 next"]);
  assert.ok(Math.abs(weights[0][0] - weights[0][4]) < 1 && notable[0].links[0].from === "slept" && notable[0].links[0].to === "cat");
  for (const act of [(look) => open({}, look), (look) => withAddress(browser, server.address, {}, look)]) {
    await act(async (page) => {
      await ready(page);
      await page.waitForFunction(() => document.querySelector(".row-table h2")?.textContent.includes("slept"));
      assert.deepEqual(await pressed(page), ["2.1"]);
      assert.equal(await page.textContent(".says"), "Layer 2, head 1: 87% of the weight of “slept” goes to “cat”.");
      assert.match(await page.textContent(".heads-list"), /2\.1 slept → cat 87%.*1\.2 word before 87%.*Mean of all/s);
    });
  }
  await withPage(browser, pages.mean, {}, async (page) => {
    await ready(page);
    assert.deepEqual(await pressed(page), ["mean"]);
  });
});

test("M shows the mean and the head again, N the next head; a link opens the same", () => open({}, async (page) => {
  await ready(page);
  await page.keyboard.press("m");
  await page.waitForFunction(() => location.hash.startsWith("#layer=mean"));
  assert.deepEqual(await pressed(page), ["mean"]);
  await page.reload();
  await ready(page);
  assert.deepEqual(await pressed(page), ["mean"]);
  await page.keyboard.press("m");
  assert.deepEqual(await pressed(page), ["2.1"]);
  await page.keyboard.press("n");
  assert.deepEqual(await pressed(page), ["2.2"]);
  await page.keyboard.press("Shift+N");
  await page.keyboard.press("Shift+N");
  assert.deepEqual(await pressed(page), ["1.3"]);
  await page.keyboard.press("?");
  const keys = await page.textContent("dialog.keys");
  for (const key of ["Ctrl Enter", "M", "N, Shift N", "Escape", "/"]) assert.ok(keys.includes(key), key);
}));

test("several heads at once, in the map, the lines and the text; the address keeps them", () => open({}, async (page) => {
  await ready(page);
  const one = await picture(page);
  await page.check("label:has-text('Several in colour') input");
  await page.waitForFunction((before) => document.querySelector(".map-view canvas").toDataURL() !== before, one);
  assert.deepEqual(await pressed(page), ["2.1", "2.2", "1.2"]);
  assert.match(await address(page), /colors=2\.1\+2\.2\+1\.2/);
  await page.click("[data-head='1.2']");
  assert.deepEqual(await pressed(page), ["2.1", "2.2"]);
  await page.reload();
  await ready(page);
  assert.deepEqual(await pressed(page), ["2.1", "2.2"]);
  // A cell has the hue of its head: blue where "slept" looks at "cat", orange where "chased" looks at "mouse".
  const hues = await page.evaluate(() => {
    const canvas = document.querySelector(".map-view canvas"), { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const count = { blue: 0, orange: 0 };
    for (let i = 0; i < data.length; i += 4) {
      if (data[i] < 40 && data[i + 2] > 140) ++count.blue;
      if (data[i] > 180 && data[i + 1] < 100 && data[i + 2] < 60) ++count.orange;
    }
    return count;
  });
  assert.ok(hues.blue > 500 && hues.orange > 500, JSON.stringify(hues));
  assert.ok((await page.$$eval(".row-table tbody tr:first-child .bar", (all) => all.length)) === 2);
  await page.click(".tabs [data-tab=lines]");
  const [drawing] = await Promise.all([page.waitForEvent("download"), page.click("[data-save=svg]")]);
  const svg = (await (await import("node:fs/promises")).readFile(await drawing.path(), "utf8"));
  assert.ok(svg.includes('stroke="#0b63a8"') && svg.includes('stroke="#c4500a"'));
  await page.click(".tabs [data-tab=model]");
  await ready(page, "model");
  await page.click(".thumbnail >> nth=1", { modifiers: ["Shift"] });
  assert.match(await address(page), /tab=model.*colors=2\.1\+2\.2\+1\.2/);
  assert.deepEqual(await seriousIssues(page), []);
}));

test("all heads on one scale, when asked", () => open({ hash: "tab=model&layer=mean" }, async (page) => {
  await ready(page, "model");
  const faint = () => page.$eval(".thumbnail canvas", (canvas) => {
    const copy = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    return [...copy.getImageData(0, 0, 1, 1).data].slice(0, 3);
  });
  const own = await faint();  // the head that looks everywhere: its largest weight is a ninth
  await page.check("label:has-text('One scale for all') input");
  assert.match(await page.textContent(".scale-choice"), /Coloured from 0 to 0\.87\d\./);
  const same = await faint();
  assert.ok(same[0] > own[0] + 100, `${own} ${same}`);
  assert.match(await address(page), /scale=same/);
}));

test("the first token that the vocabulary lacks is marked, and said", () => withPage(browser, pages.unknown, {}, async (page) => {
  await ready(page);
  assert.match(await page.textContent(".pane .problem"), /^The model does not know 1 of the 5 tokens of this text: .*reads any text; intfloat\/multilingual-e5-small reads most languages\.$/);
  assert.deepEqual(await page.$$eval(".strip .unknown", (all) => all.map((each) => each.textContent)), ["zebra"]);
}));

test("an answer stands apart from its source, and is there to the end", () => withPage(browser, pages.answer, {}, async (page) => {
  await ready(page);
  assert.equal(await page.locator(".strip .parting >> visible=true").count(), 1);
  assert.match(await page.textContent(".strip"), /s3.*→ s\d/);
  assert.match(await page.textContent(".facts"), /its answer: \S+/);
}));

for (const width of [320, 390, 900, 1280, 2560, 3840]) {
  test(`${width} pixels wide: nothing sticks out, nothing lies empty beside the map`, () => open({ width, height: Math.max(700, Math.round(width / 1.8)) }, async (page) => {
    await ready(page);
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "the page is wider than its window");
    const tops = await page.$$eval(".tabs button:not([hidden])", (all) => new Set(all.map((each) => each.offsetTop)).size);
    assert.equal(tops, 1, "the tabs stand in one line");
    if (width <= 1000) return;
    const gap = await page.evaluate(() => document.querySelector(".side").getBoundingClientRect().left - document.querySelector(".map-view canvas").getBoundingClientRect().right);
    assert.ok(gap >= 0 && gap < 80, `${gap} pixels between the map and its table`);
    // What is drawn grows with the text on wide screens, and the pointer still finds it.
    const box = await page.locator(".map-view canvas").boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + box.height * 0.4);
    await page.waitForFunction(() => /looks at/.test(document.querySelector(".readout").textContent));
  }));
}

test("on paper: drawn as SVG in light colours, without buttons", () => open({ colorScheme: "dark" }, async (page) => {
  await ready(page);
  await page.evaluate(() => dispatchEvent(new Event("beforeprint")));
  await page.emulateMedia({ media: "print" });
  assert.ok(await page.isVisible(".on-paper svg text:has-text('slept')"));
  for (const hidden of [".tools", ".tabs", ".controls", ".map-view canvas", ".zoom"]) assert.ok(!(await page.isVisible(hidden)), hidden);
  assert.equal(await page.evaluate(() => getComputedStyle(document.documentElement).getPropertyValue("--paper").trim()), "#fff");
  await page.emulateMedia({ media: "screen" });
  await page.evaluate(() => dispatchEvent(new Event("afterprint")));
  assert.equal(await page.locator(".on-paper").count(), 0);
  const pdf = await page.pdf();
  assert.ok(pdf.subarray(0, 4).toString() === "%PDF" && pdf.length > 10000);
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), undefined);
}));
