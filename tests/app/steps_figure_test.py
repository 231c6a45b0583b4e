"""attend steps -o: the map of small vectors as a figure."""

import json
from xml.etree import ElementTree

import pytest

from program import EXAMPLES, run


@pytest.mark.parametrize("example", EXAMPLES)
def test_every_example_as_a_figure(example, tmp_path):
    file = tmp_path / "map.svg"
    done = run("steps", "--example", example, "-o", str(file))
    assert (done.code, done.out, done.err) == (0, "", "")
    assert ElementTree.parse(file).getroot().tag.endswith("svg")


@pytest.mark.parametrize("example, parts", [
    ("scale", ["The gradient through softmax", "without 1/√d", "with 1/√d"]),
    ("positions", ["Without positions", "With positions", "moved by"])])
def test_what_an_example_is_about_is_drawn(example, parts, tmp_path):
    file = tmp_path / "map.svg"
    assert run("steps", "--example", example, "-o", str(file)) == (0, "", "")
    drawn = list(ElementTree.parse(file).getroot().itertext())
    assert [part for part in parts if part not in drawn] == []


def test_ones_own_vectors(tmp_path):
    lesson = tmp_path / "toy.json"
    lesson.write_text(json.dumps({"tokens": ["eins", "zwei"], "x": [[1, 0], [0, 1]]}))
    for name, start in (("map.png", b"\x89PNG"), ("map.pdf", b"%PDF"), ("MAP.SVG", b"<svg")):
        file = tmp_path / name
        assert run("steps", str(lesson), "--focus", "zwei", "-o", str(file)) == (0, "", "")
        assert file.read_bytes().startswith(start)
    numbers = tmp_path / "numbers.json"
    assert run("steps", str(lesson), "-o", str(numbers)) == (0, "", "")
    assert numbers.read_text() == run("steps", str(lesson), "--json").out


def test_bad_input_is_one_sentence(tmp_path):
    done = run("steps", "-o", str(tmp_path / "map.doc"))
    assert done.code == 2 and "expected a name that ends in .svg, .png, .pdf or .json" in done.err
    done = run("steps", "-o", "/nowhere/map.svg")
    assert done.code == 1 and "/nowhere" in done.err and len(done.err.splitlines()) == 1
