"""TEXT of explain, explore, next and compare: a text, a file, or a name that was mistyped."""

import subprocess

import pytest

from program import PROGRAM, environment, run


def explain_in(folder, *arguments):
    done = subprocess.run([PROGRAM, "explain", *arguments], capture_output=True, text=True, cwd=folder, env=environment(), timeout=60)
    return done.returncode, done.stderr


def test_a_mistyped_name_is_told(tmp_path):
    (tmp_path / "notes.txt").write_text("The cat sat on the mat.")
    end = "; to use the name itself as the text, pipe it in and give -\n"
    assert explain_in(tmp_path, "notez.txt") == (1, f"attend explain: there is no file notez.txt, but there is notes.txt{end}")
    assert explain_in(tmp_path, "./ntoes.txt") == (1, f"attend explain: there is no file ./ntoes.txt, but there is ./notes.txt{end}")
    assert explain_in(tmp_path, "other.pdf") == (1, f"attend explain: there is no file other.pdf{end}")
    assert explain_in(tmp_path, "./my notes.md")[0] == 1
    assert explain_in(tmp_path, "notes.txt")[0] == 0
    assert run("explain", "-", stdin="notez.txt").code == 0


@pytest.mark.parametrize("arguments", [
    ["explore", "notez.txt"], ["next", "notez.txt"], ["compare", "notez.txt", "--word", "a"],
    ["compare", "the bank", "notez.txt", "--word", "bank"], ["explain", "a", "--method", "grad", "--towards", "notez.txt"],
    ["next", "a", "--patch", "notez.txt"],
])
def test_wherever_a_text_is_given(arguments):
    done = run(*arguments)
    assert done.code == 1 and "there is no file notez.txt" in done.err


@pytest.mark.parametrize("text", ["U.S.A", "e.g.", "3.14", "and/or", "What is in notez.txt?", "Hello.World", "example.com", "...", "/s b"])
def test_texts_that_only_look_a_little_like_names(text):
    assert run("explain", text).code == 0


@pytest.mark.parametrize("command", [["embed"], ["heads"]])
@pytest.mark.parametrize("text", ["hello world", ""])
def test_a_text_where_a_file_is_expected(small_bert, command, text):
    done = run(*command, text, "-m", str(small_bert))
    assert (done.code, done.out) == (1, "") and "is not a file: texts come from a file, one per line, or through a pipe" in done.err


def test_what_is_not_text(tmp_path):
    (tmp_path / "model.gguf").write_bytes(b"GGUF\x03\0\0\0")
    (tmp_path / "page.pdf").write_bytes(b"%PDF\0\1")
    (tmp_path / "folder").mkdir()
    assert explain_in(tmp_path, "model.gguf") == (1, "attend explain: model.gguf is a model; -m model.gguf reads a text with it\n")
    assert explain_in(tmp_path, "page.pdf") == (1, "attend explain: page.pdf is not a text: it holds zero bytes\n")
    assert explain_in(tmp_path, "folder") == (1, "attend explain: folder is a folder, expected a text or a file of text\n")
