// Why scores are divided by √d: random queries and keys of more and more numbers.
import { breathe } from "../data/pause.js";
import { RandomScores } from "../math/saturation.js";
import { element, scrolling } from "../ui/dom.js";
import { number } from "../ui/format.js";

const sizes = [4, 16, 64, 256];

/** @type {Promise<ReturnType<RandomScores["measure"]>[]> | null} */
let measured = null;

async function measureAll() {
  const scores = new RandomScores(), rows = [];
  for (const d of sizes) {
    while (scores.done < d) {
      scores.grow(scores.done + 1);
      await breathe();
    }
    rows.push(scores.measure(d));
  }
  return rows;
}

export function whyScale() {
  const body = element("tbody", {}), last = element("b", { class: "live", "data-live": "saturation" }, "…"), scaled = element("b", { class: "live" }, "…");
  const answer = element("details", { class: "question", open: true }, element("summary", {}, "Why the scale?"),
    element("p", {}, "The more products are added up, the wider the scores spread: like √d. Softmax then gives nearly everything to one key, and hardly any gradient comes back, so nothing is learned. Of 512 rows of 16 random keys with 256 numbers each, half have a largest weight above ",
      last, "; divided by √d, above ", scaled, "."),
    scrolling(element("table", { class: "saturation" },
      element("thead", {},
        element("tr", {}, element("td", {}), element("th", { scope: "colgroup", colspan: 3 }, "bare"), element("th", { scope: "colgroup", colspan: 3 }, "÷ √d")),
        element("tr", {}, ...["d", "spread", "largest", "gradient", "spread", "largest", "gradient"].map((name) => element("th", { scope: "col" }, name)))),
      body)));
  measured ??= measureAll();
  measured.then((rows) => {
    body.replaceChildren(...rows.map((row) => element("tr", {}, element("th", { scope: "row" }, String(row.d)),
      ...[row.unscaled, row.scaled].flatMap(({ spread, largest, gradient }) => [spread, largest, gradient]).map((value) => element("td", { class: "number", "data-value": value }, number(value))))));
    const end = rows[rows.length - 1];
    last.textContent = number(end.unscaled.largest);
    scaled.textContent = number(end.scaled.largest);
  });
  return answer;
}
