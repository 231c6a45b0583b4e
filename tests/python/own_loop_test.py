"""attend.train.Model and AdamW: what a training loop of one's own is made of."""

import threading
import time

import numpy as np
import pytest

import attend
from attend import train

RNG = np.random.default_rng(0)


def tiny(kind="decoder", **changes):
    return train.Model(kind, **{"vocabulary": 7, "length": 6, "batch": 3, "layers": 1, "hidden": 8, "heads": 2, "dtype": "float64", **changes})


@pytest.mark.parametrize("kind, changes", [("decoder", {}), ("encoder", {"norm_first": False}), ("encoder_decoder", {"norm": "rms"}),
                                           ("decoder", {"feed_forward": "swiglu", "positions": "rotary", "tied": False})])
def test_gradients_by_finite_differences(kind, changes):
    model = tiny(kind, **changes)
    batch = {"ids": RNG.integers(0, 7, (3, 6)), "targets": RNG.integers(-1, 7, (3, 6))}
    if kind == "encoder_decoder":
        batch |= {"source": RNG.integers(0, 7, (3, 5)), "source_lengths": [5, 2, 4]}
    assert model.learn(**batch) == pytest.approx(model.loss(**batch), rel=1e-12)
    gradients = model.gradients
    for name, value in model.parameters.items():
        place = np.unravel_index(np.abs(gradients[name]).argmax(), value.shape)
        slopes = []
        for sign in (1, -1):
            moved = value.copy()
            moved[place] += sign * 1e-5
            model.load_parameters({name: moved})
            slopes.append(sign * model.loss(**batch))
        model.load_parameters({name: value})
        assert sum(slopes) / 2e-5 == pytest.approx(gradients[name][place], rel=1e-5, abs=1e-9), name


def test_bf16_gradients_are_close_to_the_exact_ones():
    shape = {"length": 20, "hidden": 32, "dtype": "float32"}
    exact, model = tiny(**{**shape, "dtype": "float64"}), tiny(**shape, precision="bf16")
    exact.load_parameters(model.parameters)
    ids = RNG.integers(0, 7, (3, 20))
    assert model.learn(ids) == pytest.approx(exact.learn(ids), rel=1e-2)
    found, expected = (np.concatenate([gradient.ravel() for gradient in each.gradients.values()]) for each in (model, exact))
    error = np.linalg.norm(found - expected) / np.linalg.norm(expected)
    assert error < 2**-5 and (error > 1e-4 or attend.isa("bf16") == attend.isa())
    with pytest.raises(ValueError, match="a model in float64 multiplies in float64, not in bf16"):
        tiny(precision="bf16")
    with pytest.raises(ValueError, match='training.precision: "int8" is not one of f32, bf16'):
        tiny(dtype="float32", precision="int8")


def test_gradients_add_up_and_go():
    model, ids = tiny(), RNG.integers(0, 7, (3, 6))
    model.learn(ids)
    once = model.gradients
    model.learn(ids)
    model.learn(ids, weight=0)
    np.testing.assert_allclose(model.gradients["words"], 2 * once["words"], rtol=1e-12)
    model.clear_gradients()
    assert not model.gradients["words"].any()


def test_adamw_by_its_formula():
    model, ids = tiny(), RNG.integers(0, 7, (3, 6))
    optimiser = train.AdamW(model, lambda step: 0.01 * step, betas=(0.8, 0.9), decay=0.1, clip=0.5)
    moments = {name: (np.zeros_like(value), np.zeros_like(value)) for name, value in model.parameters.items()}
    for step in (1, 2, 3):
        model.learn(ids)
        before, gradients = model.parameters, model.gradients
        norm = np.sqrt(sum((gradient**2).sum() for gradient in gradients.values()))
        assert optimiser.step() == pytest.approx(norm, rel=1e-12) and optimiser.steps == step
        for name, value in model.parameters.items():
            gradient = gradients[name] * min(1, 0.5 / (norm + 1e-6))
            first, second = moments[name] = (0.8 * moments[name][0] + 0.2 * gradient, 0.9 * moments[name][1] + 0.1 * gradient**2)
            expected = before[name] * (1 - 0.01 * step * (0.1 if value.ndim > 1 else 0))
            expected -= 0.01 * step * (first / (1 - 0.8**step)) / (np.sqrt(second / (1 - 0.9**step)) + 1e-8)
            np.testing.assert_allclose(value, expected, rtol=1e-9, atol=1e-12)
        assert not model.gradients["words"].any()


def test_a_new_optimiser_starts_anew():
    ids = RNG.integers(0, 7, (3, 6))
    ends = []
    for optimisers in (1, 2):
        model = tiny()
        start = model.parameters
        for _ in range(optimisers):
            model.load_parameters(start)
            optimiser = train.AdamW(model)
            model.learn(ids)
            optimiser.step()
        ends.append(model.parameters["words"])
    np.testing.assert_array_equal(*ends)


def test_schedule():
    rate = train.Schedule(2.0, 110, warmup=10, floor=0.5)
    assert [rate(step) for step in (5, 10, 60, 110, 200)] == pytest.approx([1.0, 2.0, 1.5, 1.0, 1.0])


def test_what_it_guesses_is_what_it_is_judged_by():
    model = tiny(dtype="float32")
    ids = RNG.integers(0, 7, 6)
    logits = np.array([model.logits(ids, row) for row in range(5)], np.float64)
    surprise = np.log(np.exp(logits).sum(-1)) - logits[np.arange(5), ids[1:]]
    found = model.evaluate(ids)
    assert found.loss == pytest.approx(surprise.mean(), rel=1e-5) and found.counted == 5
    assert found.accuracy == (logits.argmax(-1) == ids[1:]).mean()
    np.testing.assert_array_equal(model.logits(ids), model.logits(ids, 5))


def test_what_is_filled_up_is_not_looked_at():
    model = tiny()
    ids = RNG.integers(0, 7, (2, 6))
    ids[1, 4:] = 0
    alone = [model.evaluate(ids[0]), model.evaluate(ids[1, :4])]
    both = model.evaluate(ids, lengths=[6, 4])
    assert both.counted == 8 and both.loss == pytest.approx((5 * alone[0].loss + 3 * alone[1].loss) / 8, rel=1e-12)


def test_dropout_tosses_other_coins_each_time_and_the_same_again():
    ids = RNG.integers(0, 7, (3, 6))
    model, again = tiny(dropout=0.5), tiny(dropout=0.5)
    losses = [model.learn(ids) for _ in range(3)]
    assert len(set(losses)) == 3 and losses == [again.learn(ids) for _ in range(3)]
    assert model.loss(ids) == model.loss(ids)


def test_a_loop_of_ones_own_learns_and_is_opened_by_the_lens(tmp_path):
    model = train.Model(vocabulary=10, length=16, layers=2, hidden=32, heads=2, batch=32)
    optimiser = train.AdamW(model, train.Schedule(5e-3, 150, warmup=20))
    for _ in range(150):
        half = RNG.integers(0, 10, (32, 8))
        ids = np.concatenate([half, half], axis=1)
        targets = np.where(np.arange(16) < 7, -1, np.roll(ids, -1, axis=1))
        targets[:, -1] = -1
        model.learn(ids, targets)
        optimiser.step()
    assert model.evaluate(ids, targets).accuracy > 0.99
    weights = model.attention(ids[0])
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-6)
    assert weights[:, :, np.arange(8, 15), np.arange(1, 8)].mean(-1).max() > 0.5  # looks at what follows its double
    words = [f"w{number}" for number in range(10)]
    model.save(tmp_path / "model", words)
    loaded = attend.TextModel.from_pretrained(tmp_path / "model")
    for layer, found in enumerate(loaded.attention(" ".join(words[one] for one in ids[0]))):
        np.testing.assert_allclose(found, weights[layer], atol=1e-5)


def test_cross_attention():
    model = tiny("encoder_decoder", layers=2)
    ids, source = RNG.integers(0, 7, 4), RNG.integers(0, 7, 6)
    assert model.attention(ids, source=source, which="cross").shape == (2, 2, 4, 6)
    assert model.attention(ids, source=source, which="encoder").shape == (2, 2, 6, 6)
    assert np.triu(model.attention(ids, source=source)[0, 0], 1).max() == 0


def test_the_lens_sees_the_same_cross_attention(tmp_path):
    model, words = tiny("encoder_decoder", layers=2), ["a", "b", "c", "d", "e", "<", "[UNK]"]
    source, target = [0, 3, 1, 4, 2, 2], [5, 1, 3]
    model.save(tmp_path / "model", words, start="<")
    reading = attend.lens.read(tmp_path / "model", "a d b e c c", "b d")
    for layer, (which, number) in enumerate([("encoder", 0), ("encoder", 1), ("self", 0), ("cross", 0), ("self", 1), ("cross", 1)], start=1):
        found = reading.map(layer=layer, head=2)
        rows, columns = (slice(0, 6) if which == "encoder" else slice(6, 9)), (slice(6, 9) if which == "self" else slice(0, 6))
        np.testing.assert_allclose(found[rows, columns], model.attention(target, source=source, which=which)[number, 1], atol=1e-6)
        np.testing.assert_allclose(found.sum(), rows.stop - rows.start, atol=1e-5)


def test_other_threads_run_while_it_computes():
    model = train.Model(vocabulary=50, length=128, batch=16, hidden=128)
    ids = RNG.integers(0, 50, (16, 128))
    steps, running, done = 0, threading.Event(), threading.Event()

    def compute():
        running.set()
        model.learn(ids)
        done.set()

    # With the GIL held the loop below would get no more than a switch or two.
    thread = threading.Thread(target=compute)
    thread.start()
    running.wait()
    while not done.is_set():
        steps += 1
        time.sleep(0.0005)
    thread.join()
    assert steps >= 5


IDS = np.zeros((2, 6), int)
MISTAKES = {
    "kind": (ValueError, 'kind is "coder"', lambda: tiny("coder")),
    "heads": (ValueError, "model.heads: 3 does not divide", lambda: tiny(heads=3)),
    "vocabulary": (ValueError, "vocabulary is 0", lambda: tiny(vocabulary=0)),
    "half a token": (TypeError, "Model: length must be a whole number, not float", lambda: tiny(length=2.5)),
    "no batch": (ValueError, "Model: batch is 0", lambda: tiny(batch=0)),
    "a seed": (TypeError, "seed must be a whole number, not str", lambda: tiny(seed="7")),
    "a choice": (ValueError, 'model.norm: "batch" is not one of layer, rms', lambda: tiny(norm="batch")),
    "dtype": (TypeError, "a model learns in float32 or float64", lambda: tiny(dtype="float16")),
    "too many": (ValueError, "has 4 sequences, expected 1 to 3", lambda: tiny().loss(np.zeros((4, 6), int))),
    "none": (ValueError, "has 0 sequences", lambda: tiny().loss(np.zeros((0, 6), int))),
    "too long": (ValueError, "sequences of 7 tokens, expected 1 to 6", lambda: tiny().loss(np.zeros(7, int))),
    "no ids": (TypeError, "ids must be whole numbers, not float64", lambda: tiny().loss(np.zeros(6))),
    "axes": (ValueError, "expected \\(sequences, tokens\\)", lambda: tiny().loss(np.zeros((1, 1, 6), int))),
    "an id": (ValueError, "7", lambda: tiny().learn(IDS + 7)),
    "a huge id": (ValueError, "ids do not all fit 32 bits", lambda: tiny().learn(IDS + 2**40)),
    "a target": (ValueError, "7", lambda: tiny().learn(IDS, IDS + 7)),
    "targets": (ValueError, "targets have shape", lambda: tiny().loss(IDS, IDS[:1])),
    "an encoder": (ValueError, "so it needs targets", lambda: tiny("encoder").loss(IDS)),
    "no source": (ValueError, "is an encoder_decoder and takes a source", lambda: tiny("encoder_decoder").loss(IDS)),
    "a source": (ValueError, "is a decoder and takes no source", lambda: tiny().loss(IDS, source=IDS)),
    "lengths": (ValueError, "length", lambda: tiny().loss(IDS, IDS, lengths=[9, 1])),
    "a row": (ValueError, "row is 6, and there are 6 tokens", lambda: tiny().logits(IDS[0], 6)),
    "several": (ValueError, "attention: expected one sequence, not 2", lambda: tiny().attention(IDS)),
    "which": (ValueError, "no attention of the kind cross", lambda: tiny().attention(IDS[0], which="cross")),
    "words": (ValueError, "2 words for a vocabulary of 7", lambda: tiny().save("nowhere", ["a", "b"])),
    "no start": (ValueError, "start is the word that targets", lambda: tiny("encoder_decoder").save("nowhere", list("abcdefg"))),
    "start": (ValueError, "start is 'x', which is not one of the words", lambda: tiny("encoder_decoder").save("nowhere", list("abcdefg"), start="x")),
    "rate": (ValueError, "the rate is nan", lambda: train.AdamW(tiny(), float("nan")).step()),
    "betas": (ValueError, "betas\\[1\\] is 1", lambda: train.AdamW(tiny(), betas=(0.9, 1))),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence(mistake):
    error, sentence, make = MISTAKES[mistake]
    with pytest.raises(error, match=sentence):
        make()


def test_a_gradient_that_is_no_number_changes_nothing():
    model = tiny()
    optimiser = train.AdamW(model)
    model.load_parameters({"words": np.full((7, 8), 1e300)})
    before = model.parameters
    model.learn(IDS)
    with pytest.raises(RuntimeError, match="the gradient is not finite"):
        optimiser.step()
    np.testing.assert_array_equal(model.parameters["words"], before["words"])
    assert optimiser.steps == 0
