"""MultiheadAttention with nn.MultiheadAttention's parameters, against the formula in NumPy. (Beside the module itself: tests/torch.)"""

import numpy as np
import pytest

import attend
import oracle

RNG = np.random.default_rng(0)
E, H = 12, 3


def state(key_size=E, value_size=E, **more):
    fused = key_size == value_size == E
    weights = {"in_proj_weight": RNG.normal(size=(3 * E, E)) / E**0.5} if fused else {
        "q_proj_weight": RNG.normal(size=(E, E)) / E**0.5,
        "k_proj_weight": RNG.normal(size=(E, key_size)) / key_size**0.5,
        "v_proj_weight": RNG.normal(size=(E, value_size)) / value_size**0.5,
    }
    weights |= {"in_proj_bias": RNG.normal(size=3 * E), "out_proj.weight": RNG.normal(size=(E, E)), "out_proj.bias": RNG.normal(size=E)}
    return {name: value.astype(np.float32) for name, value in {**weights, **more}.items()}


def formula(params, query, key, value, added=0, **options):
    """Batch first; the extra keys of bias_k and add_zero_attn come last."""
    weights = np.split(params["in_proj_weight"], 3) if "in_proj_weight" in params else [params[f"{n}_proj_weight"] for n in "qkv"]
    biases = np.split(params["in_proj_bias"], 3)
    q, k, v = (x.astype(np.float64) @ w.T + b for x, w, b in zip((query, key, value), weights, biases))
    if "bias_k" in params:
        k, v = (np.concatenate([x, np.broadcast_to(params[n], (len(x), 1, E))], axis=1) for x, n in ((k, "bias_k"), (v, "bias_v")))
    if added:
        k, v = (np.concatenate([x, np.zeros((len(x), added, E))], axis=1) for x in (k, v))
    heads = [x.reshape(*x.shape[:2], H, -1).transpose(0, 2, 1, 3) for x in (q, k, v)]
    result = oracle.attention(*heads, **options)
    merged = result.output.transpose(0, 2, 1, 3).reshape(q.shape)
    return merged @ params["out_proj.weight"].T + params["out_proj.bias"], result.weights


def make(params, **how):
    return attend.MultiheadAttention(E, H, **how).load_state_dict(params)


def test_self_attention_and_weights():
    params, x = state(), RNG.normal(size=(2, 7, E)).astype(np.float32)
    output, weights = formula(params, x, x, x)
    ours, average = make(params)(x)
    np.testing.assert_allclose(ours, output, atol=1e-4)
    np.testing.assert_allclose(average, weights.mean(axis=1), atol=1e-5)
    _, each = make(params)(x, x, x, average_attn_weights=False)
    np.testing.assert_allclose(each, weights, atol=1e-5)
    assert make(params)(x, need_weights=False)[1] is None
    double, _ = make(params, dtype=np.float64)(x)
    np.testing.assert_allclose(double, output, atol=1e-12)


def test_masks_say_what_takes_part():
    params, x = state(), RNG.normal(size=(2, 7, E)).astype(np.float32)
    mask, key_mask = RNG.random((7, 7)) < 0.8, np.array([[True] * 7, [True] * 4 + [False] * 3])
    bias = RNG.normal(size=(7, 7)).astype(np.float32)
    output, weights = formula(params, x, x, x, mask=mask & key_mask[:, None, None], bias=bias, causal=True)
    ours, average = make(params)(x, mask=mask, key_mask=key_mask, bias=bias, causal=True)
    np.testing.assert_allclose(ours, output, atol=1e-4)
    np.testing.assert_allclose(average, weights.mean(axis=1), atol=1e-5)


def test_cross_attention_of_other_sizes():
    params = state(key_size=5, value_size=9)
    query, key, value = (RNG.normal(size=shape).astype(np.float32) for shape in ((2, 4, E), (2, 6, 5), (2, 6, 9)))
    output, weights = formula(params, query, key, value)
    ours, average = make(params)(query, key, value)
    np.testing.assert_allclose(ours, output, atol=1e-4)
    np.testing.assert_allclose(average, weights.mean(axis=1), atol=1e-5)


def test_sequence_first_and_without_a_batch():
    params, x = state(), RNG.normal(size=(2, 7, E)).astype(np.float32)
    first, weights = make(params)(x)
    second, same = make(params, batch_first=False)(x.swapaxes(0, 1))
    np.testing.assert_array_equal(second.swapaxes(0, 1), first)
    np.testing.assert_array_equal(same, weights)
    one, one_weights = make(params)(x[1])
    np.testing.assert_array_equal(one, first[1])
    np.testing.assert_array_equal(one_weights, weights[1])


@pytest.mark.parametrize("causal", [False, True])
def test_added_keys(causal):
    params = state(bias_k=RNG.normal(size=(1, 1, E)), bias_v=RNG.normal(size=(1, 1, E)))
    x = RNG.normal(size=(2, 5, E)).astype(np.float32)
    mask = np.pad(np.tri(5, dtype=bool), ((0, 0), (0, 2)), constant_values=True) if causal else None
    output, weights = formula(params, x, x, x, added=1, mask=mask)
    ours, average = make(params, add_zero_attn=True)(x, causal=causal)
    np.testing.assert_allclose(ours, output, atol=1e-4)
    assert average.shape == (2, 5, 7)
    np.testing.assert_allclose(average, weights.mean(axis=1), atol=1e-5)


def test_masks_that_broadcast_leave_the_added_keys_alone():
    params = state(bias_k=RNG.normal(size=(1, 1, E)), bias_v=RNG.normal(size=(1, 1, E)))
    x = RNG.normal(size=(2, 5, E)).astype(np.float32)
    mask, bias = RNG.random((5, 1)) < 0.6, RNG.normal(size=(5, 1)).astype(np.float32)
    wide_mask = np.pad(np.broadcast_to(mask, (5, 5)), ((0, 0), (0, 1)), constant_values=True)
    wide_bias = np.pad(np.broadcast_to(bias, (5, 5)), ((0, 0), (0, 1)))
    output, weights = formula(params, x, x, x, mask=wide_mask, bias=wide_bias)
    ours, average = make(params)(x, mask=mask, bias=bias)
    np.testing.assert_allclose(ours, output, atol=1e-4)
    np.testing.assert_allclose(average, weights.mean(axis=1), atol=1e-5)


def test_summary_without_a_matrix():
    params, x = state(), RNG.normal(size=(2, 7, E)).astype(np.float32)
    output, weights = formula(params, x, x, x, causal=True)
    ours, summary = make(params).summarize(x, top_k=2, received=True, entropy=True, causal=True)
    np.testing.assert_allclose(ours, output, atol=1e-4)
    np.testing.assert_allclose(summary.received, weights.sum(axis=2), atol=1e-5)
    np.testing.assert_allclose(summary.top_weights, -np.sort(-weights)[..., :2], atol=1e-5)
    assert make(params).summarize(x[0], entropy=True)[1].entropy.shape == (H, 7)


def test_mistakes():
    x = np.zeros((2, 7, E), np.float32)
    layer = make(state())
    for call, kind, sentence in [
        (lambda: attend.MultiheadAttention(10, 3), ValueError, "multiple of num_heads"),
        (lambda: attend.MultiheadAttention(E, H)(x), ValueError, "no parameters yet"),
        (lambda: make({"in_proj_weight": np.zeros((3, 3))}), ValueError, "no out_proj.weight"),
        (lambda: make({**state(), "gamma": np.zeros(3)}), ValueError, "gamma"),
        (lambda: make({**state(), "in_proj_bias": np.zeros(3)}), ValueError, r"in_proj_bias is \(3,\), expected \(36,\)"),
        (lambda: layer(x, attn_mask=np.ones((7, 7), bool)), TypeError, "pass mask=~attn_mask"),
        (lambda: layer(x, key_padding_mask=np.ones((2, 7), bool)), TypeError, "pass key_mask=~key_padding_mask"),
        (lambda: layer(x, is_causal=True), TypeError, "causal"),
        (lambda: layer(x, colour=1), TypeError, "colour"),
        (lambda: layer(x[0, 0]), ValueError, "query has 1 axes"),
        (lambda: layer(x, x[0]), ValueError, "key has 2 axes and query has 3"),
    ]:
        with pytest.raises(kind, match=sentence):
            call()
