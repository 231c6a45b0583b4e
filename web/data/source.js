// What views ask for, and what they get. Two modules answer: carried.js from numbers inside the page, served.js from the program.
// Layers and heads count from 1 (counting.js), tokens and units from 0. head null is the mean over the heads of a layer, layer null the
// mean over all.

/**
 * @typedef {object} Token
 * @property {string} text
 * @property {boolean} special
 * @property {boolean} [unknown] the vocabulary lacks it, and the model did not see what stands there
 * @property {number} part
 * @property {number[]} place
 *
 * @typedef {Token & {first: number, last: number}} Unit a word, or a token by itself: the tokens [first, last)
 *
 * @typedef {"raw" | "norm" | "rollout"} Method
 * @typedef {"words" | "tokens"} Units
 *
 * @typedef {object} Attends how a layer looks
 * @property {string} name
 * @property {number[]} rows the tokens [from, to) that look
 * @property {number[]} keys those that are looked at: source and target of a model with an encoder and a decoder, else all
 * @property {boolean} causal
 * @property {number[]} [window] how many keys to the left and to the right of its own a token sees; -1: all
 * @property {number} [keyHeads] how many heads of keys and values there are, where several heads share them
 * @property {number} [softcap] scores become softcap tanh(score / softcap)
 * @property {number[]} [sinks] of each head, a score that takes weight and gives no value
 * @property {number} [scale] of scores, where it is not that of the model
 *
 * @typedef {object} Facts
 * @property {string} model
 * @property {string} family
 * @property {boolean} causal
 * @property {number} layers
 * @property {Attends[]} attends of each layer
 * @property {number} heads
 * @property {number} headSize
 * @property {number} scale
 * @property {string} text
 * @property {string} second
 * @property {boolean} served
 * @property {Token[]} tokens
 * @property {Unit[]} words
 * @property {number} dropped
 * @property {string[]} methods
 * @property {boolean} [distanceBias]
 * @property {InsideFacts} inside
 * @property {Sink} [sink] of a model that writes
 * @property {Notable[]} [notable] the heads worth seeing, the best first; pages of older versions have none
 * @property {number} [unknown] how many tokens the vocabulary lacks
 * @property {number} [answerBegins] the first token of the answer, in a model with an encoder and a decoder
 * @property {string} [answer] what it answered, to the end
 * @property {string} [notFinite] where NaN or infinity first appeared, in a sentence; only where it did
 *
 * @typedef {object} Notable a head that stands out in this text
 * @property {number} layer
 * @property {number} head
 * @property {"links" | "previous" | "next"} role
 * @property {number} share how sure it is: of the weight of a word, or of all words
 * @property {[number, number, number][]} links [from, to, weight], the clearest first; places in `words`
 * @property {string} says what it does, in words
 *
 * @typedef {object} Sink what rests on the first token
 * @property {string} token
 * @property {number} share of the weight of all heads, on average
 * @property {boolean} special then it is left out, or shown, with the others of its kind
 * @property {boolean} isSink
 * @property {boolean} folded whether it is left out at first
 *
 * @typedef {object} Look one way of looking at a reading: which heads, how, between what
 * @property {number | null} layer
 * @property {number | null} head
 * @property {Method} method
 * @property {Units} units
 * @property {boolean} special with special tokens; without, they are left out and rows add up to 1 again
 * @property {boolean} [first] with the first token, which may be a sink; without, likewise. What is usual, unless it is given
 *
 * @typedef {object} Grid
 * @property {number} rows
 * @property {number} cols
 * @property {Float32Array} values
 *
 * @typedef {object} Cell everything that one weight is made of
 * @property {Float32Array} q
 * @property {Float32Array} k
 * @property {Float32Array} v
 * @property {number} scale
 * @property {boolean} masked
 * @property {number} bias
 * @property {number} score
 * @property {number} max
 * @property {number} sum
 * @property {number} weight
 * @property {number | null} contribution
 *
 * @typedef {object} Source
 * @property {Facts} facts
 * @property {(look: Look & {row: number}) => Promise<Float64Array>} row
 * @property {(look: Look & {level: number, y: number, x: number}) => Promise<Grid>} tile
 *   256 x 256 cells at most; a cell of level L is the largest of 2^L x 2^L pairs
 * @property {(look: Look) => Grid | null} [partial] the whole map, as far as it is made; only where it is being made
 * @property {(look: Look & {buckets: number}) => Promise<Grid>} summary
 * @property {(of: {layer: number, head: number, query: number, key: number}) => Promise<Cell>} cell between tokens
 * @property {(of: {layer: number, head: number, query: number}) => Promise<{scores: Float64Array, weights: Float64Array}>} scoresRow
 * @property {(of: {place: number, token: number | null}) => Promise<Block>} block the path of a token through the blocks
 * @property {(of: {place: number}) => Promise<NextAtPlace>} [next] models that write only
 * @property {(of: {first: number, last: number}) => Promise<GuessColumn[]>} [guesses] likewise
 * @property {number[]} nextPlaces the places [from, to) that next and guesses know; of others, none
 * @property {number[]} blockPlaces likewise for block
 * @property {(of: {edits: string[]}) => Promise<Change>} [change] served only
 * @property {(of: {first: string, second: string, word: string}) => Promise<Comparison>} [compare] served only
 *
 * @typedef {object} InsideFacts what the views of the next token and of the block must know first
 * @property {{norm: "before" | "after" | "around" | "inside", kind: string, attentionNorm?: boolean, feedForward?: boolean, parallel?: boolean}[]} layers
 * @property {number[]} [next] the tokens [from, to) after which another is expected; none in a model that does not write
 * @property {number} [vocabulary]
 * @property {number[]} [temperatures] at which sums over the vocabulary are known
 * @property {boolean} [logits] whether the logit of a token can be taken apart
 *
 * @typedef {object} Guesses what a layer would say at a place. At a temperature T the share of guess i is exp(logits[i] / T - sum at T)
 * @property {number[]} tokens their ids, the most probable first
 * @property {string[]} texts
 * @property {ArrayLike<number>} logits less the largest
 * @property {number} sum the logarithm of the sum over the vocabulary at temperature 1
 * @property {ArrayLike<number> | null} sums at every temperature; null where a page does not carry them
 *
 * @typedef {object} NextAtPlace
 * @property {number} place
 * @property {number | null} following how probable the token was that follows in the text
 * @property {Guesses[]} layers from the embeddings on
 *
 * @typedef {object} GuessColumn the first guess of every layer at a place
 * @property {number} place
 * @property {number[]} tokens
 * @property {string[]} texts
 * @property {number[]} shares
 *
 * @typedef {{input: number, length: number, cosine: number}} BlockPart what it reads, what it adds, and the cosine of that with the stream
 *
 * @typedef {object} BlockLayer lengths: of the stream before, between and after the parts, and of what these add
 * @property {number} layer
 * @property {number} in
 * @property {number} middle
 * @property {number} out
 * @property {BlockPart} attention
 * @property {number[]} heads
 * @property {number} rest what belongs to no head: biases
 * @property {BlockPart | null} feedForward
 *
 * @typedef {object} LogitParts what each part adds to the logit of a token, the final norm held fixed
 * @property {number} token
 * @property {string} text
 * @property {number} logit
 * @property {number} embedding
 * @property {number} constant
 * @property {{heads: number[], rest: number, feedForward: number}[]} layers of those of the block
 *
 * @typedef {{place: number, layers: BlockLayer[], logits: LogitParts | null}} Block
 *
 * @typedef {object} Change
 * @property {number} textCosine
 * @property {number} textDistance
 * @property {number[]} wordCosines
 * @property {string} [notFinite] as in Facts, of the text with the edits
 *
 * @typedef {object} Comparison
 * @property {number} staticCosine
 * @property {number[]} cosines
 * @property {string} [notFinite] as in Facts, of one of the texts
 */

export const tileSize = 256;

/**
 * Whether maps show the first token unless something else is asked for.
 * @param {Facts} facts
 */
export function usuallyFirst(facts) {
  return facts.sink?.folded !== true;
}

/**
 * The units of a reading that a look shows.
 * @param {Facts} facts
 * @param {Units} units
 * @param {boolean} special
 * @param {boolean} [first] whether the first token is among them
 * @returns {Unit[]}
 */
export function unitsOf(facts, units, special, first = usuallyFirst(facts)) {
  const all = units === "words" ? facts.words : facts.tokens.map((token, i) => ({ ...token, first: i, last: i + 1 }));
  const shown = special || all.every((unit) => unit.special) ? all : all.filter((unit) => !unit.special);
  return first ? shown : withoutFirst(shown);
}

/**
 * A word of several tokens keeps the others.
 * @param {Unit[]} units
 */
function withoutFirst(units) {
  const [head, ...rest] = units;
  if (head === undefined || head.first > 0) return units;
  if (head.last > 1) return [{ ...head, first: 1 }, ...rest];
  return rest.length > 0 ? rest : units;
}
