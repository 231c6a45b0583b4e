"""attend serve: what each route answers, to whom, and the vectors of `attend embed` bit for bit."""

import base64
import io
import json
import shutil
import signal
import socket
import threading

import numpy as np
import pytest

from numpy_bert import read_safetensors, write_safetensors
from program import run
from server import Server

TEXTS = ["the bank of the river", "money is", "the river-bank.", "river " * 9, "the bank of the money is the river, the bank."]


def embedded(model, texts, *options) -> np.ndarray:
    """What `attend embed` makes of them."""
    result = run("embed", "-", "-m", str(model), *options, stdin="".join(text + "\n" for text in texts))
    assert result.code == 0, result.err
    return np.array([json.loads(line)["embedding"] for line in result.out.splitlines()], np.float32)


@pytest.fixture(scope="module")
def server(small_bert):
    with Server("-m", small_bert) as running:
        yield running


def openai_vectors(server, **body) -> np.ndarray:
    answer = server.get("/v1/embeddings", body)
    assert answer["object"] == "list" and [entry["index"] for entry in answer["data"]] == list(range(len(answer["data"])))
    return np.array([entry["embedding"] for entry in answer["data"]], np.float32)


def test_openai_embeddings_are_those_of_embed(server, small_bert):
    expected = embedded(small_bert, TEXTS)
    assert np.array_equal(openai_vectors(server, input=TEXTS, model=small_bert.name), expected)
    assert np.array_equal(openai_vectors(server, input=TEXTS[0], nonsense=1, user="x"), expected[:1])
    answer = server.get("/v1/embeddings", {"input": TEXTS, "encoding_format": "base64"})
    assert np.array_equal([np.frombuffer(base64.b64decode(entry["embedding"]), "<f4") for entry in answer["data"]], expected)
    ids = [[token["id"] for token in tokens] for tokens in server.get("/tokenize", {"inputs": TEXTS})]
    assert np.array_equal(openai_vectors(server, input=ids), expected)
    assert np.array_equal(openai_vectors(server, input=ids[1]), expected[1:2])
    assert answer["usage"] == {"prompt_tokens": sum(map(len, ids)), "total_tokens": sum(map(len, ids))}
    assert answer["model"] == small_bert.name


def test_tei_embeddings_are_those_of_embed(server, small_bert):
    normal, raw = embedded(small_bert, TEXTS, "--normalize"), embedded(small_bert, TEXTS, "--no-normalize")
    assert np.array_equal(np.float32(server.get("/embed", {"inputs": TEXTS})), normal)
    assert np.array_equal(np.float32(server.get("/embed", {"inputs": TEXTS[0], "options": {"wait_for_model": True}})), normal[:1])
    assert np.array_equal(np.float32(server.get("/", {"inputs": TEXTS})), normal)
    assert np.array_equal(np.float32(server.get("/embed", {"inputs": TEXTS, "normalize": False})), raw)
    every = server.get("/embed_all", {"inputs": TEXTS})
    lines = run("embed", "-", "-m", str(small_bert), "--tokens", stdin="".join(text + "\n" for text in TEXTS)).out.splitlines()
    for got, line in zip(every, lines, strict=True):
        assert np.array_equal(np.float32(got), np.float32([token["embedding"] for token in json.loads(line)["tokens"]]))


def test_fewer_dimensions(server, small_bert):
    raw = embedded(small_bert, TEXTS, "--no-normalize")[:, :5].astype(np.float64)
    expected = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    for got in (openai_vectors(server, input=TEXTS, dimensions=5), np.float32(server.get("/embed", {"inputs": TEXTS, "dimensions": 5}))):
        assert got.shape == expected.shape and np.allclose(got, expected, atol=1e-6)
    assert np.array_equal(np.float32(server.get("/embed", {"inputs": TEXTS, "dimensions": 5, "normalize": False})), raw.astype(np.float32))
    assert server.refused("/embed", {"inputs": "the", "dimensions": 10_000})[0] == 422
    assert server.refused("/v1/embeddings", {"input": "the", "dimensions": 10_000})[1]["error"]["param"] == "dimensions"


def test_similarity(server, small_bert):
    vectors = embedded(small_bert, TEXTS, "--normalize").astype(np.float64)
    for path, more in (("/similarity", {"parameters": {"truncate": True}}), ("/", {})):
        got = server.get(path, {"inputs": {"source_sentence": TEXTS[0], "sentences": TEXTS[1:]}} | more)
        assert np.allclose(got, vectors[1:] @ vectors[0], atol=1e-6)


def test_tokenize_and_decode(server):
    tokens = server.get("/tokenize", {"inputs": "the river-bank"})[0]
    assert [token["text"] for token in tokens] == ["[CLS]", "the", "river", "-", "bank", "[SEP]"]
    assert tokens[2] | {"id": 0} == {"id": 0, "text": "river", "special": False, "start": 4, "stop": 9}
    assert tokens[0]["special"] and tokens[0]["start"] is None
    ids = [token["id"] for token in tokens]
    assert [token["id"] for token in server.get("/tokenize", {"inputs": ["the river-bank"], "add_special_tokens": False})[0]] == ids[1:-1]
    assert server.get("/decode", {"ids": ids}) == server.get("/decode", {"ids": [ids]})
    assert "[CLS]" in server.get("/decode", {"ids": ids, "skip_special_tokens": False})[0]


def test_texts_that_are_too_long(server, small_bert):
    most = server.get("/info")["max_input_length"]
    words = [f"w{15 + i % 40}" for i in range(most + 10)]
    long, room = " ".join(words), most - 2
    cut = np.float32(server.get("/embed", {"inputs": long}))
    assert np.array_equal(cut, np.float32(server.get("/embed", {"inputs": " ".join(words[:room])})))
    left = np.float32(server.get("/embed", {"inputs": long, "truncation_direction": "Left"}))
    assert np.array_equal(left, np.float32(server.get("/embed", {"inputs": " ".join(words[-room:])})))
    status, error = server.refused("/embed", {"inputs": ["the", long], "truncate": False})
    assert (status, error["error_type"]) == (422, "Validation") and f"{most + 12} tokens" in error["error"]
    status, error = server.refused("/v1/embeddings", {"input": long})
    assert (status, error["error"]["code"]) == (400, "context_length_exceeded")
    assert np.array_equal(openai_vectors(server, input=long, truncate=True), embedded(small_bert, [long]))


@pytest.mark.parametrize("special", [True, False])
@pytest.mark.parametrize("method", ["raw", "norm", "rollout"])
@pytest.mark.parametrize("heads", [{"layer": 2, "head": 1}, {"layer": 1}, {}])
@pytest.mark.parametrize("units", ["tokens", "words"])
def test_explain_is_that_of_the_program(server, small_bert, units, heads, method, special):
    text = "The river-bank of the river, money."
    if method == "rollout":
        heads = {name: value for name, value in heads.items() if name != "head"}
    got = server.get("/explain", {"inputs": text, "units": units, "map": True, "top_k": 3, "method": method, "special": special} | heads)
    part, weights = got["attention"], np.array(got["attention"]["map"])
    options = [f"--{name}={value}" for name, value in heads.items()] + ["--tokens"] * (units == "tokens") + ["--special"] * special
    expected = json.loads(run("explain", text, "-m", str(small_bert), "--json", "--method", method, *options).out)
    assert [unit["text"] for unit in part[units]] == [unit["text"] for unit in expected["units" if units == "tokens" else "words"]]
    assert np.allclose(weights, expected["weights"], atol=1e-12) and np.allclose(weights.sum(1), 1)
    assert np.allclose(part["received"], weights.sum(0))
    assert np.allclose(part["entropy"], -(weights * np.log(np.maximum(weights, 1e-300))).sum(1))
    for row, top in zip(weights, part["top"], strict=True):
        assert [entry["key"] for entry in top] == sorted(range(len(row)), key=lambda i: (-row[i], i))[:3]
        assert [entry["weight"] for entry in top] == [row[entry["key"]] for entry in top]
    assert np.array_equal(np.float32(got["vector"]), embedded(small_bert, [text])[0])
    assert (got["layer"], got["head"], got["method"]) == (heads.get("layer"), heads.get("head"), method)


def test_explain_gives_the_map_on_request(server):
    assert "map" not in server.get("/explain", {"inputs": "the bank"})["attention"]


@pytest.mark.parametrize("units", ["tokens", "words"])
def test_explain_as_arrays(server, small_bert, tmp_path, units):
    text, file = "The river-bank of the river, money.", tmp_path / "x.npz"
    body = {"inputs": text, "units": units, "layer": 1, "head": 2, "map": True, "top_k": 3}
    status, headers, data = server.ask("/explain", body | {"format": "npz"})
    assert (status, headers["Content-Type"]) == (200, "application/x-npz")
    arrays, json_answer = np.load(io.BytesIO(data)), server.get("/explain", body)
    attention = json_answer["attention"]
    assert set(arrays) == {"vector", "weights", "spans", "places", "special", "top_units", "top_values", "received", "entropy", "ids"}
    assert np.array_equal(arrays["vector"], np.float32(json_answer["vector"]))
    assert np.array_equal(arrays["weights"], attention["map"]) and np.array_equal(arrays["received"], attention["received"])
    assert np.array_equal(arrays["entropy"], attention["entropy"])
    assert arrays["top_units"].tolist() == [[one["key"] for one in row] for row in attention["top"]]
    assert arrays["top_values"].tolist() == [[one["weight"] for one in row] for row in attention["top"]]
    assert run("explain", text, "-m", str(small_bert), "--layer=1", "--head=2", "--special", *["--tokens"] * (units == "tokens"), "-o", str(file)).code == 0
    expected = np.load(file)
    for name in ("weights", "spans", "places", "special", "ids"):  # the names of the program, and what it has under them
        assert np.allclose(arrays[name], expected[name], atol=1e-12), name
    assert "weights" not in np.load(io.BytesIO(server.ask("/explain", {"inputs": text, "format": "npz"})[2]))
    assert server.refused("/explain", {"inputs": text, "format": "npy"})[0] == 422


@pytest.mark.parametrize("body", [{"layer": 3}, {"layer": 0}, {"head": 1}, {"layer": 1, "head": 99}, {"method": "flow"}, {"units": 1}, {"top_k": -1}, {"inputs": []}])
def test_explain_refuses(server, body):
    assert server.refused("/explain", {"inputs": "the bank"} | body)[0] in (400, 422)


def test_explain_refuses_what_would_be_too_large(sinking_model, tmp_path):
    folder = tmp_path / "long"
    shutil.copytree(sinking_model, folder)
    tensors = read_safetensors(folder / "model.safetensors")
    tensors |= {name: np.resize(array, (3000, array.shape[1])) for name, array in tensors.items() if array.shape == (48, 16)}
    write_safetensors(folder / "model.safetensors", tensors)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"length": 3000}))
    with Server("-m", folder) as server:
        one = {"layer": 1, "head": 1, "format": "npz"}
        assert server.ask("/explain", {"inputs": "the bank " * 1000, "top_k": 100} | one)[0] == 200
        for body, reason in (({"inputs": "the bank " * 1100, "map": True}, "a map has at most 2048 rows"), ({"inputs": "the bank " * 300, "top_k": 1000}, "at most 262144 in all")):
            status, error = server.refused("/explain", body | one)
            assert status == 422 and reason in error["error"], error


def test_facts(server, small_bert):
    models = server.get("/v1/models")
    assert models["object"] == "list" and [model["id"] for model in models["data"]] == [small_bert.name]
    assert server.get(f"/v1/models/{small_bert.name}") == models["data"][0]
    info = server.get("/info")
    assert (info["model_id"], info["model_dtype"], info["max_client_batch_size"]) == (small_bert.name, "float32", 32)
    limits = {"max_num_seqs": 16, "max_batch_total_tokens": 65536, "payload_limit": 2_000_000, "max_connections": 1024, "request_timeout": 3600}
    assert {name: info[name] for name in limits} == limits
    for path in ("/", "/health", "/ping"):
        assert server.ask(path)[::2] == (200, b"")
    headers = server.ask("/embed", {"inputs": "the"})[1]
    assert headers["X-Compute-Tokens"] == "3" and not any(name.lower().startswith("access-control") for name in headers)


def test_systemd_is_told(small_bert, tmp_path):
    for name, place in ((str(tmp_path / "notify"), str(tmp_path / "notify")), ("@attend-test-" + tmp_path.name, "\0attend-test-" + tmp_path.name)):
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
            manager.bind(place)
            manager.settimeout(30)
            with Server("-m", small_bert, "--grace-seconds", "1", env={"NOTIFY_SOCKET": name}) as server:
                assert manager.recv(100) == b"READY=1" and server.ask("/health")[0] == 200
                server.process.send_signal(signal.SIGTERM)
                assert manager.recv(100) == b"STOPPING=1" and server.ask("/health")[0] == 503
                assert server.process.wait(60) == 0


def test_metrics_count(server):
    def value(name):
        lines = server.ask("/metrics")[2].decode().splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(name))

    name = 'attend_requests_total{route="/embed",status="200"}'
    before = value(name), value("attend_tokens_total")
    server.get("/embed", {"inputs": ["the bank", "the"]})
    assert (value(name), value("attend_tokens_total")) == (before[0] + 1, before[1] + 7)
    assert value("attend_requests_in_progress") == 0 and value("attend_waiting_tokens") == 0
    server.ask("/nothing%20like%20this")
    assert value('attend_requests_total{route="other",status="404"}') >= 1


WRONG = [
    (b"", 400), (b"{", 400), (b"[1]", 422), (b"null", 422), (b'{"inputs": "\xff"}', 400), (b'{"inputs": "\\ud800"}', 400), (b"[" * 100_000, 400),
    (b'{"inputs": "a", "inputs": "b"}', 400), ({}, 422), ({"inputs": None}, 422), ({"inputs": 1}, 422), ({"inputs": [None]}, 422), ({"inputs": []}, 400),
    ({"inputs": [1.5]}, 422), ({"inputs": [-1]}, 422), ({"inputs": [1e99]}, 422), ({"inputs": [64]}, 422), ({"inputs": [[]]}, 400), ({"inputs": {"a": 1}}, 422),
    ({"inputs": ["a", 1]}, 422), ({"inputs": "a", "normalize": "yes"}, 422), ({"inputs": "a", "truncation_direction": "up"}, 422),
    ({"inputs": "a", "prompt_name": "query"}, 422), ({"inputs": "a", "dimensions": 0}, 422), ({"inputs": ["a"] * 33}, 422), ({"inputs": "a", "model": "other"}, 404),
]


@pytest.mark.parametrize("body, status", WRONG, ids=range(len(WRONG)))
def test_tei_refusals(server, body, status):
    got, error = server.refused("/embed", body)
    assert got == status and set(error) == {"error", "error_type"}
    assert error["error_type"] == ("Empty" if body in ({"inputs": []}, {"inputs": [[]]}) else "Validation")


@pytest.mark.parametrize("body", [{"input": body["inputs"]} if isinstance(body, dict) and set(body) == {"inputs"} else body for body, _ in WRONG], ids=range(len(WRONG)))
def test_openai_refusals(server, body):
    if body == {"input": ["a"] * 33}:
        body = {"input": ["a"] * 2049}
    status, error = server.refused("/v1/embeddings", body)
    assert status == 400 and set(error["error"]) == {"message", "type", "param", "code"}


def test_openai_refuses_empty_texts_and_unknown_models(server):
    for text in ("", ["a", ""], [[]]):
        assert server.refused("/v1/embeddings", {"input": text})[0] == 400
    status, error = server.refused("/v1/embeddings", {"input": "the", "model": "text-embedding-3-small"})
    assert (status, error["error"]["code"]) == (404, "model_not_found")
    assert server.refused("/v1/models/text-embedding-3-small")[0] == 404


def test_addresses(server):
    assert server.refused("/nothing")[0] == 404 and server.refused("/v1/nothing")[1]["error"]["code"] == "not_found"
    status, headers, _ = server.ask("/embed")
    assert (status, headers["Allow"]) == (405, "POST")
    assert server.ask("/health", {})[0] == 405
    for path in ("/predict", "/rerank", "/embed_sparse"):
        assert server.refused(path, {"inputs": "the", "query": "the", "texts": ["bank"]})[0] == 424


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Origin": "null"}])
def test_pages_of_others(server, headers):
    for path, body in (("/embed", {"inputs": "the"}), ("/v1/models", None), ("/metrics", None)):
        assert server.ask(path, body, headers=headers)[0] == 403


def test_several_models(small_bert, guessing_bert, tmp_path):
    other = tmp_path / "other"
    other.symlink_to(guessing_bert)
    with Server("-m", small_bert, "-m", f"{other}/") as server:
        assert [model["id"] for model in server.get("/v1/models")["data"]] == [small_bert.name, "other"]
        for name in ("other", "org/other", small_bert.name):
            assert server.get("/v1/embeddings", {"input": "the", "model": name})["model"] == name.rpartition("/")[2]


def test_api_key(small_bert):
    with Server("-m", small_bert, env={"ATTEND_API_KEY": "secret"}) as server:
        for headers in ({}, {"Authorization": "Bearer wrong!"}, {"Authorization": "secret"}, {"Authorization": "Bearer "}):
            for path, body in (("/embed", {"inputs": "the"}), ("/v1/models", None), ("/info", None), ("/", None)):
                assert server.ask(path, body, headers=headers)[0] == 401
        assert server.ask("/embed", {"inputs": "the"}, headers={"Authorization": "Bearer secret"})[0] == 200
        assert all(server.ask(path)[0] == 200 for path in ("/health", "/ping", "/metrics"))


def test_the_log_has_no_texts(small_bert):
    with Server("-m", small_bert) as server:
        server.get("/embed", {"inputs": "the river"})
        server.ask("/the-river?the=river")
        server.ask("/embed", {"inputs": "the river", "model": "river"})
    assert len(server.log) == 3 and not any("river" in line for line in server.log)
    assert " route=/embed status=200 texts=1 tokens=4 ms=" in server.log[0] and " route=other status=404 " in server.log[1]


def test_sixteen_clients_at_once(server, small_bert):
    """Whatever else is computed at the same time, a text's vector keeps its bits."""
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{i}" for i in rng.integers(15, 64, rng.integers(1, 25))) for _ in range(160)]
    expected, wrong = embedded(small_bert, texts), []

    def client(number):
        for first in range(number, 160, 16):
            chosen = [(first + i * 7) % 160 for i in range(1 + first % 5)]
            if first % 2:
                got = openai_vectors(server, input=[texts[i] for i in chosen])
                wrong.extend([] if np.array_equal(got, expected[chosen]) else chosen)
            elif first % 3:
                server.get("/explain", {"inputs": texts[first]})
            else:
                server.get("/embed_all", {"inputs": texts[first]})

    threads = [threading.Thread(target=client, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_command_line(small_bert):
    for arguments in (["--port", "70000"], ["--max-batch-tokens", "0"], ["--payload-limit", "-1"]):
        assert run("serve", "-m", str(small_bert), *arguments).code == 2
    assert "is not an address" in run("serve", "-m", str(small_bert), "--host", "example.org").err
    assert "two models are called" in run("serve", "-m", str(small_bert), "-m", str(small_bert)).err
