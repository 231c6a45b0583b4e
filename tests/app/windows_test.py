"""attend explain --max-tokens: up to the model's positions in one pass, and beyond them in windows."""

import json

import numpy as np
import pytest

import attend.lens
from program import run, run_on_terminal

WORDS = ["the", "bank", "of", "river", "money", "is"]


@pytest.fixture(scope="module")
def limited(small_bert, tmp_path_factory):
    """The small BERT of 40 positions, whose folder says that texts have 12 tokens."""
    import shutil

    folder = tmp_path_factory.mktemp("limited") / "bert"
    shutil.copytree(small_bert, folder)
    (folder / "tokenizer_config.json").write_text('{"model_max_length": 12}')
    return folder


def text_of(count, seed=1):
    choice = np.random.default_rng(seed).integers(0, len(WORDS), count)
    return " ".join(WORDS[i] for i in choice)


def explained(model, text, *arguments):
    done = run("explain", "-m", str(model), text, "--json", *arguments)
    assert done.code == 0, done.err
    return json.loads(done.out), done.err


def test_more_than_the_folder_says(limited):
    text = text_of(30)
    cut, said = explained(limited, text)
    assert len(cut["words"]) == 10 and cut["dropped_tokens"] == 20
    assert said == "The text has 32 tokens, and only the first 12 were read. --max-tokens 40 reads all of it.\n"
    whole, said = explained(limited, text, "--max-tokens", "40")
    assert len(whole["words"]) == 30 and whole["dropped_tokens"] == 0 and said == ""
    reading = attend.lens.read(attend.TextModel.from_pretrained(limited), text, max_tokens=40)
    np.testing.assert_allclose(whole["weights"], reading.map(special=False), atol=1e-12)
    assert explained(limited, text, "--max-tokens", "all")[0] == whole


def test_each_word_has_the_row_of_one_window(limited, small_bert):
    text = text_of(100)
    answer, said = explained(limited, text, "--max-tokens", "all", "--layer", "2", "--head", "1")
    assert said == "" and len(answer["words"]) == 100 and answer["dropped_tokens"] == 0
    windows = answer["windows"]
    assert windows[0][0] == 0 and windows[-1][1] == 100 and max(last - first for first, last in windows) == 38
    for (first, last), (following, _) in zip(windows, windows[1:]):
        assert first + 18 <= following <= first + 20 and following < last  # they overlap by half
    model, words, weights = attend.TextModel.from_pretrained(small_bert), text.split(), np.array(answer["weights"])
    np.testing.assert_allclose(weights.sum(axis=1), 1, atol=1e-12)
    maps = [attend.lens.read(model, " ".join(words[first:last])).map(layer=2, head=1, special=False)
            for first, last in windows]
    for row in range(100):
        room = [min(row - first if first else 99, last - 1 - row if last < 100 else 99) if first <= row < last else -1
                for first, last in windows]
        expected = np.zeros((2, 100))
        for choice, number in enumerate(np.argsort(room)[::-1][:2]):  # in the middle, both have as much around the word
            first, last = windows[number]
            if first <= row < last:
                expected[choice, first:last] = maps[number][row - first]
        best = expected[0]
        if not np.allclose(weights[row], best, atol=1e-12):
            assert abs(sorted(room)[-1] - sorted(room)[-2]) <= 2
            best = expected[1]
        np.testing.assert_allclose(weights[row], best, atol=1e-12)


def test_a_model_that_looks_back_sees_what_came_before(sinking_model):
    text = "the bank of the river is the money of the bank " * 40
    answer, _ = explained(sinking_model, text, "--max-tokens", "all")
    assert len(answer["windows"]) > 2 and len(answer["words"]) in (440, 439)
    weights = np.array(answer["weights"])
    assert np.allclose(np.triu(weights, 1), 0, atol=1e-12)


def test_focus_and_the_most_looked_at_words(limited):
    text = text_of(100).split()
    text[60] = "w30"
    answer, _ = explained(limited, " ".join(text), "--max-tokens", "all", "--focus", "w30")
    assert answer["focus"]["index"] == 60 and len(answer["focus"]["raw"]["values"]) == 100
    np.testing.assert_allclose(answer["focus"]["raw"]["values"], answer["weights"][60], atol=1e-12)
    received = np.array(answer["received"])
    assert received.shape == (100,) and 0 < received.sum() < 1
    shown = run_on_terminal("explain", "-m", str(limited), " ".join(text), "--max-tokens", "all", columns=100).out
    top = [line.split()[0] for line in shown[shown.index("Most looked at"):].splitlines()[1:9]]
    labels = []
    for i, word in enumerate(text):
        labels.append(word if text.count(word) == 1 else f"{word}#{text[:i + 1].count(word)}")
    order = np.argsort(-received, kind="stable")[:8]
    assert all(any(plain in line for plain in (labels[i],)) for i, line in zip(order, top)), (top, [labels[i] for i in order])
    assert "100 words, 100 tokens in 5 windows" in shown and "The text was read in 5 windows of up to 40 tokens" in shown


def test_a_short_text_needs_no_list(limited):
    assert "Most looked at" not in run("explain", "-m", str(limited), text_of(8)).out


def test_figures_and_arrays(limited, tmp_path):
    figure = json.loads(run("explain", "-m", str(limited), text_of(100), "--max-tokens", "all", "--format", "figure").out)
    assert figure["parts"][1]["title"].startswith("Most looked at") and any("5 windows" in note for note in figure["notes"])
    file = tmp_path / "map.npz"
    assert run("explain", "-m", str(limited), text_of(1100), "--max-tokens", "all", "-o", str(file)).code == 0
    arrays = np.load(file)
    assert arrays["weights"].shape == (550, 550) and arrays["ids"].shape == (1100,) and arrays["top_units"].shape == (1100, 8)


def test_words_that_are_unknown_anywhere_in_the_text(limited):
    answer, said = explained(limited, text_of(80) + " nowhere " + text_of(9), "--max-tokens", "all")
    assert answer["words"][80]["unknown"] and answer["unknown_tokens"] == 1
    assert "does not know 1 of the 90 tokens of this text: it reads [UNK] in place of “nowhere”" in said


def test_as_many_as_are_asked_for(limited):
    answer, _ = explained(limited, text_of(200), "--max-tokens", "90")
    assert len(answer["words"]) == 90 and answer["dropped_tokens"] == 110


@pytest.mark.parametrize("arguments, sentence", [
    (["--heads"], "--heads needs a text that is read in one pass, which for this model means --max-tokens 40 or less"),
    (["--view", "model"], "--view model and film needs"),
    (["--focus", "the#1", "--to", "bank#1"], "--to needs"),
    (["--ablate", "1.1"], "--ablate needs"),
    (["--tokens"], "--tokens needs"),
    (["--special"], "--special needs"),
    (["--format", "html"], "--format html needs"),
    (["--method", "grad", "--towards", "the bank"], "--method grad and flow needs"),
])
def test_what_is_about_one_pass_is_refused(limited, arguments, sentence):
    done = run("explain", "-m", str(limited), text_of(100), "--max-tokens", "all", *arguments)
    assert done.code == 2 and sentence in done.err, done.err


@pytest.mark.parametrize("given, sentence", [
    ("2", "--max-tokens is 2, but 2 special tokens take that many"),
    ("0", '--max-tokens is "0", expected a number from 1, or all'),
    ("many", '--max-tokens is "many", expected a number from 1, or all'),
])
def test_numbers_that_make_no_sense(limited, given, sentence):
    done = run("explain", "-m", str(limited), "the bank", "--max-tokens", given)
    assert done.code == 2 and sentence in done.err


def test_embed_takes_as_many_as_there_are_positions(limited, tmp_path):
    text = text_of(30)
    vectors = attend.TextModel.from_pretrained(limited).encode(text, max_tokens=40)
    done = run("embed", "-", "-m", str(limited), "--max-tokens", "40", "--pool", "mean", "-o", str(tmp_path / "v.npy"), stdin=text)
    assert (done.code, done.err) == (0, "")
    np.testing.assert_allclose(np.load(tmp_path / "v.npy")[0], vectors, atol=1e-6)
    assert "up to 40" in run("embed", "-", "-m", str(limited), "--max-tokens", "41", stdin=text).err
