"""attend explain --guess: what a language model expects at a mask, and what spoke for it; against NumPy in float64."""

import json

import numpy as np
import pytest

import attend
from numpy_bert import Guesser
from program import run

TEXT = "the bank of [MASK]"
TOKEN = "river"


def test_what_is_expected_and_what_spoke_for_it(guessing_bert):
    encoder = attend.TextModel.from_pretrained(guessing_bert)
    ids = encoder.tokenize(TEXT).ids
    token = encoder.tokenize(TOKEN).ids[1]
    place = len(ids) - 2
    done = run("explain", "-m", str(guessing_bert), TEXT, "--method", "grad", "--guess", TOKEN, "--tokens", "--special", "--top", "5", "--json")
    assert (done.code, done.err) == (0, "")
    shown = json.loads(done.out)

    plain = Guesser(guessing_bert).read(ids)
    logits = plain.logits(plain.hidden[-1][place])
    chances = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
    order = np.argsort(-chances, kind="stable")[:5]
    assert [guess["id"] for guess in shown["guesses"]] == list(order)
    np.testing.assert_allclose([guess["probability"] for guess in shown["guesses"]], chances[order], rtol=1e-4)

    helped = np.zeros((len(ids), len(ids)))
    step = 1e-5
    for layer in range(1, plain.layers + 1):
        for head in range(plain.heads):
            for query, key in np.ndindex(helped.shape):
                values = []
                for change in (step, -step):
                    edited = Guesser(guessing_bert)
                    edited.nudge = (layer, head, query, key, change)
                    values.append(edited.logits(edited.read(ids).hidden[-1][place])[token])
                helped[query, key] += max(0, plain.attention[layer][head][query, key] * (values[0] - values[1]) / (2 * step))
    np.testing.assert_allclose(shown["weights"], helped / helped.sum(), atol=1e-5)

    text = run("explain", "-m", str(guessing_bert), TEXT, "--method", "grad", "--guess", TOKEN).out
    assert "What the model expects there" in text and "spoke for “river”" in text


BAD = {
    "no mask": (["the bank", "--guess", "river"], "the text has 0 places marked [MASK], expected one"),
    "two masks": (["[MASK] of [MASK]", "--guess", "river"], "the text has 2 places marked [MASK], expected one"),
    "two tokens": (["the [MASK]", "--guess", "banks"], '"banks" is 2 tokens, but only one is guessed at a time'),
}


@pytest.mark.parametrize("arguments, message", BAD.values(), ids=BAD)
def test_bad_input_is_one_sentence(guessing_bert, arguments, message):
    done = run("explain", "-m", str(guessing_bert), "--method", "grad", *arguments)
    assert done.code == 1 and message in done.err and done.out == "" and len(done.err.splitlines()) == 1


def test_a_model_without_a_head(small_bert):
    done = run("explain", "-m", str(small_bert), TEXT, "--method", "grad", "--guess", "river")
    assert done.code == 1 and "has no head that guesses tokens" in done.err
