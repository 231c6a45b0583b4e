// The page of `attend explore`: what it shows comes from the program, which also reads other texts for it.
import { models } from "./data/served.js";
import { ComparePanel } from "./served/compare_panel.js";
import { EditsPanel } from "./served/edits_panel.js";
import { ReadingForm } from "./served/reading_form.js";
import { initialState } from "./ui/state.js";
import { addressParts, Shell } from "./ui/shell.js";

let started = false;
const shell = new Shell(/** @type {HTMLElement} */ (document.getElementById("app")), initialState, true);

/**
 * @param {import("./data/source.js").Source} source
 * @param {boolean} beside
 */
function show(source, beside) {
  // A second text is looked at as the first one is.
  const same = beside && addressParts().panes.length < 2 ? { ...shell.panes[0].store.state, row: null, col: null, steps: false, off: "" } : undefined;
  shell.add(source, { beside, state: same });
  const pane = shell.panes[beside ? 1 : 0];
  pane.element.append(new EditsPanel(pane, source).element, new ComparePanel(source).element);
  if (beside) return;
  if (started && shell.tab === "textbook") shell.open("map");  // what was read is to be seen
  document.title = `attend: ${source.facts.text.slice(0, 60)}`;
}

const form = new ReadingForm(show, (sentence) => shell.complain(sentence));
shell.top.append(form.element);
shell.offerSecond(() => form.askForSecond());
shell.closedSecond = () => form.forgetSecond();

try {
  const known = await models();
  form.offer(known.models.map((model) => model.name), known.default);
  await form.start(known.text);
  started = true;
} catch (error) {
  shell.complain(error instanceof Error ? error.message : String(error));
}
