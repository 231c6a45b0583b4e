"""Colour only where it is wanted, nothing wider than the terminal, and labels that cannot control it."""

import json

import pytest

from example_lessons import LESSONS
from numpy_test import random_lesson
from program import EXAMPLES, run, run_lesson, run_on_terminal, width, without_colors

ESCAPE = "\x1b"


def test_colors_on_a_terminal():
    assert ESCAPE in run_on_terminal("steps", columns=80).out


@pytest.mark.parametrize("env", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": ""}])
def test_no_colors_where_they_are_not_wanted(env):
    assert ESCAPE not in run_on_terminal("steps", columns=80, env=env).out


def test_an_empty_no_color_asks_for_nothing():
    assert ESCAPE in run_on_terminal("steps", columns=80, env={"NO_COLOR": ""}).out


def test_no_colors_in_a_pipe():
    assert ESCAPE not in run("steps", env={"TERM": "xterm-256color", "COLORTERM": "truecolor"}).out


def test_color_always_and_never():
    assert ESCAPE in run("steps", "--color=always", env={"NO_COLOR": "1"}).out
    assert ESCAPE in run("--color", "always", "steps").out
    assert ESCAPE not in run_on_terminal("steps", "--color=never", columns=80).out
    assert ESCAPE not in run("steps", "--json", "--color=always").out


def test_truecolor_where_the_terminal_has_it():
    assert "48;2;" in run_on_terminal("steps", columns=80, env={"COLORTERM": "truecolor"}).out
    assert "48;5;" in run_on_terminal("steps", columns=80).out


def test_colors_end_with_each_line():
    for line in run("steps", "--color=always").out.splitlines():
        assert ESCAPE not in line or line.rfind(ESCAPE + "[0m") == line.rfind(ESCAPE)


# Files that need much width: long and wide labels, long vectors, many tokens, large numbers, many heads.
FILES = {
    "labels": {"tokens": ["猫が好き", "word" * 20, "שלום", "e\u0301\u0301", "", "evil\x1b[31m\nline\ttab"],
               "x": [[0.1 * i, -0.37 * i, 1 / 3] for i in range(6)]},
    "wide": {"x": [[((i + 1) * j % 7) / 7 for j in range(1000)] for i in range(3)]},
    "many": {"x": [[0.01 * i, 1 - 0.02 * i] for i in range(150)], "causal": True},
    "large": {"q": [[-1.2345e150, 1]], "k": [[1e150, -3e140]] * 3, "v": [[-1e-300], [2e300], [0.0]]},
    "heads": {"x": [[0.1 * i + 0.01 * j for j in range(24)] for i in range(4)], "heads": 12, "causal": True},
    "cross": random_lesson(5),
    "biases": random_lesson(3) | {"positions": "sinusoidal"},
    "one": {"tokens": ["only"], "x": [[1, 2]]},
}


def assert_fits(text: str, columns: int):
    widest = max(without_colors(text).splitlines(), key=width)
    assert width(widest) <= columns, widest


@pytest.mark.parametrize("columns", [40, 60, 80, 120, 200])
@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_fit(name, columns):
    token = LESSONS[name]["tokens"][1]
    result = run_on_terminal("steps", "--example", name, "--focus", token, columns=columns)
    assert (result.code, result.err) == (0, "")
    assert_fits(result.out, columns)


@pytest.mark.parametrize("columns", [20, 40, 60, 80, 120, 200])
@pytest.mark.parametrize("name", FILES)
def test_files_fit(name, columns, tmp_path):
    path = tmp_path / "vectors.json"
    path.write_text(json.dumps(FILES[name]))
    token = FILES[name].get("tokens", ["t1"])[0]
    shown = run_on_terminal("steps", str(path), "--focus", token, columns=columns)
    assert (shown.code, shown.err) == (0, "")
    assert_fits(shown.out, columns)
    piped = run("steps", str(path), "--focus", token, env={"COLUMNS": str(columns)})
    assert_fits(piped.out, columns)


@pytest.mark.parametrize("columns", ["0", "-5", "wide", "99999999999999999999"])
def test_a_senseless_width_is_ignored(columns):
    assert run("steps", env={"COLUMNS": columns}).out == run("steps").out


def test_labels_cannot_drive_the_terminal():
    text = run_lesson(FILES["labels"], "--focus", "evil\x1b[31m\nline\ttab").out
    assert not any(ord(character) < 32 and character != "\n" for character in text)
    assert "“evil␛[31m␊line␉tab”" in text


def test_labels_are_kept_in_json():
    tokens = FILES["labels"]["tokens"]
    assert json.loads(run_lesson(FILES["labels"], "--json").out)["tokens"] == tokens
