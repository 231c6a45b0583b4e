// Attention on small vectors, every step kept: what `attend steps` computes, in the page.
import { columns, mapped, product, shapeOf, sinusoidal, softmax, sum, transposed } from "./matrix.js";

/** @typedef {import("./matrix.js").Matrix} Matrix */

/**
 * @typedef {object} Lesson
 * @property {string[]} tokens
 * @property {string[]} [keyTokens] of the context
 * @property {Matrix} [x] (n, e)
 * @property {Matrix} [context] (m, e): keys and values come from here
 * @property {Matrix} [q] instead of x
 * @property {Matrix} [k]
 * @property {Matrix} [v]
 * @property {Matrix} [wq]
 * @property {Matrix} [wk]
 * @property {Matrix} [wv]
 * @property {Matrix} [wo]
 * @property {number} [heads]
 * @property {boolean} [causal]
 * @property {number} [scale] without it 1 for bare vectors, else 1 / √d
 * @property {boolean} [positions]
 *
 * @typedef {{scores: Matrix, masked: Matrix, weights: Matrix, output: Matrix}} HeadWalk scores after scale, before and after the mask
 * @typedef {{name: string, formula: string, shape: string}} Step
 *
 * @typedef {object} Walk
 * @property {Matrix | null} x with positions, if they are added
 * @property {Matrix} q
 * @property {Matrix} k
 * @property {Matrix} v
 * @property {number} scale
 * @property {number} d of one head
 * @property {HeadWalk[]} heads
 * @property {Matrix} output
 * @property {Step[]} steps
 */

/**
 * @param {Lesson} lesson
 * @returns {Walk}
 */
export function walk(lesson) {
  /** @type {Step[]} */
  const steps = [];
  const note = (/** @type {string} */ name, /** @type {string} */ formula, /** @type {string} */ shape) => steps.push({ name, formula, shape });
  const { x, q, k, v } = vectors(lesson, note);
  const heads = lesson.heads ?? 1, d = q[0].length / heads, dv = v[0].length / heads, n = q.length, m = k.length;
  const bare = lesson.x !== undefined && lesson.wq === undefined && heads === 1;
  const scale = lesson.scale ?? (bare ? 1 : 1 / Math.sqrt(d)), each = heads > 1 ? " in each head" : "";
  if (heads > 1) note("Split", "Q, K, V into heads", `(${n}, ${heads * d}) → (${heads}, ${n}, ${d})`);
  note("Scores", `Q Kᵀ${each}`, `(${n}, ${d}) @ (${d}, ${m}) → (${n}, ${m})`);
  if (scale !== 1) note("Scale", "scores ÷ √d", `(${n}, ${m})`);
  if (lesson.causal) note("Mask", "later keys get −∞", `(${n}, ${m})`);
  note("Weights", "softmax, row by row", `(${n}, ${m})`);
  note("Output", `weights V${each}`, `(${n}, ${m}) @ (${m}, ${dv}) → (${n}, ${dv})`);
  const walked = [...Array(heads).keys()].map((h) => {
    const keys = columns(k, h * d, (h + 1) * d), values = columns(v, h * dv, (h + 1) * dv);
    const scores = mapped(product(columns(q, h * d, (h + 1) * d), transposed(keys)), (score) => scale * score);
    const masked = mapped(scores, (score, i, j) => (lesson.causal && j > i ? -Infinity : score)), weights = softmax(masked);
    return { scores, masked, weights, output: product(weights, values) };
  });
  let output = walked[0].output.map((_, i) => walked.flatMap((head) => head.output[i]));
  if (heads > 1) note("Concat", "heads side by side", `(${heads}, ${n}, ${dv}) → (${n}, ${heads * dv})`);
  if (lesson.wo !== undefined) {
    note("Project", `${heads > 1 ? "concat" : "output"} Wo`, `${shapeOf(output)} @ ${shapeOf(lesson.wo)} → (${n}, ${lesson.wo[0].length})`);
    output = product(output, lesson.wo);
  }
  return { x, q, k, v, scale, d, heads: walked, output, steps };
}

/**
 * @param {Lesson} lesson
 * @param {(name: string, formula: string, shape: string) => void} note
 * @returns {{x: Matrix | null, q: Matrix, k: Matrix, v: Matrix}}
 */
function vectors(lesson, note) {
  if (lesson.x === undefined) {
    const { q, k, v } = lesson;
    if (q === undefined || k === undefined || v === undefined) throw new Error("A lesson has x, or q, k and v.");
    note("Queries, keys, values", "Q, K, V", `${shapeOf(q)}, ${shapeOf(k)}, ${shapeOf(v)}`);
    return { x: null, q, k, v };
  }
  const placed = (/** @type {Matrix} */ a) => (lesson.positions ? sum(a, sinusoidal(a.length, a[0].length)) : a);
  const x = placed(lesson.x), context = lesson.context === undefined ? x : placed(lesson.context), other = lesson.context === undefined ? "X" : "C";
  note("Input", "X", shapeOf(x));
  if (lesson.context !== undefined) note("Context", "C", shapeOf(context));
  if (lesson.positions) note("Positions", "X + P", shapeOf(x));
  const { wq, wk, wv } = lesson;
  if (wq === undefined || wk === undefined || wv === undefined) return { x, q: x, k: context, v: context };
  note("Queries", "X Wq", `${shapeOf(x)} @ ${shapeOf(wq)} → (${x.length}, ${wq[0].length})`);
  note("Keys", `${other} Wk`, `${shapeOf(context)} @ ${shapeOf(wk)} → (${context.length}, ${wk[0].length})`);
  note("Values", `${other} Wv`, `${shapeOf(context)} @ ${shapeOf(wv)} → (${context.length}, ${wv[0].length})`);
  return { x, q: product(x, wq), k: product(context, wk), v: product(context, wv) };
}
