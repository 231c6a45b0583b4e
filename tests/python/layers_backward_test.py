"""The layers that learn, there and back, against the formulas in NumPy and float64."""

import math

import numpy as np
import pytest

import attend
import oracle

RNG = np.random.default_rng(0)
TYPES = pytest.mark.parametrize("dtype, bound", [(np.float32, 2e-5), (np.float64, 1e-11)])


def draw(*shape, dtype):
    """Values whose rows lie apart in memory, in another order."""
    return RNG.normal(size=(*shape[:-1], 2 * shape[-1])).astype(dtype)[..., ::-2]


def wide(*arrays):
    return [np.asarray(array, np.float64) for array in arrays]


def agrees(found, expected, bound, dtype):
    assert found.dtype == dtype and found.shape == np.shape(expected)
    np.testing.assert_allclose(found, expected, atol=bound * max(1, np.abs(expected).max(initial=0)))


def slope(function, at, d_out, step=1e-5):
    """The gradient of sum(function(at) d_out), by differences."""
    result = np.zeros_like(at)
    for place in np.ndindex(at.shape):
        moved = at.copy()
        moved[place] += step
        above = (function(moved) * d_out).sum()
        moved[place] -= 2 * step
        result[place] = (above - (function(moved) * d_out).sum()) / (2 * step)
    return result


@TYPES
@pytest.mark.parametrize("rows", [(7,), (2, 7), (2, 3, 7), (0,)])
def test_linear(rows, dtype, bound):
    x, w, bias, d_out = draw(*rows, 5, dtype=dtype), draw(5, 9, dtype=dtype), draw(9, dtype=dtype), draw(*rows, 9, dtype=dtype)
    x64, w64, bias64, d64 = wide(x, w, bias, d_out)
    agrees(attend.linear(x, w, bias), x64 @ w64 + bias64, bound, dtype)
    agrees(attend.linear(x, w), x64 @ w64, bound, dtype)
    found = attend.linear_backward(x, w, d_out)
    agrees(found.x, d64 @ w64.T, bound, dtype)
    agrees(found.w, x64.reshape(-1, 5).T @ d64.reshape(-1, 9), bound, dtype)
    agrees(found.bias, d64.reshape(-1, 9).sum(0), bound, dtype)


@TYPES
def test_embedding(dtype, bound):
    table = draw(11, 6, dtype=dtype)
    for ids in ([], [3], [[1, 5, 1], [0, 10, 1]], np.array([2, 2], np.uint8), RNG.integers(0, 11, (2, 2, 3))):
        found = attend.embedding(ids, table)
        ids = np.asarray(ids, int)
        np.testing.assert_array_equal(found, table[ids])
        d_out = draw(*ids.shape, 6, dtype=dtype)
        expected = np.zeros((11, 6))
        np.add.at(expected, ids, d_out)
        agrees(attend.embedding_backward(ids, d_out, 11), expected, bound, dtype)
    np.testing.assert_array_equal(attend.embedding(4, table), table[4])


@TYPES
def test_norms(dtype, bound):
    x, gamma, d_out, residual = draw(3, 5, 12, dtype=dtype), draw(12, dtype=dtype), draw(3, 5, 12, dtype=dtype), draw(3, 5, 12, dtype=dtype)
    x64, gamma64, d64, residual64 = wide(x, gamma, d_out, residual)
    inverse = 1 / np.sqrt((x64**2).mean(-1, keepdims=True) + 1e-3)
    agrees(attend.rms_norm(x, gamma, 1e-3), x64 * inverse * gamma64, bound, dtype)
    g = d64 * gamma64
    found = attend.rms_norm_backward(x, d_out, gamma, 1e-3)
    agrees(found.x, inverse * (g - x64 * inverse**2 * (g * x64).mean(-1, keepdims=True)), bound, dtype)
    agrees(found.gamma, (d64 * x64 * inverse).sum((0, 1)), bound, dtype)
    assert found.beta is None and attend.rms_norm_backward(x, d_out).gamma is None
    agrees(attend.rms_norm_backward(x, d_out, gamma, 1e-3, residual).x, found.x.astype(np.float64) + residual64, bound, dtype)

    inverse = 1 / np.sqrt(x64.var(-1, keepdims=True) + 1e-3)
    y = (x64 - x64.mean(-1, keepdims=True)) * inverse
    found = attend.layer_norm_backward(x, d_out, gamma, 1e-3)
    agrees(found.x, (g - g.mean(-1, keepdims=True) - y * (g * y).mean(-1, keepdims=True)) * inverse, bound, dtype)
    agrees(found.gamma, (d64 * y).sum((0, 1)), bound, dtype)
    agrees(found.beta, d64.sum((0, 1)), bound, dtype)
    agrees(attend.layer_norm_backward(x, d_out, gamma, 1e-3, residual).x, found.x.astype(np.float64) + residual64, bound, dtype)


@TYPES
def test_activations(dtype, bound):
    x, up, d_out = draw(3, 5, 9, dtype=dtype), draw(3, 5, 9, dtype=dtype), draw(3, 5, 9, dtype=dtype)
    x64, up64, d64 = wide(x, up, d_out)
    phi, density = 0.5 * (1 + np.vectorize(math.erf)(x64 / math.sqrt(2))), np.exp(-(x64**2) / 2) / math.sqrt(2 * math.pi)
    agrees(attend.gelu_backward(x, d_out), d64 * (phi + x64 * density), bound, dtype)
    inner, slant = math.sqrt(2 / math.pi) * (x64 + 0.044715 * x64**3), math.sqrt(2 / math.pi) * (1 + 3 * 0.044715 * x64**2)
    expected = d64 * (0.5 * (1 + np.tanh(inner)) + 0.5 * x64 * (1 - np.tanh(inner) ** 2) * slant)
    agrees(attend.gelu_backward(x, d_out, "tanh"), expected, bound, dtype)
    sigmoid = 1 / (1 + np.exp(-x64))
    agrees(attend.swiglu(x, up), x64 * sigmoid * up64, bound, dtype)
    found = attend.swiglu_backward(x, up, d_out)
    agrees(found.gate, d64 * up64 * sigmoid * (1 + x64 * (1 - sigmoid)), bound, dtype)
    agrees(found.up, d64 * x64 * sigmoid, bound, dtype)
    weights = attend.softmax(x)
    weights64 = weights.astype(np.float64)
    agrees(attend.softmax_backward(weights, d_out), weights64 * (d64 - (d64 * weights64).sum(-1, keepdims=True)), bound, dtype)


@TYPES
def test_dropout(dtype, bound):
    x = draw(40, 50, dtype=dtype)
    found = attend.dropout(x, 0.25, seed=3)
    kept = found != 0
    assert 0.7 < kept.mean() < 0.8
    agrees(found[kept], x[kept].astype(np.float64) / 0.75, bound, dtype)
    np.testing.assert_array_equal(attend.dropout(np.ones_like(x), 0.25, seed=3) != 0, kept)  # the backward pass drops the same
    assert (attend.dropout(x, 0.25, seed=4) != found).any() and (attend.dropout(x, 0.25, seed=3, stream=1) != found).any()
    np.testing.assert_array_equal(attend.dropout(x, 0), x)
    np.testing.assert_array_equal(attend.dropout(x, 0.25, seed=-1), attend.dropout(x, 0.25, seed=2**64 - 1))


@TYPES
@pytest.mark.parametrize("rows", [(), (6,), (2, 3), (0,)])
def test_cross_entropy(rows, dtype, bound):
    logits, targets = draw(*rows, 7, dtype=dtype), RNG.integers(-1, 7, rows)
    logits64 = logits.astype(np.float64)
    softmax = np.exp(logits64 - logits64.max(-1, keepdims=True, initial=-100))
    softmax /= softmax.sum(-1, keepdims=True)
    counted = targets >= 0
    chosen = np.eye(7)[targets] * counted[..., None]
    surprise = -np.log((softmax * chosen).sum(-1)[counted])
    for reduction, share in (("mean", max(1, counted.sum())), ("sum", 1)):
        found = attend.cross_entropy(logits, targets, reduction, gradient=True)
        assert found.loss == pytest.approx(surprise.sum() / share, abs=bound * max(1, counted.sum()))
        assert found.counted == counted.sum() and found.right == (logits.argmax(-1) == targets)[counted].sum()
        agrees(found.d_logits, (softmax - chosen) * counted[..., None] / share, bound, dtype)
        assert attend.cross_entropy(logits, targets, reduction)[:3] == found[:3]
    assert attend.cross_entropy(logits, targets).d_logits is None


def multi_head_in_numpy(x, p, heads, context=None, **options):
    context = x if context is None else context
    d = p["wq"].shape[1] // heads

    def split(rows, count):
        return rows.reshape(*rows.shape[:2], count, -1).transpose(0, 2, 1, 3)

    q, k, v = (rows @ p["w" + one] + p.get("b" + one, 0) for one, rows in (("q", x), ("k", context), ("v", context)))
    key_heads = k.shape[-1] // d
    out = oracle.attention(split(q, heads), split(k, key_heads), split(v, key_heads), **options).output
    out = out.transpose(0, 2, 1, 3).reshape(*x.shape[:2], -1)
    return out @ p["wo"] + p.get("bo", 0) if "wo" in p else out


def multi_head_parameters(e, ek, key_heads=4, full=True, dtype=np.float64):
    shapes = {"wq": (e, 16), "wk": (ek, 4 * key_heads), "wv": (ek, 3 * key_heads)}
    if full:
        shapes |= {"wo": (12, 5), "bq": (16,), "bk": (4 * key_heads,), "bv": (3 * key_heads,), "bo": (5,)}
    return {name: draw(*shape, dtype=dtype) / 2 for name, shape in shapes.items()}


@TYPES
@pytest.mark.parametrize("cross, key_heads, full", [(False, 4, True), (True, 2, True), (True, 4, False)])
def test_multi_head_attention(cross, key_heads, full, dtype, bound):
    x, context = draw(2, 4, 6, dtype=dtype), draw(2, 5, 7, dtype=dtype) if cross else None
    p = multi_head_parameters(6, 7 if cross else 6, key_heads, full, dtype)
    options = {"key_lengths": [3, 4]} if cross else {"causal": True}
    arguments = {**p, **options, "heads": 4, "context": context}
    p64 = {name: value.astype(np.float64) for name, value in p.items()}
    given = {"x": x.astype(np.float64)} | ({"context": context.astype(np.float64)} if cross else {})
    expected = multi_head_in_numpy(p=p64, heads=4, **given, **options)
    agrees(attend.multi_head_attention(x, **arguments), expected, bound, dtype)
    d_out = draw(*expected.shape, dtype=dtype)
    found = attend.multi_head_attention_backward(x, d_out=d_out, **arguments)
    for name, value in (given | p64).items():
        def moved(at):
            changed = {name: at}
            return multi_head_in_numpy(p=p64 | changed, heads=4, **(given | {key: at for key in changed if key in given}), **options)

        agrees(getattr(found, name), slope(moved, value, d_out), max(bound, 1e-8), dtype)
    assert (found.context is None) is not cross and (found.wo is None) is not full
    alone = {**arguments, "context": context[0] if cross else None, "key_lengths": [3]} if cross else arguments
    np.testing.assert_array_equal(attend.multi_head_attention(x[0], **alone), attend.multi_head_attention(x, **arguments)[0])
    one = attend.multi_head_attention_backward(x[0], d_out=d_out[0], **alone)
    agrees(one.x, found.x[0].astype(np.float64), bound, dtype)


def test_positions_back():
    table, d_bias = RNG.normal(size=(16, 2)), RNG.normal(size=(2, 5, 6))
    options = {"query_offset": 2, "max_distance": 5}
    expected = slope(lambda at: attend.relative_bias(at, 5, 6, **options), table, d_bias)
    np.testing.assert_allclose(attend.relative_bias_backward(d_bias, 16, **options), expected, atol=1e-8)
    x, d_out, positions = RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)), [1, 7, 2]
    turned_back = attend.apply_rotary(d_out, positions, inverse=True)
    np.testing.assert_allclose(turned_back, slope(lambda at: attend.apply_rotary(at, positions), x, d_out), atol=1e-8)
    places = RNG.normal(size=(8, 4))
    expected = slope(lambda at: attend.add_learned_positions(x, at, positions), places, d_out)
    np.testing.assert_allclose(attend.embedding_backward(positions, d_out, 8), expected, atol=1e-8)


X, W = np.ones((3, 4), np.float32), np.ones((4, 8), np.float32)
MISTAKES = {
    "linear": (ValueError, "does not go with w", lambda: attend.linear(X, W.T)),
    "linear of two types": (ValueError, "w is f64, expected f32 as x", lambda: attend.linear(X, W.astype(float))),
    "linear without rows": (ValueError, "\\[linear\\] x has shape", lambda: attend.linear(X[0], W)),
    "linear_backward": (ValueError, "d_out has shape \\(3, 4\\), expected \\(3, 8\\)", lambda: attend.linear_backward(X, W, X)),
    "an id": (ValueError, "id 4 at place 1 is outside the table of 4", lambda: attend.embedding([0, 4], W)),
    "a large id": (ValueError, "does not fit 32 bits", lambda: attend.embedding([2**40], W)),
    "no id": (TypeError, "ids must be whole numbers, not float64", lambda: attend.embedding([0.5], W)),
    "d_table": (ValueError, "d_out has shape \\(3, 4\\), and ids \\(2,\\)", lambda: attend.embedding_backward([0, 1], X, 9)),
    "targets": (ValueError, "logits have shape \\(3, 4\\), and targets \\(2,\\)", lambda: attend.cross_entropy(X, [0, 1])),
    "a target": (ValueError, "target 4 of row 2 is outside the 4 logits", lambda: attend.cross_entropy(X, [0, 1, 4])),
    "a reduction": (ValueError, 'reduction is "max"', lambda: attend.cross_entropy(X, [0, 1, 2], "max")),
    "float16": (ValueError, "logits is f16, expected f32 or f64", lambda: attend.cross_entropy(X.astype(np.float16), [0, 1, 2])),
    "gamma": (ValueError, "gamma has shape \\(3,\\)", lambda: attend.rms_norm(X, X[:, 0])),
    "d_out of a norm": (ValueError, "d_out has shape", lambda: attend.layer_norm_backward(X, W)),
    "gelu": (ValueError, 'approximate is "fast"', lambda: attend.gelu_backward(X, X, "fast")),
    "swiglu": (ValueError, "up has shape", lambda: attend.swiglu(X, W)),
    "dropout": (ValueError, "the probability is 1, expected one from 0", lambda: attend.dropout(X, 1.0)),
    "a seed": (TypeError, "seed must be a whole number, not float", lambda: attend.dropout(X, 0.5, seed=1.5)),
    "a list": (TypeError, "x must be an array", lambda: attend.linear([[1.0]], W)),
    "heads": (ValueError, "heads is 0, expected at least 1", lambda: attend.multi_head_attention(X, W, W, W)),
    "uneven heads": (ValueError, "3", lambda: attend.multi_head_attention(X, W, W, W, heads=3)),
    "axes": (ValueError, "x has 1 axes, expected two or three", lambda: attend.multi_head_attention(X[0], W, W, W, heads=2)),
    "context": (ValueError, "context has 3 axes and x has 2", lambda: attend.multi_head_attention(X, W, W, W, heads=2, context=X[None])),
    "a keyword": (TypeError, "unexpected keyword argument 'casual'", lambda: attend.multi_head_attention(X, W, W, W, heads=2, casual=True)),
    "d_out": (ValueError, "d_out has shape", lambda: attend.multi_head_attention_backward(X, W, W, W, X, heads=2)),
    "relative": (ValueError, "d_bias has 2 axes, expected three", lambda: attend.relative_bias_backward(X, 32)),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_gets_one_sentence(mistake):
    error, sentence, make = MISTAKES[mistake]
    with pytest.raises(error, match=sentence):
        make()
