"""attend explain on texts with more words than fit into a map."""

import json
import subprocess
import sys

import numpy as np
import pytest

import attend.lens
from program import ROOT, run

POSITIONS = 2600
WORDS = ["the", "bank", "of", "river", "money", "is"]


@pytest.fixture(scope="module")
def long_bert(small_bert, tmp_path_factory):
    folder = tmp_path_factory.mktemp("long") / "bert"
    command = [sys.executable, ROOT / "tools/long_positions.py", small_bert, folder, "--tokens", str(POSITIONS)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


def text_of(words):
    choice = np.random.default_rng(1).integers(0, len(WORDS), words)
    return " ".join(WORDS[i] for i in choice)


def test_stretches_of_words_and_the_largest_of_each_row(long_bert):
    text = text_of(1500)
    done = run("explain", "-m", str(long_bert), text, "--layer", "2", "--head", "3", "--top", "5", "--json")
    assert (done.code, done.err) == (0, "")
    shown = json.loads(done.out)
    assert len(shown["words"]) == 1500 and len(shown["stretches"]) == 750

    words = attend.lens.read(attend.TextModel.from_pretrained(long_bert), text).map(layer=2, head=3, special=False)
    pairs = words.reshape(750, 2, 750, 2).sum(axis=3).mean(axis=1)
    np.testing.assert_allclose(shown["weights"], pairs, atol=1e-12)
    np.testing.assert_allclose(np.sum(shown["weights"], axis=1), 1, atol=1e-12)
    for row, top in zip(words, shown["top"], strict=True):
        order = np.argsort(-row, kind="stable")[:5]
        assert [unit for unit, _ in top] == list(order)
        np.testing.assert_allclose([value for _, value in top], row[order], atol=1e-12)
    assert sum(shown["received"]) < 1  # the rest went to special tokens


def test_arrays_of_a_long_text(long_bert, tmp_path):
    file = tmp_path / "map.npz"
    assert run("explain", "-m", str(long_bert), text_of(1100), "--tokens", "--layer", "1", "--head", "1", "-o", str(file)).code == 0
    arrays = np.load(file)
    assert arrays["weights"].shape == (550, 550) and arrays["stretches"].shape == (550, 2)
    assert arrays["top_units"].shape == arrays["top_values"].shape == (1100, 8)
    assert np.all(np.diff(arrays["top_values"], axis=1) <= 0)


def test_a_figure_of_a_long_text_says_what_a_cell_is(long_bert):
    done = run("explain", "-m", str(long_bert), text_of(1100), "--layer", "1", "--focus", "river#100", "--format", "figure")
    figure = json.loads(done.out)
    assert done.code == 0 and any("The 1100 words are shown in 550 stretches" in note for note in figure["notes"])
    place = [i for i, word in enumerate(text_of(1100).split()) if word == "river"][99]
    assert figure["parts"][0]["focus_row"] == place // 2
    assert "shown in 550 stretches" in run("explain", "-m", str(long_bert), text_of(1100), "--layer", "1").out


def test_the_cost_is_said_first(long_bert):
    text = text_of(2100)
    done = run("explain", "-m", str(long_bert), text, "--layer", "1", "--head", "2")
    assert done.code == 0
    assert done.err.startswith("2102 tokens, 2 layers × 4 heads, of which layer 1 is kept: about ") and done.err.count("\n") == 1
    assert run("explain", "-m", str(long_bert), text_of(2000), "--layer", "1", "--head", "2").err == ""


def test_rollout_of_a_long_text_is_for_one_word(long_bert):
    text = text_of(2100)
    done = run("explain", "-m", str(long_bert), text, "--method", "rollout")
    assert done.code == 1 and "rollout of every row takes n³ steps and allows up to 2048; choose one word" in done.err
    done = run("explain", "-m", str(long_bert), text, "--method", "rollout", "--focus", "money#7", "--json")
    shown = json.loads(done.out)
    assert done.code == 0 and "weights" not in shown
    assert sum(shown["focus"]["rollout"]["values"]) == pytest.approx(1, abs=1e-9)


def test_a_page_is_for_shorter_ones(long_bert, tmp_path):
    page = tmp_path / "page.html"
    done = run("explain", "-m", str(long_bert), text_of(2500), "-o", str(page))
    assert done.code == 1 and "a page holds at most 2048" in done.err and "attend explore" in done.err
    assert not page.exists()
