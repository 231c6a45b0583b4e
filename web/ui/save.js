// What is seen, as a file: SVG as it is drawn, PNG from the same drawing.
import { element } from "./dom.js";

/** @param {string} name @param {Blob} blob */
function download(name, blob) {
  const address = URL.createObjectURL(blob);
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** @param {string} svg */
export function saveSvg(svg) {
  download("attention.svg", new Blob([svg], { type: "image/svg+xml" }));
}

/**
 * @param {string} svg
 * @param {number} density pixels to a unit of the drawing
 * @returns {Promise<void>}
 */
export async function savePng(svg, density = 2) {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = element("canvas", { width: image.width * density, height: image.height * density });
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.scale(density, density);
  context.drawImage(image, 0, 0);
  const blob = await new Promise((/** @type {(blob: Blob | null) => void} */ done) => canvas.toBlob(done, "image/png"));
  if (blob !== null) download("attention.png", blob);
}
