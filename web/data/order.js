// Rows in the order of their values. A value that is not a number comes first: it is what a reader has to see.

/**
 * @param {ArrayLike<number>} values
 * @returns {number[]} places, the largest first
 */
export function largestFirst(values) {
  const rank = (/** @type {number} */ place) => (Number.isNaN(values[place]) ? Infinity : values[place]);
  return Array.from({ length: values.length }, (_, place) => place).sort((a, b) => (rank(a) === rank(b) ? a - b : rank(b) - rank(a)));
}

/**
 * Where the largest number is; 0 where there is none.
 * @param {ArrayLike<number>} values
 */
export function largestAt(values) {
  let at = -1;
  for (let i = 0; i < values.length; ++i) if (!Number.isNaN(values[i]) && (at < 0 || values[i] > values[at])) at = i;
  return Math.max(0, at);
}

/**
 * The largest number, at least 0.
 * @param {ArrayLike<number>} values
 */
export function largest(values) {
  let high = 0;
  for (let i = 0; i < values.length; ++i) if (values[i] > high) high = values[i];
  return high;
}
