"""Every place where an array comes in: what is only marked as negated is read with its sign, and what cannot be read is refused."""

import ctypes

import numpy as np
import pytest

import attend
from arrays_test import OnlyDLPack

RNG = np.random.default_rng(0)


def normal(*shape):
    return RNG.normal(size=shape).astype(np.float32)


class LikeTorch(OnlyDLPack):
    """Tells its axes as PyTorch's tensors do, and has nothing but DLPack to read it by."""

    shape = property(lambda self: self.held.shape)
    ndim = property(lambda self: self.held.ndim)
    dtype = property(lambda self: self.held.dtype)
    reshape = property(lambda self: self.held.reshape)


class Negated(LikeTorch):
    """Such as torch's conj().imag: the memory holds x, and the tensor means -x."""

    def is_neg(self):
        return True

    def resolve_neg(self):
        return LikeTorch(-self.held)


class Conjugated(LikeTorch):
    """DLPack exports no such tensor of PyTorch's."""

    def is_conj(self):
        return True

    def resolve_conj(self):
        return LikeTorch(self.held.conj())

    def __dlpack__(self, **keywords):
        raise BufferError("Can't export tensors with the conjugate bit set")


class OldDLPack(OnlyDLPack):
    """From before DLPack 1.0: it takes no version, and cannot say that it is read-only."""

    def __dlpack__(self):
        return self.held.__dlpack__()


class Changed(OldDLPack):
    """With one field of the exported tensor overwritten: (offset, ctypes type, value)."""

    def __init__(self, held, *change):
        super().__init__(held)
        self.change = change

    def __dlpack__(self):
        capsule = super().__dlpack__()
        pointer = ctypes.pythonapi.PyCapsule_GetPointer
        pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        offset, kind, value = self.change
        kind.from_address(pointer(capsule, b"dltensor") + offset).value = value
        return capsule


X, W, E = normal(2, 3, 5, 8), normal(8, 8), normal(2, 5, 8)
OUT, STATE = attend.attention(X, X, X, return_state=True)


def cache_of(k, v):
    cache = attend.KeyValueCache(2, 3, 8)
    cache.append(k, v)
    return cache


def loaded(words):
    model = attend.train.Model(vocabulary=4, length=3, batch=1, hidden=8, heads=2, layers=1)
    model.load_parameters({"words": words})
    return model.parameters["words"]


VECTOR, BIAS = normal(8), normal(3, 5, 5)
HEADS = {"q": X, "k": normal(2, 3, 5, 8), "v": normal(2, 3, 5, 8)}
PROJECTED = {
    "x": E,
    "wq": W,
    "wk": W,
    "wv": W,
    "wo": W,
    "bq": VECTOR,
    "bk": VECTOR,
    "bv": VECTOR,
    "bo": VECTOR,
    "context": normal(2, 4, 8),
}
# name: (what is called with the arrays, the arrays)
ENTRIES = {
    "attention": (attend.attention, {**HEADS, "bias": BIAS}),
    "sdpa": (attend.scaled_dot_product_attention, {"query": HEADS["q"], "key": HEADS["k"], "value": HEADS["v"], "attn_mask": BIAS}),
    "attention_backward": (
        lambda max, sum, **rest: attend.attention_backward(row_state=attend.RowState(max, sum), **rest),
        {"q": X, "k": X, "v": X, "out": OUT, "max": STATE.max, "sum": STATE.sum, "d_out": normal(2, 3, 5, 8)},
    ),
    "weights": (attend.weights, {"q": X, "k": X}),
    "summarize": (
        lambda q, k: attend.summarize_weights(q, k, top_k=2, received=True, entropy=True, map_shape=(2, 2)),
        {"q": X, "k": X},
    ),
    "log_sum_exp": (lambda max, sum: attend.log_sum_exp(attend.RowState(max, sum)), {"max": STATE.max, "sum": STATE.sum}),
    "merge": (lambda out_a, out_b: attend.merge_attention(out_a, STATE, out_b, STATE), {"out_a": OUT, "out_b": OUT}),
    "cache": (lambda q, k, v: cache_of(k, v).attention(q), HEADS),
    "softmax": (attend.softmax, {"x": X}),
    "softmax_backward": (attend.softmax_backward, {"weights": X, "d_weights": X}),
    "gelu": (attend.gelu, {"x": X}),
    "gelu_backward": (attend.gelu_backward, {"x": X, "d_out": X}),
    "swiglu": (attend.swiglu, {"gate": X, "up": X}),
    "swiglu_backward": (attend.swiglu_backward, {"gate": X, "up": X, "d_out": X}),
    "dropout": (lambda x: attend.dropout(x, 0.5), {"x": X}),
    "layer_norm": (attend.layer_norm, {"x": X, "gamma": VECTOR, "beta": VECTOR, "residual": X}),
    "layer_norm_backward": (attend.layer_norm_backward, {"x": X, "d_out": X, "gamma": VECTOR, "residual": X}),
    "rms_norm": (attend.rms_norm, {"x": X, "gamma": VECTOR}),
    "rms_norm_backward": (attend.rms_norm_backward, {"x": X, "d_out": X, "gamma": VECTOR, "residual": X}),
    "matmul": (attend.matmul, {"a": X, "w": W, "bias": VECTOR, "residual": X}),
    "packed": (lambda w: attend.matmul(X, attend.PackedMatrix(w)), {"w": W}),
    "linear": (attend.linear, {"x": X, "w": W, "bias": VECTOR}),
    "linear_backward": (attend.linear_backward, {"x": X, "w": W, "d_out": X}),
    "multi_head": (lambda **arrays: attend.multi_head_attention(heads=2, **arrays), PROJECTED),
    "multi_head_backward": (lambda **arrays: attend.multi_head_attention_backward(heads=2, **arrays), {**PROJECTED, "d_out": E}),
    "self_attention": (attend.self_attention, {"x": W}),
    "single_head": (attend.single_head_attention, {"x": E[0], "wq": W, "wk": W, "wv": W}),
    "embedding": (lambda table: attend.embedding([1, 3], table), {"table": W}),
    "embedding_backward": (lambda d_out: attend.embedding_backward([1, 3], d_out, 4), {"d_out": normal(2, 8)}),
    "cross_entropy": (lambda logits: attend.cross_entropy(logits, [1, 3], gradient=True), {"logits": normal(2, 8)}),
    "learned_positions": (lambda x, table: attend.add_learned_positions(x, table, range(8)), {"x": W, "table": W}),
    "rotary": (lambda x: attend.apply_rotary(x, range(5)), {"x": X}),
    "rotary_tables": (attend.apply_rotary_tables, {"x": X, "cosines": normal(5, 4), "sines": normal(5, 4)}),
    "relative_bias": (lambda table: attend.relative_bias(table, 5, 5), {"table": W}),
    "relative_bias_backward": (lambda d_bias: attend.relative_bias_backward(d_bias, 8), {"d_bias": BIAS}),
    "load_parameters": (loaded, {"words": normal(4, 8)}),
}
PLACES = [(name, argument) for name, (_, arrays) in ENTRIES.items() for argument in arrays]


def arrays_of(result):
    if isinstance(result, tuple):
        return [array for part in result if part is not None for array in arrays_of(part)]
    return [np.asarray(result)]


def called_with(name, argument, array):
    call, arrays = ENTRIES[name]
    return arrays_of(call(**{**arrays, argument: array}))


@pytest.mark.parametrize("name, argument", PLACES)
def test_a_tensor_that_is_only_marked_as_negated_is_read_with_its_sign(name, argument):
    call, arrays = ENTRIES[name]
    for got, expected in zip(called_with(name, argument, Negated(-arrays[argument])), arrays_of(call(**arrays)), strict=True):
        np.testing.assert_array_equal(got, expected)


REFUSED = {
    "a list": (lambda x: x.tolist(), "must be an array"),
    "another byte order": (lambda x: x.astype(x.dtype.newbyteorder()), "(holds|attn_mask is) >f4"),
    "a GPU that is not there": (lambda x: LikeTorch(x, (2, 15)), "is on cuda:15, but there is no device cuda:15 here"),
    "another kind of device": (lambda x: LikeTorch(x, (10, 0)), "neither in the memory of the CPU nor in that of a CUDA device"),
    "complex numbers": (lambda x: x.astype(np.complex64), "(holds|attn_mask is) complex64"),
    "conjugated": (lambda x: Conjugated(x.astype(np.complex64)), "(holds|attn_mask is) complex64"),
}


@pytest.mark.parametrize("how", REFUSED)
def test_what_cannot_be_read_is_refused_everywhere(how):
    change, sentence = REFUSED[how]
    for name, argument in PLACES:
        with pytest.raises(TypeError, match=sentence) as told:
            called_with(name, argument, change(ENTRIES[name][1][argument]))
        assert type(told.value) is TypeError and "\n" not in str(told.value), (name, argument)


def test_a_read_only_array_is_read_through_dlpack():
    x = X.copy()
    x.flags.writeable = False
    np.testing.assert_array_equal(attend.softmax(OnlyDLPack(x)), attend.softmax(X))
    np.testing.assert_array_equal(attend.softmax(OldDLPack(X)), attend.softmax(X))


def test_what_must_not_be_written_is_not():
    x = X.copy()
    x.flags.writeable = False
    for out, kind, sentence in (
        (Negated(X.copy()), ValueError, "out is only marked as negated.*resolve_neg"),
        (Conjugated(X.copy()), ValueError, "out is only marked as conjugated.*resolve_conj"),
        (OnlyDLPack(x), ValueError, "out is read-only"),
        (OldDLPack(X.copy()), TypeError, "out does not say whether it may be written"),
    ):
        before = out.held.copy()
        with pytest.raises(kind, match=sentence):
            attend.attention(X, X, X, out=out)
        np.testing.assert_array_equal(out.held, before)


def test_out_through_dlpack_is_written():
    out = np.zeros_like(X)
    attend.attention(X, X, X, out=OnlyDLPack(out))
    np.testing.assert_array_equal(out, attend.attention(X, X, X))


def test_what_the_capsule_says_counts():
    """Whatever the array itself says of its device, and where its memory was taken away."""
    x = X.copy()
    for array, kind, sentence in (
        (Changed(x, 8, ctypes.c_int32, 2), TypeError, "x says that it is on cpu and hands over memory of another device"),
        (Changed(x, 0, ctypes.c_void_p, 0), ValueError, "x has no memory"),
        (Changed(x, 0, ctypes.c_void_p, x.ctypes.data + 1), ValueError, "multiple of its element size"),
    ):
        with pytest.raises(kind, match=sentence):
            attend.softmax(array)


def test_ids_beyond_64_bits_are_not_taken_for_others():
    """2^64 - 1 has the bits of -1, which means "no target"."""
    logits = normal(2, 8)
    for targets in (np.array([1, 2**64 - 1], np.uint64), np.array([1, 2**63], np.uint64)):
        with pytest.raises(ValueError, match="does not fit"):
            attend.cross_entropy(logits, targets)
