"""attend explain and attend explore on a recorded pass: the same maps as Python's, and one sentence where the model is needed."""

import json
import re

import numpy as np
import pytest

import attend
from explorer import Explorer
from program import run


@pytest.fixture(scope="module")
def file(recorded, tmp_path_factory):
    path = tmp_path_factory.mktemp("recorded") / "run.attn"
    recorded[0].save(path)
    return path


def test_explain(file, recorded, tmp_path):
    own = recorded[1]
    done = run("explain", str(file), "--json", "--special", "--layer", "2", "--head", "3")
    assert (done.code, done.err) == (0, "")
    shown = json.loads(done.out)
    assert shown["model"] == "somebody/else" and shown["text"] == own.text and shown["tokens"] == own.tokens
    np.testing.assert_allclose(shown["weights"], own.map("raw", 2, 3), atol=1e-6)
    rolled = json.loads(run("explain", str(file), "--json", "--special", "--method", "rollout", "--focus", "money").out)
    np.testing.assert_allclose(rolled["weights"], own.map("rollout"), atol=1e-6)
    for arguments in (["--heads"], ["--focus", "money", "--to", "river"], ["--view", "lines"], ["--view", "model"], ["--tokens"]):
        done = run("explain", str(file), *arguments)
        assert (done.code, done.err) == (0, ""), arguments
        assert "somebody/else" in done.out
    for name in ("map.svg", "map.npz"):
        assert run("explain", str(file), "-o", str(tmp_path / name)).code == 0
    np.testing.assert_allclose(np.load(tmp_path / "map.npz")["weights"], own.map(special=False), atol=1e-6)


def test_the_page_carries_it(file, recorded):
    page = run("explain", str(file), "--format", "html")
    assert (page.code, page.err) == (0, "")
    facts = json.loads(re.search(r'<script type="application/json" id="facts">(.*?)</script>', page.out)[1])
    assert facts["methods"] == ["raw", "rollout"] and facts["model"] == "somebody/else" and facts["family"] == "unheard-of"
    assert [token["text"] for token in facts["tokens"]] == recorded[1].tokens


def test_explore(file, recorded):
    own = recorded[1]
    with Explorer(None, str(file)) as server:
        models = server.get("/api/models")
        assert models == {"models": [{"name": str(file)}], "default": str(file), "text": own.text}
        answer = server.get("/api/read", {"text": own.text, "model": str(file)})
        assert answer["facts"]["methods"] == ["raw", "rollout"] and answer["facts"]["heads"] == own.heads
        id = answer["id"]
        np.testing.assert_allclose(server.numbers(f"/api/{id}/row?units=tokens&row=3&layer=1&head=2"), own.map("raw", 1, 2, tokens=True)[3], atol=1e-6)
        values, error = server.tile(f"/api/{id}/tile?level=0&y=0&x=0&method=rollout")
        np.testing.assert_allclose(values, own.map("rollout"), atol=error)
        cell = server.get(f"/api/{id}/cell?layer=1&head=1&query=2&key=3")
        assert cell["contribution"] is None and cell["projected"] is False
        assert cell["weight"] == pytest.approx(own.map("raw", 1, 1, tokens=True)[2, 3], abs=1e-6)
        for path, body, sentence in [
            ("/api/read", {"text": "the bank"}, "other texts need its model, which is not here"),
            ("/api/compare", {"word": "bank", "first": "the bank", "second": "a bank"}, "other texts need its model, which is not here"),
            (f"/api/{id}/change", {"edits": ["1.1"]}, "which this needs"),
            (f"/api/{id}/row?row=0&method=norm", None, "which this needs"),
        ]:
            status, _, data = server.ask(path, body)
            assert status == 400 and sentence in data.decode(), (path, data)


BAD = {
    "norm": (["--method", "norm"], 1, "without the weights and the vocabulary of its model, somebody/else, which this needs"),
    "a page of norms": (["--method", "norm", "--format", "html"], 1, "which this needs"),
    "edits": (["--ablate", "1.1"], 1, "which this needs"),
    "another text": (["--method", "grad", "--towards", "a text"], 1, "which this needs"),
    "a guess": (["--method", "grad", "--guess", "money"], 1, "which this needs"),
    "a model": (["-m", "some/model"], 2, "is the recording of a pass"),
    "a second text": (["--second", "a text"], 2, "a recording has been read"),
    "a layer": (["--layer", "9"], 2, "--layer is 9"),
}


@pytest.mark.parametrize("arguments, code, message", BAD.values(), ids=BAD)
def test_what_is_refused(file, arguments, code, message):
    done = run("explain", str(file), *arguments)
    assert done.code == code and done.out == "" and message in done.err and (code == 2 or len(done.err.splitlines()) == 1)


def test_a_page_carries_no_mask(tmp_path):
    q = np.random.default_rng(0).normal(size=(2, 4, 3))
    layer = attend.lens.RecordedLayer(q, q, q, mask=np.eye(4, dtype=bool)[::-1])
    attend.lens.Recording([layer], list("abcd")).save(tmp_path / "run.attn")
    done = run("explain", str(tmp_path / "run.attn"), "--format", "html")
    assert done.code == 1 and "a page cannot carry a mask, which this recording has" in done.err
    attend.lens.Recording([np.full((2, 4, 4), 0.25)], list("abcd")).save(tmp_path / "run.attn")
    done = run("explain", str(tmp_path / "run.attn"), "--format", "html")
    assert done.code == 1 and "a page can only carry a bias" in done.err
    assert run("explain", str(tmp_path / "run.attn")).code == 0


def test_a_file_that_is_no_recording(tmp_path):
    (tmp_path / "\x1b[31m.attn").write_text("the bank")
    for command in ("explain", "explore"):
        done = run(command, str(tmp_path / "\x1b[31m.attn"))
        assert done.code == 1 and len(done.err.splitlines()) == 1
