"""Words that a model does not know: they are told, marked, and never drawn as if they had been read."""

import json
import re

import pytest

from explorer import Explorer
from program import run, run_on_terminal

CHINESE = "机器学习是人工智能的一个分支"


@pytest.fixture(scope="module")
def recall(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recall") / "recall"
    settings = [part for each in ("training.steps=1", "training.batch=2") for part in ("--set", each)]
    assert run("train", "recall", "-o", str(folder), *settings).code == 0
    return folder


def explained(*arguments):
    done = run("explain", *arguments, "--json")
    assert done.code == 0
    return json.loads(done.out), done.err


def test_they_are_in_the_json_and_on_standard_error():
    answer, said = explained(CHINESE)
    unknown = [word["text"] for word in answer["words"] if word.get("unknown")]
    assert len(unknown) == answer["unknown_tokens"] == answer["tokens"].count("[UNK]") > 0
    assert f"does not know {len(unknown)} of the 14 tokens of this text: it reads [UNK] in place of “{unknown[0]}”" in said
    assert "-m smollm2 reads any text; a multilingual model, such as intfloat/multilingual-e5-small" in said


def test_they_are_marked_in_the_terminal_and_in_figures():
    unknown = [word["text"] for word in explained(CHINESE)[0]["words"] if word.get("unknown")]
    for arguments in ([], ["--focus", unknown[0]], ["--view", "lines"]):
        shown = run("explain", CHINESE, *arguments).out
        assert f"{unknown[0]}⁇" in shown and "⁇ marks words that the model does not know" in shown
    assert "⁇" in run_on_terminal("explain", CHINESE, columns=60).out
    figure = json.loads(run("explain", CHINESE, "--format", "figure").out)
    assert f"{unknown[0]}⁇" in figure["parts"][0]["row_labels"]
    assert any(note.startswith("⁇ marks") for note in figure["notes"])


def test_the_model_that_is_named_reads_the_text():
    answer, said = explained(CHINESE, "-m", "smollm2")
    assert "unknown_tokens" not in answer and said == ""


def test_a_model_that_knows_a_few_words(recall):
    answer, said = explained("hello there", "-m", str(recall))
    assert [word["unknown"] for word in answer["words"]] == [True, True] and answer["unknown_tokens"] == 2
    assert "knows none of the words in this text: it reads [UNK] in place of “hello” and “there”." in said
    assert re.search(r"It knows only \d+ words, such as “a0”, “a1” and “a2”\. -m all-MiniLM-L6-v2 reads this text\.", said)
    assert explained("a3 b5 a?", "-m", str(recall))[1] == ""


def test_other_commands_say_so_as_well(recall):
    assert "in place of “bonk”" in run("compare", "a1 bonk", "a1 b2", "--word", "a1", "-m", str(recall)).err
    assert "in place of “bonk”" in run("next", "a1 bonk", "-m", str(recall)).err


def test_the_page_knows_them():
    with Explorer(None) as server:
        facts = server.get("/api/read", {"text": f"{CHINESE} x"})["facts"]
    assert facts["unknown"] == sum(token.get("unknown", False) for token in facts["tokens"]) > 0
    assert [word.get("unknown", False) for word in facts["words"]][-2:] == [False, False]  # x and [SEP]


def test_texts_of_nothing_else_are_counted_by_embed(recall, tmp_path):
    texts = tmp_path / "texts.txt"
    texts.write_text("a1 b2\nhello there\na1 there\nyou\n")
    done = run("embed", str(texts), "-m", str(recall), "--pool", "mean", "-o", str(tmp_path / "vectors.npy"))
    assert done.code == 0
    assert "the model knows no word of 2 of 4 texts (line 2, 4), and their vectors say nothing about them." in done.err
    assert "-m all-MiniLM-L6-v2 reads this text." in done.err
