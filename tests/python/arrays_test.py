"""Arrays are read and written where they lie, whatever library they come from and however their strides run."""

import array
import resource

import ml_dtypes
import numpy as np
import pytest

import attend

RNG = np.random.default_rng(0)
Q, K, V = (RNG.normal(size=(2, 3, 20, 16)).astype(np.float32) for _ in range(3))
EXPECTED = attend.attention(Q, K, V)


class OnlyDLPack:
    """An array that has nothing but DLPack, as those of other libraries."""

    def __init__(self, held, device=(1, 0)):
        self.held, self.device = held, device

    def __dlpack__(self, **keywords):
        return self.held.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.device


def with_strides(x, how):
    if how == "heads last":
        return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    if how == "head size first":
        return np.ascontiguousarray(x.transpose(3, 0, 1, 2)).transpose(1, 2, 3, 0)
    if how == "every second":
        return np.repeat(x, 2, axis=3)[..., ::2]
    if how == "backwards":
        return np.ascontiguousarray(x[:, :, ::-1, ::-1])[:, :, ::-1, ::-1]
    if how == "read-only":
        y = x.copy()
        y.flags.writeable = False
        return y
    if how == "memoryview":
        return memoryview(x)
    if how == "dlpack":
        return OnlyDLPack(x)
    raise AssertionError(how)


@pytest.mark.parametrize("how", ["heads last", "head size first", "every second", "backwards", "read-only", "memoryview", "dlpack"])
def test_any_strides_and_any_owner_give_the_same_bits(how):
    np.testing.assert_array_equal(attend.attention(with_strides(Q, how), with_strides(K, how), with_strides(V, how)), EXPECTED)


def test_one_head_from_the_standard_library():
    rows = memoryview(array.array("f", Q[0, 0].ravel().tolist())).cast("B").cast("f", (20, 16))
    np.testing.assert_array_equal(attend.attention(rows, rows, rows), attend.attention(Q[0, 0], Q[0, 0], Q[0, 0]))


def test_axes_of_stride_zero():
    key = np.broadcast_to(K[:, :1], K.shape)
    np.testing.assert_array_equal(attend.attention(Q, key, V), attend.attention(Q, key.copy(), V))


def test_nothing_is_copied():
    """A row seen four million times is a gigabyte only to those who copy it."""
    row = np.ones((1, 1, 1, 64), np.float32)
    key = np.broadcast_to(row, (1, 1, 1 << 22, 64))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    out = attend.attention(row, key, key)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    np.testing.assert_allclose(out, 1, atol=1e-5)
    assert grown < 100_000, f"memory grew by {grown} kB"


@pytest.mark.parametrize("dtype, bound", [(np.float16, 2e-3), (ml_dtypes.bfloat16, 2e-2)])
def test_sixteen_bits(dtype, bound):
    q, k, v = (x.astype(dtype) for x in (Q, K, V))
    out, state = attend.attention(q, k, v, return_state=True)
    assert out.dtype == dtype and state.max.dtype == np.float32
    wide = attend.attention(*(x.astype(np.float32) for x in (q, k, v)))
    np.testing.assert_allclose(out.astype(np.float32), wide, atol=bound)
    into = np.empty(Q.shape, np.float32)
    attend.attention(q, k, v, out=into, precision="f32")
    np.testing.assert_allclose(into, wide, atol=1e-5)
    attend.attention(q, k, v, out=into)  # bf16 may be multiplied in bf16
    np.testing.assert_allclose(into, wide, atol=1e-5 if dtype is np.float16 else 5e-3)
    assert attend.weights(q, k).dtype == np.float32
    gradients = attend.attention_backward(q, k, v, into, state, into)
    assert gradients.q.dtype == dtype


def test_bfloat16_strides():
    q = Q.astype(ml_dtypes.bfloat16)
    turned = np.ascontiguousarray(q.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    np.testing.assert_array_equal(attend.attention(turned, q, q), attend.attention(q, q, q))


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda x: np.array(x, np.int32), lambda x: np.array(x, np.uint8)])
def test_numbers_come_as_lists_or_arrays(make):
    lengths = [3, 20]
    np.testing.assert_array_equal(attend.attention(Q, K, V, key_lengths=make(lengths)), attend.attention(Q, K, V, key_lengths=lengths))


@pytest.mark.parametrize("make", [list, tuple, np.array, lambda x: np.array(x, np.float32), lambda x: memoryview(np.array(x))])
def test_floats_come_as_lists_or_arrays(make):
    sinks = [0.5, 1, 2]
    np.testing.assert_array_equal(attend.attention(Q, K, V, sinks=make(sinks)), attend.attention(Q, K, V, sinks=sinks))


def test_results_own_their_memory():
    rows = attend.weights(Q, K, rows=[1])
    copy = rows.copy()
    for _ in range(20):
        attend.weights(K, Q, rows=[2])
    np.testing.assert_array_equal(rows, copy)
    assert rows.flags.writeable
