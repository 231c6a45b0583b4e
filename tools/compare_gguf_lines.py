#!/usr/bin/env python3
"""Compares the tokenizers in GGUF files with `tokenizers` on many lines: ids, offsets and decoding.

    PYTHONPATH=build/release/python python tools/compare_gguf_lines.py [--lines 100000] WHAT ...

WHAT is FILE.gguf (of the kind gpt2 or llama: `tokenizers` gets its vocabulary, and its merges or those of its scores), FILE.gguf=FILE.json (that model's own tokenizer.json),
pieces=FILE.json (a GGUF file of sentence pieces is made of it), or t5 (Unigram, trained here). Needs tokenizers, gguf, sentencepiece, protobuf.
"""

import argparse
import pathlib
import sys
import tempfile

import compare_tokenizers
import gguf_equals
import tokenizers

import attend


def pair(what, folder):
    """The tokenizer of a GGUF file here, and its equal."""
    name, _, equal = what.partition("=")
    if name == "t5":
        theirs = gguf_equals.t5(compare_tokenizers.zoo)
    elif equal:
        theirs = tokenizers.Tokenizer.from_file(equal)
    else:
        theirs = gguf_equals.equal_of(name)
    if name in ("t5", "pieces"):
        file = pathlib.Path(folder) / f"{name}.gguf"
        gguf_equals.write_pieces(file, theirs, "t5" if name == "t5" else "llama")
        name = file
    theirs.no_padding()
    theirs.no_truncation()
    return attend.Tokenizer.load(name), theirs


def differences(ours, theirs, line):
    a, b = theirs.encode(line, add_special_tokens=False), ours.encode(line, add_special_tokens=False)
    pairs = {"ids": (a.ids, list(b.ids)), "offsets": (a.offsets, b.offsets), "decoded": (theirs.decode(a.ids), ours.decode(b.ids))}
    return [name for name, (x, y) in pairs.items() if x != y]


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("what", nargs="+")
    arguments.add_argument("--lines", type=int, default=100_000)
    arguments.add_argument("--show", type=int, default=5)
    given = arguments.parse_args()
    lines, different = list(compare_tokenizers.mixed(given.lines)), 0
    for what in given.what:
        with tempfile.TemporaryDirectory() as folder:
            ours, theirs = pair(what, folder)
            counts = {"ids": 0, "offsets": 0, "decoded": 0}
            for line in lines:
                found = differences(ours, theirs, line)
                for name in found:
                    counts[name] += 1
                    if counts[name] <= given.show:
                        print(f"  {what}: {name} differ on {ascii(line)[:300]}")
            different += counts["ids"]
            print(f"{what}: of {len(lines)} lines, " + ", ".join(f"{name} of {count} differ" for name, count in counts.items()), flush=True)
    return different > 0


if __name__ == "__main__":
    sys.exit(main())
