// The textbook mode: from X Xᵀ to everything that models do, with vectors that can be changed at any point.
import { walk } from "../math/walk.js";
import { sinusoidal } from "../math/matrix.js";
import { element, scrolling } from "../ui/dom.js";
import { onTheme } from "../ui/theme.js";
import { howRnn, whatContext, whatRow, whatSum, whyDot, whyShape, whySoftmax, whySquare, whyThree } from "./answers.js";
import { matrixTable } from "./matrix_view.js";
import { bookAddress, bookFrom } from "./address.js";
import { lessonOf, openBook } from "./model.js";
import { presets } from "./presets.js";
import { whyScale } from "./scale_question.js";
import { changes, switchCards, switches } from "./switches.js";

/** @typedef {import("./model.js").Switch} Switch */
/** @typedef {"x" | "q" | "k" | "v" | "wq" | "wk" | "wv" | "wo" | "context"} MatrixName */

export class Textbook {
  /** @param {() => void} changed when the address may have changed */
  constructor(changed) {
    this.changed = changed;
    this.book = openBook("love");
    this.inputs = element("div", { class: "matrices" });
    this.results = element("div", {});
    this.cards = element("div", { class: "cards" });
    this.shapes = element("div", {});
    this.sentence = element("select", {
      onchange: () => {
        this.book = openBook(this.sentence.value);
        this.show();
        this.changed();
      },
    }, ...presets.map(({ name, label }) => element("option", { value: name }, label)));
    this.note = element("p", { class: "note" });
    this.element = element("article", { class: "textbook" },
      element("h2", {}, "Attention from the beginning"),
      element("p", {}, "A word means what it means because of the words around it. Attention lets each word look at all the others, decide how much each matters, and take a mixture of what they offer. Here is all of it, in numbers small enough to check by hand."),
      element("p", {}, element("label", {}, "Sentence ", this.sentence)),
      element("h3", {}, "1. Every word is a vector"), this.note, this.inputs,
      this.results,
      element("h3", {}, "5. One thing at a time"),
      element("p", {}, "That is the whole mechanism. Models add six things to it. Switch them on one by one: each says what it changes, and everything above is updated."),
      this.cards,
      element("h3", {}, "6. The shapes"), this.shapes);
    onTheme(() => this.update());
    this.shown = false;
  }

  /** As it stands in an address; empty while it is as it was at first. */
  address() {
    return bookAddress(this.book);
  }

  /** @param {string} address */
  read(address) {
    if (address === this.address()) return;
    this.book = bookFrom(address);
    if (this.shown) this.show();
  }

  show() {
    this.shown = true;
    this.sentence.value = this.book.preset.name;
    const { preset } = this.book;
    this.note.textContent = preset.note;
    const { tokens } = preset;
    this.inputs.replaceChildren(...(preset.x !== undefined ? [this.editable("x", "X", tokens)] : [this.editable("q", "Q", tokens), this.editable("k", "K", tokens), this.editable("v", "V", tokens)]));
    this.renderCards();
    this.update();
  }

  /** @param {MatrixName} key @param {string} name @param {string[]} [rows] */
  editable(key, name, rows) {
    const matrix = this.book.preset[key] ?? [[0]];
    return matrixTable(matrix, {
      name, rows, change: (i, j, value) => {
        matrix[i][j] = value;
        this.refreshCards();
        this.update();
        this.changed();
      },
    });
  }

  // What follows from the vectors; what is typed into stays as it is.
  update() {
    if (!this.shown) return;
    const { book } = this, lesson = lessonOf(book.preset, book.on), walked = walk(lesson);
    const keyTokens = lesson.keyTokens ?? lesson.tokens, page = { book, walked, keyTokens };
    const choose = (/** @type {number} */ row) => {
      book.row = row;
      this.update();
      this.changed();
    };
    const heads = (/** @type {"masked" | "weights" | "output"} */ what, /** @type {string} */ name, /** @type {boolean} */ colored) =>
      walked.heads.map((head, h) => matrixTable(head[what], {
        name: walked.heads.length > 1 ? `${name}, head ${h + 1}` : name, rows: book.preset.tokens, columns: what === "output" ? undefined : keyTokens, colored, chosen: book.row, choose,
      }));
    const together = (/** @type {Node[]} */ ...tables) => element("div", { class: "matrices" }, ...tables);
    const q = book.on.projections || lesson.x === undefined ? "Q" : "X", k = book.on.projections || lesson.x === undefined ? "K" : book.on.cross ? "C" : "X", v = k === "K" ? "V" : k, projected = lesson.wo !== undefined;
    this.results.replaceChildren(
      element("h3", {}, `2. How alike are two words? ${q} ${k}ᵀ`),
      together(...heads("masked", `Scores${book.on.scale ? " ÷ √d" : ""}`, false)), whySquare(page), whyDot(page),
      element("h3", {}, "3. Shares of attention: softmax"), together(...heads("weights", "Weights", true)), whatRow(page), whySoftmax(page),
      element("h3", {}, `4. The mixture: weights ${v}${projected ? ", and Wo" : ""}`),
      together(...(projected || walked.heads.length > 1 ? heads("output", "Mixture", false) : []), matrixTable(walked.output, { name: "Result", rows: book.preset.tokens, chosen: book.row, choose })),
      whatSum(page), whyShape(page), ...[whatContext(book), howRnn(book)].filter((node) => node !== null));
    this.shapes.replaceChildren(scrolling(element("table", { class: "shapes" },
      element("thead", {}, element("tr", {}, ...["step", "formula", "shape"].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...walked.steps.map(({ name, formula, shape }) => element("tr", {}, element("th", { scope: "row" }, name), element("td", {}, formula), element("td", {}, shape)))))));
  }

  // The words of the cards, not their matrices: one of these may be what is typed into.
  refreshCards() {
    for (const { name } of switches) {
      const card = this.cards.querySelector(`[data-switch=${name}]`);
      card?.querySelector(".changes")?.replaceChildren(changes(this.book, name));
      if (name === "projections" && this.book.preset.x !== undefined) card?.querySelector(".question")?.replaceWith(whyThree(this.book));
    }
  }

  renderCards() {
    const { book } = this;
    this.cards.replaceChildren(...switchCards(book, (name, on) => {
      book.on[name] = on;
      if (name === "projections" && !on) book.on.heads = false;
      this.renderCards();
      this.update();
      this.changed();
      /** @type {HTMLElement | null} */ (this.cards.querySelector(`[data-switch=${name}] input`))?.focus();
    }, (name) => this.beside(name)));
  }

  /** @param {Switch} name @returns {(Node | null)[]} */
  beside(name) {
    const { preset, on } = this.book;
    if (preset.x === undefined) return name === "scale" ? [whyScale()] : [];
    switch (name) {
      case "projections":
        return [on.projections ? element("div", { class: "matrices" }, this.editable("wq", "Wq"), this.editable("wk", "Wk"), this.editable("wv", "Wv"), this.editable("wo", "Wo")) : null, whyThree(this.book)];
      case "scale":
        return [whyScale()];
      case "positions":
        return [on.positions ? matrixTable(sinusoidal(preset.x.length, preset.x[0].length), { name: "P", rows: preset.tokens }) : null];
      case "cross":
        return [on.cross ? this.editable("context", "C", preset.contextTokens) : null];
      default:
        return [];
    }
  }
}
