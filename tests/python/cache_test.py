"""The cache in Python: what it attends to, and how its memory is lent."""

import gc
import threading

import ml_dtypes
import numpy as np
import pytest

import attend

RNG = np.random.default_rng(0)


def step(rows, batch=2, heads=3, d=8):
    return RNG.normal(size=(batch, heads, rows, d)).astype(np.float32)


def test_step_by_step_is_all_at_once():
    q, k, v = step(10), step(10), step(10)
    cache = attend.KeyValueCache(2, 3, 8)
    whole = attend.attention(q, k, v, causal=True)
    for i in range(10):
        now = slice(i, i + 1)
        cache.append(k[:, :, now], v[:, :, now])
        out, state = cache.attention(q[:, :, now], causal=True, return_state=True)
        np.testing.assert_allclose(out, whole[:, :, now], atol=1e-5)
        rows = attend.weights(q[:, :, now], cache.keys(), row_state=state)
        np.testing.assert_allclose(rows.sum(axis=-1), 1, atol=1e-5)
    assert len(cache) == cache.length == 10 and cache.lengths == [10, 10] and cache.capacity >= 10
    np.testing.assert_array_equal(cache.keys(), k)
    np.testing.assert_array_equal(cache.values(), v)


def test_sequences_of_different_lengths():
    cache = attend.KeyValueCache(2, 3, 8, 4, capacity=8)
    k, v, q = step(5), step(5, d=4), step(1)
    cache.append(k, v, counts=[5, 2])
    assert cache.lengths == [5, 2]
    out = cache.attention(q)
    np.testing.assert_allclose(out[1], attend.attention(q[1], k[1, :, :2], v[1, :, :2]), atol=1e-6)
    cache.truncate([3, 1])
    assert cache.lengths == [3, 1]
    cache.truncate(2)
    assert cache.lengths == [2, 1]
    cache.clear()
    assert cache.length == 0 and cache.capacity == 8


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", np.float16, ml_dtypes.bfloat16])
def test_types(dtype):
    cache = attend.KeyValueCache(2, 3, 8, dtype=dtype)
    k, v = step(4), step(4)
    cache.append(k, v)
    assert cache.keys().dtype == np.dtype(ml_dtypes.bfloat16 if "bfloat16" in str(dtype) else dtype)
    np.testing.assert_allclose(cache.keys().astype(np.float32), k, rtol=1e-2)


def test_memory_that_is_looked_at_does_not_move():
    cache = attend.KeyValueCache(1, 1, 8, capacity=4)
    cache.append(step(2, 1, 1), step(2, 1, 1))
    keys = cache.keys()
    assert not keys.flags.writeable
    before = keys.copy()
    cache.append(step(2, 1, 1), step(2, 1, 1))  # there is room
    with pytest.raises(ValueError, match="still looks at the memory"):
        cache.append(step(1, 1, 1), step(1, 1, 1))
    with pytest.raises(ValueError, match="still looks at the memory"):
        cache.reserve(100)
    assert cache.length == 4
    np.testing.assert_array_equal(keys, before)
    del keys
    gc.collect()
    cache.append(step(1, 1, 1), step(1, 1, 1))
    assert cache.length == 5


def test_an_array_keeps_its_cache_alive():
    cache = attend.KeyValueCache(1, 1, 8)
    rows = step(3, 1, 1)
    cache.append(rows, rows)
    keys = cache.keys()
    del cache
    gc.collect()
    np.testing.assert_array_equal(keys, rows)


def test_threads_that_append_and_attend():
    cache = attend.KeyValueCache(1, 2, 16)
    cache.append(step(1, 1, 2, 16), step(1, 1, 2, 16))
    failures = []

    def attend_to_it():
        q = np.ones((1, 2, 1, 16), np.float32)
        for _ in range(200):
            if not np.isfinite(cache.attention(q)).all():
                failures.append("not finite")

    threads = [threading.Thread(target=attend_to_it) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        cache.append(step(3, 1, 2, 16), step(3, 1, 2, 16))
    for thread in threads:
        thread.join()
    assert not failures and cache.length == 901
