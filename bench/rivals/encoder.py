"""A sentence encoder beside other engines: a batch, one text, and a heap of texts of mixed length.

Every rival tries its settings first, on the texts themselves or, of a heap, on a part of it, and enters with its fastest. All
answers are compared before anything is timed.
"""

import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import attend
from encoder_rivals import RIVALS, VERSIONS, Tokens
from encoder_texts import Writer
from report import Comparison
from turns import take_turns

# With f32; below, something is wrong. In int8 ONNX Runtime has been seen at 0.88.
LEAST_COSINES = {"f32": 0.99999, "bf16": 0.99, "int8": 0.5}
HEAP, QUICK_HEAP = 5000, 200
TRIED = 256  # texts of the heap that settings are tried on
NAMES = VERSIONS


def folder_of(model: str) -> Path | None:
    """Where attend finds it; nothing is downloaded."""
    try:
        return attend.TextModel.from_pretrained(model).folder
    except attend.FileError:
        return None


class EncoderCases:
    """In f32 the rivals' answers are compared with ours; in bf16 and int8 theirs and ours with ours in f32."""

    def __init__(self, folder: Path, threads: int, quick: bool, precision: str = "f32"):
        attend.set_threads(threads)
        self._quick = quick
        self._precision, self._least = precision, LEAST_COSINES[precision]
        self._ours = attend.TextModel.from_pretrained(folder, precision=precision)
        self._exact = self._ours if precision == "f32" else attend.TextModel.from_pretrained(folder)
        self._layers, self._hidden = self._ours.layers, self._ours.hidden_size
        self._tokens = Tokens(folder, self._ours.max_tokens)
        self._writer = Writer(self._tokens.vocabulary())
        with tempfile.TemporaryDirectory() as scratch:
            self._rivals = [rival(folder, self._tokens, threads, Path(scratch))
                            for rival in RIVALS[precision]]

    def run(self) -> list[Comparison]:
        write, encoder = self._writer, "encoder" if self._precision == "f32" else f"encoder in {self._precision}"
        heap = write.mixed(QUICK_HEAP if self._quick else HEAP)
        return [
            *self._compare(f"{encoder}, 32 texts of 128 tokens", [write.text(128) for _ in range(32)], tokenized=True),
            *self._compare(f"{encoder}, one text of 128 tokens", [write.text(128)], tokenized=True),
            *self._compare(f"{encoder}, one text of 16 tokens", [write.text(16)], tokenized=True),
            *self._compare(f"{encoder}, {len(heap)} texts of mixed length", heap, tokenized=False),
        ]

    def _compare(self, group: str, texts: list[str], tokenized: bool) -> list[Comparison]:
        """`tokenized`: rivals get ids, so that only their models are timed; we always start from the texts."""
        ours = lambda: self._ours.encode(texts, normalize_embeddings=True)  # noqa: E731
        answer = self._exact.encode(texts, normalize_embeddings=True)
        our_loss = agree(group, "attend", answer, ours(), self._least)
        calls, names, differences = [], [], []
        for rival in self._rivals:
            way = self._fastest(group, rival, texts[:TRIED], tokenized)
            call = rival.ways(texts, tokenized)[way]
            loss = agree(group, f"{rival.name}: {way}", answer, call(), self._least)
            cosines = f" (least cosine {1 - loss:.5f}, ours {1 - our_loss:.5f})" if self._precision != "f32" else ""
            names.append(f"{rival.name}: {way}{cosines}")
            differences.append(loss)
            calls.append(call)
        seconds, rounds = (0.2, 3) if self._quick else (2.0, 7)
        most = 15.0 if self._quick or tokenized else 600.0
        timings = take_turns([ours, *calls], seconds, rounds if tokenized or self._quick else 3, most)
        flops = self._flops(texts)
        return [Comparison(group, rival.name, name, flops, timings[0], timing, difference)
                for rival, name, timing, difference in zip(self._rivals, names, timings[1:], differences, strict=True)]

    def _fastest(self, group: str, rival, texts: list[str], tokenized: bool) -> str:
        """Every way is tried; one that is clearly slower than another is dropped after a look or two."""
        expected = self._exact.encode(texts, normalize_embeddings=True)
        taken: dict[str, float] = {}
        for way, call in rival.ways(texts, tokenized).items():
            start = time.perf_counter()
            answer = call()
            first = taken[way] = time.perf_counter() - start  # it may have things to set up
            agree(group, f"{rival.name}: {way}", expected, answer, self._least)
            for _ in range(3 if first < 2 * min(taken.values()) else 0):
                start = time.perf_counter()
                call()
                taken[way] = min(taken[way], time.perf_counter() - start)
                if taken[way] > 1.2 * min(taken.values()):
                    break
            if sys.stderr.isatty():
                print(f"\r\x1b[K{group}, {rival.name}: {way}: {taken[way]:.3g} s", end="", file=sys.stderr, flush=True)
        return min(taken, key=taken.__getitem__)

    def _flops(self, texts: list[str]) -> float:
        """Of the products, for the tokens that there are: what is padded counts as time, not as work."""
        e = self._hidden
        inner = 4 * e  # of BERT and all that follow it
        per_token = 2 * e * (4 * e + 2 * inner)
        lengths = [len(ids) for ids in self._tokens(texts)]
        return float(self._layers * sum(n * per_token + 4 * n * n * e for n in lengths))


def agree(group: str, name: str, ours: np.ndarray, theirs: np.ndarray, bound: float) -> float:
    """1 - the smallest cosine. A vector that was made in bf16 is not of length 1, but for two digits."""
    ours, theirs = (x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (ours.astype(float), np.asarray(theirs, float)))
    least = float((ours * theirs).sum(-1).min())
    if not least >= bound:
        raise SystemExit(f"rivals: {group}: the cosine to {name} is {least:.7f}, less than {bound}")
    return 1 - least
