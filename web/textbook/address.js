// The textbook mode in the address: "book=it&on=scale,mask&word=6", and what was typed into its vectors, "set=x.2.3:2.5".
import { allOff, openBook } from "./model.js";
import { presets } from "./presets.js";

/** @typedef {import("./model.js").Book} Book */
/** @typedef {import("./model.js").Switch} Switch */

const names = /** @type {const} */ (["x", "q", "k", "v", "wq", "wk", "wv", "wo", "context"]);

/**
 * @param {Book} book
 * @returns {string} empty for the book as it opens
 */
export function bookAddress(book) {
  const usual = openBook(book.preset.name), parts = new URLSearchParams();
  const on = Object.entries(book.on).filter(([, is]) => is).map(([name]) => name);
  if (on.length > 0) parts.set("on", on.join(","));
  if (book.row !== usual.row) parts.set("word", String(book.row + 1));
  for (const name of names) {
    book.preset[name]?.forEach((row, i) => row.forEach((value, j) => {
      if (value !== usual.preset[name]?.[i][j]) parts.append("set", `${name}.${i + 1}.${j + 1}:${value}`);
    }));
  }
  const rest = parts.toString().replaceAll("%2C", ",").replaceAll("%3A", ":");
  if (rest === "" && book.preset.name === presets[0].name) return "";
  return `book=${book.preset.name}${rest === "" ? "" : `&${rest}`}`;
}

/**
 * @param {string} address
 * @returns {Book}
 */
export function bookFrom(address) {
  const parts = new URLSearchParams(address), book = openBook(parts.get("book") ?? presets[0].name);
  for (const name of (parts.get("on") ?? "").split(",")) if (Object.hasOwn(allOff, name)) book.on[/** @type {Switch} */ (name)] = true;
  if (!book.on.projections) book.on.heads = false;
  const word = Number(parts.get("word"));
  if (Number.isInteger(word) && word >= 1 && word <= book.preset.tokens.length) book.row = word - 1;
  for (const given of parts.getAll("set")) {
    const [, which, i, j, number] = given.match(/^([a-z]+)\.(\d{1,2})\.(\d{1,2}):(-?[\d.e+-]{1,24})$/) ?? [];
    const name = names.find((each) => each === which), row = name === undefined ? undefined : book.preset[name]?.[Number(i) - 1], value = Number(number);
    if (row !== undefined && row[Number(j) - 1] !== undefined && Math.abs(value) <= 1000) row[Number(j) - 1] = value;
  }
  return book;
}
