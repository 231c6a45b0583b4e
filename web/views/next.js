// What a model that writes expects next: its candidates at a temperature, and what each layer would say.
import { largest } from "../data/order.js";
import { sharesOf } from "../data/inside.js";
import { bar, element, newId, problemOf } from "../ui/dom.js";
import { percent, shortened } from "../ui/format.js";
import { svgPainter } from "../ui/painter.js";
import { onTheme, styleColor, theme } from "../ui/theme.js";
import { colorAt, css, inkOn } from "../math/color.js";
import { quoted, tokenLabel, tokenTexts } from "../ui/tokens.js";
import { depthName, GuessTable } from "./guess_table.js";
import { TokenStrip } from "./token_strip.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */
/** @typedef {import("../data/source.js").NextAtPlace} NextAtPlace */

export class NextView {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.asked = 0;
    /** @type {NextAtPlace | null} */
    this.found = null;
    this.strip = new TokenStrip(pane, "The text, token by token. Choose the token after which the next is guessed.");
    this.table = new GuessTable(pane);
    const temperatures = pane.source.facts.inside.temperatures ?? [1], id = newId("temperature");
    this.slider = element("input", {
      type: "range", id, min: temperatures[0], max: temperatures[temperatures.length - 1], step: 0.1,
      oninput: () => pane.store.set({ temperature: Math.round(10 * Number(this.slider.value)) / 10 }),
    });
    this.degrees = element("output", { for: id });
    this.title = element("h2", {});
    this.note = element("p", { class: "note", "aria-live": "polite" });
    this.list = element("table", { class: "candidates" });
    this.follows = element("p", { class: "note" });
    this.problem = element("div", {});
    this.scale = element("span", { class: "scale", "aria-hidden": "true" });
    this.columns = element("div", { class: "next-columns" },
      element("section", { "aria-label": "Candidates" }, this.title, this.note,
        element("div", { class: "temperature" }, element("label", { for: id }, "Temperature"), this.slider, this.degrees),
        this.list, this.follows),
      element("section", { "aria-label": "What each layer would say" }, element("h2", {}, "What each layer would say"),
        element("p", { class: "note" }, "The stream after each layer, through the final norm and the output layer. Choose a cell to list its candidates. How probable its guess is: ", element("span", { class: "unbroken" }, "0 ", this.scale, " 1")),
        this.table.element));
    this.element = element("div", { class: "next-view" }, this.strip.element, this.problem, this.columns);
    onTheme(() => this.color());
    this.color();
  }

  color() {
    this.scale.style.background = `linear-gradient(to right, ${[...Array(13).keys()].map((i) => css(colorAt(i / 12, theme()))).join(", ")})`;
    this.table.color();
  }

  async show() {
    const { source, store } = this.pane, place = this.pane.place(), asked = ++this.asked;
    this.strip.show(place);
    const [from, to] = source.nextPlaces, problem = source.next === undefined ? "This model does not write: it expects no next token."
      : place < from || place >= to ? this.outside(from) : undefined;
    this.problem.replaceChildren(problemOf(problem) ?? "");
    this.columns.hidden = problem !== undefined;
    if (problem !== undefined) {
      this.element.dataset.ready = "true";
      return;
    }
    delete this.element.dataset.ready;
    try {
      if (this.found?.place !== place) {
        const found = (await source.next?.({ place })) ?? null;
        if (asked !== this.asked) return;
        this.found = found;
      }
      this.showCandidates();
      await this.table.show(place, this.depth(), this.candidate());
    } catch (error) {
      if (asked === this.asked) this.problem.replaceChildren(problemOf(error instanceof Error ? error.message : String(error)) ?? "");
    }
    if (asked === this.asked && store.state.tab === "next") this.element.dataset.ready = "true";
  }

  /** @param {number} from */
  outside(from) {
    const { facts } = this.pane.source, first = facts.inside.next?.[0] ?? 0;
    return this.pane.place() < first ? "The model answers a source: it expects a token only after those of its answer."
      : `This page carries what is expected from token ${from + 1} on; attend explore has it for every token.`;
  }

  depth() {
    return this.pane.store.state.depth ?? this.pane.source.facts.layers;
  }

  /** The token whose fate is followed: the chosen one, or what the last layer finds most probable. */
  candidate() {
    return this.pane.store.state.candidate ?? this.found?.layers.at(-1)?.tokens[0] ?? null;
  }

  showCandidates() {
    if (this.found === null) return;
    const { facts } = this.pane.source, { temperature } = this.pane.store.state, { temperatures = [1], vocabulary = 0 } = facts.inside, depth = this.depth();
    const guesses = this.found.layers[depth], all = sharesOf(guesses, temperature, temperatures), shares = all ?? sharesOf(guesses, 1, temperatures) ?? [];
    this.slider.disabled = all === null || guesses.sums === null;
    this.slider.value = String(all === null ? 1 : temperature);
    this.degrees.textContent = (all === null ? 1 : temperature).toFixed(1);
    this.title.replaceChildren("After ", element("q", {}, tokenLabel(tokenTexts(facts)[this.found.place])));
    this.note.textContent = depth === facts.layers ? "What the model expects next." : depth === 0 ? "What it would say if it had no layers." : `What it would say if it ended after layer ${depthName(depth, facts)}.`;
    if (guesses.sums === null) this.note.textContent += " This page carries other temperatures for the last layer and the last token only.";
    const chosen = this.candidate(), high = largest(shares) || 1, rest = 1 - shares.reduce((sum, share) => sum + share, 0), others = vocabulary - shares.length;
    const row = (/** @type {Node | string} */ name, /** @type {number} */ share, /** @type {string} */ kind, mark = false) => element("tr", { class: mark ? "chosen" : kind || null },
      element("th", { scope: "row" }, name), element("td", { class: "number", "data-value": share }, percent(share)), element("td", { class: "wide" }, bar(share / high, kind)));
    const choose = (/** @type {number} */ token) => this.pane.store.set({ candidate: token === this.found?.layers.at(-1)?.tokens[0] ? null : token });
    this.list.replaceChildren(
      element("thead", { class: "unseen" }, element("tr", {}, element("th", { scope: "col" }, "token"), element("th", { scope: "col" }, "probability"), element("td", {}))),
      element("tbody", {}, ...guesses.tokens.map((token, i) => row(element("button", { type: "button", class: "link", "data-token": token, "aria-pressed": String(token === chosen), onclick: () => choose(token) }, quoted(guesses.texts[i])), shares[i], "", token === chosen)),
        others > 0 ? row(`${others.toLocaleString("en")} others`, Math.max(0, rest), "rest") : ""));
    const next = tokenTexts(facts)[this.found.place + 1], { following } = this.found;
    this.follows.textContent = next === undefined || following === null ? "" : `The text goes on with ${quoted(next)}, which the model gave ${percent(following)}.`;
  }

  /** @param {string} title */
  svg(title) {
    const { found, table } = this, { facts } = this.pane.source, ink = styleColor("ink"), quiet = styleColor("quiet");
    const places = [...new Set([...table.cells.keys()].map((key) => Number(key.split(" ")[0])))], step = 20, wide = 72, left = 300, top = 56;
    const width = left + 84 + places.length * wide + 12, height = top + Math.max(table.depths.length * step, 22 * (found?.layers[0].tokens.length ?? 0)) + 40;
    const painter = svgPainter(width, height, title);
    painter.rect(0, 0, width, height, styleColor("paper"));
    if (found === null) return painter.finish();
    const depth = this.depth(), guesses = found.layers[depth], { temperature } = this.pane.store.state;
    const shares = sharesOf(guesses, temperature, facts.inside.temperatures ?? [1]) ?? [];
    painter.text(`After “${tokenLabel(tokenTexts(facts)[found.place])}”`, 12, 20, { fill: ink, bold: true, size: 15 });
    painter.text(depth === facts.layers ? `temperature ${temperature.toFixed(1)}` : `after layer ${depthName(depth, facts)}`, 12, 40, { fill: quiet, size: 12 });
    shares.forEach((share, i) => {
      const y = top + i * 22 + 11;
      painter.text(shortened(quoted(guesses.texts[i]), 14), 12, y, { fill: guesses.tokens[i] === this.candidate() ? styleColor("accent") : ink });
      painter.text(percent(share), 160, y, { fill: quiet, anchor: "end" });
      painter.rect(170, y - 4, 110 * (share / (largest(shares) || 1)), 8, styleColor("accent"));
    });
    places.forEach((place, c) => painter.text(shortened(tokenLabel(tokenTexts(facts)[place]), 9), left + 84 + (c + 0.5) * wide, top - 12, { fill: place === found.place ? styleColor("accent") : quiet, size: 11, anchor: "middle" }));
    table.depths.forEach((each, r) => {
      const y = top + r * step;
      painter.text(depthName(each, facts), left + 76, y + step / 2, { fill: quiet, size: 11, anchor: "end" });
      places.forEach((place, c) => {
        const column = table.columns.get(place);
        if (column === undefined) return;
        const color = colorAt(column.shares[each], theme()), x = left + 84 + c * wide;
        painter.rect(x + 1, y + 1, wide - 2, step - 2, css(color));
        painter.text(shortened(tokenLabel(column.texts[each]), 9), x + wide / 2, y + step / 2, { fill: inkOn(color), size: 11, anchor: "middle" });
      });
    });
    painter.text(title, 12, height - 16, { fill: ink });
    return painter.finish();
  }
}
