#!/usr/bin/env python3
"""Compares attend.Tokenizer with the vocabularies and expected ids that llama.cpp has for its own tests.

    PYTHONPATH=build/release/python python tools/compare_gguf_tokens.py FOLDER

FOLDER holds ggml-vocab-NAME.gguf, and beside each NAME.gguf.inp and NAME.gguf.out: models/ of llama.cpp's sources. Not copied into this repository:
the vocabularies are their models' owners'.
"""

import pathlib
import sys

import attend

SEPARATOR = b"\n__ggml_vocab_test__\n"


def main():
    different = 0
    for file in sorted(pathlib.Path(sys.argv[1]).glob("ggml-vocab-*.gguf")):
        try:
            tokenizer = attend.Tokenizer.load(file)
        except Exception as error:  # noqa: BLE001 - shown, and not counted: it is refused by name
            print(f"{file.name:36} refused: {error}")
            continue
        given, expected = file.with_name(file.name + ".inp"), file.with_name(file.name + ".out")
        if not given.exists():
            print(f"{file.name:36} nothing to compare")
            continue
        texts = given.read_bytes().split(SEPARATOR)[:-1]
        ids = [[int(word) for word in line.split()] for line in expected.read_text().split("\n")]
        wrong = [text for text, want in zip(texts, ids) if list(tokenizer.encode(text, add_special_tokens=False).ids) != want]
        different += len(wrong)
        print(f"{file.name:36} {len(texts)} texts, {len(wrong)} differ", *wrong[:3])
    return different > 0


sys.exit(main())
