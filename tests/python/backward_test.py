"""Gradients in float64 against finite differences of the output, and in float32 against float64."""

import numpy as np
import pytest

import attend
import oracle

NAMES = ("q", "k", "v", "bias", "alibi_slopes", "sinks")


def gradients(q, k, v, d_out, options, wanted):
    out, state = attend.attention(q, k, v, return_state=True, **options)
    return attend.attention_backward(q, k, v, out, state, d_out, wanted=wanted, **options)


@pytest.mark.parametrize("seed", range(12))
def test_float64_by_finite_differences(seed):
    rng = np.random.default_rng(seed)
    q, k, v = oracle.random_heads(rng, np.float64, batch=2, queries=5, keys=7, d=8)
    options = {
        "bias": rng.normal(size=(1, q.shape[1], 5, 7)),
        "alibi_slopes": rng.uniform(0, 0.5, q.shape[1]),
        "sinks": rng.normal(size=q.shape[1]),
        "causal": bool(seed % 2),
        "softcap": float(seed % 3) * 5,
        "query_offset": 2,
        "dropout": 0.3 if seed % 4 == 0 else 0.0,
        "dropout_seed": seed,
    }
    d_out = rng.normal(size=(*q.shape[:3], v.shape[3]))
    result = gradients(q, k, v, d_out, options, NAMES)
    for name in NAMES:
        places = {"q": q, "k": k, "v": v, **options}[name]
        direction = rng.normal(size=places.shape)

        def loss(step):
            moved = {**options, "q": q, "k": k, "v": v, name: places + step * direction}
            return (attend.attention(moved.pop("q"), moved.pop("k"), moved.pop("v"), **moved) * d_out).sum()

        h = 1e-3
        slope = (8 * (loss(h) - loss(-h)) - (loss(2 * h) - loss(-2 * h))) / (12 * h)
        assert (getattr(result, name) * direction).sum() == pytest.approx(slope, rel=1e-7, abs=1e-8), name


@pytest.mark.parametrize("seed", range(30))
def test_float32_beside_float64(seed):
    rng = np.random.default_rng(100 + seed)
    q, k, v = oracle.random_heads(rng)
    options = oracle.random_options(rng, q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    wanted = [name for name in NAMES if name in ("q", "k", "v") or name in options]
    d_out = rng.normal(size=(*q.shape[:3], v.shape[3])).astype(np.float32)
    narrow = gradients(q, k, v, d_out, options, wanted)
    wide = gradients(*(x.astype(np.float64) for x in (q, k, v, d_out)), options, wanted)
    for name, ours, judge in zip(NAMES, narrow, wide):
        assert (ours is None) == (name not in wanted)
        if ours is not None:
            assert ours.shape == judge.shape
            np.testing.assert_allclose(ours, judge, atol=1e-4 * max(1, np.abs(judge).max()), err_msg=name)


def test_gradients_that_nobody_wants_are_none():
    rng = np.random.default_rng(3)
    q, k, v = oracle.random_heads(rng)
    d_out = np.ones((*q.shape[:3], v.shape[3]), np.float32)
    only = gradients(q, k, v, d_out, {}, ["k"])
    assert only.q is None and only.v is None
    np.testing.assert_array_equal(only.k, gradients(q, k, v, d_out, {}, ("q", "k", "v")).k)


def test_one_head_has_one_sink():
    rng = np.random.default_rng(5)
    q, k, v = (rng.normal(size=(n, 8)) for n in (4, 6, 6))
    result = gradients(q, k, v, rng.normal(size=(4, 8)), {"sinks": [0.3]}, ["sinks"])
    assert result.sinks.shape == (1,) and result.sinks[0] != 0


def test_packed_slopes_and_sinks():
    rng = np.random.default_rng(4)
    q, k, v = (rng.normal(size=(12, 3, 8)) for _ in range(3))
    options = dict(cumulative_query_lengths=[0, 5, 12], cumulative_key_lengths=[0, 5, 12], sinks=rng.normal(size=3), alibi_slopes=[0.1, 0.2, 0.3])
    result = gradients(q, k, v, v, options, NAMES[:3] + NAMES[4:])
    assert result.sinks.shape == result.alibi_slopes.shape == (3,)
    assert np.abs(result.sinks).min() > 0
