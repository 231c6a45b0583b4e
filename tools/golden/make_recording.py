"""Writes tests/golden/recording/two_layers.attn: a recorded pass of random numbers, with shared key heads, a window, a cap and sinks.

It also keeps the format: files of today must open tomorrow. Needs the package alone.
"""

from pathlib import Path

import numpy as np

from attend import lens

TOKENS = ["<s>", "the", "bank", "of", "the", "riv", "er", "."]
PLACES = [(0, 0), (0, 3), (4, 8), (9, 11), (12, 15), (16, 19), (19, 21), (21, 22)]


def main() -> None:
    rng = np.random.default_rng(7)

    def layer(**options):
        q, k, v = (rng.normal(size=(heads, len(TOKENS), 5)) for heads in (4, 2, 2))
        return lens.RecordedLayer(q, k, v, causal=True, **options)

    layers = [layer(scale=0.5, name="h.0"), layer(window=(2, 0), softcap=3.0, sinks=[0.5, -1, 2, 0], name="h.1")]
    special = [True] + [False] * (len(TOKENS) - 1)
    recording = lens.Recording(layers, TOKENS, text="the bank of the river.", places=PLACES, special=special, model="random", family="golden")
    folder = Path(__file__).resolve().parents[2] / "tests/golden/recording"
    folder.mkdir(exist_ok=True)
    recording.save(folder / "two_layers.attn")


if __name__ == "__main__":
    main()
