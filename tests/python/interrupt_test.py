"""Ctrl-C, or any signal whose handler raises, ends a call in the middle of its work; what comes after is unharmed."""

import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

import attend
import attend.lens
import attend.train

LONG = 50_000  # tokens: minutes of attention
RNG = np.random.default_rng(0)
SMALL = RNG.normal(size=(1, 2, 40, 32)).astype(np.float32)
EXPECTED = attend.attention(SMALL, SMALL, SMALL)


class Rang(Exception):
    pass


@contextmanager
def alarm(handler, after=0.1, every=0.0):
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, after, every)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def ring(*_):
    raise Rang


def ends_early(call):
    start = time.monotonic()
    with alarm(ring), pytest.raises(Rang):
        call()
    assert time.monotonic() - start < 3, "the call went on after the alarm"
    np.testing.assert_array_equal(attend.attention(SMALL, SMALL, SMALL), EXPECTED)


@pytest.fixture(scope="module")
def long_heads():
    x = RNG.normal(size=(1, 1, LONG, 64)).astype(np.float32)
    return x, attend.RowState(np.zeros(x.shape[:-1], np.float32), np.ones(x.shape[:-1], np.float32))


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request):
    attend.set_threads(request.param)
    yield
    attend.set_threads(0)


def slow_backward(x):
    return attend.attention_backward(x, x, x, x, attend.RowState(np.zeros(x.shape[:-1]), np.ones(x.shape[:-1])), x)


CALLS = {
    "attention": lambda x, state: attend.attention(x, x, x),
    "many heads": lambda x, state: attend.attention(*3 * [np.broadcast_to(x, (1, 64, LONG, 64))]),
    "float64": lambda x, state: attend.attention(*3 * [x[:, :, :20_000].astype(np.float64)]),
    "backward": lambda x, state: attend.attention_backward(x, x, x, x, state, x),
    "backward of float64": lambda x, state: slow_backward(x[:, :, :5000].astype(np.float64)),
    "summaries": lambda x, state: attend.summarize_weights(x, x, received=True, entropy=True),
    "summaries of float64": lambda x, state: attend.summarize_weights(*2 * [x[:, :, :20_000].astype(np.float64)], received=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_long_call_ends(name, long_heads, threads):
    ends_early(lambda: CALLS[name](*long_heads))


def test_a_long_list_of_texts(small_bert, threads):
    model = attend.TextModel.from_pretrained(small_bert)
    ends_early(lambda: model.encode(["the bank of the river"] * 1_000_000))  # in tokens
    ends_early(lambda: model.encode(["the bank of the river, money is " * 7] * 20_000))  # in batches


def test_one_long_text(small_bert):
    model = attend.TextModel.from_pretrained(small_bert)
    text = "the bank of the river, " * 1_000_000
    ends_early(lambda: [model.tokenizer.encode(text, truncate=False) for _ in range(100)])
    ends_early(lambda: [model.tokenize(text) for _ in range(100)])


def test_a_model_that_learns_is_whole_or_as_it_was():
    model = attend.train.Model(vocabulary=500, length=512, batch=64, hidden=128, heads=4, layers=4)
    ids = RNG.integers(0, 500, size=(64, 512))
    before = model.parameters
    ends_early(lambda: [model.evaluate(ids) for _ in range(100)])
    model.learn(ids[:1, :8])
    assert any(gradient.any() for gradient in model.gradients.values())
    ends_early(lambda: model.learn(ids))
    assert not any(gradient.any() for gradient in model.gradients.values()), "a part of a gradient is left"
    assert all(np.array_equal(before[name], now) for name, now in model.parameters.items())


SCRIPT = """
import sys, time, numpy as np, attend
x = np.random.default_rng(0).normal(size=(1, 1, 50_000, 64)).astype(np.float32)
print("ready", flush=True)
try:
    attend.attention(x, x, x)
except KeyboardInterrupt:
    print("ended", attend.attention(x[:, :, :9], x, x).shape, flush=True)
    raise
"""


def test_ctrl_c():
    with subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.2)
        start = time.monotonic()
        child.send_signal(signal.SIGINT)
        assert child.stdout.readline() == "ended (1, 1, 9, 64)\n"
        assert child.wait() == -signal.SIGINT
        assert time.monotonic() - start < 3
        assert child.stderr.read().endswith("KeyboardInterrupt\n")


def test_handlers_that_return_change_nothing(long_heads):
    x = long_heads[0][:, :, :6000]
    expected = attend.attention(x, x, x)
    rings = []
    with alarm(lambda *_: rings.append(attend.attention(SMALL, SMALL, SMALL)), 0.01, 0.01):
        for _ in range(3):
            np.testing.assert_array_equal(attend.attention(x, x, x), expected)
    assert rings
    for out in rings:  # the library served them in the middle of another call
        np.testing.assert_array_equal(out, EXPECTED)


def test_what_a_handler_cannot_do_it_is_told(long_heads):
    x = long_heads[0]
    cache = attend.KeyValueCache(1, 1, 64)
    cache.append(x, x)
    for action, sentence in (
        (lambda: attend.set_threads(1), "cannot change in the middle of a call"),
        (lambda: cache.append(x, x), "is still at work in the call"),
        (cache.clear, "is still at work in the call"),
    ):
        with alarm(lambda *_: action()), pytest.raises(RuntimeError, match=sentence):
            cache.attention(x)
    lengths = []

    def look(*_):
        lengths.append((len(cache), attend.KeyValueCache(1, 1, 4).capacity))
        raise Rang

    with alarm(look), pytest.raises(Rang):
        cache.attention(x)
    assert lengths == [(LONG, 0)] and len(cache) == LONG


def test_other_threads_are_left_alone(long_heads):
    """Signals are the main thread's, which handles them while another computes."""
    x = long_heads[0][:, :, :8000]
    expected, found = attend.attention(x, x, x), []
    thread = threading.Thread(target=lambda: found.append(attend.attention(x, x, x)))
    with alarm(ring, 0.05), pytest.raises(Rang):
        thread.start()
        while True:
            time.sleep(0.01)
    thread.join()
    np.testing.assert_array_equal(found[0], expected)
