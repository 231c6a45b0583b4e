"""What frameworks and rerankers' clients send to a running `attend serve`: run by `make rivals`, where they are installed."""

import json
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "app"))
from program import run  # noqa: E402
from server import Server  # noqa: E402

TEXTS = ["the bank of the river", "money is", "the river-bank."]
ENCODER = Path(__file__).resolve().parents[1] / "golden/heads/cross-encoder"


def client_of(name: str):
    return pytest.importorskip(name, reason=f"{name} is not installed: make rivals installs it")


@pytest.fixture(scope="module")
def server(small_bert):
    with Server("-m", small_bert, "-m", ENCODER) as running:
        yield running


@pytest.fixture(scope="module")
def expected(small_bert):
    result = run("embed", "-", "-m", str(small_bert), "--normalize", stdin="".join(text + "\n" for text in TEXTS))
    return np.array([json.loads(line)["embedding"] for line in result.out.splitlines()], np.float32)


def unit(vectors) -> np.ndarray:
    rows = np.array(vectors, np.float64)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_langchain(server, small_bert, expected):
    langchain = client_of("langchain_openai")
    client = langchain.OpenAIEmbeddings(base_url=f"{server.address}v1", api_key="none", model=small_bert.name, check_embedding_ctx_length=False)
    assert np.allclose(unit(client.embed_documents(TEXTS)), expected, atol=1e-6)
    assert np.allclose(unit([client.embed_query(TEXTS[0])]), expected[:1], atol=1e-6)


def test_llama_index(server, small_bert, expected):
    llama_index = client_of("llama_index.embeddings.text_embeddings_inference")
    client = llama_index.TextEmbeddingsInference(model_name=small_bert.name, base_url=server.address.rstrip("/"))
    assert np.array_equal(np.float32(client.get_text_embedding_batch(TEXTS)), expected)
    assert np.array_equal(np.float32(client.get_text_embedding(TEXTS[0])), expected[0])


@pytest.mark.parametrize("version", ["Client", "ClientV2"])
def test_cohere(server, version):
    cohere = client_of("cohere")
    answers = json.loads((ENCODER / "answers.json").read_text())
    client = getattr(cohere, version)(api_key="none", base_url=server.address.rstrip("/"))
    asked = {"model": ENCODER.name, "query": answers["query"], "documents": answers["documents"]}
    ranked = client.rerank(**asked, top_n=2).results
    assert [one.index for one in ranked] == [one["corpus_id"] for one in answers["rank"]][:2]
    assert np.allclose([one.relevance_score for one in ranked], [one["score"] for one in answers["rank"]][:2], atol=1e-6)
    with pytest.raises(cohere.NotFoundError):
        client.rerank(**asked | {"model": "rerank-v3.5"})
