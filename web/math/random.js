// The program's random numbers (src/base/random.h), the same to the last bit: splitmix64 (Steele, Lea, Flood 2014) as a counter.

const bits = 0xffffffffffffffffn, golden = 0x9e3779b97f4a7c15n;

/** @param {bigint} z */
function mix(z) {
  z = ((z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n) & bits;
  z = ((z ^ (z >> 27n)) * 0x94d049bb133111ebn) & bits;
  return z ^ (z >> 31n);
}

/**
 * A stream of numbers with mean 0 and variance 1, by place (Box and Muller).
 * @param {number} seed
 * @returns {(place: number) => number}
 */
export function normals(seed) {
  const start = mix((BigInt(seed) + golden) & bits);
  const uniform = (/** @type {number} */ counter) => Number(mix((start + BigInt(counter + 1) * golden) & bits) >> 11n) * 2 ** -53;
  return (place) => Math.sqrt(-2 * Math.log(1 - uniform(2 * place))) * Math.cos(2 * Math.PI * uniform(2 * place + 1));
}
