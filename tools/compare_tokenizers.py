#!/usr/bin/env python3
"""Compares attend.Tokenizer with `tokenizers` on many lines: ids, offsets, words, types and decoding, and the time both take.

    PYTHONPATH=build/release/python python tools/compare_tokenizers.py [--lines 100000] [FILE.json ...]

Needs the packages tokenizers, sentencepiece and protobuf. Without files it trains one tokenizer of each kind.
"""

import argparse
import json
import os
import pathlib
import random
import re
import sys
import time

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "golden"))

import tokenizer_zoo as zoo  # noqa: E402
import tokenizers  # noqa: E402

import attend  # noqa: E402


def trained():
    yield "WordPiece", zoo.with_added(zoo.bert(8000, None))
    yield "BPE", zoo.with_added(zoo.roberta(8000, None))
    yield "Unigram", zoo.with_added(zoo.xlm_roberta(8000, None))  # with sentencepiece's whole table nmt_nfkc
    yield from zoo.zoo()


def read(files):
    for file in files:
        yield file, tokenizers.Tokenizer.from_file(file)


def differences(theirs, ours, line):
    """Names of what differs on one line."""
    a, b = theirs.encode(line), ours.encode(line)
    pairs = {
        "ids": (a.ids, b.ids),
        "offsets": (a.offsets, b.offsets),
        "words": (a.word_ids, b.words),
        "types": (a.type_ids, b.type_ids),
        "decoded": (theirs.decode(a.ids), ours.decode(b.ids)),
    }
    return [name for name, (x, y) in pairs.items() if x != y]


SPACES = [" ", "  ", "   ", "\t", "\n", "\n\n", "\r\n", " \n  ", "\n \t", "\u00a0", "\u3000 ", "\u2003", "\x0b", "\u2028", "\x85", "        "]


def mixed(count):
    """The lines of the zoo: English, code, 15 scripts, emoji, control characters, marks out of order. Every tenth has runs of white space."""
    draw = random.Random(2)
    for i, line in enumerate(zoo.lines(count)):
        yield re.sub(r"\s+|$", lambda _: "".join(draw.choices(SPACES, k=draw.randrange(1, 4))), line) if i % 10 == 9 else line


def compare(name, theirs, lines, show, times):
    theirs.no_padding()
    ours = attend.Tokenizer.from_json(json.dumps(json.loads(theirs.to_str())), name)
    wrong, crashed = 0, 0
    for line in lines:
        try:
            found = differences(theirs, ours, line)
        except BaseException as error:  # noqa: BLE001 - a panic of theirs is no Exception
            crashed += 1
            if crashed <= show:
                print(f"  {name}: {type(error).__name__}: {str(error)[:100]} on {ascii(line)[:200]}")
            continue
        wrong += bool(found)
        if found and wrong <= show:
            print(f"  {name}: {', '.join(found)} differ on {ascii(line)}")
    if not times:
        print(f"{name}: {len(lines) - wrong - crashed} of {len(lines)} equal, {wrong} differ, {crashed} could not be compared", flush=True)
        return wrong
    seconds = [cpu(lambda: [encode(line) for line in lines]) for encode in (theirs.encode, ours.encode)]
    size = sum(len(line.encode()) for line in lines) / 1e6
    print(
        f"{name}: {len(lines) - wrong - crashed} of {len(lines)} equal, {wrong} differ, {crashed} could not be compared; "
        f"{size / seconds[0]:.1f} MB/s there, {size / seconds[1]:.1f} MB/s here, {seconds[0] / seconds[1]:.2f}x"
    )
    return wrong


def cpu(work):
    best = float("inf")
    for _ in range(2):
        start = time.process_time()
        try:
            work()
        except BaseException:  # noqa: BLE001
            return float("nan")
        best = min(best, time.process_time() - start)
    return best


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("files", nargs="*")
    arguments.add_argument("--lines", type=int, default=100_000)
    arguments.add_argument("--show", type=int, default=5)
    arguments.add_argument("--no-times", action="store_true", help="compare only")
    given = arguments.parse_args()
    lines = list(mixed(given.lines))
    kinds = read(given.files) if given.files else trained()
    return sum(compare(name, tokenizer, lines, given.show, not given.no_times) for name, tokenizer in kinds) > 0


if __name__ == "__main__":
    sys.exit(main())
