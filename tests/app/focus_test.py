"""--focus: every printed equation is evaluated again, and its results are those of --json."""

import json
import math
import re

import numpy as np
import pytest

from example_lessons import LESSONS
from numpy_test import random_lesson
from program import EXAMPLES, run, run_json

LABEL = r"“.*”|Their sum|added up|column \d+"
NUMBER = re.compile(r"-?\d+(?:\.(\d+))?(?:e(-?\d+))?")


class Interval:
    """All values that would be printed like this."""

    def __init__(self, low: float, high: float):
        self.low, self.high = low, high

    @staticmethod
    def printed(text: str) -> "Interval":
        match = NUMBER.fullmatch(text)
        assert match, text
        value, decimals = float(text), len(match[1] or "")
        # Fewer than four decimals are shown only where the number has no more, except in scientific notation.
        rounded = decimals >= 4 or match[2]
        unit = 10.0 ** (int(match[2] or 0) - decimals)
        slack = 0.5001 * unit if rounded else 1e-9 * max(1, abs(value))
        return Interval(value - slack, value + slack)

    def _with(self, other: "Interval", operation) -> "Interval":
        ends = [operation(a, b) for a in (self.low, self.high) for b in (other.low, other.high)]
        return Interval(min(ends), max(ends))

    def __add__(self, other):
        return self._with(other, lambda a, b: a + b)

    def __sub__(self, other):
        return self._with(other, lambda a, b: a - b)

    def __mul__(self, other):
        return self._with(other, lambda a, b: a * b)

    def __truediv__(self, other):
        return self._with(other, lambda a, b: a / b)

    def meets(self, other: "Interval") -> bool:
        return self.low <= other.high and other.low <= self.high


def exp(of: Interval) -> Interval:
    return Interval(math.exp(of.low), math.exp(of.high))


def evaluate(expression: str) -> Interval:
    if expression == "exp(-inf)":
        return Interval(0, 0)
    # A minus after a number is the operation; in front of one it is the number's sign.
    text = expression.replace("×", "*").replace(" - ", " _ ")
    text = NUMBER.sub(lambda match: f'Interval.printed("{match[0]}")', text).replace(" _ ", " - ")
    return eval(text, {"Interval": Interval, "exp": exp})


def elements(text: str) -> list[str]:
    assert text[0] == "[" and text[-1] == "]", text
    return text[1:-1].split(", ")


def equations(text: str) -> list[tuple[str, str, str]]:
    """(label, left, right) of every equation, however it was broken over lines."""
    part = text[text.index("\nThe row of "):text.index("\nShapes\n")].split("\nSoftmax and its gradient")[0]
    found, block = [], ""
    for line in part.split("\n"):
        if re.match(rf"  ({LABEL})", line) or not line.startswith("  "):
            found.append(block)
            block = line
        else:
            block += " " + line.strip()
    found.append(block)
    matches = (re.fullmatch(rf"  ({LABEL})\s*(.*?)\s*= *(.*)", block) for block in found)
    return [match.groups() for match in matches if match]


def check_equation(label: str, left: str, right: str):
    if "…" in left or label == "added up":
        return
    if right.startswith("["):
        weight, vector = left.split(" × ", 1)
        pairs = list(zip(elements(vector), elements(right), strict=True))
        assert all((evaluate(weight) * evaluate(a)).meets(evaluate(b)) for a, b in pairs), (left, right)
    else:
        assert evaluate(left).meets(evaluate(right)), (left, right)


def check_focus(args: list[str], stdin: str, columns: int):
    result = run("steps", *args, stdin=stdin, env={"COLUMNS": str(columns)})
    assert (result.code, result.err) == (0, "")
    found = equations(result.out)
    for equation in found:
        check_equation(*equation)
    values = run_json("steps", *args, stdin=stdin)
    row = values["focus"]["row"]
    weights = np.array(values["weights"])
    weights = weights[None] if weights.ndim == 2 else weights
    heads, _, keys = weights.shape

    quotients = [right for _, left, right in found if " / " in left]
    assert len(quotients) == heads * keys
    assert all(evaluate(printed).meets(Interval(weight, weight))
               for printed, weight in zip(quotients, weights[:, row].ravel()))
    sums = [elements(right) for label, _, right in found if label == "added up"]
    outputs = np.array(values["head_outputs"])[:, row] if heads > 1 else None
    projected = [right for label, _, right in found if label.startswith("column ")]
    if projected:
        assert all(evaluate(printed).meets(Interval(value, value))
                   for printed, value in zip(projected, values["output"][row], strict=True))
    if outputs is None and not projected:
        outputs = np.array([values["output"][row]])
    if outputs is not None:
        for printed, value in zip(sum(sums, []), outputs.ravel(), strict=True):
            assert evaluate(printed).meets(Interval(value, value))


@pytest.mark.parametrize("columns", [40, 200])
@pytest.mark.parametrize("name", EXAMPLES)
def test_example(name, columns):
    tokens = LESSONS[name]["tokens"]
    for token in tokens if name != "scale" else tokens[:2]:
        check_focus(["--example", name, "--focus", token], "", columns)


@pytest.mark.parametrize("seed", range(18))
def test_random_file(seed):
    lesson = random_lesson(seed)
    rows = len(lesson.get("x", lesson.get("q")))
    check_focus(["-", "--focus", f"t{rows}"], json.dumps(lesson), 20 + 10 * seed)


def test_products_are_written_out():
    text = run("steps", "--example", "it", "--focus", "it").out
    assert "“tired”   0.6 × 0.9 + 0.5 × 0.8 + 0.4 × 0.7 = 1.22\n" in text
    assert "“tired”   exp(1.22 - 1.22) = 1.0000\n" in text
    assert "“tired”   1.0000 / 4.3719 = 0.2287\n" in text
    assert "“tired”   0.2287 × [0.8, 0.7, 0.6] = [0.1830, 0.1601, 0.1372]\n" in text
    assert re.search(r"added up += \[0.4735, 0.4236, 0.3651\]\n", text)


REPEATED = json.dumps({"tokens": ["the", "cat", "the", "the#2", ""], "x": [[1], [2], [3], [4], [5]]})


@pytest.mark.parametrize("token, row", [("the", 0), ("the#1", 0), ("the#2", 3), ("the#2#1", 3), ("cat", 1),
                                        ("cat#1", 1), ("", 4)])
def test_repeated_tokens(token, row):
    assert run_json("steps", "-", "--focus", token, stdin=REPEATED)["focus"]["row"] == row


def test_the_second_of_two_equal_tokens_is_named():
    stdin = json.dumps({"tokens": ["the", "cat", "the"], "x": [[1], [2], [3]]})
    assert "\nThe row of “the”, number 2 of 2, written out\n" in run("steps", "-", "-f", "the#2", stdin=stdin).out


@pytest.mark.parametrize("factor", [1e150, 1e-150, 1e7, 1e-7])
def test_large_and_small_numbers(factor):
    lesson = {"tokens": ["a", "b"], "q": [[factor, 0], [0, factor]], "k": [[factor, 0], [factor, -factor]],
              "v": [[factor], [-3 * factor]], "scale": 1 / factor**2}
    text = run("steps", "-", "--focus", "b", stdin=json.dumps(lesson)).out
    assert max(map(len, text.splitlines())) <= 100
    assert not re.search(r"\d{12}", text)


def test_many_keys_and_long_vectors():
    lesson = {"x": [[0.01 * i + j for j in range(50)] for i in range(100)]}
    text = run("steps", "-", "--focus", "t100", stdin=json.dumps(lesson)).out
    assert "The 40 keys with the largest weights, of 100, are shown; sums include all of them." in text
    assert "+ …" in text
