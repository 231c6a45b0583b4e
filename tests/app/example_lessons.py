"""The built-in examples as a user would write them in a file, typed from the texts that describe them."""

import numpy as np

LOVE = {"tokens": ["I", "love", "deep", "learning"], "x": [[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]]}

IT = {
    "tokens": ["The", "animal", "didn't", "cross", "street", "it", "was", "tired"],
    "q": [[.1, .2, .3], [.5, .4, .3], [.2, .1, .1], [0, .1, .2], [.4, .3, .2], [.6, .5, .4], [.1, .1, 0], [.7, .6, .5]],
    "k": [[.2, .1, 0], [.6, .5, .4], [.1, .2, .1], [.2, .1, .3], [.5, .4, .3], [.7, .6, .5], [.1, 0, .2], [.9, .8, .7]],
    "v": [[.1, .2, .3], [.7, .6, .5], [.1, .1, .2], [0, .1, .1], [.5, .4, .3], [.6, .5, .4], [.1, .1, 0], [.8, .7, .6]],
    "scale": 1,
}

_KINDS = ["noun", "living", "place", "verb", "state", "small", "pronoun"]
_WORDS = {"The": ["small"], "animal": ["noun", "living"], "didn't": ["small"], "cross": ["verb"], "the": ["small"], "street": ["noun", "place"],
          "because": ["small"], "it": ["pronoun"], "was": ["small"], "too": ["small"], "tired": ["state"]}

IT_TRAINED = {
    "tokens": list(_WORDS),
    "x": [[1 if kind in kinds else 0 for kind in _KINDS] for kinds in _WORDS.values()],
    "wq": [[-.85, -.84, .55, -.34], [.85, .09, -.16, .09], [-.14, -.09, .41, .22], [-.01, .55, .16, -.02],
           [.09, .11, -.01, -.4], [-.41, .08, -.15, -.38], [1.39, 1.18, -.32, -1.19]],
    "wk": [[1.32, .73, -.56, -.63], [1.11, .8, .02, -.91], [-1.1, -.59, 1.04, -.58], [-1.01, -.14, 1.87, .33],
           [-.47, -.35, .98, .75], [-.78, -.97, -.38, .4], [-.73, -1.02, .76, .31]],
    "wv": [[1 if i == j else 0 for j in range(7)] for i in range(7)],
}

HEADS = {
    "tokens": ["The", "cat", "chased", "the", "mouse"],
    "x": [[1, 0, 0, 0], [0, 0, 1, 0], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1]],
    "heads": 2,
    "wq": [[0, 3, 0, 3], [4, 0, 4, 0], [0, 0, 0, 0], [0, 0, 0, 0]],
    "wk": [[0, 0, 0, 0], [0, 0, 0, 0], [1, 1, 0, 1], [0, 1, 1, 1]],
    "wv": [[0, 0, 0, 1], [0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 0]],
    "wo": [[0, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]],
}

CROSS = {
    "tokens": ["the", "black", "cat"],
    "key_tokens": ["le", "chat", "noir"],
    "x": [[1, 0, 0], [0, 1, .1], [0, .1, 1]],
    "context": [[1, 0, .1], [.1, 0, 1], [0, 1, .1]],
    "wq": [[5, 0, 0], [0, 5, 0], [0, 0, 5]],
    "wk": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "wv": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
}

POSITIONS = {
    "tokens": ["dog", "bites", "man"],
    "x": [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0]],
    "positions": "sinusoidal",
}


def _mix(z: np.ndarray) -> np.ndarray:
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _uniform(seed: int, counters: np.ndarray) -> np.ndarray:
    golden = np.uint64(0x9E3779B97F4A7C15)
    start = _mix(np.array([seed], np.uint64) + golden)
    return (_mix(start + (counters + np.uint64(1)) * golden) >> np.uint64(11)) * 2.0**-53


def normals(seed: int, count: int) -> np.ndarray:
    """The program's standard normal numbers: splitmix64 as a counter, then Box and Muller."""
    pairs = np.arange(count, dtype=np.uint64) * np.uint64(2)
    radius = np.sqrt(-2 * np.log(1 - _uniform(seed, pairs)))
    return radius * np.cos(2 * np.pi * _uniform(seed, pairs + np.uint64(1)))


SCALE = {"tokens": ["one", "two", "three", "four"]} | {
    name: normals(seed, 64).reshape(4, 16).tolist() for seed, name in enumerate("qkv", start=1)
}

LESSONS = {"love": LOVE, "it": IT, "it-trained": IT_TRAINED, "heads": HEADS, "causal": LOVE | {"causal": True}, "cross": CROSS,
           "positions": POSITIONS, "scale": SCALE}
