"""The first token of a model that writes, in attend.lens."""

import numpy as np
import pytest

import attend
from attend import lens

TEXT = "The banks of the river, money is unknown."


@pytest.fixture(scope="module")
def reading(sinking_model):
    return lens.read(attend.TextModel.from_pretrained(sinking_model), TEXT)


def test_its_share_is_the_mean_over_layers_heads_and_rows(reading):
    first = reading.first_token
    columns = [reading.map("raw", layer, head, tokens=True)[2:, 0] for layer in (1, 2) for head in (1, 2, 3, 4)]
    assert first.share == pytest.approx(np.mean(columns), abs=1e-6)
    assert first.even == pytest.approx(np.mean([1 / (row + 1) for row in range(2, len(reading.tokens))]))
    assert (first.text, first.special, first.is_sink) == ("The", False, True)


@pytest.mark.parametrize("method", ["raw", "norm", "rollout"])
def test_maps_without_it(reading, method):
    whole = reading.map(method)
    inner = whole[1:, 1:] / whole[1:, 1:].sum(axis=1, keepdims=True)
    for sink in ("auto", "fold"):
        np.testing.assert_allclose(reading.map(method, sink=sink), inner, atol=1e-12)
        np.testing.assert_allclose(reading.row("money", method, sink=sink), inner[5], atol=1e-12)
    np.testing.assert_array_equal(reading.map(method, sink="keep"), whole)
    assert [unit.text for unit in reading.units(sink="auto")] == [unit.text for unit in reading.words][1:]
    np.testing.assert_array_equal(reading.received(sink="fold"), reading.received()[1:])


def test_a_word_of_several_tokens_keeps_the_others(sinking_model):
    reading = lens.read(sinking_model, "Unknown banks of the river.")
    first = reading.units(sink="fold")[0]
    assert (first.text, first.first_token, first.last_token) == ("Unknown", 1, 2) and reading.first_token.text == "un"
    tokens = reading.map(tokens=True)
    expected = tokens[4, 1:] / tokens[4, 1:].sum()
    np.testing.assert_allclose(reading.row("of", sink="fold")[:3], [expected[0], expected[1] + expected[2], expected[3]], atol=1e-12)
    np.testing.assert_allclose(reading.row("Unknown", sink="fold")[0], 1)


def test_figures_say_so(reading):
    told = "rests on the first token, “The”, and is left out"
    assert any(told in note for note in reading.figure().notes)
    assert "sink=" not in " ".join(reading.figure().notes)  # who looks at a figure cannot give options
    assert not any(told in note for note in reading.figure(sink="keep").notes)


def test_what_cannot_be_is_refused(reading, small_bert):
    both = lens.read(small_bert, "the bank")
    assert both.first_token is None
    with pytest.raises(ValueError, match="the first token is only folded where every token looks back"):
        both.map(sink="fold")
    np.testing.assert_array_equal(both.map(sink="auto"), both.map())
    with pytest.raises(ValueError, match='sink is "hide", expected auto, fold or keep'):
        reading.map(sink="hide")


def test_heads_know_whose_keys_they_read(reading, small_bert):
    assert (reading.key_heads(), reading.key_heads(2)) == (2, 2) and reading.k(1).shape[1] == 2
    assert [head.key_head for head in reading.profile_heads()] == [1, 1, 2, 2] * 2
    assert all(link.key_head == (link.head + 1) // 2 for link in reading.find_heads("money", "banks"))
    assert lens.read(small_bert, "the bank").key_heads() == 4
    with pytest.raises(ValueError, match="layer is 3, expected 1 to 2"):
        reading.key_heads(3)
