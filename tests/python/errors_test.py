"""A mistake gets one sentence that names it: TypeError for a wrong type, ValueError for a value that makes no sense."""

import sys

import numpy as np
import pytest

import attend
from arrays_test import OnlyDLPack

X = np.ones((1, 2, 4, 8), np.float32)


class WithoutArray:
    pass


class NeedsGradient(OnlyDLPack):
    requires_grad = True


def packed_field():
    record = np.zeros(64, np.dtype([("flag", "u1"), ("value", "f4")], align=False))
    return record["value"].reshape(1, 1, 8, 8)


MISTAKES = {
    "a list": (TypeError, "q must be an array", lambda: attend.attention([[1.0]], X, X)),
    "None": (TypeError, "k must be an array .* not NoneType", lambda: attend.attention(X, None, X)),
    "no array": (TypeError, "v must be an array .* not WithoutArray", lambda: attend.attention(X, X, WithoutArray())),
    "text": (TypeError, "q must be an array|q holds", lambda: attend.attention("abc", X, X)),
    "bytes": (TypeError, "q holds", lambda: attend.attention(b"abcd", X, X)),
    "integers": (TypeError, "q holds int32", lambda: attend.attention(X.astype(np.int32), X, X)),
    "int64 queries": (ValueError, "query", lambda: attend.attention(X.astype(np.int64), X, X)),
    "complex": (TypeError, "k holds complex64", lambda: attend.attention(X, X.astype(np.complex64), X)),
    "big-endian": (TypeError, "q holds >f4", lambda: attend.attention(X.astype(">f4"), X, X)),
    "objects": (TypeError, "q holds object", lambda: attend.attention(X.astype(object), X, X)),
    "strings": (TypeError, "q holds <U", lambda: attend.attention(X.astype(str), X, X)),
    "dates": (TypeError, "q holds datetime64", lambda: attend.attention(np.zeros((2, 2), "M8[s]"), X, X)),
    "no such GPU": (TypeError, "q is on cuda:15, but there is no device cuda:15 here", lambda: attend.attention(OnlyDLPack(X, (2, 15)), X, X)),
    "another device": (TypeError, "k is neither in the memory of the CPU", lambda: attend.attention(X, OnlyDLPack(X, (8, 0)), X)),
    "stream for the host": (TypeError, "stream is given, but the arrays are not on a GPU", lambda: attend.attention(X, X, X, stream=1)),
    "stream number": (ValueError, "stream is 77, which is not the address", lambda: attend.attention(OnlyDLPack(X, (2, 15)), X, X, stream=77)),
    "stream text": (TypeError, "stream must be a CUDA stream .* not str", lambda: attend.attention(OnlyDLPack(X, (2, 15)), X, X, stream="x")),
    "a gradient": (TypeError, "q requires a gradient; use attend.torch", lambda: attend.attention(NeedsGradient(X), X, X)),
    "two dtypes": (ValueError, "f64", lambda: attend.attention(X, X.astype(np.float64), X)),
    "five axes": (ValueError, "q has 5 axes", lambda: attend.attention(X[None], X, X)),
    "one axis": (ValueError, "q has 1 axes, expected two to four", lambda: attend.attention(X[0, 0, 0], X, X)),
    "no axis": (ValueError, "q has 0 axes", lambda: attend.attention(np.float32(1), X, X)),
    "other axes": (ValueError, "k has 3 axes and q has 4", lambda: attend.attention(X, X[0], X)),
    "head sizes": (ValueError, "attention", lambda: attend.attention(X, X[..., :4], X)),
    "unaligned": (ValueError, "multiple of its element size", lambda: attend.attention(packed_field(), packed_field(), packed_field())),
    "misspelt": (TypeError, "unexpected keyword argument 'casual'; did you mean 'causal'", lambda: attend.attention(X, X, X, casual=True)),
    "unknown": (TypeError, "unexpected keyword argument 'colour'", lambda: attend.attention(X, X, X, colour=1)),
    "causal text": (TypeError, "causal must be True or False", lambda: attend.attention(X, X, X, causal="yes")),
    "scale text": (TypeError, "scale must be a number, not str", lambda: attend.attention(X, X, X, scale="1")),
    "scale nan": (ValueError, "scale", lambda: attend.attention(X, X, X, scale=float("nan"))),
    "window of one": (TypeError, "window must be a sequence", lambda: attend.attention(X, X, X, window=3)),
    "window of three": (ValueError, "window has 3 numbers", lambda: attend.attention(X, X, X, window=(1, 2, 3))),
    "window below 0": (ValueError, "window is -2 on one side", lambda: attend.attention(X, X, X, window=(-2, 1))),
    "offset name": (ValueError, "query_offset is \"left\"", lambda: attend.attention(X, X, X, query_offset="left")),
    "offset fraction": (TypeError, "query_offset must be", lambda: attend.attention(X, X, X, query_offset=1.5)),
    "offset too big": (ValueError, "does not fit 64 bits", lambda: attend.attention(X, X, X, query_offset=1 << 70)),
    "lengths text": (TypeError, "key_lengths must be a sequence", lambda: attend.attention(X, X, X, key_lengths="3")),
    "lengths fraction": (TypeError, "key_lengths must be a whole number", lambda: attend.attention(X, X, X, key_lengths=[1.5])),
    "lengths too many": (ValueError, "key_lengths", lambda: attend.attention(X, X, X, key_lengths=[1, 2])),
    "lengths too long": (ValueError, "key_lengths", lambda: attend.attention(X, X, X, key_lengths=[9])),
    "mask a float": (ValueError, "mask", lambda: attend.attention(X, X, X, mask=X[:, :, :, :4])),
    "mask a list": (TypeError, "mask must be an array", lambda: attend.attention(X, X, X, mask=[[True]])),
    "mask shape": (ValueError, "mask", lambda: attend.attention(X, X, X, mask=np.ones((3, 4), bool))),
    "bias a bool": (ValueError, "bias", lambda: attend.attention(X, X, X, bias=np.ones((4, 4), bool))),
    "sinks": (ValueError, "sinks", lambda: attend.attention(X, X, X, sinks=[1.0])),
    "dropout": (ValueError, "dropout", lambda: attend.attention(X, X, X, dropout=1.5)),
    "seed": (TypeError, "dropout_seed must be a whole number, not str", lambda: attend.attention(X, X, X, dropout_seed="x")),
    "out shape": (ValueError, "out", lambda: attend.attention(X, X, X, out=np.empty((1, 2, 4, 9), np.float32))),
    "out dtype": (ValueError, "out", lambda: attend.attention(X, X, X, out=np.empty(X.shape, np.float64))),
    "out read-only": (ValueError, "out is read-only", lambda: attend.attention(X, X, X, out=np.broadcast_to(X, X.shape))),
    "out overlaps": (ValueError, "overlap", lambda: (lambda q: attend.attention(q, X, X, out=q))(X.copy())),
    "packed axes": (ValueError, "three for packed", lambda: attend.attention(X, X, X, cumulative_query_lengths=[0, 1])),
    "stage": (ValueError, "stage is \"logits\"", lambda: attend.weights(X, X, stage="logits")),
    "row": (ValueError, "row 9 is out of range", lambda: attend.weights(X, X, rows=[9])),
    "heads of one": (ValueError, "q has no axis for them", lambda: attend.weights(X[0, 0], X[0, 0], heads=0)),
    "state": (TypeError, "row_state must be the RowState", lambda: attend.weights(X, X, row_state=3)),
    "state shape": (ValueError, "row_state", lambda: attend.weights(X, X, row_state=attend.RowState(X, X))),
    "top 0": (ValueError, "count is 0", lambda: attend.top_k(X, X, 0)),
    "map": (ValueError, "0 x 4", lambda: attend.attention_map(X, X, 0, 4)),
    "map shape": (ValueError, "map_shape has 1", lambda: attend.summarize_weights(X, X, map_shape=(3,))),
    "reduction": (ValueError, "map_reduction is \"sum\"", lambda: attend.attention_map(X, X, 2, 2, reduction="sum")),
    "wanted": (ValueError, "wanted names \"w\"", lambda: attend.attention_backward(X, X, X, X, attend.RowState(X[..., 0], X[..., 0]), X, wanted=["w"])),
    "wanted bias": (ValueError, "no bias is given", lambda: attend.attention_backward(X, X, X, X, attend.RowState(X[..., 0], X[..., 0]), X, wanted=["bias"])),
    "cache dtype": (TypeError, "dtype is int8", lambda: attend.KeyValueCache(1, 1, 4, dtype="int8")),
    "cache size": (ValueError, "KeyValueCache|cache", lambda: attend.KeyValueCache(-1, 1, 4)),
    "cache rows": (ValueError, "KeyValueCache|append|cache", lambda: attend.KeyValueCache(1, 2, 9).append(X, X)),
    "cache queries": (ValueError, "q has 3 axes", lambda: attend.KeyValueCache(1, 2, 8).attention(X[0])),
    "matmul": (ValueError, "matmul", lambda: attend.matmul(X, np.ones((9, 3), np.float32))),
    "matmul axes": (ValueError, "matmul", lambda: attend.matmul(X, X)),
    "activation": (ValueError, "activation is \"swish\"", lambda: attend.matmul(X, np.ones((8, 3), np.float32), activation="swish")),
    "gelu": (ValueError, "approximate is \"fast\"", lambda: attend.gelu(X, "fast")),
    "norm": (ValueError, "layer_norm", lambda: attend.layer_norm(X, np.ones(7, np.float32))),
    "pairing": (ValueError, "pairing is \"odd\"", lambda: attend.apply_rotary(X, range(4), pairing="odd")),
    "positions": (ValueError, "positions", lambda: attend.apply_rotary(X, range(3))),
    "table": (ValueError, "position", lambda: attend.add_learned_positions(X[0, 0], X[0, 0], [0, 1, 2, 4])),
    "length": (ValueError, "length is -1", lambda: attend.sinusoidal_positions(-1, 4)),
    "threads": (ValueError, "threads", lambda: attend.set_threads(-1)),
    "isa": (ValueError, "isa|mmx", lambda: attend.set_isa("mmx")),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name):
    kind, sentence, mistake = MISTAKES[name]
    with pytest.raises(kind, match=sentence) as told:
        mistake()
    assert type(told.value) is kind
    assert "\n" not in str(told.value) and "std::" not in str(told.value)


@pytest.mark.parametrize("array", [X.astype(np.int32), X[None], packed_field(), X.astype(object)], ids=["dtype", "axes", "aligned", "object"])
def test_a_refused_array_is_let_go(array):
    before = sys.getrefcount(array)
    for _ in range(3):
        with pytest.raises((TypeError, ValueError)):
            attend.attention(array, X, X)
    assert sys.getrefcount(array) == before
