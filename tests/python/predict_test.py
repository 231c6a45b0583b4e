"""TextModel.predict(), rank() and classify(), against what CrossEncoder and transformers say (tools/golden/make_sequence_heads.py)."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import attend

HEADS = Path(__file__).resolve().parents[1] / "golden/heads"


@pytest.fixture(scope="module")
def encoder():
    return attend.TextModel.from_pretrained(HEADS / "cross-encoder")


@pytest.fixture(scope="module")
def answers():
    return json.loads((HEADS / "cross-encoder/answers.json").read_text())


def test_scores_are_those_of_cross_encoder(encoder, answers):
    pairs = answers["pairs"]
    scores = encoder.predict(pairs)
    assert scores.shape == (len(pairs),) and scores.dtype == np.float32
    np.testing.assert_allclose(scores, answers["scores"], atol=1e-6)
    np.testing.assert_allclose(encoder.predict(pairs, function="identity"), answers["logits"], atol=1e-6)
    np.testing.assert_allclose(encoder.predict(pairs, prompt="the money "), answers["prompted"], atol=1e-6)
    np.testing.assert_allclose(encoder.predict("a river"), answers["single"], atol=1e-6)
    for pair, score in zip(pairs, scores):
        assert encoder.predict(pair) == encoder.predict(tuple(pair)) == score  # the same bits
    assert encoder.predict(["a river"]) == encoder.predict([["a river"]])[0] == encoder.predict("a river")
    np.testing.assert_array_equal(encoder.predict(pairs, batch_tokens=1), scores)
    assert encoder.predict([]).shape == (0,)
    assert encoder.labels == ["LABEL_0"]


def test_ranks_are_those_of_cross_encoder(encoder, answers):
    for expected, more in [(answers["rank"], {"return_documents": True}), (answers["top"], {"top_k": 2})]:
        ranked = encoder.rank(answers["query"], answers["documents"], **more)
        assert [one["corpus_id"] for one in ranked] == [one["corpus_id"] for one in expected]
        assert [one.get("text") for one in ranked] == [one.get("text") for one in expected]
        np.testing.assert_allclose([one["score"] for one in ranked], [one["score"] for one in expected], atol=1e-6)
    same = encoder.rank("the bank", iter(["a", "river", "a"]))
    assert {one["corpus_id"] for one in same} == {0, 1, 2}
    twins = [one["corpus_id"] for one in same if one["corpus_id"] != 1]
    assert twins == [0, 2]
    assert encoder.rank("the bank", []) == []


def test_labels_with_their_scores(classifier):
    model = attend.TextModel.from_pretrained(classifier)
    assert model.labels == ["no", "perhaps", "yes"]
    logits = model.predict([["the bank"], ["the bank", "of the river"]])
    assert logits.shape == (2, 3) and model.predict("the bank").shape == (3,)
    shares = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict([["the bank"], ["the bank", "of the river"]], function="softmax"), shares, atol=1e-6)
    found = model.classify(["the bank", ("the bank", "of the river")])
    for labels, row in zip(found, shares):
        assert [one["label"] for one in labels] == [model.labels[i] for i in np.argsort(-row)]
        np.testing.assert_allclose([one["score"] for one in labels], np.sort(row)[::-1], atol=1e-6)
    assert model.classify("the bank") == found[0] and model.classify(("the bank", "of the river")) == found[1]
    assert model.classify("the bank", top_k=1) == found[0][:1]
    config = json.loads((classifier / "config.json").read_text())
    (classifier / "config.json").write_text(json.dumps(config | {"problem_type": "multi_label_classification"}))
    several = attend.TextModel.from_pretrained(classifier).classify("the bank")
    np.testing.assert_allclose([one["score"] for one in several], np.sort(1 / (1 + np.exp(-logits[0])))[::-1], atol=1e-6)
    with pytest.raises(ValueError, match="rank: the model gives 3 scores"):
        model.rank("the", ["bank"])
    assert model.encode("the bank").shape == (16,)


def test_mistakes(encoder, small_bert, classifier, tmp_path):
    for call, kind, sentence in [
        (lambda: encoder.predict(3), TypeError, ""),
        (lambda: encoder.predict([3]), TypeError, ""),
        (lambda: encoder.predict([("a", 3)]), TypeError, "a text is neither str nor bytes"),
        (lambda: encoder.predict(["a", "b", "c"]), ValueError, "a flat list of 3 texts is not a pair"),
        (lambda: encoder.predict([["a", "b", "c"]]), ValueError, "a list of 3 texts is neither a text nor a pair"),
        (lambda: encoder.predict([[]]), ValueError, "a list of 0 texts"),
        (lambda: encoder.predict("a", function="tanh"), ValueError, 'function is "tanh"'),
        (lambda: encoder.predict("a", batch_tokens=0), ValueError, "batch_tokens is 0"),
        (lambda: encoder.rank("a", ["b"], top_k=0), ValueError, "top_k is 0"),
        (lambda: encoder.classify("a", top_k=0), ValueError, "top_k is 0"),
        (lambda: attend.TextModel.from_pretrained(small_bert).predict("the"), ValueError, "the model does not score texts"),
        (lambda: attend.TextModel.from_pretrained(small_bert).rank("the", ["bank"]), ValueError, "the model does not score texts"),
        (lambda: attend.TextModel.from_pretrained(small_bert).classify("the"), ValueError, "the model does not score texts"),
    ]:
        with pytest.raises(kind, match=sentence or None):
            call()
    assert attend.TextModel.from_pretrained(small_bert).labels is None
    folder = tmp_path / "broken"
    shutil.copytree(classifier, folder)
    config = json.loads((folder / "config.json").read_text())
    config.pop("id2label"), config.pop("label2id")
    (folder / "config.json").write_text(json.dumps(config | {"num_labels": 2}))
    model = attend.TextModel.from_pretrained(folder)
    with pytest.raises(attend.FileError, match=r"classifier.weight: its shape is \(3, 16\), but the configuration says \(2, 16\)"):
        model.predict("the")
    assert model.encode("the").shape == (16,)
