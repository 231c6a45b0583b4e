"""Writes tests/golden/gguf/blocks.txt: checksums of what the `gguf` package makes of blocks of each quantised type.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install gguf numpy
    /tmp/golden/bin/python tools/golden/make_gguf.py

The blocks are made from numbers that the test makes as well (splitmix64), so that they need not be stored. A line says: type, set, piece,
CRC-32 of the f32 values of the 4,096 blocks of that piece, with every NaN written as 7fc00000. The sets of a type:

    random        any bytes
    half AT       the half-precision number at byte AT of block i is i, for all 65,536 of them; any other bytes
    byte AT       the byte AT of block i is i % 256, and all other halves are finite
"""

import zlib
from pathlib import Path

import numpy as np
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType
from gguf.quants import dequantize

ROOT = Path(__file__).resolve().parents[2] / "tests/golden/gguf"
PIECE = 4096

# name: bytes at which the halves are, bytes that hold scales of groups
LAYOUTS = {
    "Q4_0": ([0], []),
    "Q4_1": ([0, 2], []),
    "Q5_0": ([0], []),
    "Q5_1": ([0, 2], []),
    "Q8_0": ([0], []),
    "Q2_K": ([80, 82], range(0, 16)),
    "Q3_K": ([108], range(96, 108)),
    "Q4_K": ([0, 2], range(4, 16)),
    "Q5_K": ([0, 2], range(4, 16)),
    "Q6_K": ([208], range(192, 208)),
}


def random_bytes(seed, count):
    with np.errstate(over="ignore"):
        z = np.uint64(seed) * np.uint64(0x632BE59BD9B4E019) + np.arange(1, (count + 7) // 8 + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return z.astype("<u8").view(np.uint8)[:count]


def make_blocks(name, kind, at, piece):
    size = GGML_QUANT_SIZES[GGMLQuantizationType[name]][1]
    blocks = random_bytes(piece + 1, PIECE * size).reshape(PIECE, size).copy()
    index = np.arange(PIECE) + piece * PIECE
    if kind == "half":
        blocks[:, at] = index & 255
        blocks[:, at + 1] = index >> 8
    if kind == "byte":
        for half in LAYOUTS[name][0]:
            blocks[:, half + 1] &= 0xBF  # below 2
        blocks[:, at] = index % 256
    return blocks


def checksum(name, blocks):
    values = dequantize(blocks, GGMLQuantizationType[name]).astype("<f4").copy()
    values.view(np.uint32)[np.isnan(values)] = 0x7FC00000
    return zlib.crc32(values.tobytes())


def main():
    ROOT.mkdir(parents=True, exist_ok=True)
    lines = []
    for name, (halves, scales) in LAYOUTS.items():
        sets = [("random", 0, [0])] + [("half", at, range(65536 // PIECE)) for at in halves] + [("byte", at, [0]) for at in scales]
        for kind, at, pieces in sets:
            for piece in pieces:
                with np.errstate(all="ignore"):
                    lines.append(f"{name} {kind} {at} {piece} {checksum(name, make_blocks(name, kind, at, piece)):08x}")
    (ROOT / "blocks.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
