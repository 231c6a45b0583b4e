"""attend.attention() and its companions against a formula in NumPy, with every option and every way to pass one."""

import numpy as np
import pytest

import attend
import oracle


@pytest.mark.parametrize("seed", range(150))
def test_options_together(seed):
    rng = np.random.default_rng(seed)
    dtype = [np.float32, np.float64][seed % 2]
    q, k, v = oracle.random_heads(rng, dtype)
    options = oracle.random_options(rng, q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    expected = oracle.attention(q, k, v, **options)
    bound = 1e-5 if dtype == np.float32 else 1e-12
    out, state = attend.attention(q, k, v, return_state=True, **options)
    assert out.dtype == dtype and state.max.dtype == dtype
    np.testing.assert_allclose(out, expected.output, atol=bound, rtol=0)
    for stage in ("scores", "capped", "biased", "weights"):
        np.testing.assert_allclose(attend.weights(q, k, stage=stage, **options), getattr(expected, stage), atol=3 * bound, rtol=bound)
    np.testing.assert_allclose(attend.weights(q, k, row_state=state, **options), expected.weights, atol=bound, rtol=0)
    sinks = options.get("sinks")
    with np.errstate(divide="ignore"):
        total = np.log(np.exp(expected.biased).sum(-1) + (0 if sinks is None else np.exp(sinks)[None, :, None]))
    np.testing.assert_allclose(attend.log_sum_exp(state), total, atol=1e-4 if dtype == np.float32 else 1e-11)


def test_fewer_axes_mean_one_sequence_and_one_head():
    rng = np.random.default_rng(1)
    q, k, v = (rng.normal(size=(2, 3, 6, 8)).astype(np.float32) for _ in range(3))
    whole = attend.attention(q, k, v, causal=True)
    np.testing.assert_array_equal(attend.attention(q[1], k[1], v[1], causal=True), whole[1])
    np.testing.assert_array_equal(attend.attention(q[1, 2], k[1, 2], v[1, 2], causal=True), whole[1, 2])
    assert attend.weights(q[1], k[1]).shape == (3, 6, 6)
    assert attend.weights(q[1, 2], k[1, 2], rows=[0, 5]).shape == (2, 6)
    assert attend.entropy(q[1, 2], k[1, 2]).shape == (6,)
    assert attend.top_k(q[1], k[1], 2).keys.shape == (3, 6, 2)
    out, state = attend.attention(q[0, 0], k[0, 0], v[0, 0], return_state=True)
    gradients = attend.attention_backward(q[0, 0], k[0, 0], v[0, 0], out, state, out)
    assert gradients.q.shape == (6, 8) and gradients.bias is None


def test_packed_sequences_are_the_sequences_one_by_one():
    rng = np.random.default_rng(2)
    lengths = [3, 0, 17, 9]
    ends = np.cumsum([0, *lengths])
    q, k, v = (rng.normal(size=(ends[-1], 2, 16)).astype(np.float32) for _ in range(3))
    packed = dict(cumulative_query_lengths=ends, cumulative_key_lengths=list(map(int, ends)), causal=True)
    out = attend.attention(q, k, v, **packed)
    for start, end in zip(ends, ends[1:]):
        one = [x[start:end].transpose(1, 0, 2) for x in (q, k, v)]
        np.testing.assert_array_equal(out[start:end].transpose(1, 0, 2), attend.attention(*one, causal=True))
    assert attend.received(q, k, **packed).shape == (ends[-1], 2)


def test_out_is_written_in_place():
    rng = np.random.default_rng(3)
    q, k, v = oracle.random_heads(rng)
    store = np.full((*q.shape[:3], 2 * v.shape[3]), np.nan, np.float32)
    out = store[..., ::2]
    assert attend.attention(q, k, v, out=out) is out
    np.testing.assert_array_equal(out, attend.attention(q, k, v))
    assert np.isnan(store[..., 1::2]).all()


def test_merged_halves_are_the_whole():
    rng = np.random.default_rng(4)
    q, k, v = oracle.random_heads(rng, keys=40)
    halves = [attend.attention(q, k[:, :, part], v[:, :, part], return_state=True) for part in (slice(0, 13), slice(13, 40))]
    out, state = attend.merge_attention(*halves[0], *halves[1])
    expected = oracle.attention(q, k, v)
    np.testing.assert_allclose(out, expected.output, atol=1e-5)
    np.testing.assert_allclose(attend.weights(q, k, row_state=state), expected.weights, atol=1e-6)


def test_empty_inputs_are_legal():
    none = np.zeros((1, 2, 0, 8), np.float32)
    some = np.ones((1, 2, 3, 8), np.float32)
    assert attend.attention(none, some, some).shape == (1, 2, 0, 8)
    np.testing.assert_array_equal(attend.attention(some, none, none), np.zeros((1, 2, 3, 8)))
    assert attend.weights(some, none).shape == (1, 2, 3, 0)
    assert attend.received(none, some).sum() == 0


def test_dropout_repeats_by_its_seed():
    rng = np.random.default_rng(5)
    q, k, v = oracle.random_heads(rng, keys=64)
    first, again, other = (attend.attention(q, k, v, dropout=0.5, dropout_seed=seed) for seed in (7, 7, 8))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_the_kernel_says_why():
    short, long = np.zeros((1, 1, 2, 8), np.float32), np.zeros((1, 1, 64, 8), np.float32)
    assert attend.attention_kernel(short, long).name == "decode"
    assert attend.attention_kernel(long, long).name == "fused"
    assert "reference" in attend.attention_kernel(long.astype(np.float64), long.astype(np.float64)).name
    assert attend.attention_kernel(long, long).why


def test_products_are_rounded_when_asked():
    rng = np.random.default_rng(8)
    q, k, v = oracle.random_heads(rng, queries=40, keys=70)
    exact, rounded = attend.attention(q, k, v), attend.attention(q, k, v, precision="bf16")
    expected = oracle.attention(q, k, v)
    np.testing.assert_allclose(rounded, expected.output, atol=0.05)
    kernels = {"avx512_amx": "fused_amx_bf16", "avx512_bf16": "fused_bf16"}
    kernel = kernels.get(attend.isa("bf16"), "fused")
    faster = kernel != "fused"
    assert attend.attention_kernel(q, k, precision="bf16").name == kernel
    assert (exact != rounded).any() == faster
    np.testing.assert_array_equal(exact, attend.attention(q, k, v, precision="f32"))
    np.testing.assert_array_equal(exact, attend.attention(q, k, v, precision=None))
    # Weights are those of the rounded queries and keys, and go with the row state.
    _, state = attend.attention(q, k, v, precision="bf16", return_state=True)
    weights = attend.weights(q, k, precision="bf16", row_state=state)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=1e-5)
    with pytest.raises(ValueError, match="precision is int8, expected f32 or bf16"):
        attend.attention(q, k, v, precision="int8")
    with pytest.raises(ValueError, match="precision is bf16, but f64 is computed in f64"):
        attend.attention(q.astype(np.float64), k.astype(np.float64), v.astype(np.float64), precision="bf16")


def test_textbook_forms():
    x = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]], np.float64)
    result = attend.self_attention(x)
    weights = np.exp(x @ x.T)
    weights /= weights.sum(1, keepdims=True)
    np.testing.assert_allclose(result.weights, weights, atol=1e-15)
    np.testing.assert_allclose(result.output, weights @ x, atol=1e-15)
    rng = np.random.default_rng(6)
    wq, wk, wv = (rng.normal(size=(3, n)) for n in (4, 4, 2))
    result = attend.single_head_attention(x, wq, wk, wv, causal=True)
    expected = oracle.attention((x @ wq)[None, None], (x @ wk)[None, None], (x @ wv)[None, None], causal=True)
    np.testing.assert_allclose(result.output, expected.output[0, 0], atol=1e-14)
    np.testing.assert_allclose(result.weights, expected.weights[0, 0], atol=1e-14)
