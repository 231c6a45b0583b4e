// Long work in small pieces: in between the page stays responsive.

const slice = 12;  // milliseconds of work, a frame at 60 frames a second less what drawing takes
let started = 0;

/**
 * Returns at once while the slice lasts, else after the page has had its turn.
 * @returns {Promise<void>}
 */
export async function breathe() {
  const now = performance.now();
  if (now - started < slice) return;
  await new Promise((done) => setTimeout(done, 0));
  started = performance.now();
}
