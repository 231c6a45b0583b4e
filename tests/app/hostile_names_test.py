"""Text of unknown origin cannot control the terminal, by whatever route it gets there; pipes get its bytes unchanged."""

import json
import re
import shutil
import subprocess
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import pytest

from program import PROGRAM, ROOT, environment, run_bytes, run_bytes_on_terminal

# Colours, the title of the window, the cursor, C1's one-byte form of ESC [ as UTF-8 and as it is, a bell, an overwritten line, bidi
# overrides and marks, zero-width characters, invisible letters, invisible selectors, separators, a mark without a letter.
EVIL = ("\x1b[31m\x1b]0;title\x07\x1b[2J\x9b2J\rover\b\x7f\u202egnp.\u2066\u2069\u200e\u200f\u061c\u200b\ufeff\u2060\u00ad"
        "\U000e0041\U000e0001\ufe0f\U000e0101\u2028\u2029\u3164\u200d\u0301").encode() + b"\x9b31m\xff"
NAME = EVIL.replace(b"/", b"")
TEXT = b"the bank " + EVIL + b" of"

NO_HUB = {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": "http://127.0.0.1:9"}  # nothing answers there

STYLE = re.compile(r"\x1b\[0(;[12])?(;[34]8;(5;\d+|2;\d+;\d+;\d+)){0,2}m")
STATUS = re.compile(r"\r(\x1b\[\d+A)?\x1b\[[JK]")  # a status line, rewritten


def assert_tame(shown: bytes):
    """Nothing but words, newlines, tabs, our own styles and our own status line."""
    text = STYLE.sub("", STATUS.sub("", shown.decode("utf-8", "strict").replace("\r\n", "\n")))
    wild = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp", "Cs", "Cn") and c not in "\n\t"}
    wild |= {c for c in text if c in "\u3164\ufe0f" or 0xE0000 <= ord(c) <= 0xE0FFF}
    assert not wild, (sorted(map(hex, map(ord, wild))), text)
    assert not re.search(r"(^|\n)\u0301", text)


@pytest.fixture(scope="module")
def places(tmp_path_factory, small_bert):
    """Folders and files with such names, and models with such texts in their files."""
    folder = tmp_path_factory.mktemp("hostile")
    names = {"model": bytes(folder) + b"/m" + NAME[:200], "texts": bytes(folder) + b"/t" + NAME[:200]}
    shutil.copytree(bytes(small_bert), names["model"])
    with open(names["texts"], "wb") as file:
        file.write(TEXT + b"\n")
    vocabulary = (small_bert / "vocab.txt").read_bytes().replace(b"\nriver\n", b"\n" + "riv\x1b[31m\u202e\u200b".encode() + b"\n")
    for name in ("vocabulary", "config", "tokenizer", "pooling", "prompts"):
        shutil.copytree(small_bert, folder / name)
        names[name] = str(folder / name)
    (folder / "vocabulary/vocab.txt").write_bytes(vocabulary)
    config = json.loads((small_bert / "config.json").read_text())
    evil = EVIL.decode("utf-8", "replace")
    (folder / "config/config.json").write_text(json.dumps(config | {"model_type": evil, "hidden_act": evil}))
    (folder / "tokenizer/tokenizer.json").write_text(json.dumps({"version": evil, "model": {"type": evil}}))
    prompts = {"prompts": {evil: evil}, "default_prompt_name": None}
    (folder / "prompts/config_sentence_transformers.json").write_text(json.dumps(prompts))
    module = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
    (folder / "prompts/modules.json").write_text(json.dumps([module]))
    (folder / "pooling/modules.json").write_text(json.dumps([{"idx": 0, "name": evil, "path": evil, "type": evil}]))
    (folder / "lesson.json").write_text(json.dumps({"tokens": [evil, "b"], "x": [[1, 2], [3, 4]], "title": evil, "note": evil}))
    (folder / "settings.json").write_text(json.dumps({"task": evil}))
    return names | {"folder": str(folder), "good": str(small_bert)}


def commands(p: dict) -> list[list]:
    """Every command with hostile arguments: of files and folders, of words, of choices, of what files hold."""
    good, word = ["-m", p["good"]], b"the" + EVIL
    explain, compare = ["explain", "the bank of the river", *good], ["compare", "the bank", "the river bank", *good]
    return [
        [word], ["--x", word], ["--color", word, "steps"], [word, "--help"], ["--help", word],
        ["steps", word], ["steps", "--example", word], ["steps", "--focus", word], ["steps", "-o", word],
        ["steps", f"{p['folder']}/lesson.json"],
        ["steps", f"{p['folder']}/lesson.json", "--focus", EVIL], ["steps", f"{p['folder']}/lesson.json", "--json"],
        ["steps", "--y", word],
        ["explain", TEXT, *good], ["explain", TEXT, *good, "--view", "lines", "--tokens"],
        ["explain", TEXT, *good, "--heads", "--focus", "bank"],
        ["explain", TEXT, *good, "--json"], ["explain", TEXT, *good, "--format", "svg"],
        ["explain", TEXT, *good, "--format", "figure"],
        ["explain", TEXT, "-m", p["model"], "--focus", "bank"], ["explain", p["texts"], *good],
        ["explain", TEXT, *good, "--format", "html"],
        ["explain", "the riv\x1b[31m\u202e\u200b of", "-m", p["vocabulary"], "--tokens", "--special"],
        [*explain, "--focus", word], [*explain, "--focus", "bank", "--to", word], [*explain, "--ablate", word],
        [*explain, "--ablate", b"bank>" + word],
        [*explain, "--ablate", b"1.1", "--ablate", "bank>river", "--relation", b"x" + EVIL + b":bank>river"],
        [*explain, "--relation", word],
        [*explain, "--relation", b"bank>" + word], [*explain, "-o", word], [*explain, "--format", word], [*explain, "--view", word],
        [*explain, "--method", word], [*explain, "--layer", word], [*explain, "--top", word],
        [*explain, "--method", "grad", "--guess", word],
        [*explain, "--method", "grad", "--towards", TEXT], ["explain", "x", "-m", word], ["explain", "x", "-m", p["config"]],
        ["explain", "x", "-m", p["tokenizer"]], ["explain", "x", "-m", p["pooling"]], [*explain, word],
        ["explain", "/nowhere", "-m", "/no"],
        [*compare, "--word", word], [*compare, "--word", "bank", "--other-word", word],
        ["compare", TEXT, TEXT, *good, "--word", "bank"],
        ["compare", TEXT, TEXT, *good, "--word", "bank", "--json"], ["compare", "the bank", *good, "-w", word],
        ["embed", word, *good], ["embed", p["texts"], *good, "-o", word], ["embed", p["texts"], *good, "-o", word + b"/x.npy"],
        ["embed", p["texts"], *good, "--pool", word], ["embed", p["texts"], *good, "--prompt-name", word],
        ["embed", p["texts"], *good],
        ["embed", p["texts"], "-m", p["prompts"], "--prompt-name", word], ["embed", p["texts"], *good, "--on-overflow", word],
        ["embed", p["texts"], *good, "--tokens"], ["embed", p["texts"], *good, "--jsonl"],
        ["embed", p["texts"], *good, "--layer", word],
        ["generate", "-m", word], ["generate", "-m", p["model"], TEXT], ["generate", "-m", p["config"], "x"],
        ["generate", "-m", p["good"], "--seed", word],
        ["train", word], ["train", "--set", word], ["train", "recall", "--set", b"data." + word + b"=3"],
        ["train", f"{p['folder']}/settings.json"],
        ["train", "recall", "--set", b"model.mixer=" + word, "--print-config"], ["train", "--resume", "-o", word],
        ["train", "text", "--set", b"data.file=" + word],
        ["train", "text", "--set", b"data.tokenizer=" + word, "--print-config"], ["train", "it", "-o", p["texts"]],
        ["bench", word], ["bench", "--threads", word], ["pull", word], ["pull", b"a/b@" + word],
        ["explore", "x", "--port", word], ["explore", "x", "-m", word],
        ["models", p["folder"]], ["models", p["folder"], "--json"], ["models", p["model"]], ["models", word], ["models", "--families", word],
        ["next", TEXT, *good], ["next", TEXT, "-m", p["model"]], ["next", "the [MASK]", *good, "-o", word],
        ["doctor", "-m", p["model"]], ["doctor", "-m", word], ["doctor", "-m", p["prompts"]], ["doctor", "-m", p["good"], "--json"],
        ["doctor", "-m", p["good"], "--reference", word],
        ["doctor", "-m", p["good"], "--reference", p["texts"] + b".npy", "--texts", word],
        ["doctor", "-m", p["good"], "--reference", p["texts"], "--texts", p["texts"]],
    ]


VARIABLES = ["ATTEND_ISA", "ATTEND_THREADS", "ATTEND_MODELS", "HF_HOME", "HF_HUB_CACHE", "HF_ENDPOINT", "HF_TOKEN",
             "HF_HUB_OFFLINE", "XDG_CACHE_HOME", "TERM", "COLUMNS"]


def test_no_argument_drives_the_terminal(places, tmp_path):
    def tried(arguments):
        return arguments, run_bytes_on_terminal(*arguments, cwd=tmp_path, env=NO_HUB)

    with ThreadPoolExecutor(2) as pool:
        for arguments, (code, shown) in pool.map(tried, commands(places)):
            assert code in (0, 1, 2), arguments
            assert shown, arguments
            assert_tame(shown)


@pytest.mark.parametrize("name", VARIABLES)
def test_no_variable_drives_the_terminal(places, name, tmp_path):
    good = ["-m", places["good"]]
    commands = [["doctor", *good], ["explain", "the bank", *good], ["explain", "the bank", "-m", "no/such"], ["bench", "none"],
                ["models"]]
    if name != "HF_HUB_OFFLINE":  # otherwise it would retry for seconds
        commands.append(["pull", "a/b"])
    for arguments in commands:
        assert_tame(run_bytes_on_terminal(*arguments, cwd=tmp_path, env=NO_HUB | {name: EVIL})[1])


@pytest.fixture(scope="module")
def writer(tmp_path_factory):
    """A model of bytes that has seen nothing but escapes: what it writes is full of them."""
    folder = tmp_path_factory.mktemp("writer")
    (folder / "book.txt").write_bytes(b"\x1b[31m\x9b2J\xe2\x80\xae\r" * 400)
    small = ["data.file=book.txt", "data.length=16", "training.steps=12", "model.layers=1", "model.hidden=16", "model.heads=1"]
    done = subprocess.run([PROGRAM, "train", "text", "-o", "model", *(part for key in small for part in ("--set", key))],
                          cwd=folder, capture_output=True, env=environment(), timeout=60)
    assert done.returncode == 0, done.stderr
    return folder / "model"


def test_what_a_model_writes(writer, tmp_path):
    arguments = ["generate", "-m", str(writer), b"\x1b[31m", "-n", "60", "--temperature", "2"]
    code, shown = run_bytes_on_terminal(*arguments, cwd=tmp_path)
    assert code == 0
    assert_tame(shown)
    assert "␛".encode() in shown
    code, out, _ = run_bytes(*arguments)
    assert code == 0
    assert out.startswith(b"\x1b[31m")  # a pipe gets the bytes unchanged
    assert b"\xe2\x90\x9b" not in out


def test_pipes_get_the_true_bytes(places):
    word = b"nope\x1b[31m\xe2\x80\xae"
    for arguments in (["steps", "--example", word], ["explain", "the bank", "-m", places["good"], "--ablate", word], [word],
                      ["embed", word, "-m", places["good"]], ["embed", "-", "-m", places["good"], "--pool", word]):
        code, out, err = run_bytes(*arguments)
        assert (code in (1, 2), out) == (True, b"")
        assert word in err, err


def test_there_is_one_way_to_the_terminal():
    """Only these two files write to the terminal; everything else goes through them."""
    writers = re.compile(r"std::(cerr|cout|clog)|\b(printf|fprintf|puts|fputs|perror)\(|STDERR_FILENO|::write\(")
    found = {path.name for path in (ROOT / "src/app").iterdir() if writers.search(path.read_text())}
    assert found - {"train_progress.cpp"} == {"output.cpp", "status_line.cpp"}  # that one asks how wide the terminal is
    others = (path for path in (ROOT / "src").rglob("*.cpp") if path.parent.name != "app")
    assert [path.name for path in others if re.search(r"std::(cerr|cout|clog)", path.read_text())] == []
