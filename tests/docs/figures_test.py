"""The figures of the README are made by the program: their descriptions word for word, their numbers and pixels nearly so."""

import json
import os
import struct
import subprocess
import zlib
from pathlib import Path

import numpy as np
import pytest

from default_model import default_model

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("ATTEND", "build/release/attend")
IMAGES = ROOT / "docs/images"
FIGURES = {"it-lines": ["explain", "--view", "lines"], "it-heads": ["explain", "--view", "model"]}


def pixels(png):
    """An 8-bit RGB or RGBA picture as an array, alpha left out."""
    at, data = 8, b""
    while at < len(png):
        size, kind = struct.unpack(">I4s", png[at : at + 8])
        body = png[at + 8 : at + 8 + size]
        if kind == b"IHDR":
            width, height, depth, color = struct.unpack(">IIBB", body[:10])
            assert depth == 8 and color in (2, 6)
        if kind == b"IDAT":
            data += body
        at += 12 + size
    channels = 3 if color == 2 else 4
    lines, size = zlib.decompress(data), width * channels
    rows, above = [], [0] * (channels + size)  # with a pixel of zeros to the left; numbers of Python, which NumPy's are ten times as slow as
    for begin in range(0, len(lines), 1 + size):
        row = unfiltered(lines[begin], lines[begin + 1 : begin + 1 + size], above, channels)
        rows.append(row[channels:])
        above = row
    return np.array(rows, np.uint8).reshape(height, width, channels)[:, :, :3]


def unfiltered(kind, line, above, channels):
    """A row of bytes from its differences to the pixel on the left, the one above, their mean, or the nearest of three."""
    row = [0] * channels
    if kind == 0:
        return row + list(line)
    if kind == 2:
        return row + [(byte + up) % 256 for byte, up in zip(line, above[channels:])]
    for x, byte in enumerate(line):
        left, up = row[x], above[x + channels]
        if kind == 1:
            guess = left
        elif kind == 3:
            guess = (left + up) // 2
        else:
            corner = above[x]
            target = left + up - corner
            guess = min((left, up, corner), key=lambda value: abs(target - value))
        row.append((byte + guess) % 256)
    return row


def assert_same(drawn, kept):
    """Another instruction set may round the last of four digits otherwise; all else is the same."""
    if isinstance(kept, dict):
        assert list(drawn) == list(kept)
        drawn, kept = list(drawn.values()), list(kept.values())
    if isinstance(kept, list):
        assert len(drawn) == len(kept)
        for one, other in zip(drawn, kept):
            assert_same(one, other)
    elif isinstance(kept, float):
        assert drawn == pytest.approx(kept, rel=2e-3)
    else:
        assert drawn == kept


@pytest.mark.parametrize("name, command", FIGURES.items(), ids=FIGURES)
def test_figures_of_the_readme_are_what_the_program_draws(name, command, tmp_path):
    default_model()
    described = subprocess.run([PROGRAM, *command, "--format", "figure"], check=True, capture_output=True, text=True).stdout
    assert_same(json.loads(described), json.loads((IMAGES / f"{name}.json").read_text()))
    subprocess.run([PROGRAM, *command, "-o", tmp_path / "figure.png"], check=True)
    files = (tmp_path / "figure.png").read_bytes(), (IMAGES / f"{name}.png").read_bytes()
    if files[0] == files[1]:  # with the fonts that it was drawn with
        return
    drawn, kept = map(pixels, files)
    assert drawn.shape == kept.shape
    # Fonts of another version move a letter's edge: a few pixels differ much, the picture as a whole does not.
    assert np.abs(drawn.astype(float) - kept.astype(float)).mean() < 2.0
