"""The figures that were worked out by hand, from --json and as printed on the screen."""

import numpy as np

from program import run, run_json

IT_SCORES = [0.17, 0.77, 0.20, 0.29, 0.62, 0.92, 0.14, 1.22]
IT_WEIGHTS = [0.0800, 0.1458, 0.0825, 0.0902, 0.1255, 0.1694, 0.0777, 0.2287]
IT_OUTPUT = [0.4735, 0.4236, 0.3651]


def section(text: str, title: str) -> dict[str, list[float]]:
    """The rows of the step whose heading has this title, by their labels."""
    lines = text[text.index(title):].splitlines()[2:]
    rows = {}
    for line in lines[: lines.index("")]:
        label, *cells = line.translate(str.maketrans("░▒▓█", "    ")).split()
        try:
            rows[label] = [float(cell) for cell in cells]
        except ValueError:
            continue  # the names of the columns
    return rows


def test_love_in_json():
    result = run_json("steps")
    assert result["tokens"] == ["I", "love", "deep", "learning"]
    assert np.round(result["weights"][0], 6).tolist() == [0.475367, 0.174878, 0.174878, 0.174878]
    assert np.round(result["output"][1], 4).tolist() == [0.7311, 0.7311, 0.4656]


def test_love_is_the_first_example():
    assert run("steps").out == run("steps", "--example", "love").out


def test_love_on_the_screen():
    text = run("steps").out
    assert section(text, "2. Scores")["I"] == [2, 1, 1, 1]
    assert section(text, "3. Weights")["I"] == [0.4754, 0.1749, 0.1749, 0.1749]
    assert section(text, "4. Output")["love"] == [0.7311, 0.7311, 0.4656]


def test_it_in_json():
    result = run_json("steps", "--example", "it")
    row = result["tokens"].index("it")
    assert np.allclose(result["scores"][row], IT_SCORES, rtol=0, atol=1e-12)
    assert np.round(result["weights"][row], 4).tolist() == IT_WEIGHTS
    assert np.round(result["output"][row], 4).tolist() == IT_OUTPUT


def test_it_on_the_screen():
    text = run("steps", "--example", "it").out
    assert section(text, "4. Scores")["it"] == IT_SCORES
    assert section(text, "5. Weights")["it"] == IT_WEIGHTS
    assert section(text, "6. Output")["it"] == IT_OUTPUT


def test_every_step_has_its_operation_and_shape():
    text = run("steps", "--example", "heads").out
    table = text[text.index("\nShapes\n"):]
    for shape in ("(5, 4) @ (4, 4) -> (5, 4)", "(5, 4) -> (2, 5, 2)", "(5, 2) @ (2, 5) -> (5, 5)",
                  "(5, 5) -> (5, 5)", "(5, 5) @ (5, 2) -> (5, 2)", "(2, 5, 2) -> (5, 4)"):
        assert shape in table
    assert "4. Values V = X Wv   (5, 4) @ (4, 4) -> (5, 4)\n" in text
    assert "9. Scores of head 2 = Q Kᵀ   (5, 2) @ (2, 5) -> (5, 5)\n" in text
    assert "Head 2 of 2: columns 3 to 4 of Q, K and V\n" in text
