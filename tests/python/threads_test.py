"""Python's threads and processes: calls at once, the GIL, settings, forks, and memory that comes back."""

import os
import subprocess
import sys
import threading
import time

import numpy as np

import attend
import oracle

RNG = np.random.default_rng(0)


def test_eight_threads_at_once_give_the_same_bits():
    problems = [oracle.random_heads(np.random.default_rng(seed), queries=64, keys=128) for seed in range(8)]
    expected = [attend.attention(*heads, causal=True) for heads in problems]
    summaries = [attend.summarize_weights(q, k, top_k=3, received=True) for q, k, _ in problems]
    wrong = []

    def work(mine):
        for turn in range(40):
            one = (mine + turn) % 8
            q, k, v = problems[one]
            if not np.array_equal(attend.attention(q, k, v, causal=True), expected[one]):
                wrong.append(("attention", one))
            summary = attend.summarize_weights(q, k, top_k=3, received=True)
            if not np.array_equal(summary.top_keys, summaries[one].top_keys) or not np.array_equal(summary.received, summaries[one].received):
                wrong.append(("weights", one))

    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_others_run_while_the_library_computes():
    x = RNG.normal(size=(1, 1, 8192, 64)).astype(np.float32)
    running, steps = threading.Event(), 0
    done = threading.Event()

    def compute():
        running.set()
        attend.attention(x, x, x)
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


def test_any_number_of_threads_gives_the_same_bits():
    q, k, v = oracle.random_heads(np.random.default_rng(1), queries=100, keys=300)
    expected = attend.attention(q, k, v)
    try:
        for count in (1, 2, 3, 8):
            attend.set_threads(count)
            assert attend.threads() == count
            np.testing.assert_array_equal(attend.attention(q, k, v), expected)
    finally:
        attend.set_threads(0)


def test_settings_change_between_calls_not_within():
    q, k, v = oracle.random_heads(np.random.default_rng(2), queries=64, keys=64)
    stop, wrong = threading.Event(), []
    expected = {isa: None for isa in attend.available_isas()[:2]}
    for isa in expected:
        attend.set_isa(isa)
        expected[isa] = attend.attention(q, k, v)

    def work():
        while not stop.is_set():
            out = attend.attention(q, k, v)
            if not any(np.array_equal(out, one) for one in expected.values()):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        for turn in range(60):
            attend.set_isa(list(expected)[turn % len(expected)])
            attend.set_threads(1 + turn % 3)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        attend.set_isa("")
        attend.set_threads(0)
    assert not wrong
    assert attend.isa() == attend.available_isas()[0] or "ATTEND_ISA" in os.environ


def test_a_forked_child_computes():
    q, k, v = oracle.random_heads(np.random.default_rng(3), queries=64, keys=64)
    expected = attend.attention(q, k, v)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(attend.attention(q, k, v), expected) else 3)
    assert os.waitpid(child, 0)[1] == 0


LEAK = """
import gc, numpy as np, attend
x = np.ones((1, 1, 8, 8), np.float32)
mask = np.ones((8, 8), bool)
out, state = attend.attention(x, x, x, return_state=True)

def calls(count):
    for _ in range(count):
        attend.attention(x, x, x, mask=mask, key_lengths=[8], return_state=True)
        attend.summarize_weights(x, x, top_k=2, received=True, row_state=state)
        attend.weights(x, x, rows=[1])
        attend.attention_backward(x, x, x, out, state, out)
        try:
            attend.attention(x, x, x, window=3)
        except TypeError:
            pass

def resident():
    gc.collect()
    return int(open("/proc/self/statm").read().split()[1]) * 4

calls(2000)
before = resident()
calls(20000)  # five calls each
print(resident() - before)
"""


def test_a_hundred_thousand_calls_leave_nothing_behind():
    grown = int(subprocess.run([sys.executable, "-c", LEAK], check=True, capture_output=True, text=True).stdout)
    assert grown < 500, f"resident memory grew by {grown} kB"
