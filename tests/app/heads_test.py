"""attend heads: what each head does over many texts, against attend explain on each of them."""

import json
from xml.etree import ElementTree

import numpy as np
import pytest

from program import run, run_json

TEXTS = ["the bank of the river, money.", "Money is of the bank.", "", "the river"]


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    file = tmp_path_factory.mktemp("texts") / "texts.txt"
    file.write_text("\n".join(TEXTS) + "\n")
    return file


def heads(model, texts, *arguments):
    return run_json("heads", str(texts), "-m", str(model), *arguments)


def test_means_and_spread_over_texts(small_bert, texts):
    shown = heads(small_bert, texts)
    assert (shown["texts"], shown["empty"], shown["cut"], shown["not_finite"]) == (3, 1, 0, 0)
    single = [run_json("explain", text, "-m", str(small_bert), "--heads")["heads"] for text in TEXTS if text]
    for i, head in enumerate(shown["heads"]):
        assert (head["layer"], head["head"]) == (single[0][i]["layer"], single[0][i]["head"])
        for name in ("previous", "next", "same_token", "same_word", "first", "separator", "entropy", "broad"):
            values = [one[i][name] for one in single]
            assert head[name]["mean"] == pytest.approx(np.mean(values), abs=1e-9)
            assert head[name]["deviation"] == pytest.approx(np.std(values, ddof=1), abs=1e-9)
        assert sum(head["habits"].values()) == 3 and head["habits"][head["habit"]] == max(head["habits"].values())


def test_which_heads_link_words_and_where(small_bert, texts):
    shown = heads(small_bert, texts, "--link", "bank>article", "--layer", "2", "--head", "1", "--top", "2")
    link, = shown["links"]
    assert (link["texts"], link["words"]) == (2, 2) and len(link["heads"]) == len(shown["heads"])
    beyond = [head["weight"] - head["others"] for head in link["heads"]]
    assert beyond == sorted(beyond, reverse=True)
    best = link["examples"][0]
    assert [example["weight"] for example in link["examples"]] == sorted((example["weight"] for example in link["examples"]), reverse=True)
    assert TEXTS[best["line"] - 1] == best["text"] and best["text"][best["from"]["begin"] : best["from"]["end"]] == "bank"
    whole = run_json("explain", best["text"], "-m", str(small_bert), "--layer", "2", "--head", "1", "--special")
    places = {word["begin"]: i for i, word in enumerate(whole["words"]) if not word.get("special")}
    assert best["weight"] == pytest.approx(whole["weights"][places[best["from"]["begin"]]][places[best["to"]["begin"]]], abs=1e-9)
    said = run("heads", str(texts), "-m", str(small_bert), "--link", "bank>article").out
    assert "Which heads link bank > article (2 words in 2 texts)" in said
    said = run("heads", str(texts), "-m", str(small_bert), "--link", "cat>dog").out
    assert "No text has words of both kinds: cat > dog." in said


def test_figures_hold_the_same_lists(small_bert, texts, tmp_path):
    for name in ("a.svg", "a.png", "a.pdf", "a.txt", "a.json"):
        assert run("heads", str(texts), "-m", str(small_bert), "-o", str(tmp_path / name)) == (0, "", "")
    drawn = list(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    printed = (tmp_path / "a.txt").read_text()
    head = heads(small_bert, texts)["heads"][0]
    cell = f"{100 * head['broad']['mean']:.0f}±"
    assert any(text.startswith(cell) for text in drawn) and cell in printed and "previous" in drawn
    assert json.loads((tmp_path / "a.json").read_text())["texts"] == 3


def test_standard_input_and_json_lines(small_bert):
    done = run("heads", "-", "-m", str(small_bert), "--jsonl", "--json", "--max-texts", "1", stdin='{"text": "the bank"}\n"the river"\n')
    assert done.code == 0 and json.loads(done.out)["texts"] == 1


@pytest.mark.parametrize("arguments, code, sentence", [
    (["--link", "it"], 1, "\"it\" is not a link: expected WORDS>WORDS"),
    (["--link", "a>b>c"], 1, "is not a link"),
    (["--link", "a,>b"], 1, "has an empty item"),
    (["--layer", "1"], 2, "give both, or neither"),
    (["--layer", "1", "--head", "1"], 2, "so they need --link FROM>TO"),
    (["--layer", "1", "--head", "99", "--link", "a>b"], 2, "99"),
    (["-o", "map.doc"], 2, "expected a name that ends in .svg"),
])
def test_bad_input_is_one_sentence(small_bert, texts, arguments, code, sentence):
    done = run("heads", str(texts), "-m", str(small_bert), *arguments)
    assert done.code == code and sentence in done.err and done.out == ""


def test_no_text_at_all(small_bert, tmp_path):
    empty = tmp_path / "empty.txt"
    empty.write_text("\n \n")
    done = run("heads", str(empty), "-m", str(small_bert))
    assert done.code == 1 and "holds no text" in done.err
