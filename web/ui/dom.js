// Elements, made in one expression.

/**
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {Record<string, unknown>} [properties] attributes; `on...` are listeners, `class` the classes; null and false are left out
 * @param {...(Node | string | null)} children
 * @returns {HTMLElementTagNameMap[Tag]}
 */
export function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), /** @type {EventListener} */ (value));
    else made.setAttribute(name, value === true ? "" : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

let ids = 0;

/** @param {string} stem */
export function newId(stem) {
  return `${stem}-${++ids}`;
}

/**
 * A table that may be wider than the page, in a box that scrolls, by pointer or keys.
 * @param {HTMLTableElement} table
 */
export function scrolling(table) {
  const box = element("div", { class: "wide-table" }, table);
  new ResizeObserver(() => {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
  }).observe(box);
  return box;
}

/**
 * A note that says what is wrong with what is shown, or null.
 * @param {string} [sentence]
 */
export function problemOf(sentence) {
  return sentence === undefined ? null : element("p", { class: "problem", role: "note" }, sentence);
}

/**
 * A bar that fills a share of its place.
 * @param {number} share
 * @param {string} [kind]
 */
export function bar(share, kind = "") {
  const inner = element("span", { class: `fill ${kind}` });
  inner.style.width = `${Number.isNaN(share) ? 0 : Math.min(100, Math.max(0, 100 * share))}%`;
  return element("span", { class: "bar", "aria-hidden": "true" }, inner);
}
