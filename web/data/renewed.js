// A source that has its text read again where the program no longer keeps it.

/** @typedef {import("./source.js").Source} Source */

/**
 * @param {Source} first
 * @param {() => Promise<Source>} again
 * @returns {Source}
 */
export function renewed(first, again) {
  let now = Promise.resolve(first);
  /** @type {Source | null} */
  let latest = first;

  // All that is asked at the same time waits for one reading.
  /** @template T @param {(source: Source) => Promise<T>} question @returns {Promise<T>} */
  const ask = async (question) => {
    const source = await now;
    try {
      return await question(source);
    } catch (error) {
      if (!(error instanceof Error) || error.name !== "NoLongerKept") throw error;
      if (latest === source) {
        latest = null;
        now = again().then((next) => (latest = next));
      }
      return question(await now);
    }
  };

  const { change, compare, next, guesses, nextPlaces, blockPlaces } = first;
  return {
    facts: first.facts,
    row: (of) => ask((source) => source.row(of)),
    tile: (of) => ask((source) => source.tile(of)),
    summary: (of) => ask((source) => source.summary(of)),
    cell: (of) => ask((source) => source.cell(of)),
    scoresRow: (of) => ask((source) => source.scoresRow(of)),
    nextPlaces, blockPlaces,
    block: (of) => ask((source) => source.block(of)),
    next: next === undefined ? undefined : (of) => ask((source) => /** @type {typeof next} */ (source.next)(of)),
    guesses: guesses === undefined ? undefined : (of) => ask((source) => /** @type {typeof guesses} */ (source.guesses)(of)),
    change: change === undefined ? undefined : (of) => ask((source) => /** @type {typeof change} */ (source.change)(of)),
    compare,
  };
}
