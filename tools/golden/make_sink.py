#!/usr/bin/env python3
"""Writes tests/golden/sink: a small model that writes, whose heads rest on the first token of any text, with four heads on two key heads.

    python tools/golden/make_sink.py        # needs numpy

The first position has a dimension that no other has, and every word one that is the same in all. Queries read the second and ask for the first,
among random numbers, and so most of the weight goes there.
"""

import json
import pathlib
import struct

import numpy as np

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests/golden/sink"
WORDS = ["[UNK]", "the", "bank", "##s", "of", "river", "money", "is", "un", "##known", ",", "."]
HIDDEN, HEADS, KEY_HEADS, SIZE, LENGTH, INNER, LAYERS = 16, 4, 2, 4, 48, 24, 2

CONFIG = {
    "model_type": "attend", "kind": "decoder", "vocab_size": len(WORDS), "length": LENGTH, "layers": LAYERS, "hidden": HIDDEN, "heads": HEADS,
    "key_heads": KEY_HEADS, "head_size": SIZE, "inner": INNER, "norm": "rms", "feed_forward": "swiglu", "positions": "learned",
}  # fmt: skip
TOKENIZER = {
    "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": {"type": "Lowercase"},
    "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": None, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
    "model": {
        "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
        "vocab": {word: i for i, word in enumerate(WORDS)},
    },
}  # fmt: skip


def tensors():
    draw = np.random.default_rng(7)
    normal = lambda *shape, scale=0.5: (scale * draw.standard_normal(shape)).astype(np.float32)  # noqa: E731
    words, positions = normal(len(WORDS), HIDDEN), normal(LENGTH, HIDDEN, scale=0.2)
    words[:, 0] = positions[:, 0] = positions[:, 1] = 0
    words[:, 1], positions[0, 0] = 2, 6
    yield "words", words
    yield "positions", positions
    columns = (HEADS + 2 * KEY_HEADS) * SIZE
    for i in range(LAYERS):
        qkv = normal(HIDDEN, columns)
        qkv[:2] = 0
        qkv[1, : HEADS * SIZE : SIZE] = 1.2
        qkv[0, HEADS * SIZE : (HEADS + KEY_HEADS) * SIZE : SIZE] = 1.2
        yield f"layer.{i}.attention.qkv.weight", qkv
        yield f"layer.{i}.attention.qkv.bias", np.zeros(columns, np.float32)
        yield f"layer.{i}.attention.out.weight", normal(HEADS * SIZE, HIDDEN, scale=0.2)
        yield f"layer.{i}.attention.out.bias", np.zeros(HIDDEN, np.float32)
        yield f"layer.{i}.attention.norm.weight", np.ones(HIDDEN, np.float32)
        yield f"layer.{i}.feed_forward.up.weight", normal(HIDDEN, 2 * INNER, scale=0.2)
        yield f"layer.{i}.feed_forward.up.bias", np.zeros(2 * INNER, np.float32)
        yield f"layer.{i}.feed_forward.down.weight", normal(INNER, HIDDEN, scale=0.2)
        yield f"layer.{i}.feed_forward.down.bias", np.zeros(HIDDEN, np.float32)
        yield f"layer.{i}.feed_forward.norm.weight", np.ones(HIDDEN, np.float32)
    yield "norm.weight", np.ones(HIDDEN, np.float32)


def save(path, named):
    header, data = {}, b""
    for name, array in named:
        header[name] = {"dtype": "F32", "shape": list(array.shape), "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def main():
    FOLDER.mkdir(exist_ok=True)
    (FOLDER / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    (FOLDER / "tokenizer.json").write_text(json.dumps(TOKENIZER, indent=1) + "\n")
    save(FOLDER / "model.safetensors", tensors())


main()
