"""attend next: what a language model expects, layer by layer, and what spoke for it."""

import json

import numpy as np
import pytest

import attend
from explain_guess_test import TEXT
from numpy_bert import Guesser, read_safetensors
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


PROMPT, OTHER = "w1 w2 w3", "w1 w2 w6"


def test_the_same_numbers_in_a_file_of_arrays_and_in_python(counting, tmp_path):
    shown = read(counting, PROMPT, "--patch", OTHER, "--top", "4", "--steps", "8")
    file = tmp_path / "next.npz"
    assert run("next", "-m", str(counting), PROMPT, "--patch", OTHER, "--top", "4", "--steps", "8", "-o", str(file)) == (0, "", "")
    arrays = dict(np.load(file))
    assert arrays["ids"].tolist() == [1, 2, 3] and arrays["other_ids"].tolist() == [1, 2, 6] and arrays["place"] == shown["place"]
    assert arrays["candidate_ids"].tolist() == [one["id"] for one in shown["candidates"]]
    np.testing.assert_array_equal(arrays["candidate_probabilities"], [one["probability"] for one in shown["candidates"]])
    assert arrays["layer_ids"].tolist() == [[one["id"] for one in layer["candidates"]] for layer in shown["layers"]]
    assert arrays["layer_probabilities"].shape == (3, 3)
    np.testing.assert_array_equal(arrays["watched_probabilities"], [layer["probability"] for layer in shown["layers"]])
    assert arrays["watched_ranks"].tolist() == [layer["rank"] for layer in shown["layers"]]
    np.testing.assert_array_equal(arrays["attributions"], shown["attribution"]["tokens"])
    assert arrays["logits"].tolist() == [shown["attribution"]["logit"], shown["attribution"]["neutral_logit"]]
    patching = shown["patching"]
    np.testing.assert_array_equal(arrays["patched_states"], patching["states"])
    np.testing.assert_array_equal(arrays["patched_heads"], patching["heads"])
    assert arrays["patched_answers"].tolist() == [patching["answer"]["id"], patching["other_answer"]["id"]]
    assert arrays["patched_differences"].tolist() == [patching["clean"], patching["changed"]]

    model = attend.TextModel.from_pretrained(counting)
    reading, other = (attend.lens.read(model, text) for text in (PROMPT, OTHER))
    assert [one.token.id for one in reading.next(top=4)] == arrays["candidate_ids"].tolist()
    np.testing.assert_array_equal(reading.logit_lens().probabilities, arrays["watched_probabilities"])
    np.testing.assert_array_equal(reading.attribute(steps=8).values, arrays["attributions"])
    np.testing.assert_array_equal(attend.lens.patch(reading, other).heads, arrays["patched_heads"])

    alone = tmp_path / "next.safetensors"
    assert run("next", "-m", str(counting), PROMPT, "-o", str(alone)).code == 0
    assert "patched_heads" not in (found := read_safetensors(alone)) and found["watched"].tolist() == [shown["watched"]["id"]]


BAD = {
    "no mask": (["the bank"], 1, "the text has 0 places marked [MASK], expected one"),
    "two tokens": (["the [MASK]", "--word", "banks"], 1, '"banks" is 2 tokens'),
    "an encoder is patched": (["the [MASK]", "--patch", "a [MASK]"], 1, "patching needs a model that writes"),
    "an answer without a prompt": (["the [MASK]", "--other-word", "river"], 2, "there is none"),
    "a format it has not": (["the [MASK]", "-o", "x.npy"], 2, "expected a name that ends in"),
    "no temperature": (["the [MASK]", "--temperature", "0"], 2, "--temperature"),
}


@pytest.mark.parametrize("arguments, code, message", BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(guessing_bert, arguments, code, message):
    done = run("next", "-m", str(guessing_bert), *arguments)
    assert done.code == code and message in done.err and done.out == ""
