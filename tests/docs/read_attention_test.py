"""examples/read_attention.cpp prints what the library computes, and on the default model what the documents say."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest
from default_model import default_model

import attend

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = (ROOT / os.environ.get("ATTEND", "build/release/attend")).parent / "examples/read_attention"


def run(*arguments):
    return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True)


def expected_lines(model, first, second, layer, head):
    a, b = model.encode([first, second]).astype(np.float64)
    yield f"cosine of the two texts: {a @ b / np.sqrt((a @ a) * (b @ b)):.4f}"
    yield f"layer {layer}, head {head}:"
    names = [model.tokenizer.token(one) for one in model.tokenize(first).ids]
    for name, row in zip(names, model.attention(first, layers=layer, heads=head)[0][0]):
        best = np.argsort(-row, kind="stable")[:3]
        yield f"{name:>12} " + "".join(f"  {names[key]} {row[key]:.3f}" for key in best)


@pytest.mark.parametrize("layer, head", [(1, 1), (1, 4), (2, 2)])
def test_it_prints_what_the_library_computes(folder, layer, head):
    texts = "the bank of the river w20 w21", "money is the bank"
    ran = run(folder, *texts, layer, head)
    assert ran.stdout.splitlines() == list(expected_lines(attend.TextModel.from_pretrained(folder), *texts, layer, head)), ran.stderr


def test_a_text_without_words_has_fewer_keys(folder):
    lines = run(folder, "", "is", 1, 1).stdout.splitlines()[2:]
    assert [line.split()[0] for line in lines] == ["[CLS]", "[SEP]"]
    assert all(set(line.split()[1::2]) == {"[CLS]", "[SEP]"} for line in lines)


def test_mistakes_get_one_sentence(folder):
    for arguments, sentence in [
        ((folder, "a", "b", 3, 1), "layers count from 1 to 2, heads count from 1 to 4"),
        ((folder, "a", "b", 0, 1), "layers count from 1 to 2"),
        ((folder, "a", "b", 1, 0), "heads count from 1 to 4"),
        ((folder, "a", "b", 1, 5), "heads count from 1 to 4"),
        ((folder, "a", "b", "one", 1), '"one" is not a whole number'),
        ((folder, "a", "b", 1, 1, 1), "expected at most"),
        ((folder / "nothing",), "nothing"),
    ]:
        ran = run(*arguments)
        assert ran.returncode == 1 and ran.stderr.startswith("read_attention: ")
        assert sentence in ran.stderr and ran.stderr.count("\n") == 1


def test_the_default_model_finds_the_animal():
    model = default_model()
    ran = run()
    assert ran.returncode == 0, ran.stderr
    first = "The animal didn't cross the street because it was too tired."
    second = "The dog was exhausted and stayed on this side of the road."
    assert ran.stdout.splitlines() == list(expected_lines(model, first, second, 4, 2))
    assert "          it   animal 0.677" in ran.stdout
