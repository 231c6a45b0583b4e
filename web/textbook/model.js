// The state of the textbook mode, and the lesson that follows from it.
import { presets } from "./presets.js";

/** @typedef {import("../math/walk.js").Lesson} Lesson */
/** @typedef {import("./presets.js").Preset} Preset */
/** @typedef {"projections" | "scale" | "heads" | "mask" | "positions" | "cross"} Switch */
/** @typedef {Record<Switch, boolean>} Switches */

/** @type {Switches} */
export const allOff = { projections: false, scale: false, heads: false, mask: false, positions: false, cross: false };

/**
 * @typedef {object} Book
 * @property {Preset} preset a copy, whose numbers the reader may change
 * @property {Switches} on
 * @property {number} row the word that is looked at closely
 */

/** @param {string} name @returns {Book} */
export function openBook(name) {
  const preset = structuredClone(presets.find((each) => each.name === name) ?? presets[0]);
  return { preset, on: { ...allOff }, row: preset.name === "it" ? 5 : 1 };
}

/**
 * Why a switch has nothing to do with these vectors; empty where it can be used.
 * @param {Preset} preset
 * @param {Switches} on
 * @param {Switch} name
 */
export function hindrance(preset, on, name) {
  if (preset.x === undefined && name !== "scale" && name !== "mask") return "Not for this sentence, which starts from given queries, keys and values.";
  if (name === "heads" && !on.projections) return "Heads divide the numbers of queries and keys among them: switch on Q, K and V first.";
  return "";
}

/**
 * @param {Preset} preset
 * @param {Switches} on
 * @returns {Lesson}
 */
export function lessonOf(preset, on) {
  const { tokens, x, q, k, v, wq, wk, wv, wo, context, contextTokens } = preset;
  /** @type {Lesson} */
  const lesson = { tokens, causal: on.mask };
  const size = x === undefined ? q?.[0].length ?? 1 : on.projections ? wq?.[0].length ?? 1 : x[0].length;
  const heads = x !== undefined && on.projections && on.heads ? 2 : 1;
  lesson.scale = on.scale ? 1 / Math.sqrt(size / heads) : 1;
  if (x === undefined) return { ...lesson, q, k, v };
  lesson.x = x;
  lesson.positions = on.positions;
  lesson.heads = heads;
  if (on.projections) Object.assign(lesson, { wq, wk, wv, wo });
  if (on.cross) Object.assign(lesson, { context, keyTokens: contextTokens });
  return lesson;
}

/**
 * The same words with two of them swapped, to show what order does.
 * @param {Lesson} lesson
 * @param {number} i
 * @param {number} j
 * @returns {Lesson}
 */
export function swapped(lesson, i, j) {
  /** @template T @param {T[] | undefined} rows @returns {T[] | undefined} */
  const swap = (rows) => rows?.map((row, place) => rows[place === i ? j : place === j ? i : place] ?? row);
  return { ...lesson, tokens: swap(lesson.tokens) ?? [], x: swap(lesson.x), q: swap(lesson.q), k: swap(lesson.k), v: swap(lesson.v) };
}
