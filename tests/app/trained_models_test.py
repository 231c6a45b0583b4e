"""explain, explore, embed and doctor open every model that attend train writes: tests/learn checks the numbers; this
file checks that each command accepts them."""

import json

import numpy as np
import pytest

from explorer import Explorer
from program import run, run_json

STEP = ["training.steps=1", "training.batch=2"]
SETTINGS = {
    "rotary": ("copy", ["model.positions=rotary", "model.norm=rms", "model.feed_forward=swiglu", "model.tied=false"]),
    "alibi": ("copy", ["model.positions=alibi", "model.norm_first=false"]),
    "sinusoidal": ("recall", ["model.positions=sinusoidal", "model.scaled=false"]),
    "learned": ("recall", []),
    "reverse": ("reverse", ["model.layers=2", "data.length=6"]),
    "reverse-rms": ("reverse", ["model.norm=rms", "model.norm_first=false", "model.positions=rotary", "data.length=6"]),
}
TEXTS = {"copy": "s1 s5 s3 | s1", "recall": "a3 b5 c1 d7 b?", "reverse": "s4 s2 s7 s1 s3 s0"}


@pytest.fixture(params=SETTINGS, scope="module")
def trained(request, tmp_path_factory):
    task, settings = SETTINGS[request.param]
    folder = tmp_path_factory.mktemp("trained") / "model"
    result = run("train", task, "-o", str(folder), *[part for each in [*STEP, *settings] for part in ("--set", each)])
    assert result.code == 0, result.err
    return task, str(folder), TEXTS[task]


def test_is_explained(trained):
    task, folder, text = trained
    whole = run_json("explain", text, "-m", folder)
    words = [word["text"] for word in whole["words"]]
    assert words[:len(text.split())] == text.split()
    assert np.asarray(whole["weights"]).sum(1) == pytest.approx(np.ones(len(words)), abs=1e-5)
    if task == "reverse":
        assert words[len(text.split())] == "<" and len(words) == 12 and whole["second"].split() == words[7:]
    for method in ["norm", "rollout"]:
        assert np.asarray(run_json("explain", text, "-m", folder, "--method", method)["weights"]).sum(1) == pytest.approx(
            np.ones(len(words)), abs=1e-5)
    assert run("explain", text, "-m", folder, "--heads", "--focus", f"{words[0]}#1" if words.count(words[0]) > 1 else words[0]).code == 0


def test_gradients_and_edits(trained):
    task, folder, text = trained
    towards = run_json("explain", text, "-m", folder, "--method", "grad", "--towards", " ".join(reversed(text.split())))
    assert np.isfinite(towards["weights"]).all() and np.max(towards["weights"]) > 0
    assert 0 < run_json("explain", text, "-m", folder, "--ablate", "1.1")["change"]["text_distance"] < 10
    guess = run_json("explain", text, "-m", folder, "--method", "grad", "--guess", text.split()[0])
    assert len(guess["guesses"]) > 0


def test_is_explored(trained):
    task, folder, text = trained
    expected = run_json("explain", text, "-m", folder, "--special", "--layer", "2" if task == "reverse" else "1")
    with Explorer(folder) as server:
        read = server.get("/api/read", {"text": text})
        layer = 2 if task == "reverse" else 1
        for row, weights in enumerate(expected["weights"]):
            numbers = server.numbers(f"/api/{read['id']}/row?layer={layer}&method=raw&units=words&special=1&row={row}")
            assert numbers == pytest.approx(np.asarray(weights), abs=1e-5)
        if task == "reverse":
            assert "cross 1" in [each["name"] for each in read["facts"]["attends"]]


def test_is_embedded_and_looked_after(trained, tmp_path):
    _, folder, text = trained
    lines = tmp_path / "texts.txt"
    lines.write_text(f"{text}\n{text.split()[0]}\n")
    result = run("embed", str(lines), "-m", folder, "-o", str(tmp_path / "vectors.npy"))
    assert result.code == 0, result.err
    vectors = np.load(tmp_path / "vectors.npy")
    assert vectors.shape[0] == 2 and np.isfinite(vectors).all()
    doctor = run("doctor", "-m", folder)
    assert doctor.code == 0, doctor.err


def test_the_whole_answer_is_shown(trained):
    task, folder, text = trained
    if task != "reverse":
        assert "answer" not in run_json("explain", text, "-m", folder)
        return
    answer = run("generate", text, "-m", folder, "--temperature", "0").out.strip()
    assert len(answer.split()) == 6
    explained = run_json("explain", text, "-m", folder)
    assert explained["answer"] == answer and explained["answer_begins"] == 6 and explained["tokens"][6] == "<"
    assert explained["second"].split() == answer.split()[:5]  # nothing is read after the last
    shown = run("explain", text, "-m", folder).out
    assert shown.splitlines()[0] == f"{text} → {answer}"
    end = answer.split()[-1]
    assert f"The end of the answer, “{end}”, has no row: it was written last, and nothing was read after it." in " ".join(shown.split())
    figure = json.loads(run("explain", text, "-m", folder, "--format", "figure").out)
    assert figure["title"] == f"{text} → {answer}" and any("has no row" in note for note in figure["notes"])
    assert "answer" not in run_json("explain", text, "--second", "s1 s2", "-m", folder)
    one = run_json("explain", "s4", "-m", folder)
    assert len(one["answer"].split()) == 1 and one["tokens"] == ["s4", "<"]


@pytest.mark.parametrize(("key", "value", "sentence"), [
    ("norm", "batch", '"batch" is not one of layer, rms'),
    ("positions", "relative", "is not one of none, sinusoidal, learned, rotary, alibi"),
    ("heads", 3, "3 does not divide the hidden size"),
    ("kind", "both", "is not one of encoder, decoder, encoder_decoder"),
    ("hidden", 0, "hidden"),
    ("layers", 5, "there is no such tensor"),
    ("epsilon", -1, "is not between 0 and 1"),
    ("mixer", "gru", "is a model without attention"),
])
def test_a_wrong_config_is_one_sentence(tmp_path, key, value, sentence):
    folder = tmp_path / "model"
    assert run("train", "reverse", "-o", str(folder), *[part for each in STEP for part in ("--set", each)]).code == 0
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {key: value}))
    result = run("explain", "s1 s2", "-m", str(folder))
    assert result.code == 1 and sentence in result.err and result.err.count("\n") == 1, result.err
