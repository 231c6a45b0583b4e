// Tokens as people read them: a space or a line end that is all of a token is made visible.

/** @param {string} text */
export function tokenLabel(text) {
  const bare = text.trim();
  if (bare !== "") return bare;
  return text === "" ? "∅" : [...text].map((character) => (character === "\n" ? "↵" : character === "\t" ? "⇥" : "␣")).join("");
}

/**
 * In quotation marks, with its leading space: “ Paris”.
 * @param {string} text
 */
export function quoted(text) {
  return `“${text.trim() === "" ? tokenLabel(text) : text}”`;
}

/** @type {WeakMap<import("../data/source.js").Facts, string[]>} */
const known = new WeakMap();

/**
 * The tokens of a text as they stand in it, with their spaces: vocabularies write these in ways of their own. A special token has its name.
 * @param {import("../data/source.js").Facts} facts
 * @returns {string[]}
 */
export function tokenTexts(facts) {
  let texts = known.get(facts);
  if (texts === undefined) {
    const parts = [[...facts.text], [...facts.second]];  // places count characters
    texts = facts.tokens.map(({ text, special, part, place }) => (special ? text : parts[part].slice(place[0], place[1]).join("") || text));
    known.set(facts, texts);
  }
  return texts;
}
