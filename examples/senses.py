"""One word, two senses: at which layer does a model tell them apart?

    python examples/senses.py [--model NAME_OR_FOLDER] [--sentences FILE]

Self-attention gives each occurrence of a word a vector of its own. For every layer this prints the mean cosine between occurrences
of a word in the same sense and in different ones, and how many occurrences have their nearest neighbour in their own sense.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

import attend


class Occurrence(NamedTuple):
    word: str
    sense: str
    text: str
    begin: int  # the characters of the word in the text
    end: int


def read(path: Path) -> Iterator[Occurrence]:
    """Lines of word, sense and sentence, the word in brackets."""
    for line in path.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            word, sense, sentence = line.split("\t")
            before, rest = sentence.split("[")
            form, after = rest.split("]")
            yield Occurrence(word, sense, before + form + after, len(before), len(before) + len(form))


def unit_vectors(model: attend.TextModel, one: Occurrence) -> np.ndarray:
    """The word's vector at every layer, (layers + 1, hidden size): the mean of its tokens, of length 1."""
    tokens = [i for i, (begin, end) in enumerate(model.tokenize(one.text).offsets) if begin < one.end and end > one.begin]
    vectors = np.array([state[tokens].mean(axis=0) for state in model.hidden_states(one.text)], np.float64)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Layer(NamedTuple):
    same: float  # the mean cosine over the pairs of one sense
    cross: float  # and over those of two
    told_apart: int  # occurrences whose nearest neighbour, among those of the word, has their sense


def compare(occurrences: list[Occurrence], vectors: np.ndarray) -> Layer:
    """One layer; vectors (occurrences, size). Only occurrences of the same word are compared."""
    cosines = vectors @ vectors.T
    same, cross = [], []
    for i, j in combinations(range(len(occurrences)), 2):
        if occurrences[i].word == occurrences[j].word:
            (same if occurrences[i].sense == occurrences[j].sense else cross).append(cosines[i, j])
    told_apart = 0
    for i, one in enumerate(occurrences):
        others = [j for j, other in enumerate(occurrences) if j != i and other.word == one.word]
        told_apart += occurrences[max(others, key=lambda j: cosines[i, j])].sense == one.sense
    return Layer(float(np.mean(same)), float(np.mean(cross)), told_apart)


def row(name: str | int, found: Layer, count: int) -> str:
    return f"{name:>10}  {found.same:10.4f}  {found.cross:10.4f}  {found.same - found.cross:+10.4f}  {found.told_apart} of {count}"


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--model", default="sentence-transformers/all-MiniLM-L6-v2")
    arguments.add_argument("--sentences", type=Path, default=Path(__file__).with_name("senses.tsv"))
    given = arguments.parse_args()
    model = attend.TextModel.from_pretrained(given.model)
    occurrences = list(read(given.sentences))
    vectors = np.array([unit_vectors(model, one) for one in occurrences])  # (occurrences, layers + 1, size)
    words = sorted({one.word for one in occurrences})

    print(f"{len(occurrences)} sentences, {len(words)} words, two senses each")
    print(f"{'layer':>10}  {'same sense':>10}  {'two senses':>10}  {'difference':>10}  nearest neighbour in its own sense")
    for layer in range(model.layers + 1):
        print(row(layer or "embeddings", compare(occurrences, vectors[:, layer]), len(occurrences)))

    print(f"\nword by word, at layer {model.layers}")
    for word in words:
        chosen = [i for i, one in enumerate(occurrences) if one.word == word]
        found = compare([occurrences[i] for i in chosen], vectors[chosen, -1])
        senses = " and ".join(dict.fromkeys(occurrences[i].sense for i in chosen))
        print(f"{row(word, found, len(chosen))}  ({senses})")


if __name__ == "__main__":
    main()
