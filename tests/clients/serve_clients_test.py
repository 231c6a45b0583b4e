"""The clients that most people have, against a running `attend serve`."""

import base64
import json
import sys
from pathlib import Path

import numpy as np
import pytest

openai = pytest.importorskip("openai", reason="openai is not installed: make setup installs it")
huggingface_hub = pytest.importorskip("huggingface_hub", reason="huggingface_hub is not installed: make setup installs it")

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "app"))
from program import run, run_json  # noqa: E402
from server import Server  # noqa: E402

TEXTS = ["the bank of the river", "money is", "the river-bank."]


@pytest.fixture(scope="module")
def server(small_bert, sinking_model):
    with Server("-m", small_bert, "-m", sinking_model) as running:
        yield running


@pytest.fixture(scope="module")
def expected(small_bert):
    result = run("embed", "-", "-m", str(small_bert), stdin="".join(text + "\n" for text in TEXTS))
    return np.array([json.loads(line)["embedding"] for line in result.out.splitlines()], np.float32)


@pytest.fixture(scope="module")
def client(server):
    return openai.OpenAI(base_url=f"{server.address}v1", api_key="none")


def test_openai_embeddings(client, small_bert, expected):
    for form in ({}, {"encoding_format": "float"}, {"encoding_format": "base64"}):
        answer = client.embeddings.create(model=small_bert.name, input=TEXTS, **form)
        given = [entry.embedding for entry in answer.data]
        vectors = [np.frombuffer(base64.b64decode(vector), "<f4") if isinstance(vector, str) else vector for vector in given]
        assert np.array_equal(np.float32(vectors), expected)
    assert small_bert.name in [model.id for model in client.models.list()]


def test_openai_errors(client, small_bert):
    with pytest.raises(openai.NotFoundError, match="there is no model"):
        client.embeddings.create(model="text-embedding-3-small", input="the")
    with pytest.raises(openai.BadRequestError, match="empty text"):
        client.embeddings.create(model=small_bert.name, input="")


def test_openai_completions(client, sinking_model):
    expected = run_json("generate", "the bank", "-m", str(sinking_model), "--max-tokens=12", "--temperature=0")["text"]
    asked = {"model": sinking_model.name, "prompt": "the bank", "max_tokens": 12, "temperature": 0}
    assert client.completions.create(**asked).choices[0].text == expected
    assert "".join(piece.choices[0].text for piece in client.completions.create(**asked, stream=True)) == expected


def test_openai_log_probabilities(client, sinking_model):
    expected = run_json("generate", "the bank", "-m", str(sinking_model), "--max-tokens=6", "--temperature=0")["tokens"]
    asked = {"model": sinking_model.name, "prompt": "the bank", "max_tokens": 6, "temperature": 0, "logprobs": 2}
    told = client.completions.create(**asked).choices[0].logprobs
    assert told.token_logprobs == [token["log_probability"] for token in expected] and len(told.top_logprobs[0]) == 2
    pieces = [piece.choices[0].logprobs for piece in client.completions.create(**asked, stream=True)]
    assert [value for piece in pieces if piece for value in piece.token_logprobs] == told.token_logprobs


def test_openai_deadlines(server, sinking_model):
    hasty = openai.OpenAI(base_url=f"{server.address}v1", api_key="none", max_retries=0, default_headers={"X-Envoy-Expected-Rq-Timeout-Ms": "50"})
    with pytest.raises(openai.InternalServerError, match="within 50 ms") as caught:
        hasty.completions.create(model=sinking_model.name, prompt="the bank", max_tokens=1_000_000)
    assert caught.value.status_code == 504


def test_huggingface_hub(server, expected):
    client = huggingface_hub.InferenceClient(server.address)
    expected = expected.astype(np.float64) / np.linalg.norm(expected, axis=1, keepdims=True)  # /embed normalises unless told otherwise
    assert np.allclose(client.feature_extraction(TEXTS[0]), expected[:1], atol=1e-6)
    cosines = client.sentence_similarity(TEXTS[0], other_sentences=TEXTS[1:])
    assert np.allclose(cosines, expected[1:] @ expected[0], atol=1e-6)
