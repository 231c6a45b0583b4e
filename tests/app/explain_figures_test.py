"""What was asked for is in the figure, whatever its format: lists of heads, edits, labels, titles; nothing is left out in silence."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from program import run

TEXT = "The river-bank of the river, money."
LISTS = ["--focus", "money", "--to", "river", "--heads", "--relation", "odd:money>river,of>river-bank", "--ablate", "1.2"]
TITLES = ["Which heads link “money” to “river”", "Which heads link odd, the mean of", "What each head does with this text", "Without head 2 of layer 1"]


def texts_of(file):
    root = ElementTree.parse(file).getroot()
    return [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]


def explained(model, file, *arguments, text=TEXT):
    assert run("explain", "-m", str(model), text, "-o", str(file), *arguments) == (0, "", "")
    return file


def test_lists_are_drawn_and_the_same_as_in_the_terminal(small_bert, tmp_path):
    drawn = texts_of(explained(small_bert, tmp_path / "map.svg", *LISTS))
    printed = " ".join(run("explain", "-m", str(small_bert), TEXT, *LISTS).out.split())
    for title in TITLES:
        assert any(text.startswith(title) for text in drawn) and title in printed, title
    moved = next(text for text in drawn if text.startswith("The vector of the text moves by"))
    assert moved in printed
    for name in ("map.png", "map.pdf"):  # tables take room: the same figure without them is shorter
        with_lists = explained(small_bert, tmp_path / name, *LISTS).stat().st_size
        assert with_lists > 1.2 * explained(small_bert, tmp_path / name).stat().st_size


def test_edits_are_named_in_words(small_bert):
    titles = {"1.2": "Without head 2 of layer 1", "2": "Without layer 2", "money>river": "Without the link from “money” to “river”",
              "1.2:money>river=0.5": "With the link from “money” to “river” in head 2 of layer 1 × 0.5"}
    for edit, title in titles.items():
        assert f"\n{title}\n" in run("explain", "-m", str(small_bert), TEXT, "--ablate", edit).out


def test_lists_are_in_arrays(small_bert, tmp_path):
    arrays = np.load(explained(small_bert, tmp_path / "map.npz", *LISTS))
    plain = np.load(explained(small_bert, tmp_path / "plain.npz"))
    shape = arrays["links_weight"].shape
    assert {name for name in arrays if name not in plain} == {
        "focus", "focus_raw", "focus_norm", "links_weight", "links_share", "relation_1_weight", "relation_1_share", "heads_previous", "heads_next",
        "heads_same_token", "heads_same_word", "heads_first", "heads_separator", "heads_duplicate", "heads_induction", "heads_entropy",
        "heads_broad", "change_text", "change_words", "change_word_cosines"}
    shares = sum(arrays[name] for name in ("heads_previous", "heads_next", "heads_same_token"))
    assert shape == arrays["heads_broad"].shape and np.all(shares > 0) and np.all(shares <= 1 + 1e-6)
    assert len(arrays["change_words"]) == len(arrays["change_word_cosines"]) and arrays["change_text"][0] < 1


def test_a_picture_can_be_searched_and_read_aloud(small_bert, tmp_path):
    file = explained(small_bert, tmp_path / "map.svg")
    root = ElementTree.parse(file).getroot()
    assert root.find("{http://www.w3.org/2000/svg}title").text == TEXT and root.get("role") == "img"
    assert "river-bank" in texts_of(file) and file.stat().st_size < 40_000


def test_captions_name_no_options(small_bert, tmp_path):
    for arguments in ([], ["--method", "grad", "--towards", "money"]):
        drawn = " ".join(texts_of(explained(small_bert, tmp_path / "map.svg", *arguments)))
        assert "left out" in drawn and "--" not in drawn
        assert "--special shows them" in " ".join(run("explain", "-m", str(small_bert), TEXT, *arguments).out.split())


def test_a_pair_is_named_by_both_texts(small_bert, tmp_path):
    file = explained(small_bert, tmp_path / "map.svg", "--second", "of money")
    assert ElementTree.parse(file).getroot().find("{http://www.w3.org/2000/svg}title").text == TEXT + " + of money"


def test_a_film_names_words_and_says_what_it_is_of(small_bert, tmp_path):
    drawn = texts_of(explained(small_bert, tmp_path / "film.svg", "--view", "film"))
    assert drawn.count("river-bank") >= 2 and "layer 1" in drawn
    for view, heading in (("film", "the mean over the heads of each layer"), ("model", "each head by itself")):
        said = " ".join(run("explain", "-m", str(small_bert), TEXT, "--view", view).out.split())
        assert heading in said and "mean of" not in said
    done = run("explain", "-m", str(small_bert), TEXT, "--view", "film", "-o", str(tmp_path / "film.html"))
    assert done.code == 2 and "--format html has no film" in done.err and not (tmp_path / "film.html").exists()


def test_small_numbers_share_a_power_of_ten(small_bert, tmp_path):
    drawn = texts_of(explained(small_bert, tmp_path / "grad.svg", "--method", "grad", "--towards", "money", "--tokens", "--special",
                               text="the river of the bank of the river of money of the bank of the river"))
    cells = [text for text in drawn if re.fullmatch(r"\d\.\d\d", text)]
    assert len(cells) > 100 and not any("e-" in text for text in drawn)
    assert any(re.fullmatch(r"numbers ×10⁻\d*[⁰¹²³⁴⁵⁶⁷⁸⁹]", text) for text in drawn)


def test_what_a_model_that_writes_cannot_see_is_masked(sinking_model, tmp_path):
    drawn = texts_of(explained(sinking_model, tmp_path / "map.svg", "--sink", "keep", text="The banks of the river, money is unknown."))
    cells = [text for text in drawn if re.fullmatch(r"[01]\.\d\d|1", text)]
    assert "masked" in drawn and 50 < len(cells) < 60  # of ten words: half of the map, and its diagonal


def test_layers_are_whole_numbers(small_bert):
    shown = run("compare", "-m", str(small_bert), "the bank of the river", "the money of the bank", "--word", "bank").out
    axis = next(line for line in shown.splitlines() if re.fullmatch(r"[\s\d.]+", line) and line.strip().startswith("0 "))
    assert "." not in axis, axis
