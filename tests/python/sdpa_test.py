"""scaled_dot_product_attention: PyTorch's shapes, masks and rules, on NumPy arrays. (Beside PyTorch itself: tests/torch.)"""

import inspect
import random

import numpy as np
import pytest

import attend
import oracle

RNG = np.random.default_rng(0)
sdpa = attend.scaled_dot_product_attention


def arrays(*shapes):
    return [RNG.normal(size=shape).astype(np.float32) for shape in shapes]


def test_signature():
    kinds = {name: (parameter.kind.name, parameter.default) for name, parameter in inspect.signature(sdpa).parameters.items()}
    assert list(kinds) == ["query", "key", "value", "attn_mask", "dropout_p", "is_causal", "scale", "enable_gqa"]
    assert kinds["attn_mask"] == ("POSITIONAL_OR_KEYWORD", None) and kinds["is_causal"] == ("POSITIONAL_OR_KEYWORD", False)
    assert kinds["scale"] == ("KEYWORD_ONLY", None) and kinds["enable_gqa"] == ("KEYWORD_ONLY", False)


@pytest.mark.parametrize("lead", [(), (3,), (2, 3), (2, 2, 3), (2, 1, 2, 3)])
def test_any_number_of_leading_axes(lead):
    q, k, v = arrays((*lead, 5, 8), (*lead, 7, 8), (*lead, 7, 6))
    flat = [x.reshape(1, -1, *x.shape[-2:]) for x in (q, k, v)]
    expected = oracle.attention(*flat, causal=True).output.reshape(*lead, 5, 6)
    np.testing.assert_allclose(sdpa(q, k, v, is_causal=True), expected, atol=1e-5)


def test_leading_axes_broadcast():
    q, k, v = arrays((2, 1, 5, 8), (1, 3, 7, 8), (7, 6))
    expected = sdpa(*(np.broadcast_to(x, (2, 3, *x.shape[-2:])) for x in (q, k, v)))
    np.testing.assert_array_equal(sdpa(q, k, v), expected)


@pytest.mark.parametrize("mask_shape", [(5, 7), (1, 7), (2, 3, 5, 7), (2, 1, 1, 7), (3, 5, 1)])
def test_masks_take_part_or_are_added(mask_shape):
    q, k, v = arrays((2, 3, 5, 8), (2, 3, 7, 8), (2, 3, 7, 8))
    mask = RNG.random(mask_shape) < 0.7
    np.testing.assert_allclose(sdpa(q, k, v, mask), oracle.attention(q, k, v, mask=mask).output, atol=1e-5)
    added = RNG.normal(size=mask_shape).astype(np.float32)
    np.testing.assert_allclose(sdpa(q, k, v, attn_mask=added), oracle.attention(q, k, v, bias=added).output, atol=1e-5)


def test_masks_of_five_axes():
    q, k, v = arrays((2, 2, 3, 5, 8), (2, 2, 3, 7, 8), (2, 2, 3, 7, 8))
    for shape in [(2, 2, 3, 5, 7), (2, 1, 1, 5, 7), (2, 3, 1, 7), (5, 7)]:
        mask = RNG.random(shape) < 0.7
        whole = np.broadcast_to(mask, (2, 2, 3, 5, 7)).reshape(4, 3, 5, 7)
        expected = oracle.attention(*(x.reshape(4, *x.shape[2:]) for x in (q, k, v)), mask=whole).output
        np.testing.assert_allclose(sdpa(q, k, v, mask).reshape(expected.shape), expected, atol=1e-5)


def test_grouped_heads_only_when_asked():
    q, k, v = arrays((2, 6, 5, 8), (2, 2, 7, 8), (2, 2, 7, 8))
    np.testing.assert_allclose(sdpa(q, k, v, enable_gqa=True), oracle.attention(q, k, v).output, atol=1e-5)
    with pytest.raises(ValueError, match="do not broadcast"):
        sdpa(q, k, v)
    with pytest.raises(ValueError):
        sdpa(q[:, :5], k, v, enable_gqa=True)


def test_rules():
    q, k, v = arrays((1, 1, 4, 8), (1, 1, 4, 8), (1, 1, 4, 8))
    with pytest.raises(ValueError, match="exclude each other"):
        sdpa(q, k, v, np.ones((4, 4), bool), is_causal=True)
    np.testing.assert_array_equal(sdpa(q, k, v, np.zeros((4, 4), bool)), np.zeros_like(v))
    np.testing.assert_allclose(sdpa(q, k, v, scale=0.3), oracle.attention(q, k, v, scale=0.3).output, atol=1e-5)
    with pytest.raises(ValueError):
        sdpa(q[0, 0, 0], k, v)


def test_dropout_follows_pythons_random():
    q, k, v = arrays((1, 2, 16, 8), (1, 2, 64, 8), (1, 2, 64, 8))
    random.seed(1)
    first, second = sdpa(q, k, v, dropout_p=0.4), sdpa(q, k, v, dropout_p=0.4)
    random.seed(1)
    np.testing.assert_array_equal(sdpa(q, k, v, dropout_p=0.4), first)
    assert (first != second).any()
