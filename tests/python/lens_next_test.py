"""What a language model expects, and why: against the same in NumPy, against attend.Generator, and by what the numbers must obey."""

import json

import numpy as np
import pytest

import attend
from attend import lens
from numpy_bert import Guesser

PROMPT, OTHER = "w1 w2 w3", "w1 w2 w6"


@pytest.fixture(scope="module")
def model(counting):
    return attend.TextModel.from_pretrained(counting)


@pytest.fixture(scope="module")
def reading(model):
    return lens.read(model, PROMPT)


@pytest.fixture(scope="module")
def masked(guessing_bert):
    return lens.read(guessing_bert, "the bank of [MASK]")


def chances(logits):
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


@pytest.mark.parametrize("temperature", [1, 0.5, 2, 1e-300])
def test_candidates_are_those_of_the_generator(model, reading, temperature):
    logits = attend.Generator(model).read(model.tokenize(PROMPT).ids).astype(np.float64)
    expected = chances((logits - logits.max()) / temperature)
    order = np.argsort(-expected, kind="stable")[:3]
    shown = reading.next(top=3, temperature=temperature)
    assert shown[0].token == lens.Token(int(logits.argmax()), f"w{logits.argmax()}", f"w{logits.argmax()}")
    if temperature > 1e-9:  # else all but the first are 0, and in no order
        assert [one.token.id for one in shown] == list(order)
    np.testing.assert_allclose([one.probability for one in shown], expected[order], rtol=1e-5, atol=1e-12)
    assert [guess.token for guess in reading.guesses(top=1)] == [shown[0].token.token]


def test_places_count_from_either_end(model, reading):
    assert reading.next(place=-1) == reading.next(place=2) == reading.next()
    assert reading.next(place=-2)[0].token.id == attend.Generator(model).read([1, 2]).argmax()
    assert reading.guesses(place=-2)[0].token == reading.next(place=1)[0].token.token
    assert reading.logit_lens(place=-2).place == reading.attribute(place=-2).place == 1


def test_the_logit_lens_against_numpy(masked, guessing_bert):
    ids = attend.TextModel.from_pretrained(guessing_bert).tokenize(masked.text).ids
    plain = Guesser(guessing_bert).read(ids)
    found = masked.logit_lens(top=4, watched="river")
    assert found.place == len(ids) - 2 and found.watched.text == "river" and len(found.layers) == masked.layers + 1
    for number, layer in enumerate(found.layers):
        expected = chances(plain.logits(plain.hidden[number][found.place]))
        assert layer.layer == number
        assert [one.token.id for one in layer.candidates] == list(np.argsort(-expected, kind="stable")[:4])
        np.testing.assert_allclose([one.probability for one in layer.candidates], np.sort(expected)[::-1][:4], rtol=1e-4)
        assert layer.rank == 1 + (expected > expected[found.watched.id]).sum()
        np.testing.assert_allclose(layer.probability, expected[found.watched.id], rtol=1e-4)
    np.testing.assert_array_equal(found.probabilities, [layer.probability for layer in found.layers])
    assert found.ranks.dtype == np.int64 and list(found.ranks) == [layer.rank for layer in found.layers]


def test_the_last_layer_says_what_comes_next(reading):
    found = reading.logit_lens(top=3)
    np.testing.assert_allclose(
        [one.probability for one in found.layers[-1].candidates], [one.probability for one in reading.next(top=3)], rtol=1e-5
    )
    assert found.watched == reading.next()[0].token and found.ranks[-1] == 1


def test_attributions_add_up_to_the_difference_of_the_logits(model, reading):
    parts = reading.attribute("w4", steps=300)
    assert parts.token.id == 4 and parts.values.shape == (3,) and parts.values.dtype == np.float64
    whole = parts.logit - parts.neutral_logit
    np.testing.assert_allclose(parts.values.sum(), whole, rtol=0.01)
    assert parts.missing == pytest.approx(abs(parts.values.sum() - whole) / abs(whole), rel=1e-6)
    assert parts.missing < reading.attribute("w4", steps=2).missing
    same = reading.attribute(4, steps=300)
    np.testing.assert_array_equal(same.values, parts.values)
    # A text made of the neutral token differs in nothing from the neutral text.
    nothing = lens.read(model, "w0 w0").attribute(neutral="w0")
    np.testing.assert_array_equal(nothing.values, 0)


def test_patching_brings_an_answer_back(model, reading):
    other = lens.read(model, OTHER)
    found = lens.patch(reading, other)
    assert (found.answer.id, found.other.id) == (reading.next()[0].token.id, other.next()[0].token.id)
    logits = [attend.Generator(model).read(one).astype(np.float64) for one in ([1, 2, 3], [1, 2, 6])]
    np.testing.assert_allclose(found.clean, logits[0][found.answer.id] - logits[0][found.other.id], rtol=1e-4)
    np.testing.assert_allclose(found.changed, logits[1][found.answer.id] - logits[1][found.other.id], rtol=1e-4)
    assert found.states.shape == (3, 3) and found.heads.shape == (2, 2)
    np.testing.assert_allclose(found.states[:, :2], 0, atol=1e-6)  # those tokens are the same in both
    np.testing.assert_allclose(found.states[-1, 2], 1, atol=1e-6)  # all that the answer is made of
    only = lens.patch(reading, other, heads=False, answer="w4", other=7)
    assert only.heads is None and only.answer.text == "w4" and only.other.id == 7


def test_the_figure(model, reading, tmp_path):
    figure = reading.next_figure(patch=lens.read(model, OTHER), top=3)
    parts = json.loads(figure.json())["parts"]
    assert len(parts) == 5 and figure.title == PROMPT
    figure.save(tmp_path / "next.svg")
    assert (tmp_path / "next.svg").read_text().startswith("<svg")
    assert len(json.loads(reading.next_figure("w4", method="gradient").json())["parts"]) == 3


BAD = {
    "a place beyond": (lambda r, b: r.next(place=3), "place is 3, but there are 3 tokens, counted from 0"),
    "a place before": (lambda r, b: r.logit_lens(place=-4), "place is -4"),
    "no temperature": (lambda r, b: r.next(temperature=0), "temperature is 0, expected a positive number"),
    "no candidates": (lambda r, b: r.next(top=0), "top is 0"),
    "no such token": (lambda r, b: r.attribute(10), "token is 10, expected 0 to 9"),
    "a token beyond 32 bits": (lambda r, b: r.attribute(2**40), "not a token of the model"),
    "two tokens": (lambda r, b: r.attribute("w1 w2"), '"w1 w2" is 2 tokens'),
    "an unknown method": (lambda r, b: r.attribute(method="saliency"), 'method is "saliency", expected'),
    "too many steps": (lambda r, b: r.attribute(steps=10**6), "steps is 1000000, expected 1 to 10000"),
    "two masks": (lambda r, b: lens.patch(b, b), "patching needs a model that writes"),
    "another model": (lambda r, b: lens.patch(r, b), "read by different models"),
    "the same answer": (lambda r, b: lens.patch(r, r), "both prompts have the same answer"),
    "an answer to nothing": (lambda r, b: r.next_figure(other_word="w3"), "there is none"),
}


@pytest.mark.parametrize("call, message", BAD.values(), ids=BAD)
def test_what_is_refused(reading, masked, call, message):
    with pytest.raises(ValueError) as refused:
        call(reading, masked)
    assert message in str(refused.value)
    with pytest.raises(TypeError, match="token is neither a str nor the number of a token"):
        reading.attribute(1.5)
