// Layers and heads have numbers, and numbers count from 1, in the address, in questions to a source and in labels. Arrays inside are
// indexed from 0, through here: docs/counting.md.

/**
 * Where the layer or head with this number lies in an array of them.
 * @param {number} number
 */
export function indexOf(number) {
  return number - 1;
}

/**
 * 1, 2, ... count.
 * @param {number} count
 */
export function numbersTo(count) {
  return [...Array(count).keys()].map((index) => index + 1);
}
