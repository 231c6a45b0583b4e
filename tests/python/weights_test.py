"""The questions about the weights, against the whole matrix that NumPy makes."""

import numpy as np
import pytest

import attend
import oracle


def cells(length, count):
    first = [r * length // count for r in range(count + 1)]
    return [slice(first[r], max(first[r] + 1, first[r + 1])) for r in range(count)]


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("with_state", [False, True])
def test_every_question(seed, with_state):
    rng = np.random.default_rng(seed)
    q, k, v = oracle.random_heads(rng)
    options = oracle.random_options(rng, q.shape[0], q.shape[1], q.shape[2], k.shape[2])
    expected = oracle.attention(q, k, **options)
    asked = dict(options)
    if with_state:
        asked["row_state"] = attend.attention(q, k, v, return_state=True, **options)[1]

    np.testing.assert_allclose(attend.received(q, k, **asked), expected.weights.sum(axis=2), atol=1e-5)
    logs = np.log(np.where(expected.weights > 0, expected.weights, 1))
    np.testing.assert_allclose(attend.entropy(q, k, **asked), -(expected.weights * logs).sum(axis=3), atol=1e-5)

    count = int(rng.integers(1, 6))
    keys, weights = attend.top_k(q, k, count, **asked)
    assert keys.dtype.char == np.dtype(np.int64).char and keys.shape == (*q.shape[:3], count)
    np.testing.assert_allclose(weights, -np.sort(-np.pad(expected.weights, ((0, 0),) * 3 + ((0, count),)))[..., :count], atol=1e-5)
    found = np.take_along_axis(expected.weights, np.maximum(keys, 0), axis=3)
    np.testing.assert_allclose(np.where(keys < 0, 0, found), weights, atol=1e-5)

    rows, columns = int(rng.integers(1, 50)), int(rng.integers(1, 80))
    for reduction, reduce in (("mean", np.mean), ("max", np.max)):
        shown = attend.attention_map(q, k, rows, columns, reduction=reduction, **asked)
        for r, queries in enumerate(cells(q.shape[2], rows)):
            for c, some in list(enumerate(cells(k.shape[2], columns)))[:: max(1, columns // 7)]:
                np.testing.assert_allclose(shown[:, :, r, c], reduce(expected.weights[:, :, queries, some], axis=(2, 3)), atol=1e-5)


def test_several_questions_in_one_pass_give_the_same_bits():
    rng = np.random.default_rng(1)
    q, k, _ = oracle.random_heads(rng)
    summary = attend.summarize_weights(q, k, top_k=3, received=True, entropy=True, map_shape=(4, 5))
    np.testing.assert_array_equal(summary.received, attend.received(q, k))
    np.testing.assert_array_equal(summary.entropy, attend.entropy(q, k))
    np.testing.assert_array_equal(summary.top_keys, attend.top_k(q, k, 3).keys)
    np.testing.assert_array_equal(summary.map, attend.attention_map(q, k, 4, 5))
    assert attend.summarize_weights(q, k, entropy=True).map is None


def test_chosen_rows_are_those_of_the_matrix():
    rng = np.random.default_rng(2)
    q, k = rng.normal(size=(3, 4, 9, 8)).astype(np.float32), rng.normal(size=(3, 2, 11, 8)).astype(np.float32)
    whole = attend.weights(q, k, causal=True)
    some = attend.weights(q, k, causal=True, sequences=[2, 0], heads=3, rows=np.array([8, 1, 8]))
    np.testing.assert_array_equal(some, whole[[2, 0]][:, [3]][:, :, [8, 1, 8]])
