"""A language model in the blocks of its GGUF file, beside llama.cpp: reading a prompt, and writing token by token after a short and a
long text. Both compute in int8, each in its own way, so beside its speed stands each one's error: how far, on average, the
log-probability of the next token of a text is from that of f32.
"""

from pathlib import Path
from time import perf_counter, sleep
from typing import Callable

import llama_cpp
import numpy as np

import attend
from report import Comparison
from turns import SETTLE, timing_of

NAME = f"llama.cpp (llama-cpp-python {llama_cpp.__version__})"
PROMPT = 512
CONTEXTS = (128, 2048)
WRITTEN = 16  # tokens of a turn
TEXT = (
    "Attention lets every word of a sentence look at every other word and decide how much of it to take. The weights of a row add up to "
    "one, so a word that takes much from its neighbour takes little from the rest. Water boils at a hundred degrees at the level of the "
    "sea; on a mountain it boils sooner, because the air above it is lighter. In the year 1815 a volcano erupted, and the summer after it was cold."
)


class Ours:
    def __init__(self, file: Path, precision: str):
        self.model = attend.TextModel.from_pretrained(file, precision=precision)
        self._generator = attend.Generator(self.model)

    def start(self, ids: list[int]) -> None:
        self._generator.clear()
        if ids:
            self._generator.read(ids)

    def read(self, ids: list[int]) -> np.ndarray:
        return np.asarray(self._generator.read(ids))


class Llama:
    def __init__(self, file: Path, threads: int):
        self._llama = llama_cpp.Llama(str(file), n_ctx=max(CONTEXTS) + PROMPT, n_batch=PROMPT, n_threads=threads,
                                      n_threads_batch=threads, flash_attn=True, verbose=False)

    def start(self, ids: list[int]) -> None:
        self._llama.reset()
        if ids:
            self._llama.eval(ids)

    def read(self, ids: list[int]) -> np.ndarray:
        self._llama.eval(ids)
        vocabulary = self._llama.n_vocab()
        return np.ctypeslib.as_array(self._llama._ctx.get_logits_ith(-1), (vocabulary,))


def log_probabilities(reader, ids: list[int]) -> np.ndarray:
    """Of each token but the first, after those before it."""
    reader.start([])
    found = []
    for token, following in zip(ids, ids[1:]):
        logits = reader.read([token]).astype(np.float64)
        found.append(logits[following] - logits.max() - np.log(np.exp(logits - logits.max()).sum()))
    return np.array(found)


def turns(readers: list, before: list[int], call: Callable, rounds: int) -> list:
    """Each reader reads `before`, and then call(reader) is timed; in turns."""
    taken: list[list[float]] = [[] for _ in readers]
    for _ in range(rounds):
        for reader, values in zip(readers, taken):
            reader.start(before)
            sleep(SETTLE)
            start = perf_counter()
            call(reader)
            values.append(perf_counter() - start)
    return [timing_of(values) for values in taken]


def compare(file: Path, threads: int, quick: bool) -> tuple[list[Comparison], list[str]]:
    attend.set_threads(threads)
    exact = Ours(file, "f32")
    text = list(exact.model.tokenizer.encode(TEXT).ids)
    expected = log_probabilities(exact, text)
    ours, theirs = Ours(file, "int8"), Llama(file, threads)
    errors = [float(np.abs(log_probabilities(reader, text) - expected).mean()) for reader in (ours, theirs)]
    vocabulary = theirs._llama.n_vocab()
    ids = [int(i) for i in np.random.default_rng(1).integers(vocabulary // 50, vocabulary * 4 // 5, max(CONTEXTS) + PROMPT)]

    def prompt(reader) -> None:
        reader.read(ids[:PROMPT])

    def write(reader) -> None:
        for token in ids[:WRITTEN]:
            reader.read([token])

    rounds = 3 if quick else 7
    comparisons = [Comparison("llama.cpp, prompt", NAME, f"{PROMPT} tokens", 0, *turns([ours, theirs], [], prompt, rounds), errors[0])]
    for context in CONTEXTS[: 1 if quick else None]:
        comparisons.append(Comparison("llama.cpp, writing", NAME, f"{WRITTEN} tokens after {context}", 0,
                                      *turns([ours, theirs], ids[-context:], write, rounds), errors[0]))
    lines = [f"{who}: a token's log-probability is {error:.4f} from that of f32, on average of {len(expected)}"
             for who, error in zip(("attend, int8", NAME), errors)]
    return comparisons, lines
