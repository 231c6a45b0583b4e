"""attend train: what it learns, what it writes to disk, how it resumes, and what it refuses."""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import time
from xml.etree import ElementTree

import numpy as np
import pytest

from numpy_bert import read_safetensors, safetensors_metadata, write_safetensors
from program import PROGRAM, environment, run, run_on_terminal, without_colors

# Small and quick: a few seconds for this whole file.
SMALL = ["--set", "model.hidden=16", "--set", "model.inner=32", "--set", "training.batch=8", "--set", "training.steps=20",
         "--set", "training.evaluate=10", "--set", "training.save=5"]


def train(folder: pathlib.Path, *arguments: str, task: str = "recall"):
    return run("train", task, "-o", str(folder), *SMALL, *arguments)


@pytest.fixture(scope="module")
def recall(tmp_path_factory) -> pathlib.Path:
    """A small run, for tests that only read it."""
    folder = tmp_path_factory.mktemp("recall") / "model"
    assert train(folder).code == 0
    return folder


def test_learns_recall_and_looks_at_the_answer(tmp_path):
    """With the defaults, in a few seconds."""
    result = run("train", "-o", str(tmp_path / "model"))
    assert result.code == 0, result.err
    share = float(re.findall(r"([\d.]+)% correct on held-out data", result.out)[-1])
    weight = float(result.out.split("The weight on the answer is ")[1].split(".\n")[0])
    assert share >= 99 and weight > 0.8


@pytest.mark.parametrize("task", ["copy", "reverse"])
def test_learns_the_other_tasks(tmp_path, task):
    result = run("train", task, "-o", str(tmp_path / "model"), "--set", "training.steps=150", "--set", "training.evaluate=150",
                 "--set", "data.length=6", "--set", "data.symbols=5")
    assert result.code == 0, result.err
    assert float(re.findall(r"([\d.]+)% correct on held-out data", result.out)[0]) >= 97


def test_explain_opens_what_was_trained(recall):
    result = run("explain", "-m", str(recall), "d7 a3 f1 a?", "--format", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["tokens"] == ["d7", "a3", "f1", "a?"]


def test_a_text_by_bytes(tmp_path):
    (tmp_path / "text").mkdir()
    for name in ("a.txt", "b.txt"):
        (tmp_path / "text" / name).write_text("the animal did not cross the street because it was tired. " * 40)
    folder = tmp_path / "model"
    result = train(folder, "--set", f"data.file={tmp_path / 'text'}", "--set", "data.length=32", "--set", "training.steps=120",
                   "--set", "training.evaluate=120", "--set", "model.hidden=32", "--set", "training.rate=0.01", task="text")
    assert result.code == 0, result.err
    assert float(result.out.split("perplexity ")[1].split(".\n")[0]) < 8  # of 256 bytes
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    assert len(tokenizer["model"]["vocab"]) == 256


def test_a_text_by_a_tokenizer(tmp_path, recall):
    """That of recall, whose words are separated by spaces."""
    tokenizer = recall / "tokenizer.json"
    (tmp_path / "text.txt").write_text("d7 a3 f1 a? 3 " * 100)
    text = ["--set", f"data.file={tmp_path / 'text.txt'}", "--set", f"data.tokenizer={tokenizer}", "--set", "data.length=10"]
    result = train(tmp_path / "model", *text, task="text")
    assert result.code == 0, result.err
    assert (tmp_path / "model" / "tokenizer.json").read_text() == tokenizer.read_text()
    written = run("generate", "-m", str(tmp_path / "model"), "d7 a3", "-n", "5", "--new-only")
    assert written.code == 0 and len(written.out.split()) == 5
    hidden = train(tmp_path / "masked", *text, task="masked")
    assert hidden.code == 1 and "has neither [MASK] nor <mask>" in hidden.err


def test_masked_becomes_an_encoder_that_embed_and_explain_read(tmp_path):
    (tmp_path / "text.txt").write_text("the animal did not cross the street because it was tired. " * 40)
    folder = tmp_path / "model"
    result = train(folder, "--set", f"data.file={tmp_path / 'text.txt'}", "--set", "data.length=32", task="masked")
    assert result.code == 0, result.err
    assert json.loads((folder / "config.json").read_text())["model_type"] == "bert"
    (tmp_path / "lines.txt").write_text("the animal\nthe street\n")
    vectors = tmp_path / "vectors.npy"
    assert run("embed", str(tmp_path / "lines.txt"), "-m", str(folder), "-o", str(vectors)).code == 0
    assert vectors.stat().st_size > 2 * 16 * 4
    assert run("explain", "-m", str(folder), "the animal").code == 0


def test_leaves_metrics_and_figures(recall):
    lines = [json.loads(line) for line in (recall / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line] == list(range(1, 21))
    assert [line["step"] for line in lines if "validation_loss" in line] == [10, 20]
    assert lines[-1]["accuracy"] >= 0
    for figure in ("loss.svg", "attention.svg", "film.svg"):
        assert (recall / figure).read_text().rstrip().endswith("</svg>")


def test_watches_a_text(tmp_path):
    result = train(tmp_path / "model", "--watch", "d7 a3 a?")
    assert result.code == 0, result.err
    assert "mean of its heads" in result.out
    longer = train(tmp_path / "longer", "--watch", "d7 a3 a?", "--set", "training.steps=64")
    assert longer.code == 0
    films = [len((tmp_path / name / "film.svg").read_text()) for name in ("model", "longer")]
    assert films[0] < films[1]  # six frames, of steps 0, 1, 2, 5, 10 and 20; and seven
    too_long = train(tmp_path / "other", "--watch", " ".join(["d7"] * 18))
    assert too_long.code == 1 and "the text has 18 tokens, expected 1 to 17" in too_long.err
    two = train(tmp_path / "another", "--watch", "s1 s2", task="reverse")
    assert two.code == 1 and "reads two sequences, not one text" in two.err


GRU = ["--set", "model.mixer=gru", "--set", "model.layers=2"]
FIGURES = ("loss.svg", "attention.svg", "film.svg")


def test_a_gru_learns_without_attention(tmp_path):
    """One pair of two: which digit was it? It has nothing to look at, so there is no map and nothing to watch."""
    folder = tmp_path / "model"
    easy = ["--set", "data.pairs=1", "--set", "data.keys=2", "--set", "data.values=2", "--set", "data.distance=3"]
    result = train(folder, *GRU, *easy, "--set", "training.steps=150", "--set", "training.evaluate=150", "--set", "training.rate=0.01")
    assert result.code == 0, result.err
    assert float(re.findall(r"([\d.]+)% correct on held-out data", result.out)[0]) == 100
    assert (folder / "loss.svg").exists() and not (folder / "attention.svg").exists() and not (folder / "film.svg").exists()
    config = json.loads((folder / "config.json").read_text())
    assert config["model_type"] == "attend" and config["mixer"] == "gru"
    assert run("explain", "-m", str(folder), "a0 so a?").code == 1
    watched = train(tmp_path / "watched", *GRU, "--watch", "a0 b1 a?")
    assert watched.code == 1 and "a GRU has no attention to watch" in watched.err


@pytest.mark.parametrize("extra", [[], ["--set", "model.dropout=0.2", "--set", "training.accumulate=2", "--set", "model.recompute=true"],
                                   [*GRU, "--set", "model.dropout=0.2", "--set", "data.distance=5"], ["--precision", "bf16"]])
def test_a_resumed_run_ends_in_the_same_bits(tmp_path, extra):
    whole, halves = tmp_path / "whole", tmp_path / "halves"
    assert train(whole, *extra).code == 0
    first = train(halves, "--set", "training.stop_after=7", *extra)
    assert first.code == 0 and "Stopped at step 7" in first.out
    second = run("train", "--resume", "-o", str(halves))
    assert second.code == 0 and "Continuing from step 7" in second.out
    figures = ("loss.svg",) if extra[:2] == GRU[:2] else FIGURES
    for name in ("training.safetensors", "model.safetensors", "config.json", "tokenizer.json", *figures):
        assert (whole / name).read_bytes() == (halves / name).read_bytes(), name
    steps = [json.loads(line)["step"] for line in (halves / "metrics.jsonl").read_text().splitlines() if '"loss"' in line]
    assert steps == list(range(1, 21))


SHORT = [*SMALL, "--set", "training.steps=4", "--set", "data.length=4"]


@pytest.mark.parametrize(("task", "more"), [("recall", []), ("copy", []), ("reverse", []), ("recall", GRU), ("text", []),
                                            ("text", ["--watch", "the"])])
def test_a_finished_run_stays_as_it_is(tmp_path, task, more):
    """It says so, and completes figures that are missing because it was killed after the last save, to the same bytes."""
    (tmp_path / "text.txt").write_text("the animal was tired. " * 20)
    folder = tmp_path / "model"
    assert run("train", task, "-o", str(folder), *SHORT, "--set", f"data.file={tmp_path / 'text.txt'}", *more).code == 0
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    for gone in ((), FIGURES, ("film.svg",)):
        for name in gone:
            (folder / name).unlink(missing_ok=True)
        again = run("train", "--resume", "-o", str(folder))
        assert (again.code, again.err) == (0, "")
        shown = " ".join(again.out.split())
        assert shown.startswith("All 4 steps have already been taken") and "is already finished; there is nothing left to do." in shown
        assert {file.name: file.read_bytes() for file in folder.iterdir()} == before


def test_the_film_of_a_watched_text_goes_on(tmp_path):
    """Wherever it was stopped, with the text named again or not; another text begins another film."""
    (tmp_path / "text.txt").write_text("the animal was tired. " * 20)
    given = ["text", *SHORT, "--set", f"data.file={tmp_path / 'text.txt'}", "--watch", "the"]
    whole = tmp_path / "whole"
    assert run("train", *given, "-o", str(whole)).code == 0
    for after, again in ((1, []), (2, ["--watch", "the"]), (3, [])):
        halves = tmp_path / str(after)
        assert run("train", *given, "-o", str(halves), "--set", f"training.stop_after={after}").code == 0
        assert run("train", "--resume", "-o", str(halves), *again).code == 0
        for name in ("training.safetensors", *FIGURES):
            assert (whole / name).read_bytes() == (halves / name).read_bytes(), (after, name)
    other = run("train", "--resume", "-o", str(whole), "--watch", "it")
    assert other.code == 0 and (whole / "film.svg").read_bytes() != (halves / "film.svg").read_bytes()


def test_a_state_without_frames_keeps_the_film_that_is_there(tmp_path):
    """As older versions wrote it: the existing film is better than the single frame that can be drawn now."""
    assert run("train", "recall", "-o", str(tmp_path / "model"), *SHORT).code == 0
    state = tmp_path / "model" / "training.safetensors"
    kept = {name: array for name, array in read_safetensors(state).items() if not name.startswith("film.")}
    write_safetensors(state, kept, safetensors_metadata(state))
    film = (tmp_path / "model" / "film.svg").read_bytes()
    assert run("train", "--resume", "-o", str(tmp_path / "model")).code == 0
    assert (tmp_path / "model" / "film.svg").read_bytes() == film
    (tmp_path / "model" / "film.svg").unlink()
    assert run("train", "--resume", "-o", str(tmp_path / "model")).code == 0
    assert len((tmp_path / "model" / "film.svg").read_bytes()) < len(film)


def test_the_number_of_threads_changes_no_bit(tmp_path, recall):
    for threads in ("1", "3"):
        assert run("train", "-o", str(tmp_path / threads), *SMALL, env={"ATTEND_THREADS": threads}).code == 0
        assert (tmp_path / threads / "training.safetensors").read_bytes() == (recall / "training.safetensors").read_bytes()


def test_bf16_is_named_in_the_state_and_said_where_it_is_f32(tmp_path):
    """On an instruction set that does not multiply bf16 the bits are those of f32; with any number of threads they are the same."""
    def trained(name: str, *arguments: str, **variables: str) -> tuple[bytes, str]:
        result = run("train", "-o", str(tmp_path / name), *SMALL, *arguments, env=variables)
        assert result.code == 0, result.err
        return (tmp_path / name / "model.safetensors").read_bytes(), " ".join(result.out.split())

    bf16, out = trained("bf16", "--precision", "bf16", ATTEND_THREADS="1")
    assert bf16 == trained("threads", "--set", "training.precision=bf16", ATTEND_THREADS="3")[0]
    multiplies = "This processor does not multiply bf16, so the training multiplies in f32." not in out
    assert multiplies == (bf16 != trained("f32")[0])
    sentence = "This processor does not multiply bf16, so the training multiplies in f32."
    narrow, out = trained("narrow", "--precision", "bf16", ATTEND_ISA="scalar")
    assert sentence in out and narrow == trained("narrow_f32", ATTEND_ISA="scalar")[0]
    state = safetensors_metadata(tmp_path / "bf16" / "training.safetensors")
    assert json.loads(state["config"])["training"]["precision"] == "bf16"
    printed = run("train", "--precision", "bf16", "--print-config")
    assert json.loads(printed.out)["training"]["precision"] == "bf16"


def start(folder: pathlib.Path) -> subprocess.Popen:
    """A run that takes long enough to be interrupted, once its first state has been saved."""
    command = [PROGRAM, "train", "-o", str(folder), *SMALL, "--set", "training.steps=1000000"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    end = time.monotonic() + 30
    while not (folder / "training.safetensors").exists() and time.monotonic() < end:
        time.sleep(0.01)
    return process


def test_ctrl_c_saves_and_says_so(tmp_path):
    process = start(tmp_path / "model")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 0, err
    assert b"Stopped at step" in out and b"--resume" in out
    step = out.split(b"Stopped at step ")[1].split(b" ")[0]
    state = (tmp_path / "model" / "training.safetensors").read_bytes()
    assert b'"step":"' + step + b'"' in state.replace(b": ", b":")


def test_a_killed_run_leaves_a_whole_state(tmp_path):
    for delay in (0.0, 0.05, 0.11):
        folder = tmp_path / str(delay)
        process = start(folder)
        time.sleep(delay)
        process.kill()
        process.communicate()
        # While one file replaces another it has two names: at most one is left over.
        assert len([file for file in os.listdir(folder) if file.startswith(".")]) <= 1
        assert run("explain", "-m", str(folder), "d7 a3 a?").code == 0
        # It resumes from there; the rest of a million steps would be too many, so it is stopped again.
        resumed = subprocess.Popen([PROGRAM, "train", "--resume", "-o", str(folder)], stdout=subprocess.PIPE, env=environment(),
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        assert resumed.stdout.readline().startswith(b"Continuing from step")
        time.sleep(0.2)
        resumed.send_signal(signal.SIGINT)
        assert b"Stopped at step" in resumed.communicate(timeout=30)[0]


def test_a_diverging_loss_is_reported_and_the_last_good_state_kept(tmp_path):
    wild = ["--set", "training.rate=1e30", "--set", "training.warmup=0", "--set", "training.clip=0"]
    result = train(tmp_path / "kept", *wild, "--set", "training.save=1")
    assert result.code == 1 and result.err.count("\n") == 1
    assert "the loss is no longer finite at step 2; the state of step 1 is kept in" in result.err
    assert b'"step":"1"' in (tmp_path / "kept" / "training.safetensors").read_bytes().replace(b": ", b":")
    unsaved = train(tmp_path / "unsaved", *wild)
    assert unsaved.code == 1 and "nothing has been saved yet" in unsaved.err


def test_print_config_prints_what_it_reads(tmp_path):
    printed = run("train", "text", "--print-config", "--set", "model.norm=rms").out
    config = json.loads(printed)
    assert config["task"] == "text" and config["model"]["norm"] == "rms" and config["training"]["rate"] > 0
    file = tmp_path / "config.json"
    file.write_text(printed)
    assert run("train", str(file), "--print-config").out == printed


# What --set or a file says, and part of the sentence.
BAD_KEYS = [
    ({"model": {"layer": 2}}, "model.layer: there is no such key; the keys are model.mixer, model.layers"),
    ({"nonsense": 1}, "nonsense: there is no such key; the keys are task, model.…, data.…, training.…"),
    ({"task": "dance"}, 'task: "dance" is not one of recall, copy, reverse, it, text, masked'),
    ({"model": {"heads": 3}}, "model.heads: 3 does not divide the hidden size 64"),
    ({"model": {"heads": "many"}}, 'model.heads: "many" is not a whole number'),
    ({"model": {"norm": "batch"}}, 'model.norm: "batch" is not one of layer, rms'),
    ({"model": {"mixer": "lstm"}}, 'model.mixer: "lstm" is not one of attention, gru'),
    ({"task": "reverse", "model": {"mixer": "gru"}}, 'model.mixer: "gru" reads forwards only, but reverse needs more'),
    ({"task": "masked", "model": {"mixer": "gru"}}, 'model.mixer: "gru" reads forwards only, but masked needs more'),
    ({"data": {"distance": -1}}, "data.distance: -1 is not a number from 0"),
    ({"model": {"tied": 1}}, 'model.tied: "1" is not true or false'),
    ({"model": {"dropout": 1}}, "model.dropout: 1 is not a number from 0 to 0.99"),
    ({"training": {"rate": "nan"}}, "training.rate: nan is not a number from 0"),
    ({"training": {"rate": -1}}, "training.rate: -1 is not a number from 0"),
    ({"training": {"precision": "int8"}}, 'training.precision: "int8" is not one of f32, bf16'),
    ({"task": "it", "training": {"precision": "bf16"}}, "training.precision: it fits two small matrices in float64, and nothing in bf16"),
    ({"training": {"steps": 0}}, "training.steps: 0 is not a number from 1"),
    ({"training": {"batch": 1.5}}, 'training.batch: "1.5" is not a whole number'),
    ({"training": {"rate": [1]}}, "training.rate: is not a number, a string, true or false"),
    ({"data": {"pairs": 20}}, "data.pairs: 20 pairs need as many different keys, but there are 16"),
    ({"task": "text"}, "data.file: is missing"),
    ({"task": "text", "data": {"file": "/no/such/file"}}, "/no/such/file: cannot be read"),
]


@pytest.mark.parametrize(("config", "sentence"), BAD_KEYS, ids=range(len(BAD_KEYS)))
def test_refuses_a_bad_config(tmp_path, config, sentence):
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    result = run("train", str(file), "-o", str(tmp_path / "model"))
    assert result.code in (1, 2) and result.out == ""
    assert sentence in result.err
    assert result.err.splitlines()[0].startswith("attend train: ") and len(result.err.splitlines()) <= 2
    assert not (tmp_path / "model" / "training.safetensors").exists()


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["--set", "model.layers"], '--set "model.layers" is not of the form KEY=VALUE'),
    (["--set", "model.heads=5"], "model.heads: 5 does not divide the hidden size 64"),
    (["dance"], 'task: "dance" is not one of recall'),
    (["no/such.json"], "no/such.json: cannot be read"),
    (["--resume"], "--resume needs -o FOLDER"),
    (["--resume", "recall", "-o", "x"], "--resume continues with the saved configuration"),
    (["--resume", "--precision", "bf16", "-o", "x"], "so it takes no CONFIG, --set or --precision"),
    (["--precision", "int8"], "int8"),
])
def test_refuses_a_bad_command_line(tmp_path, arguments, sentence):
    result = run("train", *arguments)
    assert result.code in (1, 2) and result.out == "" and sentence in result.err


def test_refuses_an_empty_corpus(tmp_path):
    (tmp_path / "empty.txt").write_text("")
    result = run("train", "text", "--set", f"data.file={tmp_path / 'empty.txt'}", "-o", str(tmp_path / "model"))
    assert result.code == 1 and "has 0 tokens, which leaves 0 to learn from" in result.err
    assert not (tmp_path / "model").exists()


def test_refuses_wrong_states(tmp_path, recall):
    folder = pathlib.Path(shutil.copytree(recall, tmp_path / "model"))
    assert "is not empty" in train(folder).err
    assert "cannot be read" in run("train", "--resume", "-o", str(tmp_path / "nowhere")).err
    state = folder / "training.safetensors"
    whole = state.read_bytes()
    state.write_bytes(whole[: len(whole) // 2])
    cut = run("train", "--resume", "-o", str(folder))
    assert cut.code == 1 and cut.err.count("\n") == 1
    state.write_bytes((folder / "model.safetensors").read_bytes())
    other = run("train", "--resume", "-o", str(folder))
    assert other.code == 1 and "is not the state of a training that attend wrote" in other.err


def test_generate_stops_where_an_answer_ends(tmp_path):
    """A model of recall answers in one token, one of copy in as many as it was taught; -n still asks for more. What has a source answers in
    as many as that has."""
    for task, keys, prompt, count in (("recall", ["data.pairs=2"], "d7 a3 a?", 1), ("copy", ["data.length=3"], "s1 s2 s1 |", 3)):
        folder = str(tmp_path / task)
        assert run("train", task, "-o", folder, "--set", "training.steps=2", *(word for key in keys for word in ("--set", key))).code == 0
        assert json.loads((tmp_path / task / "generation_config.json").read_text()) == {"max_new_tokens": count}
        assert len(run("generate", "-m", folder, prompt, "--new-only").out.split()) == count
        assert len(run("generate", "-m", folder, prompt, "--new-only", "-n", "2").out.split()) == 2
    assert run("train", "reverse", "-o", str(tmp_path / "reverse"), "--set", "training.steps=2").code == 0
    assert not (tmp_path / "reverse/generation_config.json").exists()


def test_generate_writes_what_was_learned(tmp_path):
    (tmp_path / "text.txt").write_text("it was tired. " * 200)
    folder = str(tmp_path / "model")
    assert run("train", "text", "-o", folder, *SMALL, "--set", f"data.file={tmp_path / 'text.txt'}", "--set", "data.length=32",
               "--set", "training.steps=200", "--set", "model.hidden=32", "--set", "training.warmup=20").code == 0
    greedy = run("generate", "-m", folder, "it was", "-n", "60", "--temperature", "0")
    assert greedy.code == 0, greedy.err
    assert greedy.out.startswith("it was tired. it was tired. it was")  # beyond the 32 positions as well
    seeded = [run("generate", "-m", folder, "it was", "--seed", seed).out for seed in ("1", "1", "2")]
    assert seeded[0] == seeded[1]
    assert run("generate", "-m", folder, "it", "-n", "4", "--temperature", "0", "--new-only").out == " was\n"


def test_generate_writes_by_other_decoders(tmp_path):
    """RMSNorm, SwiGLU and rotary positions: not GPT-2, so its folder keeps attend's own names."""
    (tmp_path / "text.txt").write_text("it was tired. " * 200)
    folder = str(tmp_path / "model")
    other = ["--set", "model.norm=rms", "--set", "model.feed_forward=swiglu", "--set", "model.positions=rotary", "--set", "model.tied=false"]
    assert run("train", "text", "-o", folder, *SMALL, *other, "--set", f"data.file={tmp_path / 'text.txt'}", "--set", "data.length=32",
               "--set", "training.steps=200", "--set", "model.hidden=32", "--set", "training.warmup=20").code == 0
    assert json.loads((tmp_path / "model" / "config.json").read_text())["model_type"] == "attend"
    greedy = run("generate", "-m", folder, "it was", "-n", "60", "--temperature", "0")
    assert greedy.code == 0, greedy.err
    assert greedy.out.startswith("it was tired. it was tired. it was")


def test_generate_answers_a_source(tmp_path):
    folder = str(tmp_path / "model")
    assert run("train", "reverse", "-o", folder, "--set", "training.steps=150", "--set", "data.length=6", "--set", "data.symbols=5").code == 0
    answer = run("generate", "-m", folder, "s3 s1 s2 s0 s4 s4")
    assert answer.code == 0, answer.err
    assert answer.out.split() == "s4 s4 s0 s2 s1 s3".split()
    assert len(run("generate", "-m", folder, "s3 s1 s2 s0 s4 s4", "-n", "2").out.split()) == 2
    long = run("generate", "-m", folder, " ".join(["s1"] * 7))
    assert long.code == 1 and "the source has 7 tokens, but the model has positions for only 6" in long.err


def test_generate_refuses_a_gru(tmp_path):
    assert train(tmp_path / "model", *GRU, "--set", "training.steps=1").code == 0
    result = run("generate", "-m", str(tmp_path / "model"), "a0")
    assert result.code == 1 and 'mixer: "gru" is a model without attention' in result.err


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["-m", "no/such/folder", "x"], "no/such/folder"),
    (["-m", "MODEL", ""], "the prompt is empty"),
    (["-m", "MODEL", "x", "--temperature", "-1"], "--temperature must be a number, 0 or more"),
])
def test_generate_refuses(recall, arguments, sentence):
    result = run("generate", *[argument.replace("MODEL", str(recall)) for argument in arguments])
    assert result.code in (1, 2) and result.out == "" and sentence in result.err


def test_it_finds_the_animal(tmp_path):
    folder = tmp_path / "it"
    done = run("train", "it", "-o", str(folder))
    assert (done.code, done.err) == (0, "") and "Before: “it” puts 0.1" in done.out and "After" in done.out
    lesson = str(folder / "lesson.json")
    learned = json.loads(run("steps", lesson, "--json").out)
    assert learned["weights"][7][1] >= 0.6 and learned["tokens"][7] == "it" and learned["tokens"][1] == "animal"
    # The stored example is exactly this result, rounded.
    stored = json.loads(run("steps", "--example", "it-trained", "--json").out)
    assert stored["tokens"] == learned["tokens"]
    np.testing.assert_allclose(stored["weights"], learned["weights"], atol=0.01)
    assert ElementTree.parse(folder / "it.svg").getroot().tag.endswith("svg")
    again = run("train", "it", "-o", str(folder))
    assert again.code == 1 and "is not empty" in again.err
    assert run("train", "it", "--watch", "the", "-o", str(tmp_path / "other")).code == 2


def screen_after(shown: str) -> list[str]:
    """The lines of an endlessly tall terminal, interpreting the few sequences that the program uses."""
    lines, row, column = [""], 0, 0
    for part in re.findall(r"\x1b\[\d*[A-Z]|\r|\n|[^\x1b\r\n]+", without_colors(shown)):
        if part == "\n":
            row, column = row + 1, 0
            lines += [""] * (row + 1 - len(lines))
        elif part == "\r":
            column = 0
        elif part[-1] == "A" and part[0] == "\x1b":
            row -= int(part[2:-1])
        elif part == "\x1b[K":
            lines[row] = lines[row][:column]
        elif part == "\x1b[J":
            lines[row:] = [lines[row][:column]]
        else:
            lines[row] = lines[row][:column] + part + lines[row][column + len(part):]
            column += len(part)
    return lines


@pytest.mark.parametrize(("rows", "curve"), [(40, True), (12, False)])
def test_somebody_who_watches_sees_the_curve_grow(tmp_path, rows, curve):
    arguments = ["train", "recall", "-o", str(tmp_path / "model"), "--set", "training.steps=60", "--set", "training.evaluate=30"]
    result = run_on_terminal(*arguments, columns=90, rows=rows, errors_too=True)
    assert result.code == 0
    shown = without_colors(result.out)
    assert "tokens/s" in shown and " left" in shown
    assert (shown.count("Loss of recall") > 1) == curve  # the last is that of the end
    screen = screen_after(result.out)
    assert not any(" left" in line for line in screen)  # the bar is gone, and what was above it
    assert sum("Loss of recall" in line for line in screen) == 1
    assert sum("on held-out data" in line for line in screen) == 2
