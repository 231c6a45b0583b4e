"""attend rerank and attend classify on small models, against attend.TextModel; every format; bad input."""

import json
import shutil

import numpy as np
import pytest

import attend
from conftest import GOLDEN
from program import run, run_json

HEADS = GOLDEN.parent / "heads"
ENCODER = str(HEADS / "cross-encoder")


@pytest.fixture(scope="module")
def answers():
    return json.loads((HEADS / "cross-encoder/answers.json").read_text())


@pytest.fixture
def passages(answers, tmp_path):
    file = tmp_path / "passages.txt"
    file.write_text("\n".join(answers["documents"]) + "\n")
    return file


def rows(text):
    return [line.split("\t", 2) for line in text.splitlines()]


def test_passages_come_in_the_order_of_cross_encoder(answers, passages, tmp_path):
    expected = answers["rank"]
    done = run("rerank", answers["query"], str(passages), "-m", ENCODER)
    assert done.code == 0 and done.err.count("\n") == 1
    assert "attend rerank: 1 of 7 texts had more than 40 tokens and were cut, the first in line 6" in done.err
    shown = rows(done.out)
    assert [int(line) - 1 for _, line, _ in shown] == [one["corpus_id"] for one in expected]
    assert [text for _, _, text in shown] == [one["text"] for one in expected]
    np.testing.assert_allclose([float(score) for score, _, _ in shown], [one["score"] for one in expected], atol=6e-5)
    assert run("rerank", answers["query"], "-", "-m", ENCODER, stdin=passages.read_text()).out == done.out
    for name in ("best.tsv", "best.txt"):
        assert run("rerank", answers["query"], str(passages), "-m", ENCODER, "-o", str(tmp_path / name)).out == ""
        assert (tmp_path / name).read_text() == done.out
    for batch in ("1", "20"):
        assert run("rerank", answers["query"], str(passages), "-m", ENCODER, "--batch-tokens", batch).out == done.out


def test_the_best_as_json(answers, passages, tmp_path):
    short = [text for text in answers["documents"] if len(text) < 100]
    ranked = run_json("rerank", answers["query"], "-", "-m", ENCODER, "--top", "3", stdin="\n".join(short))
    expected = attend.TextModel.from_pretrained(ENCODER).rank(answers["query"], short, top_k=3, return_documents=True)
    assert ranked["query"] == answers["query"]
    assert ranked["results"] == [{"index": one["corpus_id"], "score": one["score"], "text": one["text"]} for one in expected]
    raw = run_json("rerank", answers["query"], "-", "-m", ENCODER, "--raw", stdin="\n".join(short))["results"]
    logits = attend.TextModel.from_pretrained(ENCODER).predict([[answers["query"], text] for text in short], function="identity")
    assert sorted((one["index"], one["score"]) for one in raw) == list(enumerate(logits.tolist()))
    assert run("rerank", answers["query"], str(passages), "-m", ENCODER, "-o", str(tmp_path / "all.json")).code == 0
    assert len(json.loads((tmp_path / "all.json").read_text())["results"]) == 7
    lines = "\n".join(json.dumps({"text": text}) for text in short)
    assert run_json("rerank", answers["query"], "-", "-m", ENCODER, "--top", "3", "--jsonl", stdin=lines) == ranked
    assert run("rerank", "the", "-", "-m", ENCODER) == (0, "", "")


def test_equal_passages_keep_their_order():
    for top in ([], ["--top", "3"]):
        done = run("rerank", "the bank", "-", "-m", ENCODER, *top, stdin="a river\n" * 5)
        assert [line for _, line, _ in rows(done.out)] == ["1", "2", "3", "4", "5"][: 3 if top else 5]


def test_labels_of_each_line(classifier, tmp_path):
    model = attend.TextModel.from_pretrained(classifier)
    texts = ["the bank", "", "of the river", "w20 w30"]
    lines = "\n".join(texts) + "\n"
    expected = model.classify(texts)
    done = run("classify", "-", "-m", classifier, stdin=lines)
    assert (done.code, done.err) == (0, "")
    best = [f"{labels[0]['label']} {labels[0]['score']:.4f}\t{text}" for labels, text in zip(expected, texts)]
    assert done.out.splitlines() == best
    two = run("classify", "-", "-m", classifier, "--top", "2", stdin=lines).out.splitlines()
    assert [line.split("\t")[0].count(",") for line in two] == [1] * 4 and two[0].startswith(best[0].split("\t")[0])
    shown = run("classify", "-", "-m", classifier, "--json", stdin=lines).out
    assert [json.loads(line) for line in shown.splitlines()] == [
        {"index": i, "text": text, "labels": labels} for i, (text, labels) in enumerate(zip(texts, expected))
    ]
    file = tmp_path / "labels.jsonl"
    assert run("classify", "-", "-m", classifier, "-o", str(file), stdin=lines) == (0, "", "")
    assert file.read_text() == shown
    raw = json.loads(run("classify", "-", "-m", classifier, "--raw", "--json", stdin="the bank").out)
    assert sorted(one["score"] for one in raw["labels"]) == sorted(model.predict("the bank").tolist())
    pair = json.loads(run("classify", "-", "-m", classifier, "--pairs", "--json", stdin="the bank\tof the river").out)
    assert pair["labels"] == model.classify(("the bank", "of the river"))


def test_mistakes(small_bert, classifier, tmp_path):
    def copied(name, **changes):
        folder = tmp_path / name
        shutil.copytree(ENCODER, folder)
        config = json.loads((folder / "config.json").read_text()) | changes
        (folder / "config.json").write_text(json.dumps(config))
        return str(folder)

    labels = copied("labels", id2label={"0": "a", "1": "b"})
    for args, code, part in [
        (["rerank"], 2, "QUERY is required"),
        (["rerank", "the"], 2, "FILE is required"),
        (["rerank", "the", "-"], 2, "--model is required"),
        (["rerank", "the", "-", "-m", ENCODER, "--top", "0"], 2, "--top"),
        (["rerank", "the", "-", "-m", ENCODER, "-o", "x.csv"], 2, "expected a name that ends in one of .tsv, .txt, .json"),
        (["rerank", "the", "-", "-m", ENCODER, "--max-tokens", "41"], 2, "--max-tokens is 41, expected a number above 2 and up to 40"),
        (["rerank", "the", "no/such/file", "-m", ENCODER], 1, "no/such/file: cannot be opened"),
        (["rerank", "the", "-", "-m", str(small_bert)], 1, "cannot score texts: its config.json names no class ForSequenceClassification"),
        (["rerank", "the", "-", "-m", classifier], 1, "gives 3 scores for a text, and ranking needs exactly one"),
        (["rerank", "the", "-", "-m", labels], 1, "classifier.weight: its shape is (1, 16), but the configuration says (2, 16)"),
        (["rerank", "the", "-", "-m", copied("type", problem_type="magic")], 1, 'problem_type: "magic" is not one of'),
        (["classify", "-"], 2, "--model is required"),
        (["classify", "-", "-m", classifier, "-o", "x.json"], 2, "expected a name that ends in one of .tsv, .txt, .jsonl"),
        (["classify", "-", "-m", str(small_bert)], 1, "cannot score texts"),
        (["classify", "-", "-m", classifier, "--pairs"], 1, "standard input: line 1: is not a pair: it has no tab between two texts"),
    ]:
        done = run(*args, stdin="the bank")
        assert done.code == code and done.out == "" and part in done.err, (args, done)
        assert done.err.count("\n") == code, done
    # Vectors need no head.
    assert run("embed", "-", "-m", labels, stdin="the bank").code == 0


def test_the_list_of_models_says_what_it_is():
    (model,) = run_json("models", ENCODER)["models"]
    assert model["readable"] and model["scores"] and not model["writes"] and not model["sentence_vectors"]
