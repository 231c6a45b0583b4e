"""Recordings of passes, made of NumPy arrays: they answer what the model's own reading answers, and refuse what needs the model."""

import numpy as np
import pytest

import attend
from attend import lens
from numpy_bert import safetensors_metadata

RNG = np.random.default_rng(3)


def random_layer(heads=2, tokens=6, size=4, key_heads=None, **options):
    q, k, v = (RNG.normal(size=(one, tokens, size)) for one in (heads, key_heads or heads, key_heads or heads))
    return lens.RecordedLayer(q, k, v, **options)


def expected(layer, **options):
    """By attend.weights, on float32."""
    q, k = (np.float32(part) for part in (layer.q, layer.k))
    return attend.weights(q, k, **options)


def names(count=6):
    return [f"t{number}" for number in range(count)]


def test_it_answers_what_the_models_own_reading_answers(recorded, tmp_path):
    recording, own = recorded
    recording.save(tmp_path / "run.attn")
    for reading in (recording.reading(), lens.load(tmp_path / "run.attn")):
        assert (reading.text, reading.layers, reading.heads, reading.tokens) == (own.text, own.layers, own.heads, own.tokens)
        assert reading.words == own.words and reading.not_finite is None
        for method in ("raw", "rollout"):
            np.testing.assert_allclose(reading.map(method), own.map(method), atol=1e-6)
        np.testing.assert_allclose(reading.map("raw", 2, 3, tokens=True), own.map("raw", 2, 3, tokens=True), atol=1e-6)
        np.testing.assert_allclose(reading.row("money", "flow"), own.row("money", "flow"), atol=1e-5)
        np.testing.assert_allclose(reading.received(1), own.received(1), atol=1e-5)
        assert [one.habit for one in reading.profile_heads()] == [one.habit for one in own.profile_heads()]
        assert reading.find_heads("money", "river")[0][:2] == own.find_heads("money", "river")[0][:2]
        np.testing.assert_array_equal(reading.q(1), own.q(1))
        assert "money" in reading.figure("lines", focus="money").svg()


def test_weights_alone():
    weights = RNG.dirichlet(np.ones(5), size=(3, 2, 5))  # (layers, heads, tokens, tokens)
    weights[0, 1, 2] *= 0.5  # the rest went to a sink
    weights[0, 0, 3] = [0, 0, 1, 0, 0]
    reading = lens.Recording(weights, names(5)).reading()
    for layer in (1, 2, 3):
        for head in (1, 2):
            shown, given = reading.map("raw", layer, head, tokens=True), weights[layer - 1, head - 1]
            np.testing.assert_allclose(shown, given / given.sum(axis=1, keepdims=True), atol=1e-6)
    product = np.eye(5)
    for mean in weights.mean(axis=1):
        product = (mean / mean.sum(axis=1, keepdims=True) + np.eye(5)) / 2 @ product
    np.testing.assert_allclose(reading.map("rollout", tokens=True), product, atol=1e-6)
    np.testing.assert_allclose(reading.received(1, 2), weights[0, 1].sum(axis=0), atol=1e-5)
    with_batch = lens.Recording([weights[:1, 0:2][0][None]], names(5)).reading()  # (1, heads, tokens, tokens)
    np.testing.assert_allclose(with_batch.map(), reading.map("raw", 1), atol=1e-12)


def test_options_take_part(tmp_path):
    bias = RNG.normal(size=(2, 6, 6))
    cases = [
        (random_layer(causal=True, scale=0.3), {"causal": True, "scale": 0.3}),
        (random_layer(window=(2, None)), {"window": (2, None)}),
        (random_layer(softcap=2.0, key_heads=1), {"softcap": 2.0}),
        (random_layer(sinks=[0.5, -1]), {"sinks": [0.5, -1]}),
        (random_layer(alibi_slopes=[0.5, 0.25]), {"alibi_slopes": [0.5, 0.25]}),
        (random_layer(bias=bias), {"bias": np.float32(bias)}),
        (random_layer(mask=np.eye(6, dtype=bool) | (np.arange(6) == 3)), {"mask": np.eye(6, dtype=bool) | (np.arange(6) == 3)}),
    ]
    lens.Recording([layer for layer, _ in cases], names()).save(tmp_path / "run.attn")
    reading = lens.load(tmp_path / "run.attn")
    for number, (layer, options) in enumerate(cases, 1):
        for head in (1, 2):
            given = expected(layer, **options)[head - 1].astype(np.float64)
            shown = reading.map("raw", number, head, tokens=True)
            np.testing.assert_allclose(shown, given / given.sum(axis=1, keepdims=True), atol=1e-6)


def band(left, right, count=6):
    distance = np.arange(count) - np.arange(count)[:, None]
    return (distance >= -left) & (distance <= right)


@pytest.mark.parametrize(
    "mask, said",
    {
        "all": (band(9, 9), {}),
        "causal": (band(9, 0), {"causal": "true"}),
        "window": (band(2, 0), {"causal": "true", "window": "2 -1"}),
        "both sides": (band(2, 1), {"window": "2 1"}),
        "one side": (band(9, 2), {"window": "-1 2"}),
    }.values(),
)
def test_a_mask_that_is_a_band_is_written_as_one(mask, said, tmp_path):
    """Pages carry no masks, and files should not have to."""
    layer = random_layer()
    in_numbers = np.where(mask, 0.0, np.finfo(np.float32).min)
    for options in ({"mask": mask}, {"mask": mask[None]}, {"bias": in_numbers}, {"bias": in_numbers[None, None]}):
        one = lens.RecordedLayer(layer.q, layer.k, layer.v, **options)
        lens.Recording([one], names()).save(tmp_path / "run.attn")
        found = {key.removeprefix("layer.1."): value for key, value in safetensors_metadata(tmp_path / "run.attn").items() if "layer.1" in key}
        assert found == said
        shown = lens.load(tmp_path / "run.attn").map("raw", 1, 2, tokens=True)
        np.testing.assert_allclose(shown, expected(layer, mask=mask)[1], atol=1e-6)


@pytest.mark.parametrize("mask", [band(2, 0) | (np.arange(6) == 0), np.eye(6, dtype=bool)[::-1], band(1, 1)[None].repeat(2, axis=0)])
def test_other_masks_stay(mask, tmp_path):
    layer = random_layer(mask=mask)
    lens.Recording([layer], names()).save(tmp_path / "run.attn")
    assert not [key for key in safetensors_metadata(tmp_path / "run.attn") if key.startswith("layer.1")]
    shown = lens.load(tmp_path / "run.attn").map("raw", 1, 2, tokens=True)
    np.testing.assert_allclose(shown, expected(layer, mask=mask)[1], atol=1e-6)


def test_without_a_text_each_token_is_a_word():
    reading = lens.Recording([random_layer()], names(), special=[True] + [False] * 5).reading()
    assert [word.text for word in reading.words] == names() and reading.words[0].special and reading.text == ""


def test_numbers_that_are_not_finite():
    layer = random_layer()
    layer.k[0, 2, 1] = np.nan
    with pytest.warns(RuntimeWarning, match=r"keys of layer 1, at token 2 \(t2\)"):
        reading = lens.Recording([layer], names()).reading()
    assert (reading.not_finite.layer, reading.not_finite.part, reading.not_finite.token) == (1, "keys", 2)


MODEL = {
    "norm": lambda reading: reading.map("norm"),
    "guesses": lambda reading: reading.guesses(),
    "next": lambda reading: reading.next(),
    "logit lens": lambda reading: reading.logit_lens(place=0),
    "attribution": lambda reading: reading.attribute(0, place=0),
    "patching": lambda reading: lens.patch(reading, reading),
    "ablation": lambda reading: reading.ablate("1.1"),
    "edits": lambda reading: reading.edited("1.1"),
    "a table of words": lambda reading: reading.static_word_vector("money"),
    "gradients": lambda reading: reading.gradients_towards("a text"),
}


@pytest.mark.parametrize("call", MODEL.values(), ids=MODEL)
def test_what_needs_the_model_is_refused(recorded, call):
    with pytest.raises(ValueError, match="without the weights and the vocabulary of its model, somebody/else, which this needs"):
        call(recorded[0].reading())


BAD = {
    "no tokens": (lambda: lens.Recording([random_layer()], []).reading(), "there are 0"),
    "no layers": (lambda: lens.Recording([], names()).reading(), "layers: there are 0"),
    "other lengths": (lambda: lens.Recording([random_layer(tokens=5)], names()).reading(), r"layer.1.q: has the shape \(5, 2, 4\)"),
    "other heads": (lambda: lens.Recording([random_layer(), random_layer(heads=3)], names()).reading(), "layer.2: has 3 heads"),
    "keys alone": (lambda: lens.Recording([lens.RecordedLayer(k=np.ones((2, 6, 4)))], names()).reading(), "expected queries, keys and values"),
    "no values": (lambda: lens.Recording([lens.RecordedLayer(np.ones((2, 6, 4)), np.ones((2, 6, 4)))], names()).reading(), "layer.1.v"),
    "too few ids": (lambda: lens.Recording([random_layer()], names(), ids=[1]), "ids has 1 elements, and there are 6 tokens"),
    "a place outside": (
        lambda: lens.Recording([random_layer()], names(), text="abc", places=[(0, 9)] * 6).reading(),
        "token 0 stands at 0 to 9 of a text of 3 characters",
    ),
    "axes": (lambda: lens.Recording([lens.RecordedLayer(np.ones(3), np.ones(3), np.ones(3))], names()).reading(), "expected 3 axes"),
    "weights beyond 1": (lambda: lens.Recording([np.full((2, 6, 6), 7.0)], names()).reading(), "holds 7, expected numbers from 0 to 1"),
    "a window below": (lambda: lens.Recording([random_layer(window=(-5, 0))], names()).reading(), "layer 1: window is -5 on one side, expected None or a number from 0"),
    "a name without .attn": (lambda: lens.Recording([random_layer()], names()).save("run.npz"), "expected a name that ends in .attn"),
}


@pytest.mark.parametrize("call, message", BAD.values(), ids=BAD)
def test_what_does_not_fit_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_files_that_are_none(tmp_path):
    with pytest.raises(attend.FileError, match="nothing.attn"):
        lens.load(tmp_path / "nothing.attn")
    (tmp_path / "text.attn").write_text("the bank of the river")
    with pytest.raises(attend.FileError):
        lens.load(tmp_path / "text.attn")
    with pytest.raises(TypeError, match="mask is int64, expected boolean"):
        lens.Recording([random_layer(mask=np.ones((6, 6), np.int64))], names()).reading()
