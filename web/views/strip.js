// The text itself, its words shaded by how much the chosen one looks at them.
import { largest } from "../data/order.js";
import { unitsOf } from "../data/source.js";
import { colorIn, colorTable, css, headTable, inkOn, placeOf } from "../math/color.js";
import { element } from "../ui/dom.js";
import { onTheme, theme } from "../ui/theme.js";

/** @typedef {import("../ui/pane.js").Pane} Pane */

export class Strip {
  /** @param {Pane} pane */
  constructor(pane) {
    this.pane = pane;
    this.key = "";
    /** @type {HTMLElement[]} */
    this.words = [];
    /** @type {string[]} how each word looks */
    this.painted = [];
    /** @type {Float64Array | null} */
    this.values = null;
    this.element = element("div", {
      class: "strip", role: "listbox", tabindex: 0, "aria-label": "The text. Choose the word that looks.",
      onclick: (/** @type {Event} */ event) => {
        const place = this.words.indexOf(/** @type {HTMLElement} */ (event.target));
        if (place >= 0) this.pane.store.set({ row: place, col: null, steps: false });
      },
    });
    onTheme(() => this.shade(this.values));
  }

  show() {
    const { facts } = this.pane.source, { units, special, first } = this.pane.look();
    const key = `${units} ${special} ${first}`;
    if (key === this.key) return;
    this.key = key;
    const shown = unitsOf(facts, units, special, first);
    this.words = shown.map((unit, i) => wordOf(unit, glued(shown, i, units), unit.text));
    this.painted = [];
    this.element.replaceChildren();
    this.words.forEach((word, i) => this.element.append(i === 0 || glued(shown, i, units) ? "" : " ", ...between(facts, shown[i - 1], shown[i]), word));
  }

  shadeAgain() {
    this.shade(this.values);
  }

  /** @param {Float64Array | null} values of the word that looks; null: none does */
  shade(values) {
    this.values = values;
    const { row, col } = this.pane.cross(), now = theme();
    // A pane beside this one has the same scale.
    const others = this.pane.beside?.strip.values ?? null, high = Math.max(values === null ? 0 : largest(values), others === null ? 0 : largest(others));
    const { colored } = this.pane;
    this.words.forEach((word, i) => {
      const place = values === null ? 0 : placeOf(values[i], high, values.length), shade = place < 0.1 ? 0 : Math.round(255 * place);
      const which = colored.findIndex((row) => row !== null && values !== null && row[i] === values[i]), table = which < 0 ? colorTable(now) : headTable(which, now);
      const looks = `${shade} ${now} ${i === row} ${i === col} ${which}`;
      if (looks === this.painted[i]) return;  // of thousands of words few change from one row to the next
      this.painted[i] = looks;
      const color = colorIn(table, shade / 255);
      word.style.backgroundColor = shade === 0 ? "" : css(color);
      word.style.color = shade === 0 ? "" : inkOn(color);
      word.classList.toggle("looks", i === row);
      word.classList.toggle("seen", i === col);
      word.setAttribute("aria-selected", String(i === row));
    });
    if (row !== null && this.words[row] && this.element.scrollHeight > this.element.clientHeight) {
      const { offsetTop } = this.words[row];
      if (offsetTop < this.element.scrollTop || offsetTop > this.element.scrollTop + this.element.clientHeight - 30) this.element.scrollTop = offsetTop - 40;
    }
  }
}

/**
 * Whether a unit follows the one before without a space, as a full stop does.
 * @param {import("../data/source.js").Unit[]} units
 * @param {number} i
 * @param {import("../data/source.js").Units} kind
 */
function glued(units, i, kind) {
  const before = units[i - 1], unit = units[i];
  return kind === "words" && before !== undefined && !before.special && !unit.special && before.part === unit.part && unit.place[0] <= before.place[1];
}

/**
 * @param {import("../data/source.js").Token} token
 * @param {boolean} follows without a space
 * @param {string} label
 */
export function wordOf(token, follows, label) {
  const kind = token.special ? "word special" : follows ? "word glued" : "word";
  return element("span", { role: "option", class: token.unknown ? `${kind} unknown` : kind, title: token.unknown ? "The model does not know this: it was read as “unknown”" : null, "aria-selected": "false" }, label);
}

/**
 * What stands between two parts of a text: an arrow before an answer, a stroke before the second text of a pair.
 * @param {import("../data/source.js").Facts} facts
 * @param {import("../data/source.js").Token | undefined} before
 * @param {import("../data/source.js").Token} token
 */
export function between(facts, before, token) {
  if (before === undefined || before.part === token.part) return [];
  const answer = facts.answerBegins !== undefined;
  return [element("span", { class: "parting", role: "presentation", title: answer ? "The answer" : "The second text" }, answer ? "→" : "|"), " "];
}
