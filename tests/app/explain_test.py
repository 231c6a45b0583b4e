"""attend explain and attend compare on a small BERT and on the default model, against NumPy in float64; bad input."""

import json
import re
import subprocess
from xml.etree import ElementTree

import numpy as np
import pytest

import attend
from numpy_bert import NumpyBert, between_words, read_safetensors
from program import PROGRAM, run

TEXT = "The river-bank of the river, money."
WORDS = ["[CLS]", "The", "river-bank", "of", "the", "river", ",", "money", ".", "[SEP]"]
TOKENS = [(0, 1), (1, 2), (2, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (11, 12)]  # of each word
DEFAULT = "sentence-transformers/all-MiniLM-L6-v2"


@pytest.fixture(scope="module")
def bert(small_bert):
    ids = attend.TextModel.from_pretrained(small_bert).tokenize(TEXT).ids
    return NumpyBert(small_bert).read(ids)


def cosine(a, b):
    return float(a @ b / np.linalg.norm(a) / np.linalg.norm(b))


def explain(model, *arguments, text=TEXT):
    done = run("explain", "-m", str(model), text, "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


@pytest.mark.parametrize("method", ["raw", "norm"])
@pytest.mark.parametrize("layer, head", [(None, None), (1, None), (2, 2)])
def test_maps_between_words_and_tokens(small_bert, bert, method, layer, head):
    choice = [] if layer is None else ["--layer", str(layer)]
    choice += [] if head is None else ["--head", str(head)]
    tokens = bert.map(method, layer, head)
    words = between_words(tokens, TOKENS)

    whole = explain(small_bert, "--method", method, "--special", *choice)
    assert [word["text"] for word in whole["words"]] == WORDS
    assert [tuple(word["tokens"]) for word in whole["words"]] == TOKENS
    np.testing.assert_allclose(whole["weights"], words, atol=1e-6)

    shown = explain(small_bert, "--method", method, *choice)
    assert [word["text"] for word in shown["words"]] == WORDS[1:-1] and [word["text"] for word in shown["left_out"]] == ["[CLS]", "[SEP]"]
    inner = words[1:-1, 1:-1]
    np.testing.assert_allclose(shown["weights"], inner / inner.sum(axis=1, keepdims=True), atol=1e-6)
    np.testing.assert_allclose(np.sum(shown["weights"], axis=1), 1, atol=1e-12)
    assert shown["special_share"] == pytest.approx(1 - inner.sum(axis=1).mean(), abs=1e-6)

    every = explain(small_bert, "--method", method, "--tokens", "--special", *choice)
    np.testing.assert_allclose(every["weights"], tokens, atol=1e-6)
    assert [unit["text"] for unit in every["units"]] == every["tokens"]


def test_the_focus_looks_and_takes(small_bert, bert):
    focus = explain(small_bert, "--focus", "river-bank", "--layer", "1")["focus"]
    assert (focus["text"], focus["index"]) == ("river-bank", 1)
    for method in ("raw", "norm"):
        row = between_words(bert.map(method, 1), TOKENS)[2]
        np.testing.assert_allclose(focus[method]["values"], row[1:-1] / row[1:-1].sum(), atol=1e-6)
        assert focus[method]["special"] == pytest.approx(row[0] + row[-1], abs=1e-6)
    special = explain(small_bert, "--focus", "[SEP]")  # then special tokens are shown
    assert special["focus"]["index"] == 9 and special["left_out"] == []


def test_rollout_and_flow(small_bert, bert):
    product = np.eye(len(bert.static))
    for layer in range(1, bert.layers + 1):
        product = (bert.attention[layer].mean(axis=0) + np.eye(len(product))) / 2 @ product
    shown = explain(small_bert, "--method", "rollout", "--special", "--focus", "money")
    np.testing.assert_allclose(shown["weights"], between_words(product, TOKENS), atol=1e-6)
    np.testing.assert_allclose(shown["focus"]["rollout"]["values"], between_words(product, TOKENS)[7], atol=1e-6)
    flow = explain(small_bert, "--method", "flow", "--special", "--focus", "money")
    assert "weights" not in flow  # each is at least what rollout, which is one way to send it, brings
    assert np.all(np.array(flow["focus"]["flow"]["values"]) >= between_words(product, TOKENS)[7] - 1e-6)


def test_what_heads_do(small_bert, bert):
    shown = explain(small_bert, "--focus", "money", "--to", "river", "--heads")
    best = shown["links"][0]
    weights = {(layer, head): bert.attention[layer][head - 1][9, 7] for layer in range(1, bert.layers + 1) for head in range(1, bert.heads + 1)}
    assert (best["layer"], best["head"]) == max(weights, key=weights.get)
    assert [link["weight"] for link in shown["links"]] == pytest.approx(sorted(weights.values(), reverse=True), abs=1e-6)
    for profile in shown["heads"]:
        matrix = bert.attention[profile["layer"]][profile["head"] - 1][1:-1]
        assert profile["separator"] == pytest.approx((matrix[:, 0] + matrix[:, -1]).mean(), abs=1e-6)
    received = np.mean([bert.attention[layer].mean(axis=0) for layer in range(1, bert.layers + 1)], axis=0).mean(axis=0)
    expected = [received[first:last].sum() for first, last in TOKENS[1:-1]]
    np.testing.assert_allclose(shown["received"], expected, atol=1e-6)
    text = run("explain", "-m", str(small_bert), TEXT, "--focus", "money", "--to", "river", "--heads", "--top", "2").out
    assert "Which heads link “money” to “river”" in text and "What each head does" in text


def test_relations_are_the_mean_of_their_pairs(small_bert, bert):
    shown = explain(small_bert, "--relation", "odd:money>river,of>river-bank,river>,", "--relation", "money>of")
    places = {word: i for i, word in enumerate(WORDS)}
    for relation, name, pairs in zip(shown["relations"], ["odd", "money>of"], [[("money", "river"), ("of", "river-bank"), ("river", ",")], [("money", "of")]]):
        assert relation["name"] == name and [tuple(pair) for pair in relation["pairs"]] == pairs
        weights = [link["weight"] for link in relation["links"]]
        assert weights == sorted(weights, reverse=True) and len(weights) == bert.layers * bert.heads
        for link in relation["links"]:
            words = between_words(bert.map("raw", link["layer"], link["head"]), TOKENS)
            assert link["weight"] == pytest.approx(np.mean([words[places[a], places[b]] for a, b in pairs]), abs=1e-6)
    text = run("explain", "-m", str(small_bert), TEXT, "--relation", "odd:money>river,of>river-bank").out
    assert "Which heads link odd, the mean of “money” to “river”, “of” to “river-bank”" in " ".join(text.split())


def test_what_brought_two_texts_together(small_bert, bert):
    other = "the bank of money"
    shown = explain(small_bert, "--method", "grad", "--towards", other, "--special", "--focus", "money")
    encoder = attend.TextModel.from_pretrained(small_bert)
    target = NumpyBert(small_bert).read(encoder.tokenize(other).ids).hidden[-1].mean(axis=0)
    # weight × slope, each slope by a difference of two passes with one weight changed
    ids = encoder.tokenize(TEXT).ids
    helped = np.zeros((len(ids), len(ids)))
    step, edited = 1e-5, NumpyBert(small_bert)
    for layer in range(1, bert.layers + 1):
        for head in range(bert.heads):
            for query in range(len(ids)):
                for key in range(len(ids)):
                    values = []
                    for change in (step, -step):
                        edited.nudge = (layer, head, query, key, change)
                        values.append(cosine(edited.read(ids).hidden[-1].mean(axis=0), target))
                    slope = (values[0] - values[1]) / (2 * step)
                    helped[query, key] += max(0, bert.attention[layer][head][query, key] * slope)
    words = between_words(helped, TOKENS)
    np.testing.assert_allclose(shown["weights"], words / words.sum(), atol=1e-5)
    np.testing.assert_allclose(shown["focus"]["grad"]["values"], words[7] / words[7].sum(), atol=1e-4)


@pytest.mark.parametrize("edit", ["2.1", "1", "money>river", "1.2:money>river-bank=0.5"])
def test_what_the_output_depends_on(small_bert, bert, edit):
    shown = explain(small_bert, "--ablate", edit)["change"]
    edited = NumpyBert(small_bert)
    place, _, words = edit.rpartition(":") if ">" in edit else (edit, "", "")
    layer, _, head = place.partition(".")
    scale = float(edit.partition("=")[2] or 0)
    edited.scaled = (int(layer or 0), int(head or 0) - 1, {"money>river": (9, 7), "money>river-bank=0.5": (9, slice(2, 5))}.get(words), scale)
    edited.read(attend.TextModel.from_pretrained(small_bert).tokenize(TEXT).ids)
    before, after = bert.hidden[-1], edited.hidden[-1]
    assert shown["text_cosine"] == pytest.approx(cosine(before.mean(axis=0), after.mean(axis=0)), abs=1e-6)
    distance = np.linalg.norm(after.mean(axis=0) - before.mean(axis=0)) / np.linalg.norm(before.mean(axis=0))
    assert shown["text_distance"] == pytest.approx(distance, abs=1e-5) and shown["text_distance"] > 1e-4
    expected = [cosine(before[first:last].mean(axis=0), after[first:last].mean(axis=0)) for first, last in TOKENS]
    np.testing.assert_allclose(shown["word_cosines"], expected, atol=1e-5)


def test_every_format(small_bert, tmp_path):
    shown = explain(small_bert, "--focus", "money")
    for name in ("map.svg", "map.png", "map.pdf", "map.json", "map.npz", "map.safetensors", "map.txt"):
        done = run("explain", "-m", str(small_bert), TEXT, "--focus", "money", "-o", str(tmp_path / name))
        assert (done.code, done.out, done.err) == (0, "", ""), name
    assert json.loads((tmp_path / "map.json").read_text()) == shown
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG") and (tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
    assert "river-bank" in (tmp_path / "map.txt").read_text()
    for arrays in (np.load(tmp_path / "map.npz"), read_safetensors(tmp_path / "map.safetensors")):
        np.testing.assert_allclose(arrays["weights"], shown["weights"])
        np.testing.assert_allclose(arrays["focus_norm"], shown["focus"]["norm"]["values"])
        assert arrays["focus"][0] == shown["focus"]["index"]
        np.testing.assert_array_equal(arrays["spans"], [word["tokens"] for word in shown["words"]])
    ElementTree.fromstring((tmp_path / "map.svg").read_text())
    svg = run("explain", "-m", str(small_bert), TEXT, "--format", "svg").out
    texts = "".join(ElementTree.fromstring(svg).itertext())
    assert "river-bank" in texts and "not by themselves an explanation" in " ".join(texts.split())


def test_a_page(small_bert, tmp_path):
    first = ["--focus", "money", "--layer", "1", "--head", "2", "--method", "norm", "--tokens", "--special", "--view", "lines"]
    done = run("explain", "-m", str(small_bert), TEXT, *first, "-o", str(tmp_path / "page.html"))
    assert (done.code, done.out, done.err) == (0, "", "")
    page = (tmp_path / "page.html").read_text()
    assert page == run("explain", "-m", str(small_bert), TEXT, *first, "--format", "html").out
    carried = {name: json.loads(re.search(f'id="{name}">([^<]*)</script>', page)[1]) for name in ("facts", "first-view")}
    view = carried["first-view"]
    assert (view["tab"], view["method"], view["units"], view["special"], view["layer"], view["head"]) == ("lines", "norm", "tokens", True, 1, 2)
    assert carried["facts"]["tokens"][view["row"]]["text"] == "money"
    assert carried["facts"]["text"] == TEXT


@pytest.mark.parametrize("view", ["map", "lines", "model", "film"])
def test_every_view(small_bert, view, tmp_path):
    text = run("explain", "-m", str(small_bert), TEXT, "--view", view)
    assert (text.code, text.err) == (0, "")
    page = run("explain", "-m", str(small_bert), TEXT, "--view", view, "-o", str(tmp_path / "page.svg"))
    assert (page.code, page.err) == (0, "")
    ElementTree.fromstring((tmp_path / "page.svg").read_text())


def test_a_full_disk_leaves_nothing(small_bert):
    done = run("explain", "-m", str(small_bert), TEXT, "-o", "/dev/full/map.svg")
    assert done.code == 1 and len(done.err.splitlines()) == 1
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, "explain", "-m", small_bert, TEXT], stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "No space left on device" in done.stderr


@pytest.mark.parametrize("view", ["map", "lines", "model", "film"])
def test_gradients_in_every_view(small_bert, view):
    done = run("explain", "-m", str(small_bert), TEXT, "--method", "grad", "--towards", "money is the bank", "--view", view)
    assert (done.code, done.err) == (0, "")
    assert "[CLS] and [SEP] stand for no word" in done.out and "on average" not in done.out  # grad has no shares of a row


def test_a_pair_of_texts(small_bert):
    pair = explain(small_bert, "--second", "money is the bank", text="the river")
    assert [(word["text"], word.get("part", 0)) for word in pair["words"]] == \
        [("the", 0), ("river", 0), ("money", 1), ("is", 1), ("the", 1), ("bank", 1)]
    assert explain(small_bert, "--second", "the bank", "--focus", "the#2", text="the river")["focus"]["index"] == 2


def test_from_a_file_and_a_pipe(small_bert, tmp_path):
    file = tmp_path / "text.txt"
    file.write_text(TEXT + "\n")
    expected = run("explain", "-m", str(small_bert), TEXT).out
    assert run("explain", "-m", str(small_bert), str(file)).out == expected
    assert run("explain", "-m", str(small_bert), "-", stdin=TEXT + "\r\n").out == expected
    assert "river-bank" in expected and "not by themselves an explanation" in " ".join(expected.split())


def test_the_default_sentence_with_the_default_model():
    folder = attend.TextModel.from_pretrained(DEFAULT).folder
    done = run("explain", "--json")
    assert (done.code, done.err) == (0, "")
    shown = json.loads(done.out)
    assert shown["text"] == "The animal didn't cross the street because it was too tired." and shown["focus"]["text"] == "it"
    bert = NumpyBert(folder).read(attend.TextModel.from_pretrained(DEFAULT).tokenize(shown["text"]).ids)
    words = [tuple(word["tokens"]) for word in shown["words"]]
    inner = between_words(bert.map("raw"), words)  # columns without [CLS] and [SEP]
    np.testing.assert_allclose(shown["weights"], inner / inner.sum(axis=1, keepdims=True), atol=1e-5)


def compare(model, *arguments):
    done = run("compare", "-m", str(model), *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_one_word_in_two_texts(small_bert):
    texts = ["the river bank", "money is the banks , the"]
    shown = compare(small_bert, *texts, "--word", "bank", "--other-word", "banks")
    encoder = attend.TextModel.from_pretrained(small_bert)
    first, second = (NumpyBert(small_bert).read(encoder.tokenize(text).ids) for text in texts)
    places = [slice(3, 4), slice(4, 6)]  # "banks" is two tokens
    [pair] = shown["pairs"]
    assert pair["static"] == pytest.approx(cosine(first.static[places[0]].mean(axis=0), second.static[places[1]].mean(axis=0)), abs=1e-6)
    for layer, value in enumerate(pair["layers"]):
        expected = cosine(first.hidden[layer][places[0]].mean(axis=0), second.hidden[layer][places[1]].mean(axis=0))
        assert value == pytest.approx(expected, abs=1e-5)
    assert len(pair["layers"]) == first.layers + 1

    taken = shown["occurrences"][0]
    row = between_words(first.map("norm"), [(i, i + 1) for i in range(5)])[3]
    assert [word["text"] for word in taken["taken"]] == [w for _, w in sorted([(-row[1], "the"), (-row[2], "river")])]
    assert taken["itself"] == pytest.approx(row[3], abs=1e-6) and taken["special"] == pytest.approx(row[0] + row[4], abs=1e-6)
    assert sum(word["share"] for word in taken["taken"]) + taken["itself"] + taken["special"] == pytest.approx(1, abs=1e-9)


def test_occurrences_in_one_text(small_bert):
    shown = compare(small_bert, "The bank , the money", "--word", "the")
    assert [one["word"] for one in shown["occurrences"]] == ["The", "the"]
    assert shown["pairs"][0]["static"] == 1.0 and shown["pairs"][0]["layers"][0] < 1
    many = compare(small_bert, "the the the the the the", "--word", "the")
    assert len(many["occurrences"]) == 4 and [(pair["first"], pair["second"]) for pair in many["pairs"]] == \
        [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3)]
    text = run("compare", "-m", str(small_bert), "the bank , the", "--word", "the")
    assert text.code == 0 and "static  1.0000" in text.out


BAD = {
    "empty": (["explain", ""], 1, "attend explain: the text is empty\n"),
    "blank": (["explain", " \n "], 1, "attend explain: the text is empty\n"),
    "a folder": (["explain", "/"], 1, "attend explain: / is a folder, expected a text or a file of text\n"),
    "no such word": (["explain", "the banks", "--focus", "bank"], 1, 'attend explain: there is no word "bank" in the text; close to it: "banks"\n'),
    "twice": (["explain", "the bank the", "--focus", "the"], 1,
              'attend explain: "the" occurs 2 times; choose one with "the#1" to "the#2"\n'),
    "thrice": (["explain", "the bank the", "--focus", "the#3"], 1, 'attend explain: "the" occurs 2 times, so there is no "the#3"\n'),
    "layer": (["explain", "the", "--layer", "9"], 2, "--layer is 9, and layers count from 1 to "),
    "layer 0": (["explain", "the", "--layer", "0"], 2, "--layer is 0, and layers count from 1 to "),
    "head": (["explain", "the", "--layer", "1", "--head", "99"], 2, "--head is 99, and heads count from 1 to "),
    "head 0": (["explain", "the", "--layer", "1", "--head", "0"], 2, "--head is 0, and heads count from 1 to "),
    "no head 0 to ablate": (["explain", "the", "--ablate", "1.0"], 1, "head is 0, and heads count from 1 to "),
    "head alone": (["explain", "the", "--head", "1"], 2, "--head needs --layer"),
    "flow of what": (["explain", "the", "--method", "flow"], 2, "--method flow is for one word"),
    "to nothing": (["explain", "the bank", "--focus", "the", "--to", "banc"], 1, 'there is no word "banc" in the text; close to it: "bank"'),
    "to alone": (["explain", "the bank", "--to", "bank"], 2, "--to needs --focus"),
    "rollout of a head": (["explain", "the", "--method", "rollout", "--layer", "1", "--head", "1"], 1, "rollout follows paths through all heads"),
    "grad of what": (["explain", "the", "--method", "grad"], 2, "--towards TEXT, the similarity to another text, or --guess WORD"),
    "grad of two": (["explain", "the", "--method", "grad", "--towards", "bank", "--guess", "bank"], 2, "--method grad needs an output to explain"),
    "guess": (["explain", "the", "--guess", "bank"], 2, "--guess is for --method grad"),
    "no relation": (["explain", "the bank", "--relation", "name:the"], 1, '"name:the" is not a relation: expected NAME:WORD>WORD'),
    "half a relation": (["explain", "the bank", "--relation", "the>"], 1, '"the>" is not a relation'),
    "no word to relate": (["explain", "the bank", "--relation", "the>river"], 1, 'there is no word "river"'),
    "towards": (["explain", "the", "--towards", "bank"], 2, "--towards is for --method grad"),
    "no edit": (["explain", "the", "--ablate", "nonsense"], 1, '"nonsense" is not an edit: expected LAYER'),
    "no layer to ablate": (["explain", "the", "--ablate", "9.1"], 1, "layer is 9, and layers count from 1 to "),
    "no word to ablate": (["explain", "the bank", "--ablate", "the>river"], 1, 'there is no word "river"'),
    "an endless scale": (["explain", "the", "--ablate", "1.1=inf"], 1, "is not finite"),
    "page of flow": (["explain", "the", "--focus", "the", "--method", "flow", "-o", "a.html"], 2, "--format html shows raw, norm and rollout, not flow"),
    "page of lists": (["explain", "the bank", "--focus", "the", "--to", "bank", "--format", "html"], 2, "--format html is a page of maps"),
    "page of rollout": (["explain", "the", "--method", "rollout", "--layer", "1", "--head", "1", "--format", "html"], 2, "not one head"),
    "format": (["explain", "the", "-o", "map.doc"], 2, "expected a name that ends in .svg"),
    "format without a file": (["explain", "the", "--format", "png"], 2, "--format png needs -o FILE"),
    "no such folder": (["explain", "the", "-o", "/nowhere/map.svg"], 1, "/nowhere"),
    "method": (["explain", "the", "--method", "magic"], 2, "magic"),
    "once": (["compare", "the bank", "--word", "bank"], 1, '"bank" occurs once in the text; give a second text'),
    "missing": (["compare", "the bank", "the river", "--word", "bank"], 1, 'there is no word "bank" in the text'),
    "no word": (["compare", "the bank", "the bank"], 2, "--word"),
    "both pipes": (["compare", "-", "-", "--word", "a"], 2, "only one of the texts can be standard input"),
    "other": (["compare", "a b a", "--word", "a", "--other-word", "b"], 2, "--other-word is for a second text"),
}


@pytest.mark.parametrize("arguments, code, message", BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(small_bert, arguments, code, message):
    done = run(*arguments, "-m", str(small_bert))
    assert done.code == code and message in done.err and done.out == ""
    assert len(done.err.splitlines()) == (1 if code == 1 else 2)


def test_texts_that_are_too_long(small_bert, tmp_path):
    done = run("explain", "-m", str(small_bert), "the " * 100)
    assert done.code == 0 and done.err == "The text has 102 tokens, and only the first 40 were read. --max-tokens all reads the whole text, in windows.\n"
    huge = tmp_path / "huge.txt"
    huge.write_bytes(b"the bank " * 600_000)
    done = run("explain", "-m", str(small_bert), str(huge))
    assert done.code == 1 and done.err == f"attend explain: {huge} has more than 4 MiB, which is more than a model reads\n"


def test_a_missing_model():
    done = run("explain", "the", "-m", "org/nowhere")
    assert done.code == 1 and "`attend pull org/nowhere` downloads it" in done.err and len(done.err.splitlines()) == 1
