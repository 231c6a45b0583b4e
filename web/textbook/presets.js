// The sentences of the textbook mode, each with vectors to start from.

/** @typedef {import("../math/matrix.js").Matrix} Matrix */

/**
 * @typedef {object} Preset
 * @property {string} name
 * @property {string} label
 * @property {string} note what the numbers stand for
 * @property {string[]} tokens
 * @property {Matrix} [x]
 * @property {Matrix} [q]
 * @property {Matrix} [k]
 * @property {Matrix} [v]
 * @property {Matrix} [wq]
 * @property {Matrix} [wk]
 * @property {Matrix} [wv]
 * @property {Matrix} [wo]
 * @property {string[]} [contextTokens]
 * @property {Matrix} [context]
 */

/** @type {Preset[]} */
export const presets = [
  {
    name: "love", label: "I love deep learning", note: "Three numbers per word, chosen by hand. Change any of them, and everything below follows.",
    tokens: ["I", "love", "deep", "learning"],
    x: [[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]],
    // With these, “love” asks for “I” and “learning” for “deep”; values pass through unchanged, because Wv Wo = 1.
    wq: [[1, -1, -1, 1], [0, -1, 0, 1], [0, 2, 2, -1]],
    wk: [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 1, 1]],
    wv: [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]],
    wo: [[1, 0, 0], [0, 1, 0], [0, 0, 0.5], [0, 0, 0.5]],
    contextTokens: ["j'aime", "l'apprentissage", "profond"], context: [[1, 0.5, 0.5], [0, 0, 1], [0, 1, 1]],
  },
  {
    name: "it", label: "The animal didn't cross the street because it was too tired",
    note: "Queries, keys and values as a textbook gives them, for eight of the words.",
    tokens: ["The", "animal", "didn't", "cross", "street", "it", "was", "tired"],
    q: [[0.1, 0.2, 0.3], [0.5, 0.4, 0.3], [0.2, 0.1, 0.1], [0, 0.1, 0.2], [0.4, 0.3, 0.2], [0.6, 0.5, 0.4], [0.1, 0.1, 0], [0.7, 0.6, 0.5]],
    k: [[0.2, 0.1, 0], [0.6, 0.5, 0.4], [0.1, 0.2, 0.1], [0.2, 0.1, 0.3], [0.5, 0.4, 0.3], [0.7, 0.6, 0.5], [0.1, 0, 0.2], [0.9, 0.8, 0.7]],
    v: [[0.1, 0.2, 0.3], [0.7, 0.6, 0.5], [0.1, 0.1, 0.2], [0, 0.1, 0.1], [0.5, 0.4, 0.3], [0.6, 0.5, 0.4], [0.1, 0.1, 0], [0.8, 0.7, 0.6]],
  },
  {
    name: "cat", label: "The cat chased the mouse", note: "Four numbers per word: is it an article, a verb, the one who acts, the one acted on?",
    tokens: ["The", "cat", "chased", "the", "mouse"],
    x: [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]],
    wq: [[0, 3, 0, 3], [4, 0, 4, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    wk: [[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 1], [0, 1, 1, 1]],
    wv: [[0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]],
    wo: [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]],
    contextTokens: ["le", "chat", "poursuit", "la", "souris"], context: [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]],
  },
  {
    name: "apple", label: "Apple launched a phone while I ate an apple", note: "Two numbers per word: how much fruit is in it, and how much technology?",
    tokens: ["Apple", "launched", "phone", "ate", "apple"],
    x: [[0.8, 0.2], [0.1, 0.9], [0, 1.5], [1.2, 0], [0.8, 0.2]],
    wq: [[2, 0], [0, 2]], wk: [[1, 0], [0, 1]], wv: [[1, 0], [0, 1]], wo: [[1, 0], [0, 1]],
    contextTokens: ["pomme", "téléphone"], context: [[1, 0], [0, 1.5]],
  },
];
