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
    lines = np.frombuffer(zlib.decompress(data), np.uint8).reshape(height, 1 + width * channels)
    rows = np.zeros((height, width * channels), np.uint8)
    for y in range(height):
        line, above = lines[y, 1:].astype(int), rows[y - 1].astype(int) if y else np.zeros(width * channels, int)
        kind = lines[y, 0]
        if kind in (0, 2):
            rows[y] = line + (above if kind == 2 else 0)
            continue
        row = np.zeros(width * channels, int)
        for x in range(len(row)):
            left = row[x - channels] if x >= channels else 0
            corner = above[x - channels] if x >= channels else 0
            guess = left + above[x] - corner
            paeth = min((left, above[x], corner), key=lambda value: abs(guess - value))
            row[x] = (line[x] + {1: left, 3: (left + above[x]) // 2, 4: paeth}[int(kind)]) % 256
        rows[y] = row
    return rows.reshape(height, width, channels)[:, :, :3]


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
    drawn, kept = pixels((tmp_path / "figure.png").read_bytes()), pixels((IMAGES / f"{name}.png").read_bytes())
    assert drawn.shape == kept.shape
    # Fonts of another version move a letter's edge: a few pixels differ much, the picture as a whole does not.
    assert np.abs(drawn.astype(float) - kept.astype(float)).mean() < 2.0
