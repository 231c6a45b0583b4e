// The page as one file: what it shows is inside it.
import { sourceOfPage } from "./data/carried.js";
import { unitsOf } from "./data/source.js";
import { shownUnits } from "./ui/pane.js";
import { initialState, withItsWord } from "./ui/state.js";
import { Shell } from "./ui/shell.js";

const source = sourceOfPage(document);
const { row, ...first } = JSON.parse(document.getElementById("first-view")?.textContent ?? "{}");
let state = { ...initialState, ...first };
if (row === null) {
  state = withItsWord(source.facts, state);
} else {
  // Counted among all units by the program, among those that are shown by a page that leaves some out.
  const { facts } = source, unit = unitsOf(facts, state.units, true, true)[row];
  if (unit.special) state.special = true;
  else if (unit.last === 1) state.first = true;
  state.row = shownUnits(facts, state).findIndex((each) => each.last === unit.last);
}
document.title = `attend: ${source.facts.text.slice(0, 60)}`;
new Shell(/** @type {HTMLElement} */ (document.getElementById("app")), state).add(source);
