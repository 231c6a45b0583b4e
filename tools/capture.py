#!/usr/bin/env python3
"""Turns coloured terminal output (standard input) into an SVG picture (standard output).

    build/release/attend --color=always steps --example it | tools/capture.py > docs/images/steps-it.svg

Understands what attend writes: 24-bit and 256-colour backgrounds and texts, bold, dim, reset.
"""
import re
import sys
import unicodedata
from xml.sax.saxutils import escape

CELL, LINE, SIZE, MARGIN = 8.4, 19, 14, 14
PAPER, INK, FAINT = "#ffffff", "#1f2328", "#6e7781"


def width(text: str) -> int:
    zero_width = ("Mn", "Me", "Cf")
    return sum(0 if unicodedata.category(c) in zero_width else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def xterm(index: int) -> str:
    if index >= 232:
        return "#" + f"{8 + 10 * (index - 232):02x}" * 3
    cube = [0, 95, 135, 175, 215, 255]
    index -= 16
    return "#%02x%02x%02x" % (cube[index // 36], cube[index // 6 % 6], cube[index % 6])


def apply(style: dict, codes: list[int]) -> None:
    while codes:
        code = codes.pop(0)
        if code == 0:
            style.clear()
        elif code in (1, 2):
            style["weight"] = code
        elif code == 22:
            style.pop("weight", None)
        elif code in (39, 49):
            style.pop("text" if code == 39 else "paper", None)
        elif code in (38, 48):
            kind = codes.pop(0)
            color = "#%02x%02x%02x" % tuple(codes[:3]) if kind == 2 else xterm(codes[0])
            del codes[: 3 if kind == 2 else 1]
            style["text" if code == 38 else "paper"] = color


def draw(lines: list[str]) -> str:
    shapes, style, widest = [], {}, 0
    for row, line in enumerate(lines):
        column, y = 0, MARGIN + row * LINE
        for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
            if piece.startswith("\x1b["):
                apply(style, [int(code or 0) for code in piece[2:-1].split(";")])
                continue
            if not piece:
                continue
            x, cells = MARGIN + column * CELL, width(piece)
            if "paper" in style:
                shapes.append(f'<rect x="{x:.1f}" y="{y}" width="{cells * CELL + 0.3:.1f}" height="{LINE + 0.3}" fill="{style["paper"]}"/>')
            if piece.strip():
                fill = style.get("text", FAINT if style.get("weight") == 2 else INK)
                bold = ' font-weight="bold"' if style.get("weight") == 1 else ""
                shapes.append(
                    f'<text x="{x:.1f}" y="{y + SIZE}" textLength="{cells * CELL:.1f}" lengthAdjust="spacingAndGlyphs" '
                    f'fill="{fill}"{bold} xml:space="preserve">{escape(piece)}</text>'
                )
            column += cells
        widest = max(widest, column)
    w, h = 2 * MARGIN + widest * CELL, 2 * MARGIN + len(lines) * LINE
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w:.0f} {h}" width="{w:.0f}" height="{h}" '
        f'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="{SIZE}">\n'
        f'<rect width="100%" height="100%" rx="8" fill="{PAPER}"/>\n' + "\n".join(shapes) + "\n</svg>\n"
    )


if __name__ == "__main__":
    sys.stdout.write(draw(sys.stdin.read().rstrip("\n").split("\n")))
