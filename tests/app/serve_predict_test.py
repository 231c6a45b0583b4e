"""attend serve: /predict and /rerank, whose scores are those of attend.TextModel and `attend rerank` bit for bit."""

import json
import shutil
import threading

import numpy as np
import pytest

import attend
from conftest import GOLDEN
from program import run
from server import Server

HEADS = GOLDEN.parent / "heads"
ENCODER = HEADS / "cross-encoder"
TEXTS = [["the bank"], ["of the river", "the bank"], [""], ["w20 w30", ""], ["w40 " * 30, "w41 " * 30]]


@pytest.fixture(scope="module")
def answers():
    return json.loads((ENCODER / "answers.json").read_text())


@pytest.fixture(scope="module")
def server(classifier, small_bert):
    """The default model is the cross-encoder."""
    with Server("-m", ENCODER, "-m", classifier, "-m", small_bert) as running:
        yield running


def labels(model, scores) -> list[dict]:
    return [{"score": float(scores[i]), "label": model.labels[i]} for i in np.argsort(-scores, kind="stable")]


def test_labels_are_those_of_the_library(server, classifier):
    model = attend.TextModel.from_pretrained(classifier)
    for more, function in (({}, "softmax"), ({"raw_scores": True}, "identity")):
        expected = [labels(model, row) for row in model.predict(TEXTS, function=function)]
        body = {"model": "bert"} | more
        assert server.get("/predict", {"inputs": TEXTS} | body) == expected
        assert server.get("/", {"inputs": TEXTS} | body) == expected
        for text, one in zip(TEXTS, expected):
            assert server.get("/predict", {"inputs": text} | body) == one
            assert server.get("/predict", {"inputs": [text]} | body) == [one]
        assert server.get("/predict", {"inputs": TEXTS[0][0]} | body) == expected[0]


def test_several_labels_at_once_get_the_sigmoid(classifier, tmp_path):
    folder = tmp_path / "several"
    shutil.copytree(classifier, folder)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"problem_type": "multi_label_classification"}))
    model = attend.TextModel.from_pretrained(folder)
    with Server("-m", folder) as server:
        assert server.get("/predict", {"inputs": "the bank"}) == labels(model, model.predict("the bank", function="sigmoid"))
        kind = server.get("/info")["model_type"]
    assert kind == {"classifier": {"id2label": {"0": "no", "1": "perhaps", "2": "yes"}, "label2id": {"no": 0, "perhaps": 1, "yes": 2}}}


def test_texts_are_ranked_as_by_the_program(server, answers):
    body = {"query": answers["query"], "texts": answers["documents"]}
    for more, option in (({}, []), ({"raw_scores": True}, ["--raw"])):
        done = run("rerank", answers["query"], "-", "-m", str(ENCODER), "--json", *option, stdin="\n".join(answers["documents"]) + "\n")
        expected = [{"index": one["index"], "score": one["score"]} for one in json.loads(done.out)["results"]]
        assert server.get("/rerank", body | more) == expected
        assert server.get("/", body | more) == expected
        with_texts = server.get("/rerank", body | more | {"return_text": True})
        assert with_texts == [one | {"text": answers["documents"][one["index"]]} for one in expected]
    ranked = server.get("/rerank", body)
    assert [one["index"] for one in ranked] == [one["corpus_id"] for one in answers["rank"]]
    np.testing.assert_allclose([one["score"] for one in ranked], [one["score"] for one in answers["rank"]], atol=1e-6)
    assert [one["index"] for one in server.get("/rerank", {"query": "the", "texts": ["a river"] * 4})] == [0, 1, 2, 3]
    assert [len(server.get("/predict", {"inputs": pair})) for pair in (["a", "b"], "a")] == [1, 1]


@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank", "/v2/rerank", "/"])
def test_documents_are_ranked_as_by_cohere_and_jina(server, answers, path):
    query, documents = answers["query"], answers["documents"]
    ranked = server.get("/rerank", {"query": query, "texts": documents})
    expected = [{"index": one["index"], "relevance_score": one["score"]} for one in ranked]
    body = {"query": query, "documents": documents}
    got = server.get(path, body | {"max_tokens_per_doc": 4096})
    assert (got["model"], got["results"]) == (ENCODER.name, expected)
    assert got["usage"]["prompt_tokens"] == got["usage"]["total_tokens"] > 0
    assert server.get(path, body | {"top_n": 2})["results"] == expected[:2]
    assert server.get(path, body | {"top_n": 99})["results"] == expected
    objects = [{"text": text, "title": "ignored"} for text in documents]
    with_texts = server.get(path, {"query": query, "documents": objects, "return_documents": True})["results"]
    assert with_texts == [one | {"document": {"text": documents[one["index"]]}} for one in expected]
    assert len(server.get(path, {"query": query, "documents": ["river"] * 100})["results"]) == 100  # more than TEI's clients may send


def test_documents_that_cannot_be_ranked(server):
    for body in ({"documents": []}, {"documents": "a"}, {"documents": [1]}, {"documents": [{}]}, {"documents": ["a"], "top_n": 0}):
        assert server.refused("/rerank", {"query": "a"} | body)[0] in (400, 422), body
        status, error = server.refused("/v2/rerank", {"query": "a"} | body)
        assert status == 400 and error["error"]["message"], body
    assert server.refused("/v1/rerank", {"query": "a", "documents": ["a"], "model": "bert"})[0] == 400  # it has three labels
    status, error = server.refused("/v1/rerank", {"query": "w20 " * 10_000, "documents": ["a"] * 2048})  # would be read 2,048 times
    assert status == 400 and "too long for 2048 texts" in error["error"]["message"]


def test_texts_that_are_too_long(server, classifier):
    model = attend.TextModel.from_pretrained(classifier)
    body = {"model": "bert", "raw_scores": True}
    long = [f"w{10 + i}" for i in range(50)]
    whole = " ".join(long)
    for inputs in (whole, [whole, "the"], [["the"], [whole]]):
        status, error = server.refused("/predict", {"inputs": inputs, "truncate": False} | body)
        assert status == 422 and "and the model reads at most 40" in error["error"]
    assert server.refused("/rerank", {"query": "river", "texts": ["river " * 50], "truncate": False})[0] == 422
    left = server.get("/predict", {"inputs": whole, "truncation_direction": "left"} | body)
    assert left == labels(model, model.predict(" ".join(long[-38:]), function="identity"))
    assert server.refused("/predict", {"inputs": [whole, "the"], "truncation_direction": "left"} | body)[0] == 422
    assert len(server.get("/predict", {"inputs": ["of", "the"], "truncation_direction": "left"} | body)) == 3


def test_what_models_do_not_do(server, small_bert):
    for path, name in (("/predict", small_bert.name), ("/rerank", small_bert.name), ("/rerank", "bert")):
        status, error = server.refused(path, {"model": name, "inputs": "the", "query": "the", "texts": ["bank"]})
        assert status == 424 and error["error_type"] == "Backend" and error["error"].startswith(name)
    assert "gives 3 scores for a text" in error["error"]
    assert server.get("/info")["model_type"] == {"reranker": {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}}
    # Vectors need no head, and the main route of a model that has none is /embed.
    assert len(server.get("/embed", {"inputs": "the", "model": "bert"})[0]) == 16
    assert server.get("/", {"inputs": "the", "model": small_bert.name}) == server.get("/embed", {"inputs": "the", "model": small_bert.name})


def test_refusals(server):
    for body, status in (
        ({}, 422), ({"inputs": []}, 400), ({"inputs": [[]]}, 400), ({"inputs": [1, 2]}, 422), ({"inputs": ["a", "b", "c"]}, 422),
        ({"inputs": [["a"]] * 33}, 422), ({"inputs": "a", "raw_scores": "yes"}, 422), ({"inputs": "a", "model": "other"}, 404), (b"{", 400),
    ):
        assert server.refused("/predict", body)[0] == status, body
    for body, status in (
        ({"query": "a"}, 422), ({"texts": ["a"]}, 422), ({"query": "a", "texts": []}, 400), ({"query": 1, "texts": ["a"]}, 422),
        ({"query": "a", "texts": ["a"] * 33}, 422), ({"query": "a", "texts": ["a"], "model": "other"}, 404), (b"", 400),
    ):
        assert server.refused("/rerank", body)[0] == status, body
        assert server.refused("/", body)[0] == status, body
    assert server.ask("/rerank")[0] == 405


def test_many_clients_at_once(server, classifier, small_bert):
    """Scores keep their bits, whatever is computed beside them."""
    model = attend.TextModel.from_pretrained(classifier)
    rng = np.random.default_rng(3)
    texts = [[" ".join(f"w{i}" for i in rng.integers(9, 64, rng.integers(1, 18))) for _ in range(1 + n % 2)] for n in range(96)]
    expected = [labels(model, row) for row in model.predict(texts, function="softmax")]
    wrong = []

    def client(number):
        for first in range(number, 96, 8):
            chosen = [(first + i * 7) % 96 for i in range(1 + first % 5)]
            if server.get("/predict", {"inputs": [texts[i] for i in chosen], "model": "bert"}) != [expected[i] for i in chosen]:
                wrong.append(first)
            server.get("/embed", {"inputs": texts[first], "model": small_bert.name if first % 3 else "bert"})

    threads = [threading.Thread(target=client, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
