"""Every number of --json against attention written in NumPy: the examples, and files of every form."""

import json

import numpy as np
import pytest

import textbook
from example_lessons import LESSONS, normals
from program import EXAMPLES, run_json

KEYS = ["tokens", "scores", "weights", "output"]


def assert_agrees(result: dict, lesson: dict):
    expected = textbook.attention(lesson)
    for name in ("scores", "weights", "output"):
        wanted = expected[name]
        if name != "output" and lesson.get("heads", 1) == 1:
            wanted = wanted[0]
        got = np.array(result[name])
        assert got.shape == wanted.shape, name
        assert np.allclose(got, wanted, rtol=1e-12, atol=1e-12), name


@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name):
    result = run_json("steps", "--example", name)
    assert set(KEYS) <= set(result)
    assert result["tokens"] == LESSONS[name]["tokens"]
    assert_agrees(result, LESSONS[name])


@pytest.mark.parametrize("name", [name for name in EXAMPLES if name != "scale"])
def test_example_as_a_file(name):
    """The same bits, whether the numbers are built in or read (those of scale are not typed but drawn)."""
    from_file = run_json("steps", "-", stdin=json.dumps(LESSONS[name]))
    built_in = run_json("steps", "--example", name)
    assert from_file == {key: built_in[key] for key in from_file}


def random_lesson(seed: int) -> dict:
    """All forms in turn: x, q k v, projections, context, heads, biases, wo, causal, scale, positions."""
    rng = np.random.default_rng(seed)
    n, m, e = (int(size) for size in rng.integers(1, 9, 3))
    heads = int(rng.integers(1, 4))
    d, dv = (heads * int(size) for size in rng.integers(1, 5, 2))

    def matrix(rows: int, columns: int):
        return rng.normal(size=(rows, columns)).tolist()

    form = ("x", "x heads", "q k v", "projected", "cross", "cross projected")[seed % 6]
    lesson: dict = {}
    if form == "q k v":
        lesson |= {"q": matrix(n, d), "k": matrix(m, d), "v": matrix(m, dv), "heads": heads}
    else:
        plain = "projected" not in form
        e = e * heads if plain else e
        lesson["x"] = matrix(n, e)
        if "cross" in form:
            lesson["context"] = matrix(m, e)
            lesson["key_tokens"] = [f"key {j}" for j in range(m)]
        if not plain:
            lesson |= {"wq": matrix(e, d), "wk": matrix(e, d), "wv": matrix(e, dv)}
            if rng.random() < 0.5:
                lesson |= {"bq": matrix(1, d)[0], "bk": matrix(1, d)[0], "bv": matrix(1, dv)[0]}
        if form != "x":
            lesson["heads"] = heads
        if rng.random() < 0.3:
            lesson["positions"] = "sinusoidal"
    if rng.random() < 0.5:
        width = textbook.vectors(lesson)[2].shape[1]
        columns = int(rng.integers(1, 6))
        lesson["wo"] = matrix(width, columns)
        if rng.random() < 0.5:
            lesson["bo"] = matrix(1, columns)[0]
    if rng.random() < 0.5:
        lesson["causal"] = bool(rng.random() < 0.8)
    if rng.random() < 0.4:
        lesson["scale"] = float(rng.normal())
    return lesson


@pytest.mark.parametrize("seed", range(48))
def test_random_file(seed):
    lesson = random_lesson(seed)
    result = run_json("steps", "-", stdin=json.dumps(lesson))
    assert_agrees(result, lesson)


def test_a_file_by_its_name(tmp_path):
    lesson = random_lesson(3)
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps(lesson))
    assert run_json("steps", str(path)) == run_json("steps", "-", stdin=json.dumps(lesson))


def test_numbers_read_back_exactly():
    values = [[0.1, 1 / 3, 1e-300, 5e-324], [1e300, -2.5, 123456789.123456789, 2**53 + 2.0]]
    lesson = {"q": [[0.0]], "k": [[1.0]], "v": [values[0] + values[1]]}
    assert run_json("steps", "-", stdin=json.dumps(lesson))["output"] == [values[0] + values[1]]


def test_order_matters_only_with_positions():
    order = run_json("steps", "--example", "positions")["order"]
    assert max(order["without_positions"]) <= 1e-15
    assert min(order["with_positions"]) > 0.1
    lesson = LESSONS["positions"]
    here = textbook.attention(lesson)["output"]
    turned = textbook.attention(lesson | {"x": lesson["x"][::-1]})["output"][::-1]
    assert np.allclose(order["with_positions"], np.abs(here - turned).max(axis=1), rtol=0, atol=1e-12)


def test_scale_saturates_softmax():
    """The measurement repeated: 32 groups of 16 queries and 16 keys, medians over the 512 rows."""
    groups = [normals(seed, 4096 * 32).reshape(4096, 2, 16) for seed in range(32)]
    rows = run_json("steps", "--example", "scale")["saturation"]
    assert [row["d"] for row in rows] == [2**k for k in range(2, 13)]
    for row in rows:
        d = row["d"]
        products = np.concatenate([group[:d, 0].T @ group[:d, 1] for group in groups])
        for name, scores in (("unscaled", products), ("scaled", products / np.sqrt(d))):
            weights = textbook.softmax(scores)
            jacobian = np.eye(16) * weights[:, None] - weights[:, :, None] * weights[:, None]
            expected = {"spread": scores.std(axis=1), "largest_weight": weights.max(axis=1),
                        "gradient": np.sqrt((jacobian**2).sum(axis=(1, 2)))}
            for what, values in expected.items():
                assert row[name][what] == pytest.approx(np.sort(values)[256], rel=1e-6)
    gradients = [row["unscaled"]["gradient"] for row in rows]
    assert all(later < earlier for earlier, later in zip(gradients[1:], gradients[2:]))
    assert gradients[-1] < 1e-8 and rows[-1]["unscaled"]["largest_weight"] > 0.999999
    assert all(0.25 < row["scaled"]["gradient"] < 0.35 for row in rows)
