// The page as one file: what it shows is inside it.
import { sourceOfPage } from "./data/carried.js";
import { initialState } from "./ui/state.js";
import { Shell } from "./ui/shell.js";

const source = sourceOfPage(document);
const { row, ...first } = JSON.parse(document.getElementById("first-view")?.textContent ?? "{}");
const state = { ...initialState, ...first };
if (row !== null) {
  // Counted with special tokens by the program, without them by a page that leaves them out.
  const units = state.units === "words" ? source.facts.words : source.facts.tokens;
  if (units[row].special) state.special = true;
  state.row = state.special ? row : row - units.slice(0, row).filter((unit) => unit.special).length;
}
document.title = `attend: ${source.facts.text.slice(0, 60)}`;
new Shell(/** @type {HTMLElement} */ (document.getElementById("app")), state).add(source);
