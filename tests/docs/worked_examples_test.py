"""docs/worked-examples.md states what NumPy computes, names commands that run, and quotes what the program prints.

The program is $ATTEND, or build/release/attend.
"""

import functools
import json
import os
import re
import shlex
import subprocess
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

import five_texts as texts
import worked_examples_figures as figures
from markdown_tables import Section, code_spans, read_sections, without_code_spans
from worked_examples_figures import FIGURES

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "worked-examples.md").read_text(encoding="utf-8")
SECTIONS = read_sections(TEXT)
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
NAMES = re.compile(r"Step \d|word2vec|float32")  # digits that are no figures
ELLIPSIS = "…"  # a line of its own in a console block: lines left out


def unchecked_digits(text: str) -> re.Match | None:
    return re.search(r"\d", NAMES.sub("", without_code_spans(text)))


def columns_of(table: list[dict[str, str]]) -> tuple[str, ...]:
    return tuple(table[0])


def tables_with(column: str) -> list[list[dict[str, str]]]:
    return [table for section in SECTIONS for table in section.tables if column in columns_of(table)]


def figure_rows() -> dict[str, tuple[Section, dict[str, str]]]:
    rows = {}
    for section in SECTIONS:
        for table in section.tables:
            for row in table if "#" in columns_of(table) else []:
                assert row["#"] not in rows, f"{row['#']} stands twice"
                rows[row["#"]] = (section, row)
    return rows


ROWS = figure_rows()


@functools.cache
def output_of(command: str) -> str:
    words = shlex.split(command)
    assert words[0] == "attend"
    program = Path(os.environ.get("ATTEND", ROOT / "build" / "release" / "attend")).resolve()
    assert program.exists(), f"{program} is not there: run `make build`, or set ATTEND"
    environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"} | {"NO_COLOR": "1"}
    result = subprocess.run([program, *words[1:]], capture_output=True, encoding="utf-8", timeout=60, env=environment)
    assert result.returncode == 0, f"{command}: {result.stderr}"
    assert result.stdout, f"{command} prints nothing"
    return result.stdout


def commands() -> list[str]:
    spans = [span for span in code_spans(re.sub(r"```.*?```", "", TEXT, flags=re.DOTALL)) if span.startswith("attend ")]
    quoted = [block[0].removeprefix("$ ") for section in SECTIONS for block in section.blocks]
    return sorted(set(spans + quoted))


# ---- the tables against NumPy -------------------------------------------------------------------------------------


def test_every_figure_has_its_row_and_every_row_its_figure():
    assert list(ROWS) == list(FIGURES)


@pytest.mark.parametrize("name", FIGURES)
def test_row_states_what_numpy_computes(name):
    _, row = ROWS[name]
    expected = FIGURES[name]
    assert row["follows?"] == expected.follows
    assert code_spans(row["prints"]) == expected.prints
    assert code_spans(row["should be"]) == expected.should_be
    assert row["where"] and row["prints"] and row["should be"]
    for column in ("prints", "should be"):
        assert not unchecked_digits(row[column]), "a number outside a code span goes unchecked"


@pytest.mark.parametrize("name", [name for name, figure in FIGURES.items() if figure.shown_by])
def test_the_command_of_a_row_shows_its_numbers(name):
    section, row = ROWS[name]
    command = FIGURES[name].shown_by
    assert command in code_spans(row.get("see it", " ".join(section.prose)))
    output = re.sub(r"\s+", " ", output_of(command))
    shown = set(re.findall(r"-?\d+(?:\.\d+)?(?:e-?\d+)?", output))
    for span in FIGURES[name].should_be:
        assert span in output or set(NUMBER.findall(span)) <= shown, f"{command} does not show {span}"


def test_inputs_are_those_of_the_texts():
    (table,) = tables_with("query Q")
    stated = {row["word"]: tuple(row[column].strip("`") for column in ("query Q", "key K", "value V")) for row in table}
    none = ("none", "none")
    assert stated == {word: (*texts.QUERIES_AND_KEYS.get(word, none), value) for word, value in texts.VALUES.items()}


def test_tally_counts_the_rows():
    (table,) = tables_with("text")
    kinds = ("yes", "no", "illustrative", "input", "left out")
    counts = Counter((name[0], figure.follows) for name, figure in FIGURES.items())
    expected = [[letter, *(str(counts[letter, kind]) for kind in kinds)] for letter in "ABCDE"]
    expected.append(["all", *(str(sum(counts[letter, kind] for letter in "ABCDE")) for kind in kinds)])
    assert [[row["text"].split()[0], *(row[kind] for kind in kinds)] for row in table] == expected


def test_no_table_goes_unchecked():
    known = {"#", "query Q", "text"}
    for section in SECTIONS:
        for table in section.tables:
            assert known & set(columns_of(table)), f"{section.title}: nothing checks the table {columns_of(table)}"


def test_numbers_in_the_prose_are_numbers_of_a_table():
    cells = " ".join(cell for _, row in ROWS.values() for cell in row.values())
    stated = set(NUMBER.findall(" ".join(code_spans(cells))))
    for section in SECTIONS:
        prose = " ".join(section.prose)
        assert not unchecked_digits(prose), f"{section.title}: a number outside a code span"
        for span in code_spans(prose):
            assert set(NUMBER.findall(span)) <= stated, f"{section.title}: no table states {span}"


def test_dot_products_of_independent_components_spread_like_the_root_of_d():
    random = np.random.default_rng(1)
    for d in (4, 4096):
        q, k = random.standard_normal((2, 4000, d))
        assert (q * k).sum(axis=1).std() == pytest.approx(figures.spread(d), rel=0.05)


def test_no_threshold_gives_the_tick_map():
    love, deep, learning = figures.WEIGHTS[1:]
    assert love[0] == love[2] and deep[0] == deep[3] and learning[0] == learning[2]  # one ticked, the other not


# ---- the program --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", commands())
def test_command_runs(command):
    output_of(command)


@pytest.mark.parametrize(
    "example, weights, output",
    [
        ("love", figures.WEIGHTS, figures.CONTEXT),
        ("it", figures.IT_WEIGHTS, figures.IT_OUTPUT),
        ("heads", figures.HEAD_WEIGHTS, figures.HEADS_OUTPUT),
        ("positions", *figures.attention(figures.DOG_BITES_MAN + figures.sinusoidal(3, 4))),
    ],
)
def test_program_agrees_with_numpy(example, weights, output):
    result = json.loads(output_of(f"attend steps --example {example} --json"))
    np.testing.assert_allclose(result["weights"], weights, rtol=0, atol=1e-12)
    np.testing.assert_allclose(result["output"], output, rtol=0, atol=1e-12)


def test_quoted_output_is_what_the_program_prints():
    blocks = [block for section in SECTIONS for block in section.blocks]
    assert blocks
    for prompt, *quoted in blocks:
        assert prompt.startswith("$ attend ")
        printed = output_of(prompt.removeprefix("$ ")).splitlines()
        at, anywhere = 0, False
        for line in quoted:
            if line == ELLIPSIS:
                anywhere = True
                continue
            assert line in printed[at:], f"not printed, or not here: {line}"
            found = printed.index(line, at)
            assert anywhere or found == at, f"lines are missing before: {line}"
            at, anywhere = found + 1, False
        assert anywhere or at == len(printed), "the quotation stops early without saying so"
