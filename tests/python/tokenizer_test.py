"""attend.Tokenizer: the binding; what it computes is tested in tests/text."""

import json
import pathlib

import pytest

import attend

GOLDEN = pathlib.Path(__file__).resolve().parents[1] / "golden" / "tokenizers"


@pytest.fixture(scope="module")
def tokenizer() -> attend.Tokenizer:
    return attend.Tokenizer.load(GOLDEN / "roberta.json")


def test_answers_are_those_of_the_golden_file(tokenizer: attend.Tokenizer) -> None:
    for line in (GOLDEN / "roberta.answers.jsonl").read_text(encoding="utf-8").rstrip("\n").split("\n"):
        answer = json.loads(line)
        encoding = tokenizer.encode(*answer["texts"])
        assert encoding.ids == answer["ids"]
        assert [place for span in encoding.offsets for place in span] == answer["spans"]
        assert [-1 if word is None else word for word in encoding.words] == answer["words"]
        assert encoding.type_ids == answer["types"]
        assert encoding.special == [bool(flag) for flag in answer["special"]]
        assert tokenizer.decode(encoding.ids) == answer["decoded"][1]
        assert len(encoding) == len(answer["ids"]) and encoding.dropped == 0


def test_offsets_are_those_of_a_python_string(tokenizer: attend.Tokenizer) -> None:
    text = "größe 👍🏽 中"
    encoding = tokenizer.encode(text, add_special_tokens=False)
    assert "".join(text[begin:end] for begin, end in dict.fromkeys(encoding.offsets)).startswith("größe")
    assert encoding.offsets[-1] == (len(text) - 1, len(text))


def test_options(tokenizer: attend.Tokenizer) -> None:
    text = "one two three four five"
    assert len(tokenizer.encode(text, max_length=4)) == 4
    assert tokenizer.encode(text, max_length=4).dropped > 0
    assert tokenizer.encode(text, add_special_tokens=False).ids == tokenizer.encode(text).ids[1:-1]
    assert tokenizer.encode(b"\xff").ids == tokenizer.encode("\ufffd").ids
    assert tokenizer.max_length is None and tokenizer.special_count() == 2 and tokenizer.special_count(pair=True) == 4
    assert tokenizer.id("<s>") == 0 and tokenizer.token(0) == "<s>" and tokenizer.id("no such token") is None


def test_what_is_wrong_is_said(tokenizer: attend.Tokenizer, tmp_path: pathlib.Path) -> None:
    with pytest.raises(attend.FileError, match="bad.json: model: is missing"):
        attend.Tokenizer.from_json("{}", "bad.json")
    with pytest.raises(attend.FileError, match="cannot be read: No such file or directory"):
        attend.Tokenizer.load(tmp_path / "none.json")
    with pytest.raises(ValueError, match="no token has the id 5000"):
        tokenizer.decode([5000])
    with pytest.raises(TypeError, match="text is neither str nor bytes"):
        tokenizer.encode(7)  # type: ignore[arg-type]
    with pytest.raises(UnicodeEncodeError):
        tokenizer.encode("\ud800")


def test_it_is_made_from_a_path_and_says_what_it_is(tokenizer: attend.Tokenizer) -> None:
    same = attend.Tokenizer(GOLDEN / "roberta.json")
    assert same.encode("The bank").ids == tokenizer.encode("The bank").ids
    assert repr(same) == f"<attend.Tokenizer, {same.vocabulary_size} tokens, BPE>"
    assert repr(same.encode("")) == f"<attend.Encoding of {len(same.encode(''))} tokens>"
    with pytest.raises(TypeError, match="path must be a str or a path, not int"):
        attend.Tokenizer(7)  # type: ignore[arg-type]
