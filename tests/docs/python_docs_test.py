"""docs/python.md is a session that runs, and the examples do."""

import doctest
import subprocess
import sys
from pathlib import Path

import pytest

from default_model import default_model

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = {"textbook.py": [], "long_sequence.py": ["4096"], "learn_recall.py": []}
PRINTED = {
    "textbook.py": "[0.7311 0.7311 0.4656]",
    "long_sequence.py": "weights that add up to 1.00000",
    "learn_recall.py": "100.0% right on what it never learned from",
}


PAGE = (ROOT / "docs/python.md").read_text()
LENS = PAGE[PAGE.index("## The lens\n") : PAGE.index("## Layers and positions\n")]  # takes the default model


def run_session(text):
    session = doctest.DocTestParser().get_doctest(text, {}, "python.md", str(ROOT / "docs/python.md"), 0)
    return doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS).run(session)


def test_the_session_prints_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run_session(PAGE.replace(LENS, ""))
    assert result.attempted > 40 and result.failed == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["copy-model", "film.svg", "next.svg", "recall-model", "run.attn"]


def test_the_session_with_the_lens_prints_what_it_says(tmp_path, monkeypatch):
    default_model()
    monkeypatch.chdir(tmp_path)
    result = run_session(LENS)
    assert result.attempted > 20 and result.failed == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["both.svg", "it.html", "page.html"]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path):
    ran = subprocess.run([sys.executable, ROOT / "examples" / name, *EXAMPLES[name]], capture_output=True, text=True, cwd=tmp_path)
    assert ran.returncode == 0 and PRINTED[name] in ran.stdout, ran.stdout + ran.stderr


def test_every_example_is_run_or_needs_pytorch():
    others = {path.name for path in (ROOT / "examples").glob("*.py")} - set(EXAMPLES) - {"pairs.py", "senses.py"}  # which have tests of their own
    assert all("torch" in (ROOT / "examples" / name).read_text() for name in others)
