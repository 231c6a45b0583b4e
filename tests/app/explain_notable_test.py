"""attend explain begins with the head that says most about the text: chosen as NumPy would, told in a line, and the mean on request."""

import json
import re
from xml.etree import ElementTree

import pytest

from program import run

TEXT = "The animal didn't cross the street because it was too tired."


def shown(*arguments):
    done = run("explain", TEXT, *arguments)
    assert (done.code, done.err) == (0, ""), arguments
    return " ".join(done.out.split())


@pytest.fixture(scope="module")
def data():
    return json.loads(run("explain", TEXT, "--json").out)


def test_json_has_the_mean_and_lists_the_heads(data):
    assert data["layer"] is None and data["head"] is None
    best, *others = data["notable_heads"]
    assert (best["layer"], best["head"], best["role"]) == (4, 2, "links")
    assert (best["links"][0]["from"], best["links"][0]["to"]) == ("it", "animal")
    assert best["says"] == "68% of the weight of “it” goes to “animal”"
    roles = [head["role"] for head in others]
    assert roles == sorted(roles, key=["links", "previous", "next"].index) and {"previous", "next"} < set(roles)
    pairs = [(head["links"][0]["from"], head["links"][0]["to"]) for head in data["notable_heads"] if head["links"]]
    assert len(pairs) == len(set(pairs))


def test_their_shares_are_weights(data):
    for head in data["notable_heads"]:
        if head["role"] != "links":
            continue
        link = head["links"][0]
        links = json.loads(run("explain", TEXT, "--json", "--focus", link["from"].lower() if link["from"] != "The" else "the#1", "--to", link["to"]).out)["links"]
        weight = next(each["weight"] for each in links if (each["layer"], each["head"]) == (head["layer"], head["head"]))
        assert head["share"] == pytest.approx(link["weight"]) and weight == pytest.approx(link["weight"], abs=1e-5)


def test_the_terminal_and_figures_show_the_best_head_first(tmp_path):
    text = shown()
    assert "layer 4, head 2." in text and "Of 72 heads this one stands out: 68% of the weight of “it” goes to “animal”, 76% without [CLS] and [SEP]." in text
    assert "--mean shows the mean of all" in text
    assert shown("--layer", "4", "--head", "2").split("Who (rows)")[1] == text.split("Who (rows)")[1]
    focused = shown("--focus", "street")
    assert "goes to" in focused and "“street”" in focused.split("stands out")[1][:60]
    for view in ("map", "lines"):
        figure = "".join(ElementTree.fromstring(run("explain", TEXT, "--view", view, "--format", "svg").out).itertext())
        figure = " ".join(figure.split())
        assert "layer 4, head 2." in figure and "stands out" in figure and "--mean" not in figure
    page = run("explain", TEXT, "--format", "html").out
    assert '"layer":4,"head":2' in page.split('id="first-view">')[1][:200]


def test_a_word_that_occurs_twice_is_named_with_its_number():
    """And its share is the one that the map shows beside the share of all weight."""
    second = "The street was wide."
    text = shown("--second", second)
    number = re.search(r"stands out: \d+% of the weight of “(.+?)” goes to “(.+?)”, (\d+)% without", text)
    figure = json.loads(run("explain", TEXT, "--second", second, "--format", "figure").out)["parts"][0]
    for name in number.groups()[:2]:
        assert name in figure["row_labels"], name
    cell = figure["values"][figure["row_labels"].index(number[1])][figure["column_labels"].index(number[2])]
    assert round(100 * cell) == int(number[3])
    repeated = " ".join(run("explain", "The street met the street, and the street ended.").out.split())
    assert not re.search(r"(of|to) “(street|the)”", repeated.split("Who (rows)")[0])


def test_the_mean_on_request(data, tmp_path):
    text = shown("--mean")
    assert "mean of 6 layers × 12 heads." in text and "stands out" not in text
    assert json.loads(run("explain", TEXT, "--json", "--mean").out)["weights"] == data["weights"]
    assert '"layer":null,"head":null' in run("explain", TEXT, "--mean", "--format", "html").out.split('id="first-view">')[1][:200]
    for arguments in (["--method", "rollout"], ["--view", "model"], ["--layer", "2"]):
        assert "stands out" not in shown(*arguments)
    done = run("explain", TEXT, "--mean", "--layer", "2")
    assert done.code == 2 and "--mean is the mean over all layers and heads" in done.err


def test_all_heads_on_one_scale():
    def ranges(*arguments):
        figure = json.loads(run("explain", TEXT, "--view", "model", "--format", "figure", *arguments).out)
        return [tuple(each["range"]) for each in figure["parts"][0]["maps"]]

    own, same = ranges(), ranges("--same-scale")
    assert len(own) == 72 and len(set(own)) > 60
    assert set(same) == {max(own)}
    assert run("explain", TEXT, "--same-scale").err.count("--same-scale is for --view model") == 1
    assert '"scale":"same"' in run("explain", TEXT, "--view", "model", "--same-scale", "--format", "html").out


def test_a_model_that_has_not_learned_shows_the_mean(small_bert):
    done = run("explain", "-m", str(small_bert), "the bank of the river, money is the bank.")
    assert done.code == 0 and "mean of" in " ".join(done.out.split()) and "stands out" not in done.out
    assert "notable_heads" not in json.loads(run("explain", "-m", str(small_bert), "the bank", "--json").out)


def test_a_text_that_is_read_in_windows_shows_the_mean():
    done = run("explain", TEXT * 60, "--max-tokens", "all")
    assert done.code == 0 and "mean of 6 layers × 12 heads" in " ".join(done.out.split()) and "stands out" not in done.out
