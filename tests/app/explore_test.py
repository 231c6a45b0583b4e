"""attend explore: every number of every route, against attend explain and compare; what it refuses."""

import json
import shutil

import numpy as np
import pytest

from explorer import Explorer
from numpy_bert import read_safetensors
from program import run

TEXT = "The river-bank of the river, money."
PLACES = 600  # of the long model: three tiles along a side


@pytest.fixture(scope="module")
def explorer(small_bert):
    with Explorer(small_bert, TEXT) as server:
        yield server


@pytest.fixture(scope="module")
def reading(explorer):
    return explorer.get("/api/read", {"text": TEXT})


def explain(model, *arguments, text=TEXT):
    done = run("explain", "-m", str(model), text, "--json", *arguments)
    assert done.code == 0, done.err
    return json.loads(done.out)


def choices(layer, head):
    """The same choice of heads for the server and for the program: numbers, from 1."""
    query, options = "", []
    if layer is not None:
        query, options = f"&layer={layer}", ["--layer", str(layer)]
    if head is not None:
        query, options = query + f"&head={head}", [*options, "--head", str(head)]
    return query, options


def test_the_page_and_its_policy(explorer):
    status, headers, page = explorer.ask("/")
    assert status == 200 and b"<html" in page and headers["Content-Type"] == "text/html; charset=utf-8"
    assert headers["Content-Security-Policy"].startswith("default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; ")
    assert "Access-Control-Allow-Origin" not in headers and headers["X-Content-Type-Options"] == "nosniff"
    status, headers, module = explorer.ask("/web/data/served.js")
    assert status == 200 and headers["Content-Type"] == "text/javascript; charset=utf-8" and b"export" in module


def test_models(explorer, small_bert):
    answer = explorer.get("/api/models")
    assert answer["default"] == str(small_bert) and answer["models"][0] == {"name": str(small_bert)} and answer["text"] == TEXT


def test_facts(explorer, reading, small_bert):
    facts = reading["facts"]
    shown = explain(small_bert, "--special")
    assert [token["text"] for token in facts["tokens"]] == shown["tokens"]
    assert [(word["text"], [word["first"], word["last"]], word["special"]) for word in facts["words"]] == [
        (word["text"], word["tokens"], word.get("special", False)) for word in shown["words"]]
    assert [word["place"] for word in facts["words"]] == [[word.get("begin", 0), word.get("end", 0)] for word in shown["words"]]
    assert (facts["text"], facts["second"], facts["served"], facts["causal"]) == (TEXT, "", True, False)
    assert facts["scale"] == pytest.approx(facts["headSize"] ** -0.5) and facts["methods"] == ["raw", "norm", "rollout"]
    pair = explorer.get("/api/read", {"text": "the bank", "second": "of the river", "model": str(small_bert)})["facts"]
    assert {word["part"] for word in pair["words"] if not word["special"]} == {0, 1} and pair["second"] == "of the river"


@pytest.mark.parametrize("units", ["words", "tokens"])
@pytest.mark.parametrize("method, layer, head", [("raw", None, None), ("raw", 1, None), ("raw", 2, 2), ("norm", None, None), ("norm", 2, None),
                                                 ("norm", 1, 1), ("rollout", None, None), ("rollout", 1, None)])
def test_rows_and_tiles(explorer, reading, small_bert, method, layer, head, units):
    query, options = choices(layer, head)
    for special in (1, 0):
        shown = explain(small_bert, "--method", method, *options, *(["--tokens"] if units == "tokens" else []), *(["--special"] if special else []))
        expected = np.array(shown["weights"])
        question = f"method={method}&units={units}&special={special}{query}"
        rows = [explorer.numbers(f"/api/{reading['id']}/row?{question}&row={row}") for row in range(len(expected))]
        np.testing.assert_allclose(rows, expected, atol=1e-6)
        values, error = explorer.tile(f"/api/{reading['id']}/tile?{question}&level=0&y=0&x=0")
        np.testing.assert_allclose(values, expected, atol=error)


def test_one_weight_is_made_of_its_parts(explorer, reading, small_bert):
    for layer, head in ((1, 1), (2, 2)):
        query, options = choices(layer, head)
        shown = np.array(explain(small_bert, "--tokens", "--special", *options)["weights"])
        taken = np.array(explain(small_bert, "--tokens", "--special", "--method", "norm", *options)["weights"])
        both = explorer.numbers(f"/api/{reading['id']}/scores?query=3{query}")
        scores, weights = both[:len(both) // 2], both[len(both) // 2:]
        np.testing.assert_allclose(weights, shown[3], atol=1e-6)
        for key in (0, 5):
            cell = explorer.get(f"/api/{reading['id']}/cell?query=3&key={key}{query}")
            assert cell["score"] == pytest.approx(cell["scale"] * np.dot(cell["q"], cell["k"]) + cell["bias"], abs=1e-5)
            assert cell["score"] == pytest.approx(scores[key], abs=1e-6) and cell["max"] == pytest.approx(scores.max(), abs=1e-6)
            assert cell["sum"] == pytest.approx(np.exp(scores - scores.max()).sum(), rel=1e-5)
            assert cell["weight"] == pytest.approx(np.exp(cell["score"] - cell["max"]) / cell["sum"], abs=1e-6)
            assert cell["weight"] == pytest.approx(shown[3, key], abs=1e-6) and cell["contribution"] == pytest.approx(taken[3, key], abs=1e-6)
            assert cell["masked"] is False and len(cell["v"]) == reading["facts"]["headSize"]


def test_what_the_output_depends_on(explorer, reading, small_bert):
    for edits in (["2.1"], ["1", "money>river"], ["1.2:money>river-bank=0.5"]):
        expected = explain(small_bert, *[part for edit in edits for part in ("--ablate", edit)])["change"]
        change = explorer.get(f"/api/{reading['id']}/change", {"edits": edits})
        assert change["textCosine"] == pytest.approx(expected["text_cosine"]) and change["textDistance"] == pytest.approx(expected["text_distance"])
        assert change["wordCosines"] == pytest.approx(expected["word_cosines"])


def test_one_word_in_two_texts(explorer, small_bert):
    texts = "the bank of the river", "money is the bank"
    expected = json.loads(run("compare", "-m", str(small_bert), *texts, "--word", "bank", "--json").out)["pairs"][0]
    answer = explorer.get("/api/compare", {"first": texts[0], "second": texts[1], "word": "bank"})
    assert answer["staticCosine"] == pytest.approx(expected["static"]) and answer["cosines"] == pytest.approx(expected["layers"])


@pytest.fixture(scope="module")
def long_bert(small_bert, tmp_path_factory):
    """The small BERT with more positions than it was given, so that its maps have several tiles and levels."""
    folder = shutil.copytree(small_bert, tmp_path_factory.mktemp("long"), dirs_exist_ok=True)
    config = json.loads((folder / "config.json").read_text()) | {"max_position_embeddings": PLACES}
    (folder / "config.json").write_text(json.dumps(config))
    tensors = dict(read_safetensors(folder / "model.safetensors"))
    name = next(name for name in tensors if name.endswith("position_embeddings.weight"))
    tensors[name] = np.random.default_rng(3).normal(size=(PLACES, tensors[name].shape[1])).astype(np.float32)
    header, data = {}, b""
    for key, values in tensors.items():
        values = np.ascontiguousarray(values, np.float32)
        header[key] = {"dtype": "F32", "shape": list(values.shape), "data_offsets": [len(data), len(data) + values.nbytes]}
        data += values.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    (folder / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
    return folder


def largest_of_squares(values):
    rows, columns = -(-values.shape[0] // 2), -(-values.shape[1] // 2)
    padded = np.zeros((2 * rows, 2 * columns))
    padded[:values.shape[0], :values.shape[1]] = values
    return padded.reshape(rows, 2, columns, 2).max(axis=(1, 3))


@pytest.mark.parametrize("question, options", [("layer=1&head=2&units=tokens", ["--layer", "1", "--head", "2", "--tokens", "--special"]),
                                               ("method=norm&layer=2&units=tokens&special=0", ["--method", "norm", "--layer", "2", "--tokens"]),
                                               ("special=0", [])])
def test_every_tile_of_every_level(long_bert, question, options):
    text = " ".join(["the", "banks", "of", "river-money"][i % 4] for i in range(PLACES))
    with Explorer(long_bert) as explorer:
        answer = explorer.get("/api/read", {"text": text})
        assert len(answer["facts"]["tokens"]) == PLACES and answer["facts"]["methods"] == ["raw", "norm"]
        expected = np.array(explain(long_bert, *options, text=text)["weights"])
        level = 0
        while True:
            tiles = range(-(-len(expected) // 256))
            for y in tiles:
                for x in tiles:
                    values, error = explorer.tile(f"/api/{answer['id']}/tile?{question}&level={level}&y={y}&x={x}")
                    np.testing.assert_allclose(values, expected[256 * y:256 * (y + 1), 256 * x:256 * (x + 1)], atol=error)
            if len(tiles) == 1:
                break
            expected, level = largest_of_squares(expected), level + 1
        assert level > 0
        status, _, sentence = explorer.ask(f"/api/{answer['id']}/tile?method=rollout&level=0&y=0&x=0")
        assert status == 400 and b"rollout is for texts of up to 512 tokens" in sentence


def test_the_last_few_readings_are_kept(small_bert):
    with Explorer(small_bert) as explorer:
        ids = [explorer.get("/api/read", {"text": "the bank " + "of " * i})["id"] for i in range(5)]
        assert [explorer.ask(f"/api/{id}/row?row=0")[0] for id in ids] == [410, 200, 200, 200, 200]


REFUSED = [
    ("GET", "/nothing", None, 404), ("GET", "/web/../secret", None, 404), ("GET", "/web/%2e%2e/secret", None, 404), ("GET", "/web/", None, 404),
    ("GET", "/api/", None, 404), ("GET", "/api/x/tile", None, 404), ("GET", "/api/00000000-1/tile", None, 410), ("GET", "/api/models/x/y", None, 404),
    ("POST", "/", b"{}", 405), ("DELETE", "/api/models", None, 405), ("GET", "/api/read", None, 405), ("POST", "/api/models", b"{}", 405),
    ("GET", "/%zz", None, 400), ("GET", "/api/models?x=1", None, 400),
    ("POST", "/api/read", b"", 400), ("POST", "/api/read", b"[]", 400), ("POST", "/api/read", b'{"text": 1}', 400), ("POST", "/api/read", b'{"text": " "}', 400),
    ("POST", "/api/read", b'{"text": "a", "nonsense": "b"}', 400), ("POST", "/api/read", b'{"text": "\xff"}', 400), ("POST", "/api/read", b"[" * 5000, 400),
    ("POST", "/api/read", b'{"text": "a", "model": "/etc"}', 400), ("POST", "/api/read", b'{"text": "a", "text": "b"}', 400),
    ("POST", "/api/compare", b'{"first": "the bank", "second": "of", "word": "bank"}', 400),
    ("GET", "/api/ID/tile?level=0&y=0", None, 400), ("GET", "/api/ID/tile?level=0&y=0&x=1", None, 400), ("GET", "/api/ID/tile?level=1&y=0&x=0", None, 400),
    ("GET", "/api/ID/tile?level=-1&y=0&x=0", None, 400), ("GET", "/api/ID/tile?level=99999999999999999999&y=0&x=0", None, 400),
    ("GET", "/api/ID/tile?level=1099511627776&y=0&x=0", None, 400),
    ("GET", "/api/ID/tile?level=0&y=0&x=0&head=1", None, 400), ("GET", "/api/ID/tile?level=0&y=0&x=0&layer=9", None, 400),
    ("GET", "/api/ID/tile?level=0&y=0&x=0&method=magic", None, 400), ("GET", "/api/ID/tile?level=0&y=0&x=0&units=letters", None, 400),
    ("GET", "/api/ID/tile?level=0&y=0&x=0&special=2", None, 400), ("GET", "/api/ID/tile?level=0&level=0&y=0&x=0", None, 400),
    ("GET", "/api/ID/row?row=999", None, 400), ("GET", "/api/ID/row?row=0&colour=1", None, 400), ("GET", "/api/ID/row", None, 400),
    ("GET", "/api/ID/cell?layer=1&head=1&query=0&key=99", None, 400), ("GET", "/api/ID/cell?layer=0&head=1&query=0&key=0", None, 400),
    ("GET", "/api/ID/cell?head=1&query=0&key=0", None, 400), ("GET", "/api/ID/scores?layer=1&head=99&query=0", None, 400),
    ("GET", "/api/ID/tile?level=0&y=0&x=0&layer=1&head=0", None, 400), ("GET", "/api/ID/scores?layer=1&head=0&query=0", None, 400),
    ("GET", "/api/ID/scores?layer=1&head=1&query=99", None, 400), ("POST", "/api/ID/change", b'{"edits": ["9.9"]}', 400),
    ("POST", "/api/ID/change", b'{"edits": "4.2"}', 400), ("POST", "/api/ID/change", json.dumps({"edits": ["1"] * 1000}).encode(), 400),
    ("GET", "/api/ID/change", None, 405), ("POST", "/api/ID/row?row=0", b"", 405), ("GET", "/api/ID/nothing", None, 404),
]


@pytest.mark.parametrize("method, path, body, status", REFUSED)
def test_what_it_refuses(explorer, reading, method, path, body, status):
    answer, headers, data = explorer.ask(path.replace("ID", reading["id"]), body, method)
    assert answer == status and headers["Content-Type"] == "application/json"
    assert (headers.get("Allow") in ("GET", "POST")) == (status == 405)
    sentence = json.loads(data)["error"]
    assert 0 < len(sentence) < 500 and "\n" not in sentence


def test_a_taken_port_and_a_model_that_is_not_there(explorer, small_bert):
    taken = run("explore", "-m", str(small_bert), "--port", str(explorer.port))
    assert (taken.code, taken.out) == (1, "") and taken.err == f"attend explore: port {explorer.port} is in use, or this user may not listen on it\n"
    assert run("explore", "-m", str(small_bert), "--port", "99999").code == 2
    assert run("explore", "-m", "/nowhere").code == 1
    assert run("explore", "-m", str(small_bert), "-", stdin="the bank " * 100_000).err == "attend explore: the text has more than 512 KiB, which is more than the page can send\n"
