// On paper: light colours whatever the screen has, and drawings as SVG, which stay sharp at any size.
import { element } from "./dom.js";
import { setTheme } from "./theme.js";

/** @param {import("./shell.js").Shell} shell */
export function printsWell(shell) {
  /** @type {HTMLElement[]} */
  let drawings = [];
  /** @type {string | undefined} */
  let before;
  addEventListener("beforeprint", () => {
    if (drawings.length > 0) return;
    before = document.documentElement.dataset.theme;
    document.documentElement.dataset.printing = "";
    setTheme("light");
    for (const pane of shell.panes) {
      const { tab } = pane.store.state;
      if (tab !== "map" && tab !== "lines") continue;
      const drawn = new DOMParser().parseFromString(pane.views[tab].svg(pane.title()), "image/svg+xml").documentElement;
      const box = element("div", { class: "on-paper" }, document.importNode(drawn, true));
      pane.stage.append(box);
      drawings.push(box);
    }
  });
  addEventListener("afterprint", () => {
    drawings.forEach((box) => box.remove());
    drawings = [];
    delete document.documentElement.dataset.printing;
    setTheme(before);
  });
}
