"""Matrix product, softmax, layer norm, GELU and positions, against the formulas in NumPy."""

import math

import numpy as np
import pytest

import attend

RNG = np.random.default_rng(0)


def phi(x):
    return 0.5 * (1 + np.vectorize(math.erf)(x / math.sqrt(2)))


@pytest.mark.parametrize("dtype, bound", [(np.float32, 1e-5), (np.float64, 1e-12)])
def test_softmax_norm_gelu(dtype, bound):
    x = RNG.normal(size=(3, 5, 33)).astype(dtype)
    wide = x.astype(np.float64)
    exponentials = np.exp(wide - wide.max(-1, keepdims=True))
    np.testing.assert_allclose(attend.softmax(x), exponentials / exponentials.sum(-1, keepdims=True), atol=bound)
    np.testing.assert_allclose(attend.gelu(x), wide * phi(wide), atol=bound)
    np.testing.assert_allclose(attend.gelu(x, "tanh"), wide / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (wide + 0.044715 * wide**3))), atol=bound)
    gamma, beta, residual = RNG.normal(size=33).astype(dtype), RNG.normal(size=33).astype(dtype), RNG.normal(size=x.shape).astype(dtype)
    for added, out in ((wide, attend.layer_norm(x, gamma, beta)), (wide + residual, attend.layer_norm(x, gamma, beta, residual=residual))):
        normal = (added - added.mean(-1, keepdims=True)) / np.sqrt(added.var(-1, keepdims=True) + 1e-5)
        np.testing.assert_allclose(out, normal * gamma + beta, atol=4 * bound)
    assert attend.softmax(x).dtype == dtype


def test_matmul():
    a, w = RNG.normal(size=(2, 7, 20)).astype(np.float32), RNG.normal(size=(30, 20)).astype(np.float32)
    bias, residual = RNG.normal(size=30).astype(np.float32), RNG.normal(size=(2, 7, 30)).astype(np.float32)
    product = a.astype(np.float64) @ w.T.astype(np.float64)
    packed = attend.PackedMatrix(w.T)
    assert packed.shape == (20, 30)
    np.testing.assert_allclose(attend.matmul(a, packed), product, atol=1e-4)
    np.testing.assert_array_equal(attend.matmul(a, w.T), attend.matmul(a, packed))
    np.testing.assert_allclose(attend.matmul(a.astype(np.float64), w.T.astype(np.float64)), product, atol=1e-12)
    full = attend.matmul(a, packed, bias, activation="gelu", residual=residual)
    np.testing.assert_allclose(full, (product + bias) * phi(product + bias) + residual, atol=1e-4)
    np.testing.assert_allclose(attend.matmul(a, packed, bias, activation="relu"), np.maximum(product + bias, 0), atol=1e-4)
    with pytest.raises(ValueError, match='activation is "silu"'):
        attend.matmul(a, packed, activation="silu")


def test_sinusoids():
    table = attend.sinusoidal_positions(6, 8, start=3, dtype=np.float64)
    angle = np.arange(3, 9)[:, None] / 10000 ** (np.arange(0, 8, 2) / 8)
    np.testing.assert_allclose(table[:, 0::2], np.sin(angle), atol=1e-15)
    np.testing.assert_allclose(table[:, 1::2], np.cos(angle), atol=1e-15)
    assert attend.sinusoidal_positions(2, 4).dtype == np.float32


@pytest.mark.parametrize("pairing", ["halves", "interleaved"])
def test_rotary(pairing):
    x = RNG.normal(size=(2, 3, 5, 8))
    positions = [0, 4, 1, 9, 2]
    turned = attend.apply_rotary(x, positions, pairing=pairing, dimensions=6)
    angle = np.array(positions)[:, None] / 10000 ** (np.arange(0, 6, 2) / 6)
    first, second = (slice(0, 3), slice(3, 6)) if pairing == "halves" else (slice(0, 6, 2), slice(1, 6, 2))
    np.testing.assert_allclose(turned[..., first], x[..., first] * np.cos(angle) - x[..., second] * np.sin(angle), atol=1e-14)
    np.testing.assert_allclose(turned[..., second], x[..., first] * np.sin(angle) + x[..., second] * np.cos(angle), atol=1e-14)
    np.testing.assert_array_equal(turned[..., 6:], x[..., 6:])
    np.testing.assert_allclose(attend.apply_rotary(turned, positions, pairing=pairing, dimensions=6, inverse=True), x, atol=1e-14)


@pytest.mark.parametrize("pairing", ["halves", "interleaved"])
def test_rotary_from_tables(pairing):
    x = RNG.normal(size=(2, 3, 5, 8)).astype(np.float32)
    positions = np.array([0, 4, 1, 9, 2])
    angle = positions[:, None] / 10000 ** (np.arange(0, 8, 2) / 8)
    turned = attend.apply_rotary_tables(x, np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32), pairing)
    np.testing.assert_allclose(turned, attend.apply_rotary(x, positions, pairing=pairing), atol=1e-6)


def test_layer_norm_tells_its_moments():
    x = RNG.normal(size=(3, 5, 33))
    out, state = attend.layer_norm(x, return_state=True)
    np.testing.assert_array_equal(out, attend.layer_norm(x))
    np.testing.assert_allclose(state[0], x.mean(axis=-1), atol=1e-12)
    np.testing.assert_allclose(state[1], 1 / np.sqrt(x.var(axis=-1) + 1e-5), atol=1e-12)


def test_learned_alibi_and_relative_positions():
    x, table = RNG.normal(size=(3, 4)).astype(np.float32), RNG.normal(size=(9, 4)).astype(np.float32)
    np.testing.assert_array_equal(attend.add_learned_positions(x, table, [8, 0, 3]), x + table[[8, 0, 3]])
    np.testing.assert_allclose(attend.alibi_slopes(8), 2.0 ** -np.arange(1, 9))
    buckets = RNG.normal(size=(32, 2)).astype(np.float32)
    bias = attend.relative_bias(buckets, 3, 5, query_offset=1)
    for i in range(3):
        for j in range(5):
            np.testing.assert_array_equal(bias[:, i, j], buckets[attend.relative_bucket(j - (i + 1))])
    assert attend.relative_bucket(0) == 0 and attend.relative_bucket(1000) == 31
