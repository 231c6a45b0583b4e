// What a model could not read, and which model could.

const writer = "HuggingFaceTB/SmolLM2-135M-Instruct", english = "sentence-transformers/all-MiniLM-L6-v2", multilingual = "intfloat/multilingual-e5-small";

/**
 * @param {import("../data/source.js").Facts} facts
 * @returns {string | undefined} undefined where it read everything
 */
export function unknownSentence({ unknown = 0, tokens, family, model }) {
  if (unknown === 0) return undefined;
  const count = tokens.filter((token) => !token.special || token.unknown).length;
  const how = unknown === count ? "The model knows none of these words" : `The model does not know ${unknown} of the ${count} tokens of this text`;
  const trained = family === "attend" ? " It knows only the words that it was trained on." : "";
  const vectors = trained !== "" && model !== english ? `${english} reads English, and ${multilingual} most languages` : `${multilingual} reads most languages`;
  return `${how}: those underlined with dots reached it as “unknown”, so what is shown of them says nothing about the words.${trained} ${writer} reads any text; ${vectors}.`;
}
