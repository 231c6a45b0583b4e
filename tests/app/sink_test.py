"""The first token of a model that writes, left out where attention rests on it: in the terminal, figures, JSON, arrays, pages and the explorer."""

import json
import re

import numpy as np
import pytest

from explorer import Explorer
from program import run

TEXT = "The banks of the river, money is unknown."
NOTE = "of the attention rests on the first token, “The”, and is left out"


def explain(model, *arguments, text=TEXT):
    done = run("explain", "-m", str(model), text, "--json", *arguments)
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def folded(map_):
    inner = np.array(map_)[1:, 1:]
    return inner / inner.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("method", ["raw", "norm", "rollout"])
@pytest.mark.parametrize("choice", [[], ["--layer", "1"], ["--layer", "2", "--head", "3"]])
def test_the_map_without_it_adds_up_to_one(sinking_model, method, choice):
    if method == "rollout" and "--head" in choice:
        return
    whole = explain(sinking_model, "--method", method, "--sink", "keep", *choice)
    shown = explain(sinking_model, "--method", method, *choice)
    assert [word["text"] for word in shown["words"]] == [word["text"] for word in whole["words"]][1:] and shown["left_out"] == []
    np.testing.assert_allclose(shown["weights"], folded(whole["weights"]), atol=1e-6)
    assert not whole["sink"]["folded"] and "map_share" not in whole["sink"]
    sink = shown["sink"]
    assert (sink["token"], sink["special"], sink["is_sink"], sink["folded"]) == ("The", False, True, True)
    assert sink["share"] == whole["sink"]["share"]  # of the text, whatever part of it is shown
    assert sink["map_share"] == pytest.approx(np.array(whole["weights"])[1:, 0].mean(), abs=1e-6)


def test_its_share_is_that_of_all_heads(sinking_model):
    rows = [np.array(explain(sinking_model, "--tokens", "--sink", "keep", "--layer", str(layer), "--head", str(head))["weights"])[2:, 0]
            for layer in (1, 2) for head in (1, 2, 3, 4)]
    assert explain(sinking_model)["sink"]["share"] == pytest.approx(np.mean(rows), abs=1e-6)


def test_a_word_of_several_tokens_keeps_the_others(sinking_model):
    text = "Unknown banks of the river."
    whole = np.array(explain(sinking_model, "--tokens", "--sink", "keep", text=text)["weights"])
    shown = explain(sinking_model, text=text)
    assert shown["words"][0] == {"text": "Unknown", "begin": 2, "end": 7, "tokens": [1, 2]} and shown["sink"]["token"] == "un"
    np.testing.assert_allclose(shown["weights"][0], [1] + [0] * (len(shown["words"]) - 1), atol=1e-6)
    row = whole[4, 1:] / whole[4, 1:].sum()  # "of" is the fifth token
    np.testing.assert_allclose(shown["weights"][2][:3], [row[0], row[1] + row[2], row[3]], atol=1e-6)


def test_a_focus_on_it_shows_it(sinking_model):
    shown = explain(sinking_model, "--focus", "The")
    assert not shown["sink"]["folded"] and shown["words"][0]["text"] == "The" and shown["focus"]["index"] == 0
    other = explain(sinking_model, "--focus", "money")
    assert other["sink"]["folded"] and other["words"][other["focus"]["index"]]["text"] == "money"
    whole = explain(sinking_model, "--focus", "money", "--sink", "keep")["focus"]["raw"]
    assert other["focus"]["raw"]["sink"] == pytest.approx(whole["values"][0], abs=1e-6) and whole["sink"] == 0
    assert sum(other["focus"]["raw"]["values"]) == pytest.approx(1)


def test_every_report_says_so(sinking_model):
    model = ["-m", str(sinking_model), TEXT]
    said = " ".join(run("explain", *model).out.split())
    assert re.search(r"\d\d% " + NOTE, said) and "--sink keep shows it" in said
    assert "% went to the first token)" in run("explain", *model, "--focus", "money").out
    kept = run("explain", *model, "--sink", "keep").out
    assert NOTE not in kept and "of the attention of all heads rests on the first token, “The”." in " ".join(kept.split())
    for view in ("map", "lines", "model", "film"):
        figure = json.loads(run("explain", *model, "--view", view, "--format", "figure").out)
        assert any(NOTE in note for note in figure["notes"]), view


def test_arrays(sinking_model, tmp_path):
    for choice, value in (("auto", 1), ("keep", 0)):
        file = tmp_path / f"{choice}.npz"
        assert run("explain", "-m", str(sinking_model), TEXT, "--sink", choice, "-o", str(file)).code == 0
        arrays = np.load(file)
        assert arrays["sink"][1] == value and arrays["sink"][0] > 0.5 and len(arrays["spans"]) == 10 - value == len(arrays["weights"])


def test_fold_and_keep_can_be_forced(sinking_model, small_bert):
    assert not explain(sinking_model, text="the of")["sink"]["folded"]
    forced = explain(sinking_model, "--sink", "fold", text="the of")
    assert forced["sink"]["folded"] and forced["sink"]["share"] is None and forced["weights"] == [[1.0]]
    assert not explain(sinking_model, "--sink", "fold", text="the")["sink"]["folded"]  # nothing else would be left
    refused = run("explain", "-m", str(small_bert), "the bank", "--sink", "fold")
    assert refused.code != 0 and "the first token is only folded where every token looks back" in refused.err
    assert "sink" not in explain(small_bert, text="the bank")
    assert run("explain", "-m", str(sinking_model), TEXT, "--sink", "hide").code != 0


def facts_of(page):
    return json.loads(re.search(r'id="facts">([^<]*)<', page)[1])


def test_pages_carry_it(sinking_model):
    facts = facts_of(run("explain", "-m", str(sinking_model), TEXT, "--format", "html").out)
    share = explain(sinking_model)["sink"]["share"]
    assert facts["sink"] == {"token": "The", "share": pytest.approx(share), "special": False, "isSink": True, "folded": True}
    assert not facts_of(run("explain", "-m", str(sinking_model), TEXT, "--format", "html", "--sink", "keep").out)["sink"]["folded"]


def test_the_explorer_serves_maps_without_it(sinking_model):
    with Explorer(sinking_model, TEXT) as explorer:
        answer = explorer.get("/api/read", {"text": TEXT, "model": str(sinking_model)})
        assert answer["facts"]["sink"]["folded"]
        for method, units in (("raw", "words"), ("norm", "tokens"), ("rollout", "words")):
            expected = np.array(explain(sinking_model, "--method", method, *(["--tokens"] if units == "tokens" else []))["weights"])
            question = f"method={method}&units={units}&special=0&first=0"
            rows = [explorer.numbers(f"/api/{answer['id']}/row?{question}&row={row}") for row in range(len(expected))]
            np.testing.assert_allclose(rows, expected, atol=1e-6)
            values, error = explorer.tile(f"/api/{answer['id']}/tile?{question}&level=0&y=0&x=0")
            np.testing.assert_allclose(values, expected, atol=error)
        whole = explorer.numbers(f"/api/{answer['id']}/row?first=1&row=3")
        np.testing.assert_allclose(whole, explain(sinking_model, "--sink", "keep")["weights"][3], atol=1e-6)
        status, _, body = explorer.ask(f"/api/{answer['id']}/row?first=2&row=3")
        assert status == 400 and b"parameter first is neither 0 nor 1" in body
    with Explorer(sinking_model, TEXT, "--sink", "keep") as explorer:
        assert not explorer.get("/api/read", {"text": TEXT, "model": str(sinking_model)})["facts"]["sink"]["folded"]


def test_heads_that_share_keys_are_named_with_them(sinking_model, small_bert):
    shown = explain(sinking_model, "--layer", "2", "--head", "3", "--heads", "--focus", "money", "--to", "banks")
    assert (shown["head"], shown["key_head"], shown["key_heads"]) == (3, 2, 2)
    assert [(head["head"], head["key_head"]) for head in shown["heads"]][:4] == [(1, 1), (2, 1), (3, 2), (4, 2)]
    assert all(link["key_head"] == (link["head"] + 1) // 2 for link in shown["links"])
    said = run("explain", "-m", str(sinking_model), TEXT, "--layer", "2", "--head", "3", "--heads").out
    assert "layer 2, head 3 (keys 2 of 2)." in said and "4 (keys 2 of 2)" in said and "share keys and values" in said
    plain = explain(small_bert, "--layer", "1", "--head", "3", text="the bank")
    assert plain["key_head"] == 3 and plain["key_heads"] == 4
    assert "(keys" not in run("explain", "-m", str(small_bert), "the bank", "--layer", "1", "--head", "3").out


def test_grids_of_heads_are_grouped(sinking_model, small_bert):
    figure = json.loads(run("explain", "-m", str(sinking_model), TEXT, "--view", "model", "--format", "figure").out)
    assert figure["parts"][0]["group"] == 2 and "every 2 share keys and values" in figure["notes"][0]
    figure = json.loads(run("explain", "-m", str(small_bert), TEXT, "--view", "model", "--format", "figure").out)
    assert "group" not in figure["parts"][0] and "share" not in figure["notes"][0]
    facts = facts_of(run("explain", "-m", str(sinking_model), TEXT, "--format", "html").out)
    assert [layer["keyHeads"] for layer in facts["attends"]] == [2, 2]
