"""examples/senses.py: its sentences are what they should be, its figures are right, and a real model tells the senses apart."""

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from default_model import default_model

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
sys.path.insert(0, str(EXAMPLES))
import senses  # noqa: E402


def test_every_word_has_two_senses_and_every_sense_two_sentences():
    occurrences = list(senses.read(EXAMPLES / "senses.tsv"))
    assert len(occurrences) >= 40 and len({(one.text, one.begin) for one in occurrences}) == len(occurrences)
    for one in occurrences:
        assert one.text[one.begin : one.end].lower() == one.word and not set("[]") & set(one.text), one
    sentences = Counter((one.word, one.sense) for one in occurrences)
    words = Counter(word for word, _ in sentences)
    assert len(words) >= 8 and set(words.values()) == {2} and min(sentences.values()) >= 2


def test_the_figures_of_a_layer():
    occurrences = [senses.Occurrence(word, sense, "", 0, 0) for word, sense in ["aX", "aX", "aY", "aY", "bX", "bY"]]
    angles = np.radians([0, 60, 90, 80, 0, 0])  # the second is nearer to the other sense; the last two are alone in theirs
    layer = senses.compare(occurrences, np.stack([np.cos(angles), np.sin(angles)], axis=1))
    cosine = lambda *degrees: np.cos(np.radians(degrees)).mean()  # noqa: E731
    assert layer.same == pytest.approx(cosine(60, 10))
    assert layer.cross == pytest.approx(cosine(90, 80, 30, 20, 0))
    assert layer.told_apart == 3


def test_a_real_model_tells_them_apart():
    model = default_model()
    ran = subprocess.run([sys.executable, EXAMPLES / "senses.py"], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    number = r"\s+([+-]?\d\.\d+)"
    rows = re.findall(rf"^ *(embeddings|\d+){number}{number}{number}  (\d+) of (\d+)$", ran.stdout, re.M)
    assert len(rows) == model.layers + 1, ran.stdout
    same, cross, difference, apart, count = np.array([row[1:] for row in rows], float).T
    np.testing.assert_allclose(same - cross, difference, atol=1.5e-4)
    assert (difference[1:] > 0.03).all() and (difference[-2:] > 10 * difference[0]).all(), ran.stdout
    assert (apart[-3:] > 0.8 * count[-3:]).all() and (apart[-3:] > apart[0]).all(), ran.stdout
    last = list(senses.read(EXAMPLES / "senses.tsv"))
    vectors = np.array([senses.unit_vectors(model, one)[-1] for one in last])
    assert same[-1] == pytest.approx(senses.compare(last, vectors).same, abs=1e-4)
