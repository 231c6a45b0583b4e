// The program's own colour scales (src/draw/color.cpp): a dark one from indigo to yellow, and one for paper that begins near white.
// Mixtures are taken in OKLab (Ottosson 2020), where equal distances look about equal.

/** @typedef {[number, number, number]} Rgb */

const dark = "1c1841 232959 273b71 255085 1c6693 157d9b 1a93a0 2ca8a2 4cbb9e 74cd98 9edc91 cae98d f5f48d";
const paper = "fbfbee e4ecc6 c3dcae 99cea6 70bfa4 48aca3 2198a0 01839b 066c92 165685 1e4075 222c5e 1e1b44";

/** @param {number} channel */
function toLinear(channel) {
  const c = channel / 255;
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}

/** @param {number} c */
function fromLinear(c) {
  const encoded = c <= 0.0031308 ? 12.92 * c : 1.055 * c ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(1, Math.max(0, encoded)));
}

/** @param {Rgb} color @returns {Rgb} */
function toLab(color) {
  const [r, g, b] = color.map(toLinear);
  const l = Math.cbrt(0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b);
  const m = Math.cbrt(0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b);
  const s = Math.cbrt(0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
}

/** @param {Rgb} lab @returns {Rgb} */
function fromLab([lightness, a, b]) {
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    fromLinear(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    fromLinear(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    fromLinear(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

/** @param {string} anchors @returns {Uint8Array} 256 colours, three bytes each */
function table(anchors) {
  const labs = anchors.split(" ").map((hex) => {
    const value = parseInt(hex, 16);
    return toLab([value >> 16, (value >> 8) & 255, value & 255]);
  });
  const bytes = new Uint8Array(3 * 256);
  for (let i = 0; i < 256; ++i) {
    const place = (i / 255) * (labs.length - 1), below = Math.min(Math.floor(place), labs.length - 2), share = place - below;
    const mixed = labs[below].map((value, c) => value + share * (labs[below + 1][c] - value));
    bytes.set(fromLab(/** @type {Rgb} */ (mixed)), 3 * i);
  }
  return bytes;
}

const tables = { dark: table(dark), light: table(paper) };

/** @typedef {keyof typeof tables} Theme */

// Heads beside each other: hues that stay apart for eyes that do not tell red from green (after Okabe and Ito), each from the empty end
// of the scale to a tone as dark, or as light, as the others'.
const hues = {
  light: ["0b63a8", "c4500a", "0a7a55", "a23f86", "856600", "3d434d"],
  dark: ["6db6ff", "ff9e5e", "4fd6a5", "f08fd3", "f0cd4a", "d5d8e0"],
};
const empty = { light: "fbfbee", dark: "1c1e26" };
const headTables = {
  light: hues.light.map((hue) => table(`${empty.light} ${hue}`)),
  dark: hues.dark.map((hue) => table(`${empty.dark} ${hue}`)),
};

/**
 * The scale of one of several heads that are shown together.
 * @param {number} index among them
 * @param {Theme} theme
 */
export function headTable(index, theme) {
  return headTables[theme][index % hues.light.length];
}

/**
 * The colour of such a head at its strongest.
 * @param {number} index
 * @param {Theme} theme
 */
export function headColor(index, theme) {
  return `#${hues[theme][index % hues.light.length]}`;
}

/** @param {Theme} theme */
export function colorTable(theme) {
  return tables[theme];
}

/** What is not a number: warm, where the scales are cool; as src/draw/page/scene.cpp has it. @type {Rgb} */
export const notANumber = [0xe0, 0x8a, 0x6a];

/**
 * @param {number} place from 0 to 1, or NaN
 * @param {Theme} theme
 * @returns {Rgb}
 */
export function colorAt(place, theme) {
  return colorIn(tables[theme], place);
}

/** @param {Uint8Array} bytes a scale @param {number} place from 0 to 1, or NaN @returns {Rgb} */
export function colorIn(bytes, place) {
  if (Number.isNaN(place)) return notANumber;
  const at = 3 * Math.round(255 * Math.min(1, Math.max(0, place)));
  return [bytes[at], bytes[at + 1], bytes[at + 2]];
}

/** @param {Rgb} color */
export function css([r, g, b]) {
  return `rgb(${r}, ${g}, ${b})`;
}

/**
 * Black or white, whichever can be read better on a colour.
 * @param {Rgb} color
 */
export function inkOn(color) {
  const [r, g, b] = color.map(toLinear);
  const luminance = 0.2126 * r + 0.7152 * g + 0.0722 * b;
  return (luminance + 0.05) / 0.05 > 1.05 / (luminance + 0.05) ? "#000" : "#fff";
}

const many = 64;

/**
 * Where a value stands on the scale from 0 to the largest. Among many units most weights are small, and the square root tells them
 * apart; the legend shows which it is. NaN stays NaN.
 * @param {number} value
 * @param {number} high
 * @param {number} units how many the row has
 */
export function placeOf(value, high, units) {
  if (Number.isNaN(value)) return NaN;
  const share = high > 0 ? Math.max(0, value) / high : 0;
  return units > many ? Math.sqrt(share) : share;
}
