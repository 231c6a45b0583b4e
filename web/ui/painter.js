// Drawing on a canvas or into SVG with the same few strokes, so that what is saved is what is seen.

/**
 * @typedef {object} TextStyle
 * @property {string} fill
 * @property {number} [size]
 * @property {"start" | "middle" | "end"} [anchor]
 * @property {number} [turn] degrees
 * @property {boolean} [bold]
 *
 * @typedef {object} Painter
 * @property {(x: number, y: number, width: number, height: number, fill: string, opacity?: number) => void} rect
 * @property {(x: number, y: number, width: number, height: number, stroke: string, thickness?: number) => void} frame
 * @property {(from: [number, number], to: [number, number], stroke: string, width: number, opacity: number) => void} curve
 * @property {(text: string, x: number, y: number, style: TextStyle) => void} text x, y: the middle of the line's height
 * @property {(image: HTMLCanvasElement, x: number, y: number, width: number, height: number) => void} image
 * @property {(x: number, y: number, width: number, height: number) => void} clip until unclip()
 * @property {() => void} unclip
 */

const family = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif";

/**
 * @param {CanvasRenderingContext2D} context
 * @returns {Painter}
 */
export function canvasPainter(context) {
  return {
    rect(x, y, width, height, fill, opacity = 1) {
      context.globalAlpha = opacity;
      context.fillStyle = fill;
      context.fillRect(x, y, width, height);
      context.globalAlpha = 1;
    },
    frame(x, y, width, height, stroke, thickness = 1) {
      context.strokeStyle = stroke;
      context.lineWidth = thickness;
      context.strokeRect(x, y, width, height);
    },
    curve([x, y], [toX, toY], stroke, width, opacity) {
      const middle = (x + toX) / 2;
      context.globalAlpha = opacity;
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.beginPath();
      context.moveTo(x, y);
      context.bezierCurveTo(middle, y, middle, toY, toX, toY);
      context.stroke();
      context.globalAlpha = 1;
    },
    text(text, x, y, { fill, size = 13, anchor = "start", turn = 0, bold = false }) {
      context.save();
      context.translate(x, y);
      if (turn !== 0) context.rotate((turn * Math.PI) / 180);
      context.fillStyle = fill;
      context.font = `${bold ? "600 " : ""}${size}px ${family}`;
      context.textAlign = anchor === "middle" ? "center" : anchor;
      context.textBaseline = "middle";
      context.fillText(text, 0, 0);
      context.restore();
    },
    image(image, x, y, width, height) {
      context.imageSmoothingEnabled = width < image.width;
      context.drawImage(image, x, y, width, height);
    },
    clip(x, y, width, height) {
      context.save();
      context.beginPath();
      context.rect(x, y, width, height);
      context.clip();
    },
    unclip() {
      context.restore();
    },
  };
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}

/** @param {number} value */
function short(value) {
  return String(Math.round(value * 100) / 100);
}

/**
 * @param {number} width
 * @param {number} height
 * @param {string} title
 * @returns {Painter & {finish: () => string}}
 */
export function svgPainter(width, height, title) {
  /** @type {string[]} */
  const parts = [];
  let clips = 0;
  return {
    rect(x, y, w, h, fill, opacity = 1) {
      parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" fill="${escaped(fill)}"${opacity < 1 ? ` fill-opacity="${short(opacity)}"` : ""}/>`);
    },
    frame(x, y, w, h, stroke, thickness = 1) {
      parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" fill="none" stroke="${escaped(stroke)}" stroke-width="${thickness}"/>`);
    },
    curve([x, y], [toX, toY], stroke, thickness, opacity) {
      const middle = short((x + toX) / 2);
      parts.push(`<path d="M${short(x)} ${short(y)}C${middle} ${short(y)} ${middle} ${short(toY)} ${short(toX)} ${short(toY)}" fill="none" stroke="${escaped(stroke)}" stroke-width="${short(thickness)}" stroke-opacity="${short(opacity)}"/>`);
    },
    text(text, x, y, { fill, size = 13, anchor = "start", turn = 0, bold = false }) {
      const turned = turn === 0 ? "" : ` transform="rotate(${turn} ${short(x)} ${short(y)})"`;
      parts.push(`<text x="${short(x)}" y="${short(y)}" dy="0.35em" font-size="${size}"${bold ? ' font-weight="600"' : ""} text-anchor="${anchor}" fill="${escaped(fill)}"${turned}>${escaped(text)}</text>`);
    },
    image(image, x, y, w, h) {
      parts.push(`<image x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}" preserveAspectRatio="none" image-rendering="pixelated" href="${image.toDataURL("image/png")}"/>`);
    },
    clip(x, y, w, h) {
      parts.push(`<clipPath id="clip${++clips}"><rect x="${short(x)}" y="${short(y)}" width="${short(w)}" height="${short(h)}"/></clipPath><g clip-path="url(#clip${clips})">`);
    },
    unclip() {
      parts.push("</g>");
    },
    finish() {
      return `<svg xmlns="http://www.w3.org/2000/svg" width="${short(width)}" height="${short(height)}" viewBox="0 0 ${short(width)} ${short(height)}" font-family="${family}" role="img"><title>${escaped(title)}</title>\n${parts.join("\n")}\n</svg>\n`;
    },
  };
}

/** What a unit of a drawing has in CSS pixels: as many as text is larger here than usual. */
export function unitOf() {
  return (parseFloat(getComputedStyle(document.documentElement).fontSize) || 16) / 16;
}

/**
 * A canvas of this size in units, sharp on this screen.
 * @param {HTMLCanvasElement} canvas
 * @param {number} width
 * @param {number} height
 */
export function sized(canvas, width, height) {
  const unit = unitOf(), density = devicePixelRatio * unit;
  const w = Math.max(1, Math.round(width * density)), h = Math.max(1, Math.round(height * density));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
  canvas.style.width = `${width * unit}px`;
  canvas.style.height = `${height * unit}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(density, 0, 0, density, 0, 0);
  context.clearRect(0, 0, width, height);
  return context;
}
