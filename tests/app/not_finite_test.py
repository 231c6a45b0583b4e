"""A weight that is NaN: every command reports that numbers are not finite and where that began, and shows none of them as 0."""

import base64
import json
import re

import numpy as np
import pytest

from numpy_bert import read_safetensors, write_safetensors
from program import run

TEXT = "The bank of the river, money."
TENSOR = "encoder.layer.0.attention.self.query.weight"
WHERE = "NaN or infinity first appears in the queries of layer 1, at token 0 ([CLS])."
WHY = f"in the weights, {TENSOR} holds NaN at [3, 5]"


def poison(folder, name=TENSOR, place=(3, 5), value=np.nan):
    tensors = read_safetensors(folder / "model.safetensors")
    tensors[name] = tensors[name].copy()
    tensors[name][place] = value
    write_safetensors(folder / "model.safetensors", tensors)
    return str(folder)


@pytest.fixture
def bad(folder):
    return poison(folder)


def test_explain(bad):
    shown = run("explain", TEXT, "-m", bad, "--focus", "bank", "--heads", "--to", "river")
    assert shown.code == 0
    assert shown.err == f"Not all numbers are finite: {WHERE} Why: {WHY}.\n"
    assert WHERE in " ".join(shown.out.split())
    numbers = re.findall(r"(?<![\w.])(?:nan|\d+\.\d+)%?(?![\w.])", shown.out)
    assert "nan" in numbers and "0.00" not in numbers and "0.0000" not in numbers


@pytest.mark.parametrize("view", ["map", "lines", "model", "film"])
def test_every_view_says_so(bad, view):
    svg = run("explain", TEXT, "-m", bad, "--view", view, "--format", "svg")
    assert svg.code == 0
    assert "NaN or infinity first appears" in svg.out


def test_explain_as_json(bad):
    shown = json.loads(run("explain", TEXT, "-m", bad, "--focus", "bank", "--json").out)
    assert shown["not_finite"] == {"layer": 1, "part": "queries", "token": 0, "sentence": f"Not all numbers are finite: {WHERE}"}
    assert all(value is None for row in shown["weights"] for value in row)
    assert all(value is None for value in shown["received"])
    for method in ("raw", "norm"):
        assert all(value is None for value in shown["focus"][method]["values"])
        assert shown["focus"][method]["special"] is None
    assert shown["special_share"] is None


def test_nothing_of_it_where_all_is_finite(small_bert):
    shown = run("explain", TEXT, "-m", str(small_bert), "--json")
    assert shown.err == ""
    assert "not_finite" not in json.loads(shown.out)


def test_arrays_hold_nan(bad, tmp_path):
    assert run("explain", TEXT, "-m", bad, "--focus", "bank", "-o", str(tmp_path / "x.npz")).code == 0
    arrays = np.load(tmp_path / "x.npz")
    for name in ("weights", "received", "focus_raw", "focus_norm"):
        assert np.isnan(arrays[name]).all(), name


def test_the_page_carries_the_sentence_and_nan(bad):
    page = run("explain", TEXT, "-m", bad, "--format", "html").out
    facts = json.loads(re.search(r'id="facts">(.*?)</script>', page, re.S)[1])
    assert facts["notFinite"] == f"Not all numbers are finite: {WHERE}"
    layer = base64.b64decode(re.search(r'id="layer-1">(.*?)</script>', page, re.S)[1])
    assert np.isnan(np.frombuffer(layer, np.float32)).any()


def test_an_edit_that_overflows(small_bert):
    arguments = ["explain", TEXT, "-m", str(small_bert), "--ablate", "1.1=1e308"]
    shown = run(*arguments)
    sentence = "NaN or infinity first appears in the attended values of layer 1, at token 0 ([CLS])."
    assert shown.err == f"With the edits: Not all numbers are finite: {sentence}\n"
    assert "moves by nan of its length; the cosine with what it was is nan" in " ".join(shown.out.split())
    change = json.loads(run(*arguments, "--json").out)["change"]
    assert change["not_finite"]["sentence"].endswith(sentence)
    assert change["text_cosine"] is None and change["text_distance"] is None and set(change["word_cosines"]) == {None}


def test_compare(bad):
    shown = run("compare", "the bank", "the river bank", "-m", bad, "--word", "bank")
    assert shown.code == 0
    assert WHERE in shown.err and WHY in shown.err
    assert re.search(r"^1 +nan", shown.out, re.M), shown.out
    found = json.loads(run("compare", "the bank", "the river bank", "-m", bad, "--word", "bank", "--json").out)
    assert [value is None for value in found["pairs"][0]["layers"]] == [False, True, True]
    assert found["occurrences"][0]["not_finite"]["part"] == "queries"


def test_embed_says_it_once(bad):
    done = run("embed", "-", "-m", bad, "--pool", "mean", stdin="the bank\nthe river\n")
    assert done.code == 0
    assert all(value is None for line in done.out.splitlines() for value in json.loads(line)["embedding"])
    assert done.err == f"attend embed: the vectors of 2 of 2 texts are not finite, starting with text 1; why: {WHY}\n"


def test_only_texts_that_meet_it(folder):
    model = poison(folder, "embeddings.word_embeddings.weight", (8, 0), np.inf)  # river
    done = run("embed", "-", "-m", model, stdin="the bank\nthe river\n")
    assert "the vectors of 1 of 2 texts are not finite, starting with text 2; why: in the weights, embeddings" in done.err
    assert run("explain", "the bank", "-m", model).err == ""
    assert "first appears in the embeddings, at token 2 (river)" in run("explain", "the river", "-m", model).err


def test_doctor_names_the_tensor(bad):
    done = run("doctor", "-m", bad)
    words = " ".join(done.out.split())
    assert done.code == 1
    assert done.err == "attend doctor: the weights of the model contain NaN or infinity\n"
    assert f"{TENSOR} holds NaN at [3, 5]" in words
    assert f"FAILED: Not all numbers are finite: {WHERE} Why: {WHY}." in words
    assert "report it" not in words
    facts = json.loads(run("doctor", "-m", bad, "--json").out)
    tensor = {"tensor": TENSOR, "file": "model.safetensors", "count": 1, "first": [3, 5], "value": "nan"}
    assert facts["model"]["not_finite"] == [tensor]
    assert facts["self_test"]["passed"] is False


def test_doctor_sees_weights_that_its_sentence_does_not_meet(folder):
    done = run("doctor", "-m", poison(folder, "embeddings.word_embeddings.weight", (slice(60, 62), 0), -np.inf))
    assert done.code == 1
    bad = "embeddings.word_embeddings.weight holds 2 numbers that are not finite, the first at [60, 0] (-inf)"
    assert bad in " ".join(done.out.split())
    assert "Passed" in done.out


def test_doctor_where_the_weights_are_finite_and_the_sums_are_not(folder):
    done = run("doctor", "-m", poison(folder, "encoder.layer.1.output.dense.bias", slice(None), 3e38))
    words = " ".join(done.out.split())
    assert done.code == 1
    assert "FAILED" in words and "all weights are finite, so some intermediate sum is too large for 32-bit floats" in words


def test_hidden_states_that_are_nan_do_not_agree(folder, tmp_path):
    states = {"ids": np.array([2, 5, 6, 3]), "ends": np.array([0, 4]), "hidden.2": np.zeros((4, 32), np.float32)}
    write_safetensors(tmp_path / "reference.safetensors", states)
    model = poison(folder, "encoder.layer.1.output.LayerNorm.bias", 4)
    done = run("doctor", "-m", model, "--reference", str(tmp_path / "reference.safetensors"), "--json")
    assert done.code == 1
    parity = json.loads(done.out)["parity"]
    assert parity["hidden_states"]["verdict"] == "differs" and not parity["holds"]
    assert parity["hidden_states"]["first_difference"]["element"] == 4


def test_generate_refuses_to_choose_among_nan(tmp_path):
    folder = tmp_path / "model"
    assert run("train", "copy", "-o", str(folder), "--set", "training.steps=1", "--set", "training.batch=2").code == 0
    name = next(name for name, array in read_safetensors(folder / "model.safetensors").items() if array.ndim == 1)
    done = run("generate", "-m", poison(folder, name, 0), "s1 s5 s3 |", "-n", "4")
    assert (done.code, done.out) == (1, "")
    assert "the model gives numbers that are not finite: do its weights hold NaN?" in done.err
