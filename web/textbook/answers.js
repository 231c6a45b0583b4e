// The questions that readers ask, each beside a number that answers it for the vectors at hand.
import { cosine, dot, farthest, mapped, transposed } from "../math/matrix.js";
import { walk } from "../math/walk.js";
import { element } from "../ui/dom.js";
import { number, percent, short } from "../ui/format.js";
import { lessonOf, swapped } from "./model.js";

/** @typedef {import("./model.js").Book} Book */
/** @typedef {import("../math/walk.js").Walk} Walk */
/** @typedef {{book: Book, walked: Walk, keyTokens: string[]}} Page */

/**
 * @param {string} question
 * @param {...(Node | string)} answer
 */
function answered(question, ...answer) {
  return element("details", { class: "question", open: true }, element("summary", {}, question), element("p", {}, ...answer));
}

/** @param {string} text @param {string} [name] */
function live(text, name) {
  return element("b", { class: "live", "data-live": name ?? null }, text);
}

/** @param {number[]} vector */
function written(vector) {
  return `[${vector.map(short).join(", ")}]`;
}

/** @param {Page} page */
export function whySquare({ book, walked, keyTokens }) {
  const n = book.preset.tokens.length, m = keyTokens.length, pairs = n * m;
  return answered(`Why is the matrix ${n} × ${m}?`,
    `Every word that looks is paired with every word that can be looked at: ${n} × ${m} = `, live(String(pairs), "pairs"),
    ` scores, ${walked.heads.length > 1 ? `in each of ${walked.heads.length} heads, ` : ""}and none is left out because of distance. One more word would make it `,
    live(String(book.on.cross ? (n + 1) * m : (n + 1) * (n + 1))), "; 512 words make 262,144. That growth is the price of attention.");
}

/** @param {Page} page */
export function whyDot({ book, walked, keyTokens }) {
  const { row } = book, { d } = walked, q = walked.q[row].slice(0, d), best = largestAt(walked.heads[0].masked[row]), k = walked.k[best].slice(0, d);
  return answered("Why a dot product?",
    `It is large where two vectors point the same way and are long: ${written(q)} · ${written(k)} = `, live(short(dot(q, k))),
    `, which is |q| |k| cos = ${short(Math.sqrt(dot(q, q)))} × ${short(Math.sqrt(dot(k, k)))} × ${short(cosine(q, k))} for “${book.preset.tokens[row]}” and “${keyTokens[best]}”. `,
    "It takes one multiplication per dimension, and one matrix product for all pairs.");
}

/** @param {Page} page */
export function whatRow({ book, walked, keyTokens }) {
  const weights = walked.heads[0].weights[book.row], best = largestAt(weights), total = weights.reduce((a, b) => a + b, 0);
  return answered("What does a row mean?",
    `It is one word's attention, shared out. “${book.preset.tokens[book.row]}” spends most, `, live(percent(weights[best]), "most"), `, on “${keyTokens[best]}”; the row adds up to `,
    live(number(total), "row-sum"), ". A column says something else: how much one word is looked at, and columns need not add up to 1.");
}

/** @param {Page} page */
export function whySoftmax({ book, walked, keyTokens }) {
  const { masked: scores, weights } = walked.heads[0], row = scores[book.row].filter((score) => score !== -Infinity), total = row.reduce((a, b) => a + b, 0);
  const high = largestAt(scores[book.row]), low = scores[book.row].indexOf(Math.min(...row));
  return answered("Why softmax?",
    `Scores are not shares: this row's go from ${short(Math.min(...row))} to ${short(Math.max(...row))} and add up to `, live(short(total), "score-sum"),
    ". Softmax makes each positive and their sum 1, keeps their order, and turns differences into ratios: ",
    `a score that is ${short(scores[book.row][high] - scores[book.row][low])} higher (“${keyTokens[high]}” over “${keyTokens[low]}”) gets `,
    live(`${short(weights[book.row][high] / weights[book.row][low])} times`), " the weight.");
}

/** @param {Page} page */
export function whatSum({ book, walked, keyTokens }) {
  const { weights, output } = walked.heads[0], { d } = { d: output[0].length }, projected = lessonOf(book.preset, book.on).wo !== undefined, row = weights[book.row];
  const terms = row.map((weight, j) => `${short(weight)} × ${written(walked.v[j].slice(0, d))}`).filter((_, j) => row[j] >= 0.005);
  return answered("What does weights times values do?",
    `It mixes. ${projected ? "The mixture" : "The new vector"} of “${book.preset.tokens[book.row]}” is ${terms.slice(0, 6).join(" + ")}${terms.length > 6 ? " + …" : ""} = `,
    live(written(output[book.row]), "mixed"), `${walked.heads.length > 1 ? " in the first head" : ""}: every word gives as much of itself as its weight says, “${keyTokens[largestAt(row)]}” the most.`,
    ...(projected ? [` ${walked.heads.length > 1 ? "Side by side and times Wo, the heads' mixtures become" : "Times Wo, it becomes"} the new vector, `, live(written(walked.output[book.row]), "projected"), "."] : []));
}

/** @param {Page} page */
export function whyShape({ book, walked }) {
  const from = book.preset.x ?? book.preset.v ?? [[0]], projected = lessonOf(book.preset, book.on).wo !== undefined;
  return answered("Why does the result have the shape of the input?",
    `One vector for each word that looks, ${projected ? `and Wo brings the mixture, ${walked.heads.length > 1 ? "of all heads together " : ""}${walked.v[0].length} numbers a word, back to the length of the input` : "as long as the vectors that are mixed"}: (${from.length}, ${from[0].length}) goes in and `,
    live(`(${walked.output.length}, ${walked.output[0].length})`, "output-shape"),
    " comes out. Words are changed, not added or taken away, so layers can be stacked and their results added to what went in.");
}

/** @param {Book} book */
export function whyThree(book) {
  const asymmetry = (/** @type {boolean} */ projections) => {
    const scores = mapped(walk(lessonOf(book.preset, { ...book.on, projections, heads: false, cross: false, mask: false })).heads[0].scores, (value) => value);
    return farthest(scores, transposed(scores));
  };
  return answered("Why three matrices?",
    "With X alone, a word asks with the same vector by which it is found, so scores are the same both ways: the largest difference between the two scores of a pair is ",
    live(number(asymmetry(false)), "symmetry"), ". With Wq and Wk it is ", live(number(asymmetry(true)), "asymmetry"),
    ": asking and being found are two things. The third, Wv, decides what is passed on once a word has been found. All three are learned.");
}

/** @param {Book} book */
export function howRnn(book) {
  const lesson = lessonOf(book.preset, book.on), last = book.preset.tokens.length - 1, straight = walk(lesson).output, other = walk(swapped(lesson, 0, last)).output;
  const back = other.map((row, i) => other[i === 0 ? last : i === last ? 0 : i] ?? row);
  return answered("How is this different from an RNN?",
    `An RNN reads word after word: what “${book.preset.tokens[0]}” says passes through ${last} updates before it reaches “${book.preset.tokens[last]}”, and each must wait for the one before. Here the two are `,
    live("1"), ` step apart, whatever lies between, and all ${last + 1} rows are made at once. The drawback: attention does not know the order. Swap the first word and the last, and each word's result changes by `,
    live(number(farthest(straight, back)), "order"), book.on.positions || book.on.mask ? ", because of the positions or the mask." : ". Positions, below, bring the order back.");
}

/** @param {Book} book */
export function whatContext(book) {
  const lesson = lessonOf(book.preset, book.on), { tokens } = book.preset, pair = twins(tokens);
  if (pair === null || lesson.x === undefined) return null;
  const before = cosine(lesson.x[pair[0]], lesson.x[pair[1]]), { output } = walk(lesson);
  return answered("Does a word that occurs twice get two vectors?",
    `“${tokens[pair[0]]}” and “${tokens[pair[1]]}” start as one vector from a table (cosine ${number(before)}). After attention their cosine is `,
    live(number(cosine(output[pair[0]], output[pair[1]])), "twins"),
    `. ${book.on.positions || book.on.mask ? "They look from different places, and come out different." : "Both have moved towards their surroundings, but to the same point: the two ask the same question of the same words. Switch on the mask or positions and they separate."}`);
}

/** @param {string[]} tokens @returns {[number, number] | null} */
function twins(tokens) {
  for (let j = 1; j < tokens.length; ++j) {
    const i = tokens.findIndex((token) => token.toLowerCase() === tokens[j].toLowerCase());
    if (i < j) return [i, j];
  }
  return null;
}

/** @param {number[]} values */
function largestAt(values) {
  return values.indexOf(Math.max(...values));
}
