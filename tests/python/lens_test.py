"""attend.lens on a small BERT, against the same model in NumPy and float64."""

import subprocess
import sys
import threading

import numpy as np
import pytest

import attend
from attend import lens
from numpy_bert import NumpyBert, between_words, read_safetensors, write_safetensors

TEXT = "The river-bank of the river, money."
WORDS = ["[CLS]", "The", "river-bank", "of", "the", "river", ",", "money", ".", "[SEP]"]
TOKENS = [(0, 1), (1, 2), (2, 5), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10), (10, 11), (11, 12)]  # of each word
SINGLE = [(i, i + 1) for i in range(12)]


@pytest.fixture(scope="module")
def model(small_bert):
    return attend.TextModel.from_pretrained(small_bert)


@pytest.fixture(scope="module")
def reading(model):
    return lens.read(model, TEXT)


@pytest.fixture(scope="module")
def bert(small_bert, model):
    return NumpyBert(small_bert).read(model.tokenize(TEXT).ids)


def inner(rows):
    return rows[..., 1:-1] / rows[..., 1:-1].sum(axis=-1, keepdims=True)


def cosine(a, b):
    return a @ b / np.linalg.norm(a) / np.linalg.norm(b)


def test_a_reading_has_words_tokens_and_vectors(reading, model, bert, small_bert):
    assert (reading.text, reading.pair, reading.dropped, reading.layers, reading.heads) == (TEXT, None, 0, 2, 4)
    assert [word.text for word in reading.words] == WORDS
    assert [(word.first_token, word.last_token) for word in reading.words] == TOKENS
    assert [word.special for word in reading.words] == [True] + [False] * 8 + [True]
    for word in reading.words[1:-1]:
        assert TEXT[word.begin : word.end] == word.text
    assert reading.tokens == [model.tokenizer.token(token) for token in model.tokenize(TEXT).ids]
    assert [unit.text for unit in reading.units(tokens=True, special=False)] == reading.tokens[1:-1]
    for layer in range(3):
        assert reading.hidden(layer).dtype == np.float32
        np.testing.assert_allclose(reading.hidden(layer), bert.hidden[layer], atol=1e-5)
    for layer in (1, 2):
        q, k = (getattr(reading, part)(layer).swapaxes(0, 1) for part in "qk")
        assert reading.v(layer).shape == (12, 4, 8)
        scores = q @ k.swapaxes(1, 2) / np.sqrt(8)
        weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(weights, bert.attention[layer], atol=1e-5)
    np.testing.assert_allclose(reading.vector(), bert.hidden[2].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(reading.word_vector("river-bank"), bert.hidden[2][2:5].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(reading.word_vector(2, layer=0), bert.hidden[0][2:5].mean(axis=0), atol=1e-5)
    np.testing.assert_allclose(reading.static_word_vector("river-bank"), bert.static[2:5].mean(axis=0), atol=1e-6)
    by_folder = lens.read(small_bert, TEXT.encode())  # a folder, and bytes
    np.testing.assert_array_equal(by_folder.hidden(2), reading.hidden(2))


@pytest.mark.parametrize("method", ["raw", "norm"])
@pytest.mark.parametrize("layer, head", [(None, None), (1, None), (2, 2)])
def test_maps_between_words_and_tokens(reading, bert, method, layer, head):
    for tokens, places in ((False, TOKENS), (True, SINGLE)):
        expected = between_words(bert.map(method, layer, head), places)
        whole = reading.map(method, layer, head, tokens=tokens)
        assert whole.dtype == np.float64
        np.testing.assert_allclose(whole, expected, atol=1e-6)
        np.testing.assert_allclose(whole.sum(axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(reading.row(7, method, layer, head, tokens=tokens), whole[7], atol=1e-12)
        shown = reading.map(method, layer, head, tokens=tokens, special=False)
        np.testing.assert_allclose(shown, inner(expected[1:-1]), atol=1e-6)
        np.testing.assert_allclose(reading.row(7, method, layer, head, tokens=tokens, special=False), shown[6], atol=1e-12)


def test_rollout_and_flow(reading, bert):
    product = np.eye(12)
    for layer in (1, 2):
        product = (bert.attention[layer].mean(axis=0) + np.eye(12)) / 2 @ product
        expected = between_words(product, TOKENS)
        np.testing.assert_allclose(reading.map("rollout", layer), expected, atol=1e-6)
        np.testing.assert_allclose(reading.row("money", "rollout", layer, special=False), inner(expected[7]), atol=1e-6)
    flow = reading.row("money", "flow")
    assert np.all(flow >= expected[7] - 1e-6) and flow.sum() > 1  # rollout is one way to send it
    np.testing.assert_array_equal(reading.row("money", "flow", special=False), flow[1:-1])


def test_what_is_received(reading, bert):
    for layer, head, weights in ((2, 2, bert.attention[2][1]), (None, None, bert.map("raw"))):
        expected = np.array([weights.sum(axis=0)[first:last].sum() for first, last in TOKENS])
        received = reading.received(layer, head)
        np.testing.assert_allclose(received, expected, atol=1e-5)
        assert received.sum() == pytest.approx(12, abs=1e-5)
        np.testing.assert_allclose(reading.received(layer, head, special=False), expected[1:-1], atol=1e-5)


def test_what_heads_do(reading, bert):
    profiles = reading.profile_heads([("money", "river"), (2, 7)])
    assert [(one.layer, one.head) for one in profiles] == [(layer, head) for layer in (1, 2) for head in range(1, 5)]
    for one in profiles:
        weights = bert.attention[one.layer][one.head - 1]
        assert one.separator == pytest.approx((weights[1:-1, 0] + weights[1:-1, -1]).mean(), abs=1e-6)
        assert one.previous == pytest.approx(np.mean([weights[i, i - 1] for i in range(1, 11)]), abs=1e-6)
        words = between_words(weights, TOKENS)
        assert one.relations == pytest.approx([words[7, 5], words[2, 7]], abs=1e-6)
        assert one.habit in {"separator", "previous", "next", "same token", "same word", "broad", "mixed"}
    links = reading.find_heads("money", "river")
    expected = {(layer, head): bert.attention[layer][head - 1][9, 7] for layer in (1, 2) for head in range(1, 5)}
    assert (links[0].layer, links[0].head) == max(expected, key=expected.get)
    for link in links:
        assert link.weight == pytest.approx(expected[link.layer, link.head], abs=1e-6)
    assert [link.weight for link in links] == sorted((link.weight for link in links), reverse=True)


def test_gradients_tell_how_the_cosine_moves(reading, model):
    other = lens.read(model, "money is the bank")
    gradients = reading.gradients_towards(other)
    whole = reading.map("grad", tokens=True, gradients=gradients)
    assert whole.shape == (12, 12) and whole.min() >= 0 and whole.max() > 0
    for same in ("money is the bank", b"money is the bank", other.vector(), list(other.vector()), 3 * other.vector()):
        np.testing.assert_allclose(reading.map("grad", tokens=True, gradients=reading.gradients_towards(same)), whole, rtol=1e-4, atol=1e-9)
    np.testing.assert_array_equal(reading.map("grad", tokens=True, special=False, gradients=gradients), whole[1:-1, 1:-1])

    # A weight times 1 + h moves the cosine by h times what "grad" shows of it, where that is positive.
    for layer, head in ((1, 4), (2, 2)):
        words = reading.map("grad", layer, head, gradients=gradients)
        single = [word for word, (first, last) in enumerate(TOKENS) if last - first == 1]
        best = np.argmax(words[np.ix_(single, single)])
        query, key = single[best // len(single)], single[best % len(single)]
        h = 0.25
        more, less = (reading.edited(lens.LinkEdit(query, key, layer, head, 1 + step)).vector() for step in (h, -h))
        slope = (cosine(more, other.vector()) - cosine(less, other.vector())) / (2 * h)
        assert words[query, key] == pytest.approx(slope, rel=0.02)


def test_what_goes_without_heads_and_links(reading, model, small_bert):
    nothing = reading.ablate()
    assert nothing.text_cosine == pytest.approx(1) and nothing.text_distance == 0
    np.testing.assert_allclose(nothing.word_cosines, 1)
    scaled = [("2.2", lens.HeadEdit(2, 2)), ("1", lens.HeadEdit(1)), ("1=0.5", lens.HeadEdit(1, scale=0.5)),
              ("money>river", lens.LinkEdit("money", "river")), ("2.3:river-bank>money=2", lens.LinkEdit(2, "money", 2, 3, 2.0))]  # fmt: skip
    for words, numbers in scaled:
        change, same = reading.ablate(words), reading.ablate(numbers)
        assert (change.text_cosine, change.text_distance) == (same.text_cosine, same.text_distance)
        np.testing.assert_array_equal(change.word_cosines, same.word_cosines)
        assert change.text_distance > 0 and change.word_cosines.shape == (10,)
    together = reading.ablate("2.2", lens.LinkEdit("money", "river"))
    assert together.text_distance not in {reading.ablate("2.2").text_distance, reading.ablate("money>river").text_distance}

    # A head is taken out of the checkpoint itself: its values' weights and biases are 0.
    without = NumpyBert(small_bert)
    for kind in ("weight", "bias"):
        without.weights[f"encoder.layer.1.attention.self.value.{kind}"][8:16] = 0
    before, after = reading.vector(), without.read(model.tokenize(TEXT).ids).hidden[2].mean(axis=0)
    change = reading.ablate(lens.HeadEdit(2, 2))
    assert change.text_cosine == pytest.approx(cosine(before, after), abs=1e-6)
    assert change.text_distance == pytest.approx(np.linalg.norm(after - before) / np.linalg.norm(before), abs=1e-5)


def test_one_word_in_two_places(reading, model, bert):
    other = lens.read(model, "money is the bank")
    compared = lens.compare(reading, "money", other)
    place = other.find_word("money")
    assert compared.static_cosine == pytest.approx(1)
    for layer in range(3):
        expected = cosine(bert.hidden[layer][9], np.float64(other.hidden(layer)[place]))
        assert compared.cosines[layer] == pytest.approx(expected, abs=1e-5)
    assert compared.taken_first.shape == (2, 10) and compared.taken_second.shape == (2, 6)
    np.testing.assert_allclose(compared.taken_first, [reading.row("money", "norm", layer) for layer in (1, 2)], atol=1e-12)
    within = lens.compare(reading, "The", other_word="the")
    assert within.static_cosine == pytest.approx(1) and within.cosines[2] < 1
    with pytest.raises(ValueError, match="expected a second reading"):
        lens.compare(reading, "money")


def test_a_pair_an_empty_text_and_one_that_is_too_long(model):
    pair = lens.read(model, "the river", "money is the bank")
    assert pair.pair == "money is the bank" and pair.find_word("the#2") == 6
    assert [word.part for word in pair.words if not word.special] == [0, 0, 1, 1, 1, 1]
    empty = lens.read(model, "")
    assert [word.text for word in empty.words] == ["[CLS]", "[SEP]"]
    assert empty.map().shape == (2, 2) and empty.map(special=False).shape == (0, 0)
    assert lens.read(model, "the river is the bank of money", max_tokens=5).dropped == 4


def test_mistakes(reading, model):
    other = lens.read(model, "money").gradients_towards("river")
    for call, kind, sentence in [
        (lambda: lens.read(model, 3), TypeError, "text is neither str nor bytes"),
        (lambda: lens.read(model, "a", 3), TypeError, "pair is neither str nor bytes"),
        (lambda: lens.read("no/such-model", "a"), attend.FileError, "no/such-model"),
        (lambda: reading.map("average"), ValueError, 'method is "average", expected raw, norm, rollout, flow or grad'),
        (lambda: reading.map("flow"), ValueError, "one word at a time"),
        (lambda: reading.map("grad"), ValueError, "needs gradients"),
        (lambda: reading.map("grad", gradients=other), ValueError, "of another reading"),
        (lambda: reading.map("raw", gradients=other), ValueError, "for the method grad"),
        (lambda: reading.map(layer=3), ValueError, "layer is 3, and layers count from 1 to 2"),
        (lambda: reading.map(layer=1, head=0), ValueError, "head is 0, and heads count from 1 to 4"),
        (lambda: reading.map(layer=1, head=5), ValueError, "head is 5, and heads count from 1 to 4"),
        (lambda: reading.received(1, 0), ValueError, "head is 0, and heads count from 1 to 4"),
        (lambda: reading.map(head=1), ValueError, "head 1 of which layer"),
        (lambda: reading.hidden(-1), ValueError, "layer is -1"),
        (lambda: reading.q(0), ValueError, "layer is 0"),
        (lambda: reading.row("rivers"), ValueError, "river"),
        (lambda: lens.read(model, "the bank of the river").row("the"), ValueError, "the#1"),
        (lambda: reading.row(10), ValueError, "word is 10, but there are 10"),
        (lambda: reading.row(-1), ValueError, "word is -1"),
        (lambda: reading.row(1.5), TypeError, "a word is neither"),
        (lambda: reading.ablate("9.1"), ValueError, "layer is 9"),
        (lambda: reading.ablate("1.0"), ValueError, "head is 0, and heads count from 1 to 4"),
        (lambda: reading.ablate(lens.HeadEdit(1, 0)), ValueError, "head is 0, and heads count from 1 to 4"),
        (lambda: reading.ablate(lens.HeadEdit(1, 5)), ValueError, "head is 5, and heads count from 1 to 4"),
        (lambda: reading.ablate(lens.LinkEdit("money", "river", 1, 0)), ValueError, "head is 0, and heads count from 1 to 4"),
        (lambda: reading.ablate(lens.LinkEdit("money", "river", head=1)), ValueError, "head 1 of which layer"),
        (lambda: reading.ablate(3), TypeError, "an edit is neither"),
        (lambda: reading.gradients_towards([1.0, 2.0]), ValueError, "has 2 elements"),
        (lambda: reading.gradients_towards(np.ones((2, 2))), ValueError, r"shape \(2, 2\)"),
        (lambda: reading.find_heads("money", "gold"), ValueError, "gold"),
    ]:
        with pytest.raises(kind, match=sentence):
            call()


def test_readings_are_shared_between_threads(reading, model):
    expected = reading.map("norm")
    results = [None] * 4

    def work(i):
        results[i] = lens.read(model, TEXT).map("norm") if i % 2 else reading.map("norm")

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)


def test_it_is_imported_when_it_is_asked_for():
    code = "import attend, sys; before = 'attend.lens' in sys.modules; attend.lens.read; print(before, 'attend.lens' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split() == ["False", "True"]
    with pytest.raises(AttributeError, match="has no attribute 'lense'"):
        attend.lense


def test_guesses_and_what_spoke_for_them(guessing_bert):
    reading = lens.read(guessing_bert, "the bank of [MASK]")
    guesses = reading.guesses(3)
    assert len(guesses) == 3 and guesses[0].probability >= guesses[1].probability >= guesses[2].probability > 0
    assert sum(guess.probability for guess in reading.guesses(64)) == pytest.approx(1, abs=1e-9)
    assert reading.guesses(3, place=4) == guesses and reading.guesses(3, place=1) != guesses

    spoke = reading.map("grad", gradients=reading.gradients_towards_word("river"))
    assert np.all(spoke >= 0) and spoke.sum() > 0
    with pytest.raises(ValueError, match="place is 9"):
        reading.guesses(place=9)
    with pytest.raises(ValueError, match="top is 0"):
        reading.guesses(0)
    with pytest.raises(ValueError, match='"banks" is 2 tokens'):
        reading.gradients_towards_word("banks")
    with pytest.raises(ValueError, match="0 places marked"):
        lens.read(guessing_bert, "the bank").guesses()


def test_a_reading_of_one_layer(model, reading):
    one = lens.read(model, reading.text, only_layer=2)
    np.testing.assert_array_equal(one.map("norm", layer=2, head=1), reading.map("norm", layer=2, head=1))
    with pytest.raises(ValueError, match="layer 1 was not kept"):
        one.map(layer=1)


def test_numbers_that_are_not_finite(folder, model, reading):
    assert reading.not_finite is None
    tensors = read_safetensors(folder / "model.safetensors")
    name = "encoder.layer.0.attention.self.query.bias"
    tensors[name] = np.where(np.arange(32) == 0, np.nan, tensors[name]).astype(np.float32)  # of the first head
    write_safetensors(folder / "model.safetensors", tensors)
    with pytest.warns(RuntimeWarning, match="NaN or infinity first appears in the queries of layer 1, at token 0"):
        bad = lens.read(folder, TEXT)
    assert bad.not_finite[:3] == (1, "queries", 0)
    for method in ("raw", "norm", "rollout"):
        assert np.isnan(bad.map(method)).all(), method
        assert np.isnan(bad.row("money", method, special=False)).all(), method
    assert np.isnan(bad.row("money", "flow")).all()
    assert np.isnan(bad.received()).all()
    assert np.isnan(lens.compare(bad, "river", bad, "money").cosines[1:]).all()
    assert any("NaN or infinity" in note for note in bad.figure().notes)


def test_an_edit_that_overflows(reading):
    with pytest.warns(RuntimeWarning, match="the attended values of layer 1"):
        change = reading.ablate("1.1=1e308")
    assert np.isnan([change.text_cosine, change.text_distance, *change.word_cosines]).all()
    assert change.not_finite.part == "attended values"
    with pytest.warns(RuntimeWarning, match="the attended values of layer 2"):
        assert reading.edited(lens.HeadEdit(2, 1, 1e308)).not_finite.layer == 2
    assert reading.ablate("1.1").not_finite is None


def test_words_that_the_model_does_not_know(small_bert):
    with pytest.warns(UserWarning, match=r"the model does not know 'nowhere', 'else': 2 of the tokens of this text are unknown"):
        reading = attend.lens.read(str(small_bert), "the nowhere bank else")
    assert [word.unknown for word in reading.words] == [False, False, True, False, True, False] and reading.unknown_tokens == 2
    assert [word.unknown for word in reading.units(tokens=True)] == [word.unknown for word in reading.words]
    assert reading.answer is None and reading.answer_begins is None
    assert attend.lens.read(str(small_bert), "the bank").unknown_tokens == 0


def test_a_page_for_notebooks(small_bert, tmp_path):
    reading = attend.lens.read(str(small_bert), "the bank of the river, money.")
    page = reading.explore("lines", focus="money", layer=2, head=1)
    shown = page._repr_html_()
    assert shown.startswith('<iframe srcdoc="&lt;!doctype html') and "allow-scripts" in shown and "same-origin" not in shown
    page.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text() == page.html() and "http://" not in page.html().replace("http://www.w3.org/", "")
    with pytest.raises(ValueError, match="expected a name that ends in .html"):
        page.save(tmp_path / "page.txt")
    with pytest.raises(ValueError, match='method is "flow"'):
        reading.explore(method="flow")
    assert reading.explore(mean=True).html() != reading.explore(layer=1, head=1).html()
