"""One head through the program, its JSON, the page, the explorer's server, C++ and Python: the same numbers under the same name.

docs/counting.md: layers and heads have numbers, from 1; places and axes have indices, from 0.
"""

import json
import re
import subprocess
from pathlib import Path

import numpy as np
import pytest

import attend
from explorer import Explorer
from numpy_bert import NumpyBert
from program import PROGRAM, run, run_json

TEXT = "The river-bank of the river, money."
LAYER, HEAD = 2, 3  # neither the first nor the last of 2 layers × 4 heads
QUERY = 9  # the token “money”
HEADS = [(layer, head) for layer in (1, 2) for head in (1, 2, 3, 4)]


@pytest.fixture(scope="module")
def reading(small_bert):
    return attend.lens.read(small_bert, TEXT)


@pytest.fixture(scope="module")
def weights(small_bert, reading):
    """Of that head, (n, n), by another implementation, whose arrays are indexed from 0."""
    vocabulary = (small_bert / "vocab.txt").read_text().split("\n")
    return NumpyBert(small_bert).read([vocabulary.index(token) for token in reading.tokens]).attention[LAYER][HEAD - 1]


def explained(model, *arguments):
    return run_json("explain", "-m", str(model), TEXT, *arguments)


def test_the_programs_json(small_bert, weights):
    shown = explained(small_bert, "--layer", str(LAYER), "--head", str(HEAD), "--tokens", "--special")
    assert (shown["layer"], shown["head"]) == (LAYER, HEAD)
    np.testing.assert_allclose(shown["weights"], weights, atol=1e-5)
    answers = explained(small_bert, "--focus", "money", "--to", "of", "--heads", "--relation", "money>of")
    for links in (answers["links"], answers["relations"][0]["links"]):
        assert sorted((link["layer"], link["head"]) for link in links) == HEADS
        (link,) = (link for link in links if (link["layer"], link["head"]) == (LAYER, HEAD))
        assert link["weight"] == pytest.approx(weights[QUERY, 5], abs=1e-5)
    assert [(profile["layer"], profile["head"]) for profile in answers["heads"]] == HEADS
    compared = run_json("compare", "-m", str(small_bert), "the bank", "money is the bank", "--word", "bank")
    assert len(compared["pairs"][0]["layers"]) == 3  # 0, the embeddings, and 1 and 2


def test_figures_and_the_terminal(reading, small_bert, weights):
    chosen = ["--layer", str(LAYER), "--head", str(HEAD)]
    assert f"layer {LAYER}, head {HEAD}" in run("explain", "-m", str(small_bert), TEXT, *chosen).out
    drawn = json.loads(reading.figure("model", tokens=True, special=True).json())["parts"][0]
    assert (drawn["layer_labels"], drawn["head_labels"]) == (["1", "2"], ["1", "2", "3", "4"])
    np.testing.assert_allclose(drawn["maps"][(LAYER - 1) * 4 + HEAD - 1]["values"], weights, atol=1e-5)


def test_the_page(small_bert):
    page = run("explain", "-m", str(small_bert), TEXT, "--layer", str(LAYER), "--head", str(HEAD), "--format", "html").out
    view = json.loads(re.search('id="first-view">([^<]*)</script>', page)[1])
    assert (view["layer"], view["head"]) == (LAYER, HEAD)


def test_the_explorers_server(small_bert, weights):
    with Explorer(small_bert, TEXT) as explorer:
        address = f"/api/{explorer.get('/api/read', {'text': TEXT})['id']}"
        head = f"layer={LAYER}&head={HEAD}"
        row = explorer.numbers(f"{address}/row?{head}&units=tokens&row={QUERY}")
        np.testing.assert_allclose(row, weights[QUERY], atol=1e-5)
        scores = explorer.numbers(f"{address}/scores?{head}&query={QUERY}")
        np.testing.assert_allclose(scores[len(scores) // 2 :], weights[QUERY], atol=1e-5)
        cell = explorer.get(f"{address}/cell?{head}&query={QUERY}&key=5")
        assert cell["weight"] == pytest.approx(weights[QUERY, 5], abs=1e-5)
        for question in ("row?units=tokens&row=0&", "tile?level=0&y=0&x=0&", "scores?query=0&", "cell?query=0&key=0&"):
            status, _, answer = explorer.ask(f"{address}/{question}layer=1&head=0")
            assert status == 400 and "heads count from 1" in json.loads(answer)["error"]


def test_cpp(small_bert, weights):
    program = Path(PROGRAM).parent / "examples/read_attention"
    done = subprocess.run([program, small_bert, TEXT, TEXT, str(LAYER), str(HEAD)], capture_output=True, text=True)
    lines = done.stdout.splitlines()
    assert lines[1] == f"layer {LAYER}, head {HEAD}:", done.stderr
    best = np.sort(weights[QUERY])[::-1][:3]
    assert [float(part) for part in lines[2 + QUERY].split()[2::2]] == pytest.approx(best, abs=6e-4)


def test_python(reading, small_bert, weights):
    np.testing.assert_allclose(reading.map(layer=LAYER, head=HEAD, tokens=True), weights, atol=1e-5)
    np.testing.assert_allclose(reading.received(LAYER, HEAD, tokens=True), weights.sum(axis=0), atol=1e-4)
    assert [(one.layer, one.head) for one in reading.profile_heads()] == HEADS
    links = {(link.layer, link.head): link.weight for link in reading.find_heads("money", "of")}
    assert sorted(links) == HEADS and links[LAYER, HEAD] == pytest.approx(weights[QUERY, 5], abs=1e-5)


def test_edits(reading, small_bert):
    words = explained(small_bert, "--ablate", f"{LAYER}.{HEAD}")["change"]
    for edit in (f"{LAYER}.{HEAD}", attend.lens.HeadEdit(LAYER, HEAD)):
        assert reading.ablate(edit).text_distance == words["text_distance"] > 0
    others = {reading.ablate(attend.lens.HeadEdit(*head)).text_distance for head in HEADS if head != (LAYER, HEAD)}
    assert words["text_distance"] not in others


def test_training(tmp_path):
    run_ = attend.train.start({"task": "recall", "model": {"layers": 2, "heads": 2}, "training": {"steps": 2}}, tmp_path / "recall")
    run_.fit()
    maps = run_.maps()
    layer, head = (index + 1 for index in np.unravel_index(maps.on_answers.argmax(), maps.on_answers.shape))
    shown = json.loads(run_.figure("attention").json())["parts"][0]
    assert shown["title"].endswith(f"layer {layer}, head {head}")
    np.testing.assert_allclose(shown["values"], maps.weights[layer - 1, head - 1], atol=1e-6)


@pytest.mark.parametrize("arguments", [["--layer", "1", "--head", "0"], ["--ablate", "1.0"], ["--ablate", "1.0:money>of"]])
def test_a_head_of_0_is_refused(small_bert, arguments):
    done = run("explain", "-m", str(small_bert), TEXT, *arguments)
    assert done.code in (1, 2) and done.out == "" and "head is 0, and heads count from 1 to 4" in done.err
