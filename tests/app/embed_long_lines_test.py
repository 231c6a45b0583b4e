"""attend embed on endless lines: constant memory, and the line is cut, refused or divided according to --on-overflow."""

import json
import os
import subprocess
import threading

import numpy as np
import pytest

from measured import SANITIZED, measured
from program import PROGRAM, environment

LIMIT = 400 << 20  # bytes of address space: a quarter of them for the program itself
WORDS = b"the bank of the river is money " * 2048


def pipe_of(*parts):
    """A pipe into which a thread writes these for as long as they are read."""
    reader, writer = os.pipe()

    def write():
        try:
            with os.fdopen(writer, "wb", buffering=0) as file:
                for part, times in parts:
                    for _ in range(times):
                        file.write(part)
        except BrokenPipeError:  # it was refused
            pass

    threading.Thread(target=write, daemon=True).start()
    return os.fdopen(reader, "rb")


def embed(model, parts, *options):
    with pipe_of(*parts) as stdin:
        return measured("embed", "-m", model, "-", *options, stdin=stdin, address_space=LIMIT)


def rows(cost):
    return [json.loads(line) for line in cost.out.splitlines()]


LONG = [(b"money\n", 1), (WORDS, 5000), (b"\nthe bank\n", 1)]  # its second line has 317 MB


def test_a_line_beyond_memory_is_cut_and_the_next_is_read(small_bert):
    done = embed(small_bert, LONG, "--pool", "mean")
    assert done.code == 0 and done.err == "attend embed: 1 of 3 texts had more than 40 tokens or 4 MiB and were cut (line 2)\n"
    lines = rows(done)
    assert [line["index"] for line in lines] == [0, 1, 2] and [lines[0]["text"], lines[2]["text"]] == ["money", "the bank"]
    assert len(lines[1]["text"]) <= 4 << 20 and lines[1]["text"].endswith(" ")
    start = rows(embed(small_bert, [(WORDS[:2000], 1)]))
    np.testing.assert_array_equal(lines[1]["embedding"], start[0]["embedding"])  # the model reads its beginning
    assert SANITIZED or done.megabytes < 256


def test_it_is_refused_with_its_line(small_bert):
    for parts in (LONG, [(b"money\n", 1), (b"\0" * (1 << 20), 3000)]):  # endless
        done = embed(small_bert, parts, "--on-overflow", "error")
        assert done.code == 1
        assert done.err == "attend embed: standard input: line 2: has more than 4 MiB, the most that a text may have\n"
    done = embed(small_bert, LONG, "--jsonl")
    assert done.code == 1 and "standard input: line 1: is not JSON" in done.err
    done = embed(small_bert, [(b'"money"\n"', 1), (WORDS, 5000), (b'"', 1)], "--jsonl")
    assert done.code == 1 and "line 2: has more than 4 MiB, the most that a line of JSON may have" in done.err
    done = embed(small_bert, LONG, "--on-overflow", "split", "--words")
    assert done.code == 1 and "line 2: has more than 4 MiB, and the vectors of its tokens or words would have to be kept" in done.err


def test_it_is_divided_into_the_pieces_of_its_stretches(small_bert):
    """A line slightly too long equals the same text in two lines: the mean, weighted by tokens."""
    line, space = b"the river", b" " * 991  # 1000 bytes together
    first, second = (line + space) * 4194 + line, (line + space) * 300  # 4 MiB end within the spaces after the first
    given = ([(first + between + second + b"\nmoney\n", 1)] for between in (space, b"\n"))
    whole, parts = (rows(embed(small_bert, lines, "--on-overflow", "split", "--no-normalize")) for lines in given)
    assert len(whole) == 2 and len(parts) == 3
    vectors = np.array([part["embedding"] for part in parts])
    tokens = [count + 2 * -(-count // 38) for count in (8390, 600)]  # with [CLS] and [SEP] around each piece of 38
    expected = np.average(vectors[:2], axis=0, weights=tokens)
    np.testing.assert_allclose(whole[0]["embedding"], expected, atol=1e-4)
    np.testing.assert_array_equal(whole[1]["embedding"], parts[2]["embedding"])


def test_a_read_that_fails_is_not_the_end(small_bert, tmp_path):
    """A folder as standard input: every read of it fails."""
    for arguments in (["embed", "-", "-m", str(small_bert)], ["explain", "-", "-m", str(small_bert)], ["steps", "-"]):
        descriptor = os.open(tmp_path, os.O_RDONLY)
        done = subprocess.run([PROGRAM, *arguments], stdin=descriptor, capture_output=True, env=environment(), timeout=60)
        os.close(descriptor)
        assert done.returncode == 1 and done.stdout == b"", arguments
        assert b"cannot be read: Is a directory" in done.stderr or b"is a folder" in done.stderr, done.stderr


@pytest.mark.parametrize("ending", [b"\n", b"\r\n"])
def test_lines_across_the_pieces_they_are_read_in(small_bert, ending):
    """Pieces of 64 KiB: a line that ends at, before and after a boundary, and characters that cross it."""
    for size in range((1 << 16) - 3, (1 << 16) + 3):
        line = ("é" * (size // 2) + "x" * (size % 2)).encode()
        lines = rows(embed(small_bert, [(line + ending + b"money" + ending, 1)]))
        assert [row["text"] for row in lines] == [line.decode(), "money"]
