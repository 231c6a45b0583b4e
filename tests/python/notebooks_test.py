"""The notebooks in examples/notebooks: every cell runs, and what Jupyter would show is there. No Jupyter is needed: cells are plain Python."""

import ast
import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/docs"))
from default_model import default_model  # noqa: E402

NOTEBOOKS = sorted((ROOT / "examples/notebooks").glob("*.ipynb"))


def shown_by(notebook):
    """The values of the last lines of the cells, as a notebook shows them."""
    names, shown = {}, []
    for cell in json.loads(notebook.read_text())["cells"]:
        if cell["cell_type"] != "code":
            continue
        assert cell["outputs"] == [] and cell["execution_count"] is None  # committed without results
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, str(notebook), "exec"), names)
        if last is not None:
            shown.append(eval(compile(ast.Expression(last.value), str(notebook), "eval"), names))
    return [value for value in shown if value is not None]


def test_there_are_two():
    assert [notebook.stem for notebook in NOTEBOOKS] == ["by_hand", "one_sentence"]


def test_by_hand(capsys):
    figures = shown_by(ROOT / "examples/notebooks/by_hand.ipynb")
    assert len(figures) == 3 and all("<svg" in figure._repr_html_() for figure in figures)
    assert "the same, to" in capsys.readouterr().out


def test_one_sentence(capsys):
    default_model()  # or the test is left out
    page, figure = shown_by(ROOT / "examples/notebooks/one_sentence.ipynb")
    assert "<iframe srcdoc=" in page._repr_html_() and "<svg" in figure._repr_html_()
    printed = capsys.readouterr().out
    assert "layer 4, head 2: 68%" in printed and "6 layers of 12 heads" in printed
