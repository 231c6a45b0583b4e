"""attend embed on a small BERT: every format and grain, against attend.TextModel; bad input; interruption; memory."""

import json
import re
import shutil
import signal
import subprocess

import numpy as np
import pytest

import attend
from measured import SANITIZED, measured
from program import PROGRAM, interrupt, run

TEXTS = ["the bank of the river", "", "money is the bank", "w20 w21 w22 nowhere", "the  river,\tbank-the is"]


@pytest.fixture(scope="module")
def model(small_bert):
    return small_bert


@pytest.fixture
def texts(tmp_path):
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(TEXTS) + "\n")
    return file


def embed(model, *arguments, **how):
    return run("embed", "-m", str(model), *map(str, arguments), **how)


def json_lines(text):
    return [json.loads(line) for line in text.splitlines()]


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    types = {"F32": np.float32, "I64": np.int64}
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            arrays[name] = np.frombuffer(data[8 + size + begin : 8 + size + end], types[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def test_one_vector_a_line_in_every_format(model, texts, tmp_path):
    expected = attend.TextModel.from_pretrained(model).encode(TEXTS)
    for name in ("v.npy", "v.npz", "v.safetensors", "v.jsonl"):
        done = embed(model, texts, "--pool", "mean", "-o", tmp_path / name)
        assert done == (0, "", "")
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), expected)
    np.testing.assert_array_equal(np.load(tmp_path / "v.npz")["embeddings"], expected)
    np.testing.assert_array_equal(read_safetensors(tmp_path / "v.safetensors")["embeddings"], expected)
    lines = json_lines((tmp_path / "v.jsonl").read_text())
    assert [line["index"] for line in lines] == list(range(5)) and [line["text"] for line in lines] == TEXTS
    np.testing.assert_array_equal(np.array([line["embedding"] for line in lines], np.float32), expected)
    printed = embed(model, "-", stdin=texts.read_text())
    assert printed.out == (tmp_path / "v.jsonl").read_text()


def test_options_are_those_of_the_library(model, texts):
    encoder = attend.TextModel.from_pretrained(model)
    for flags, options in [
        (["--pool", "cls,max"], {"pooling": ["cls", "max"]}),
        (["--normalize"], {"normalize_embeddings": True}),
        (["--no-normalize"], {"normalize_embeddings": False}),
        (["--layer", "0"], {"layer": 0}),
        (["--prompt", "money of "], {"prompt": "money of "}),
        (["--max-tokens", "4"], {"max_tokens": 4}),
        (["--batch-tokens", "1"], {}),
    ]:
        lines = json_lines(embed(model, texts, *flags).out)
        np.testing.assert_array_equal(np.array([line["embedding"] for line in lines], np.float32), encoder.encode(TEXTS, **options), err_msg=str(flags))
        assert [line["text"] for line in lines] == TEXTS


def test_a_sentence_models_folder_decides_where_nothing_is_said(model, texts, tmp_path):
    folder = tmp_path / "sentence"
    shutil.copytree(model, folder)
    names = ("Transformer", "Pooling", "Normalize")
    modules = [{"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "", "type": f"sentence_transformers.models.{name}"} for i, name in enumerate(names)]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}))
    encoder = attend.TextModel.from_pretrained(folder)
    for flags, options in ([], {}), (["--no-normalize"], {"normalize_embeddings": False}):
        vectors = np.array([line["embedding"] for line in json_lines(embed(folder, texts, *flags).out)], np.float32)
        np.testing.assert_array_equal(vectors, encoder.encode(TEXTS, **options))
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6) == (not flags)
    both = embed(folder, texts, "--normalize", "--no-normalize")
    assert both.code == 2 and "normalize" in both.err


def test_a_folder_that_says_nothing_of_pooling(model, texts):
    note = f"attend embed: {model} does not say how to pool, so a text's vector is the mean over its tokens; --pool chooses another way.\n"
    assert embed(model, texts).err == note
    assert embed(model, texts, "--pool", "mean").err == embed(model, texts, "--words").err == ""


def test_prompts_by_name(model, texts, tmp_path):
    folder = tmp_path / "prompts"
    shutil.copytree(model, folder)
    none = embed(folder, texts, "--prompt-name", "query")
    assert none.code == 2 and none.err.startswith('attend embed: --prompt-name is "query"; the model has no prompts\n')
    modules = [{"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "", "type": f"sentence_transformers.models.{name}"} for i, name in enumerate(("Transformer", "Pooling"))]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}))
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "money of ", "document": "the "}}))
    for name, prompt in ("query", "money of "), ("document", "the "):
        named = embed(folder, texts, "--prompt-name", name)
        assert named.code == 0 and named == embed(folder, texts, "--prompt", prompt) != embed(folder, texts)
        np.testing.assert_array_equal(
            np.array([line["embedding"] for line in json_lines(named.out)], np.float32), attend.TextModel.from_pretrained(folder).encode(TEXTS, prompt_name=name)
        )
    unknown = embed(folder, texts, "--prompt-name", "Query")
    assert unknown.code == 2 and unknown.err.startswith('attend embed: --prompt-name is "Query"; the model has document, query\n')
    assert embed(folder, texts, "--prompt-name", "query", "--prompt", "x").code == 2
    assert embed(folder, texts, "--prompt-name", "query", "--words").code == 2


def test_tokens_and_words(model, texts, tmp_path):
    encoder = attend.TextModel.from_pretrained(model)
    states = [encoder.hidden_states(text)[-1] for text in TEXTS]
    tokens = [encoder.tokenize(text) for text in TEXTS]
    assert embed(model, texts, "--tokens", "-o", tmp_path / "t.npz").code == 0
    arrays = np.load(tmp_path / "t.npz")
    np.testing.assert_array_equal(arrays["embeddings"], np.concatenate(states))
    np.testing.assert_array_equal(arrays["ends"], np.cumsum([0, *map(len, tokens)]))
    np.testing.assert_array_equal(arrays["ids"], np.concatenate([one.ids for one in tokens]))
    np.testing.assert_array_equal(arrays["offsets"], np.concatenate([one.offsets for one in tokens]))

    lines = json_lines(embed(model, texts, "--words", "--layer", "1").out)
    assert [[word["word"] for word in line["words"]] for line in lines] == [re.findall(r"[\w-]+|,", text) for text in TEXTS]
    first = encoder.hidden_states(TEXTS[4])[1]
    river, comma, bank = lines[4]["words"][1:4]
    assert [(word["begin"], word["end"]) for word in (river, comma, bank)] == [(5, 10), (10, 11), (12, 20)]
    np.testing.assert_allclose(river["embedding"], first[2], atol=1e-6)
    np.testing.assert_allclose(bank["embedding"], first[4:7].mean(axis=0), atol=1e-6)  # "bank-the": three tokens, one word


def test_lines_of_json_and_odd_bytes(model):
    lines = '{"id": 3, "text": "the bank"}\n"money\\nis"\n'
    assert [line["text"] for line in json_lines(embed(model, "-", "--jsonl", stdin=lines).out)] == ["the bank", "money\nis"]
    odd = subprocess.run([PROGRAM, "embed", "-m", model, "-"], input=b"\xef\xbb\xbfthe\r\nbank \xff\nlast", capture_output=True, check=True)
    assert [line["text"] for line in json_lines(odd.stdout.decode())] == ["the", "bank \ufffd", "last"]
    assert embed(model, "-", stdin="").out == ""


def test_texts_that_are_too_long(model, tmp_path):
    long = " ".join(["the bank of the river"] * 30)
    given = f"the bank\n{long}\nmoney\n"
    cut = embed(model, "-", "--pool", "mean", stdin=given)
    assert cut.code == 0 and cut.err == "attend embed: 1 of 3 texts had more than 40 tokens and were cut (line 2)\n"
    error = embed(model, "-", "--on-overflow", "error", "-o", tmp_path / "v.npy", stdin=given)
    assert error.code == 1 and not (tmp_path / "v.npy").exists()
    assert error.err == "attend embed: standard input: line 2: has more than 40 tokens\n"
    split = embed(model, "-", "--on-overflow", "split", stdin=given)
    assert "were divided (line 2)" in split.err
    vector = np.array(json_lines(split.out)[1]["embedding"])
    encoder = attend.TextModel.from_pretrained(model)
    words, pieces = long.split(), []
    for begin in range(0, 150, 38):
        pieces.append(" ".join(words[begin : begin + 38]))
    counts = np.array([len(encoder.tokenize(piece)) for piece in pieces])
    np.testing.assert_allclose(vector, (encoder.encode(pieces) * counts[:, None]).sum(axis=0) / counts.sum(), atol=1e-5)
    tokens = json_lines(embed(model, "-", "--on-overflow", "split", "--words", stdin=given).out)[1]["words"]
    assert [word["word"] for word in tokens] == words


BAD = {
    "no file": (["nowhere.txt"], 1, "nowhere.txt: cannot be opened"),
    "a folder": (["."], 1, "is a folder"),
    "no model": (["-", "-m", "/nowhere"], 1, "/nowhere"),
    "extension": (["-", "-o", "v.csv"], 2, "must end in .npy, .npz, .safetensors or .jsonl"),
    "tokens in npy": (["-", "--tokens", "-o", "v.npy"], 2, "holds one array"),
    "both": (["-", "--tokens", "--words"], 2, "exclude each other"),
    "pool of tokens": (["-", "--tokens", "--pool", "cls"], 2, "--pool, --prompt and --prompt-name"),
    "pool": (["-", "--pool", "median"], 2, '--pool is "median"'),
    "layer": (["-", "--layer", "3"], 2, "the model has 0 to 2"),
    "max": (["-", "--max-tokens", "2"], 2, "expected a number above 2 and up to 40"),
    "batch": (["-", "--batch-tokens", "0"], 2, "batch-tokens"),
    "overflow": (["-", "--on-overflow", "panic"], 2, "on-overflow"),
    "json": (["-", "--jsonl"], 1, "standard input: line 1: is not JSON"),
    "unwritable": (["-", "-o", "/nowhere/v.npy"], 1, "/nowhere"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input(model, name):
    arguments, code, sentence = BAD[name]
    given = arguments if "-m" in arguments else [*arguments, "-m", str(model)]
    done = run("embed", *given, stdin="the bank\n")
    assert done.code == code and sentence in done.err and done.out == "", done.err
    assert done.err.startswith("attend embed: ") and len(done.err.splitlines()) == (2 if code == 2 else 1)


def test_an_interrupted_run_leaves_no_file(model, tmp_path):
    target = tmp_path / "out"
    target.mkdir()
    stopped = interrupt("embed", "-m", str(model), "-", "-o", str(target / "v.npy"), stdin=b"the bank of the river\n" * 20_000, after=0.2)
    assert stopped == (-signal.SIGINT, "", "") and list(target.iterdir()) == []


def test_memory_does_not_grow_with_the_file(model, tmp_path):
    def peak(lines):
        source = tmp_path / "many.txt"
        source.write_text("the bank of the river is money\n" * lines)
        cost = measured("embed", "-m", model, source, "-o", tmp_path / "v.npy")
        assert cost.code == 0 and np.load(tmp_path / "v.npy", mmap_mode="r").shape == (lines, 32)
        return cost.peak >> 10

    if SANITIZED:
        pytest.skip("the sanitizer's own memory would be measured")
    small, large = peak(5_000), peak(100_000)
    assert large < small + 8_000, f"{small} kB for 5,000 texts, {large} kB for 100,000"
