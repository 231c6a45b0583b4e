// Light or dark: as the system says, until the reader says otherwise.

/** @typedef {import("../math/color.js").Theme} Theme */

const system = matchMedia("(prefers-color-scheme: dark)");
/** @type {(() => void)[]} */
const listeners = [];

/** @returns {Theme} */
export function theme() {
  const chosen = document.documentElement.dataset.theme;
  return chosen === "light" || chosen === "dark" ? chosen : system.matches ? "dark" : "light";
}

/** @param {() => void} listener */
export function onTheme(listener) {
  listeners.push(listener);
}

export function toggleTheme() {
  setTheme(theme() === "dark" ? "light" : "dark");
}

/** @param {string | undefined} chosen undefined: as the system says */
export function setTheme(chosen) {
  if (chosen === undefined) delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = chosen;
  for (const listener of listeners) listener();
}

system.addEventListener("change", () => {
  for (const listener of listeners) listener();
});

/**
 * A colour of the style sheet.
 * @param {"ink" | "quiet" | "paper" | "line" | "accent" | "field"} name
 */
export function styleColor(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}
