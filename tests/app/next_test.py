"""attend next: what a language model expects, layer by layer, and what spoke for it."""

import json

import numpy as np
import pytest

import attend
from explain_guess_test import TEXT, Guesser
from program import run


def read(model, *arguments):
    done = run("next", "-m", str(model), *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    return json.loads(done.out)


def test_candidates_and_layers_against_numpy(guessing_bert):
    ids = attend.TextModel.from_pretrained(guessing_bert).tokenize(TEXT).ids
    place = len(ids) - 2
    shown = read(guessing_bert, TEXT, "--top", "5")
    assert shown["place"] == place

    plain = Guesser(guessing_bert).read(ids)
    for layer in shown["layers"]:
        logits = plain.logits(plain.hidden[layer["layer"]][place])
        chances = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        assert layer["candidates"][0]["id"] == int(np.argmax(chances))
        np.testing.assert_allclose(layer["probability"], chances[shown["watched"]["id"]], rtol=1e-4)
        assert layer["rank"] == 1 + int((chances > chances[shown["watched"]["id"]]).sum())
    assert [c["id"] for c in shown["candidates"]] == list(np.argsort(-chances, kind="stable")[:5])

    cool = read(guessing_bert, TEXT, "--top", "3", "--temperature", "0.5")
    squared = chances**2 / (chances**2).sum()
    np.testing.assert_allclose([c["probability"] for c in cool["candidates"]], np.sort(squared)[::-1][:3], rtol=1e-4)


def test_attributions_add_up(guessing_bert):
    shown = read(guessing_bert, TEXT, "--word", "river", "--steps", "200")["attribution"]
    whole = shown["logit"] - shown["neutral_logit"]
    assert abs(sum(shown["tokens"]) - whole) <= 0.02 * abs(whole) + 1e-6
    assert shown["missing"] == pytest.approx(abs(sum(shown["tokens"]) - whole) / abs(whole))
    assert read(guessing_bert, TEXT, "--attribution", "gradient")["attribution"]["method"] == "gradient"


def test_the_terminal_and_a_figure(guessing_bert, tmp_path):
    done = run("next", "-m", str(guessing_bert), TEXT)
    assert done.code == 0 and "What the model expects there" in done.out and "What each layer would say" in done.out
    figure = tmp_path / "next.svg"
    assert run("next", "-m", str(guessing_bert), TEXT, "-o", str(figure)).code == 0
    assert figure.read_text().startswith(("<?xml", "<svg"))


BAD = {
    "no mask": (["the bank"], 1, "the text has 0 places marked [MASK], expected one"),
    "two tokens": (["the [MASK]", "--word", "banks"], 1, '"banks" is 2 tokens'),
    "an encoder is patched": (["the [MASK]", "--patch", "a [MASK]"], 1, "patching needs a model that writes"),
    "an answer without a prompt": (["the [MASK]", "--other-word", "river"], 2, "there is none"),
    "a format it has not": (["the [MASK]", "-o", "x.npz"], 2, "expected a name that ends in"),
    "no temperature": (["the [MASK]", "--temperature", "0"], 2, "--temperature"),
}


@pytest.mark.parametrize("arguments, code, message", BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(guessing_bert, arguments, code, message):
    done = run("next", "-m", str(guessing_bert), *arguments)
    assert done.code == code and message in done.err and done.out == ""
