"""The parts of `make rivals` that need no rival: taking turns, ratios, the formula in NumPy."""

import json
import math
import sys
import time
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench/rivals"))
import bf16  # noqa: E402
import numpy_rivals  # noqa: E402
from encoder_batches import padded_batches, sizes_for  # noqa: E402
from encoder_texts import LONGEST, MEDIAN, SHORTEST, Writer  # noqa: E402
from report import Comparison, geometric_mean, summary, table  # noqa: E402
from turns import Timing, take_turns  # noqa: E402


def comparison(group: str, case: str, ours: float, theirs: float, flops: float = 1e9) -> Comparison:
    return Comparison(group, "somebody 1.0", case, flops, Timing(ours, ours, ours, 3), Timing(theirs, theirs, theirs, 3),
                      1e-6)


def test_geometric_mean():
    assert geometric_mean([4, 1]) == pytest.approx(2)
    assert geometric_mean([3]) == pytest.approx(3)


def test_summary_has_the_mean_and_the_worst_of_each_group():
    lines = summary([comparison("a", "x", 1, 4), comparison("b", "z", 2, 1), comparison("a", "y", 1, 1)])
    assert [line["group"] for line in lines] == ["a", "b"]
    assert lines[0]["geometric_mean"] == pytest.approx(2)
    assert (lines[0]["cases"], lines[0]["worst"], lines[0]["worst_case"]) == (2, 1, "y")
    assert lines[1]["worst"] == 0.5


def test_ratio_above_one_means_that_we_are_faster():
    one = comparison("a", "x", ours=0.01, theirs=0.03)
    assert one.ratio == pytest.approx(3)
    written = json.loads(json.dumps(one.as_json()))
    assert written["ratio"] == pytest.approx(3)
    assert (written["our_gflops"], written["their_gflops"]) == (pytest.approx(100), pytest.approx(100 / 3))
    assert "our_gflops" not in comparison("a", "x", 1, 1, flops=0).as_json()


def test_table_has_every_case_and_every_group():
    text = table([comparison("first", "case one", 1e-6, 2e-6), comparison("second", "case two", 1, 0.5)])
    for part in ["first", "second", "case one", "case two", "2.00x", "0.50x", "1 µs", "500 ms", "geometric mean"]:
        assert part in text


def test_turns_alternate_and_measure_one_call():
    order = []

    def slow():
        order.append("slow")
        time.sleep(0.03)

    def fast():
        order.append("fast")
        time.sleep(0.005)

    of_slow, of_fast = take_turns([slow, fast], seconds=0, rounds=3)
    assert (of_slow.rounds, of_fast.rounds) == (3, 3)
    assert of_slow.low <= of_slow.seconds <= of_slow.high
    assert of_fast.seconds >= 0.005 and of_slow.seconds >= 0.03 and of_fast.seconds < of_slow.seconds
    turns = [who for i, who in enumerate(order) if i == 0 or order[i - 1] != who]
    assert turns[-6:] == ["slow", "fast"] * 3


@pytest.mark.parametrize("causal", [False, True])
def test_numpy_attention_is_the_formula(causal):
    random = np.random.default_rng(3)
    q, k, v = (random.standard_normal((2, 3, 7, 5), dtype=np.float32) for _ in range(3))
    scores = np.einsum("bhid,bhjd->bhij", q.astype(float), k.astype(float)) / math.sqrt(5)
    if causal:
        scores = np.where(np.tril(np.ones((7, 7), bool)), scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = np.einsum("bhij,bhjd->bhid", weights / weights.sum(-1, keepdims=True), v.astype(float))
    assert np.abs(numpy_rivals.attention(q, k, v, causal)() - expected).max() < 1e-5


def test_bf16_is_rounded_as_by_others_and_widened_back():
    values = np.random.default_rng(0).standard_normal(10_000, np.float32) * 10.0 ** np.arange(-20, 30).repeat(200).astype(np.float32)
    values[:4] = 1 + 2.0**-8, 1 + 3 * 2.0**-8, 0, -0.0  # halfway between two, both ways
    expected = values.astype(ml_dtypes.bfloat16)
    np.testing.assert_array_equal(bf16.rounded(values), expected.view(np.uint16))
    np.testing.assert_array_equal(bf16.widened(bf16.rounded(values)), expected.astype(np.float32))


def test_openblas_multiplies_and_says_what_it_is():
    try:
        blas = numpy_rivals.OpenBlas(1)
    except RuntimeError as missing:
        pytest.skip(f"this NumPy does not come from PyPI: {missing}")
    random = np.random.default_rng(4)
    a, w = random.standard_normal((3, 5), dtype=np.float32), random.standard_normal((5, 4), dtype=np.float32)
    out = np.full((3, 4), np.nan, np.float32)
    blas.matmul(a, w, out)()
    assert np.abs(out - a.astype(float) @ w.astype(float)).max() < 1e-5
    assert blas.name().startswith("OpenBLAS 0.")


def test_batches_hold_every_text_once_padded_to_the_longest_beside_it():
    ids = [[1] * n for n in (3, 7, 1, 5, 2)]
    batches = list(padded_batches(ids, 2))
    assert [matrix.shape for _, matrix, _ in batches] == [(2, 7), (2, 3), (1, 1)]
    assert sorted(place for places, _, _ in batches for place in places) == [0, 1, 2, 3, 4]
    for places, matrix, mask in batches:
        assert [row.sum() for row in mask] == [len(ids[place]) for place in places]
        assert (matrix == mask).all()  # all ids are 1, and what is padded 0


@pytest.mark.parametrize("count, sizes", [(1, [1]), (16, [4, 8, 16]), (20, [4, 8, 16, 20]), (5000, [4, 8, 16, 32, 64])])
def test_batches_to_try_are_never_larger_than_what_there_is(count, sizes):
    assert sizes_for(count) == sizes


def test_texts_are_made_of_known_words_and_have_the_lengths_asked_for():
    vocabulary = {word: i for i, word in enumerate(["[CLS]", "##x", "a", *(f"w{chr(97 + i)}" for i in range(20))])}
    text = Writer(vocabulary).text(128)
    assert len(text.split()) == 126
    assert set(text.split()) <= {word for word in vocabulary if word.startswith("w")}
    texts = Writer(vocabulary).mixed(2000)
    assert texts == Writer(vocabulary).mixed(2000)
    lengths = [len(text.split()) + 2 for text in texts]
    assert SHORTEST - 2 <= min(lengths) and LONGEST / 2 < max(lengths) <= LONGEST
    assert 0.7 * MEDIAN < np.median(lengths) < 1.1 * MEDIAN
