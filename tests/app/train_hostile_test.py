"""attend train against impossible sizes, folders that are not what they seem, and models that claim more than they hold:
each is refused in one sentence, quickly, and before memory is allocated."""

import json
import os
import pathlib
import shutil

import numpy as np
import pytest

from measured import measured
from numpy_bert import read_safetensors, safetensors_metadata, write_safetensors
from program import run

MB = 1 << 20
TINY = ["--set", "model.hidden=8", "--set", "model.inner=8", "--set", "model.heads=2", "--set", "training.batch=2",
        "--set", "training.steps=4", "--set", "training.warmup=0"]


def refused(*arguments: str, most: int | None = None) -> str:
    """Its message; it must end with one sentence, without waiting or filling the memory."""
    result = measured(*arguments, data=most)
    assert result.code in (1, 2) and result.out == "", result
    first, *rest = result.err.splitlines()
    assert rest in ([], [f"Try `attend {arguments[0]} --help`."]), result.err
    assert first.startswith(f"attend {arguments[0]}: ") and len(first) < 1000, first
    assert result.peak < 256 * MB and result.seconds < 10, result
    return first


def settings(*pairs: str) -> list[str]:
    return [word for pair in pairs for word in ("--set", pair)]


@pytest.mark.parametrize(("task", "given", "sentence"), [
    ("recall", ["training.accumulate=1000000000"], "training.accumulate: 1000000000 is not a number from 1 to 1048576"),
    ("recall", ["data.values=1000000000"], "data.values: 1000000000 is not a number from 2 to 1048576"),
    ("recall", ["data.values=1000000"], "data.values: 1000000 values of 16 keys make 17000016 words, but a task has at most"),
    ("recall", ["model.layers=1000000"], "model.layers: 1000000 is not a number from 1 to 4096"),
    ("recall", [f"model.hidden={2**40}"], "model.hidden: 1099511627776 is not a number from 1 to 16777216"),
    ("recall", [f"model.inner={10**30}"], 'model.inner: "1000000000000000000000000000000" is not a whole number below 2^63'),
    ("recall", [f"training.steps={10**18}"], "training.steps: 1000000000000000000 is not a number from 1 to 1000000000000"),
    ("recall", ["model.hidden=16777216"], "model.hidden: 16777216 is too large here: the training would take "),
    ("recall", ["training.batch=16777216", "data.distance=9999"], "training.batch: 16777216 is too large here"),
    ("copy", ["data.symbols=1000000000"], "data.symbols: 1000000000 is not a number from 2 to 1048576"),
    ("reverse", ["data.length=16777216"], "data.length: 16777216 is too large here"),
    ("it", ["model.layers=1000000"], "model.layers: 1000000 is not a number from 1 to 4096"),
])
def test_a_size_that_cannot_be_had_is_refused_by_its_key(tmp_path, task, given, sentence):
    assert sentence in refused("train", task, "-o", str(tmp_path / "run"), *settings(*given))
    assert not (tmp_path / "run").exists()
    config: dict = {"task": task}
    for setting in given:
        key, value = setting.split("=")
        config.setdefault(key.split(".")[0], {})[key.split(".")[1]] = int(value)
    file = tmp_path / "config.json"
    file.write_text(json.dumps(config))
    assert sentence in refused("train", str(file), "-o", str(tmp_path / "run"))


def test_a_limit_of_the_process_counts(tmp_path):
    """One batch of 100,000 sequences takes 8 GB; with a limit of 512 MB that is known in advance."""
    given = settings("training.batch=100000")
    said = refused("train", "recall", "-o", str(tmp_path / "run"), *given, most=512 * MB)
    assert "training.batch: 100000 is too large here: the training would take " in said
    assert said.endswith("but this process can have at most 537 MB")


def test_many_batches_a_step_take_the_memory_of_one(tmp_path):
    given = settings("training.steps=1", "training.batch=4096", "data.pairs=1", "model.layers=1")
    peaks = [measured("train", "recall", "-o", str(tmp_path / count), *TINY, *given, *settings(f"training.accumulate={count}")).peak
             for count in ("1", "100")]
    assert peaks[1] < peaks[0] + 3 * MB  # 100 of them would be 6 MB


def test_a_long_example_has_no_film(tmp_path):
    """Its maps would take 450 MB."""
    result = measured("train", "recall", "-o", str(tmp_path / "run"), *TINY, *settings("data.distance=2000", "training.steps=1"))
    assert result.code == 0 and "too many for maps of its attention" in " ".join(result.out.split()), result
    assert result.peak < 256 * MB and not (tmp_path / "run/film.svg").exists() and (tmp_path / "run/loss.svg").exists()
    given = settings("data.distance=2000")
    said = refused("train", "recall", "-o", str(tmp_path / "other"), *TINY, *given, "--watch", "a1 " * 1500)
    assert "the text has 1500 tokens, too many for the maps of a film" in said


def pipe(path: pathlib.Path) -> pathlib.Path:
    os.mkfifo(path)
    return path


def without_files(path: pathlib.Path) -> pathlib.Path:
    """A folder of a link that leads to itself, one to nowhere, and a pipe."""
    path.mkdir()
    (path / "loop").symlink_to("loop")
    (path / "nowhere").symlink_to("gone")
    pipe(path / "pipe")
    return path


@pytest.mark.parametrize(("place", "sentence"), [
    (lambda path: "/proc", "cannot be read"),
    (lambda path: "/dev/zero", "/dev/zero: is a device, expected a file"),
    (lambda path: pipe(path / "pipe"), "pipe: is a named pipe, expected a file"),
    (lambda path: without_files(path / "folder"), "has 0 tokens"),
    (lambda path: path / "none", "none: cannot be read: No such file or directory"),
    (lambda path: "x" * 300, "cannot be read: File name too long"),
])
def test_a_text_that_is_no_file(tmp_path, place, sentence):
    said = refused("train", "text", "-o", str(tmp_path / "run"), *settings(f"data.file={place(tmp_path)}"))
    assert sentence in said and "filesystem error" not in said


def test_pairs_and_tokenizers_that_are_no_files(tmp_path, small_bert):
    for name, sentence in (("zero.tsv", "is a device"), ("pipe.jsonl", "is a named pipe"), ("folder.tsv", "is a folder")):
        place = tmp_path / name
        if name == "zero.tsv":
            place.symlink_to("/dev/zero")
        else:
            pipe(place) if name == "pipe.jsonl" else place.mkdir()
        given = settings(f"data.file={place}", f"data.model={small_bert}")
        assert sentence in refused("train", "pairs", "-o", str(tmp_path / "run"), *given)
        (tmp_path / "text.txt").write_text("it was tired. " * 100)
        given = settings(f"data.file={tmp_path}/text.txt", f"data.tokenizer={place}")
        assert name in refused("train", "masked", "-o", str(tmp_path / "run"), *given)


@pytest.mark.parametrize(("name", "sentence"), [
    ("/dev/zero", "/dev/zero: is a device"),
    ("/proc/self/mem", "/proc/self/mem"),
    ("/", "/: is a folder"),
    ("x" * 300, "is not one of recall, copy"),
])
def test_a_configuration_that_is_no_file(tmp_path, name, sentence):
    assert sentence in refused("train", name, "-o", str(tmp_path / "run"))


def test_a_folder_that_is_none(tmp_path):
    for place in (pipe(tmp_path / "pipe"), pathlib.Path("/dev/null"), pathlib.Path("/proc/self/status")):
        assert "cannot be created" in refused("train", "recall", "-o", str(place), *TINY)
        assert refused("train", "--resume", "-o", str(place))


# Runs that were saved.

@pytest.fixture(scope="module")
def saved(tmp_path_factory) -> pathlib.Path:
    """Four steps of recall, stopped after two."""
    folder = tmp_path_factory.mktemp("saved") / "run"
    assert run("train", "recall", "-o", str(folder), *TINY, *settings("training.stop_after=2")).code == 0
    return folder


@pytest.fixture
def stopped(saved, tmp_path) -> pathlib.Path:
    return pathlib.Path(shutil.copytree(saved, tmp_path / "run"))


FILES = ["training.safetensors", "metrics.jsonl", "config.json", "tokenizer.json", "model.safetensors", "loss.svg", "attention.svg",
         "film.svg"]


@pytest.mark.parametrize("name", FILES)
def test_a_run_goes_on_in_plain_files_only(stopped, tmp_path, name):
    """Resuming somebody else's run neither waits for a pipe nor writes through a link to another place."""
    kept = tmp_path / "mine"
    shutil.copy(stopped / name, kept)
    before = kept.read_bytes()
    for make, sentence in ((os.mkfifo, "is a named pipe, expected a file"), (os.mkdir, "is a folder, expected a file"),
                           (lambda path: os.symlink("/dev/zero", path), "is a link that leaves"),
                           (lambda path: os.symlink(kept, path), "is a link that leaves"),
                           (lambda path: os.symlink("nowhere", path), "cannot be read: No such file")):
        os.rmdir(stopped / name) if (stopped / name).is_dir() else os.unlink(stopped / name)
        make(stopped / name)
        said = refused("train", "--resume", "-o", str(stopped))
        assert name in said and sentence in said
    assert kept.read_bytes() == before


def with_metadata(state: pathlib.Path, **changes: str) -> None:
    """The same tensors under other metadata."""
    write_safetensors(state, read_safetensors(state), safetensors_metadata(state) | changes)


@pytest.mark.parametrize(("key", "value", "sentence"), [
    ("model.hidden", 4096, "has shape"),  # 1.6 GB, if it were trusted
    ("model.layers", 4096, "is not there"),
    ("model.hidden", 2**40, "model.hidden: 1099511627776 is not a number from 1 to 16777216"),
    ("model.inner", 500000, "has shape"),
    ("data.values", 60000, "has shape"),
    ("data.values", 10**9, "data.values: 1000000000 is not a number from"),
    ("training.accumulate", 10**9, "training.accumulate: 1000000000 is not"),
    ("training.batch", 16777216, "training.batch: 16777216 is too large here"),
    ("training.steps", 1, "step: 2 is more than the 1 steps of its configuration"),
    ("data.file", "/dev/zero", None),
    ("model.tied", "maybe", 'model.tied: "maybe" is not true or false'),
])
def test_a_state_that_promises_what_it_does_not_hold(stopped, key, value, sentence):
    state = stopped / "training.safetensors"
    config = json.loads(safetensors_metadata(state)["config"])
    section, name = key.split(".")
    config[section][name] = value
    with_metadata(state, config=json.dumps(config))
    if sentence is None:  # which recall does not look at
        assert run("train", "--resume", "-o", str(stopped)).code == 0
        return
    assert sentence in refused("train", "--resume", "-o", str(stopped))


@pytest.mark.parametrize(("step", "sentence"), [
    (str(2**63 - 1), "is more than the 4 steps"), (str(2**63), "is not a number of steps"), ("-1", "is not a number of steps"),
    ("", "is not a number of steps"), ("2 ", "is not a number of steps"), ("\x1b[2J", '"\\x1b[2J" is not a number of steps')])
def test_a_state_of_a_step_that_is_none(stopped, step, sentence):
    with_metadata(stopped / "training.safetensors", step=step)
    assert sentence in refused("train", "--resume", "-o", str(stopped))


def test_a_state_with_other_tensors(stopped):
    state = stopped / "training.safetensors"
    tensors, metadata, whole = read_safetensors(state), safetensors_metadata(state), state.read_bytes()
    name = "first.layer.0.attention.qkv.weight"

    def changed(new: dict) -> None:
        write_safetensors(state, new, metadata)

    changed({key: array for key, array in tensors.items() if key != name})
    assert f"{name}: is not there" in refused("train", "--resume", "-o", str(stopped))
    changed(tensors | {name: tensors[name].astype(np.int64)})
    assert f"{name}: is of the type i64, expected f32" in refused("train", "--resume", "-o", str(stopped))
    changed(tensors | {"film.0": np.zeros((2000, 17, 17), np.float32)})
    assert "film.0: has shape" in refused("train", "--resume", "-o", str(stopped))
    for tokens in (np.array([1, 10**6]), np.array([-1]), np.arange(70000), np.zeros((2, 2)), np.zeros(0)):
        changed(tensors | {"film.tokens": tokens.astype(np.int64)})
        assert "film.tokens: " in refused("train", "--resume", "-o", str(stopped))
    changed({key: np.full_like(array, np.nan) if key == "film.0" else array for key, array in tensors.items()})
    assert run("train", "--resume", "-o", str(stopped)).code == 0  # its film has a frame that shows nothing
    for size in (0, 7, 8, 50, len(whole) // 3, len(whole) - 1):
        state.write_bytes(whole[:size])
        refused("train", "--resume", "-o", str(stopped))


@pytest.mark.parametrize("text", [
    b"", b"\n" * 300000, b"\x00" * 300000, b"{" * 300000, b"[" * 300000, b"nonsense\n" * 30000, b'{"step":1,"loss":1e999}\n',
    b'{"step":9223372036854775807,"loss":1}\n{"step":-5,"loss":1}\n', b'{"step":1,"loss":' + b"1" * 900000 + b"}\n",
    b'{"step":1,"loss":1,' + b",".join(b'"k%d":1' % i for i in range(90000)) + b"}\n"], ids=range(10))
def test_metrics_that_nobody_wrote_are_left_out(stopped, text):
    (stopped / "metrics.jsonl").write_bytes(text)
    result = measured("train", "--resume", "-o", str(stopped))
    assert result.code == 0 and result.peak < 256 * MB and result.seconds < 10, result
    lines = [json.loads(line) for line in (stopped / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines if "loss" in line][-2:] == [3, 4]


def test_a_model_that_claims_to_be_larger_than_it_is(tmp_path, small_bert):
    """pairs compares what config.json says with what the file holds before it allocates anything of that size."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"the w{20 + i}\tbank w{20 + i}\n" for i in range(20)))
    for key, value in (("intermediate_size", 16777216), ("vocab_size", 16777216), ("max_position_embeddings", 16777216),
                       ("num_hidden_layers", 4096), ("hidden_size", 16777216), ("type_vocab_size", 16777216)):
        model = tmp_path / key
        shutil.copytree(small_bert, model)
        config = json.loads((model / "config.json").read_text())
        (model / "config.json").write_text(json.dumps(config | {key: value}))
        said = refused("train", "pairs", "-o", str(tmp_path / "run"), *settings(f"data.model={model}", f"data.file={pairs}"))
        assert "safetensors" in said or "config.json" in said, said


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "learned", "rotary", "alibi"])
def test_a_length_that_no_tensor_proves_takes_no_memory(tmp_path, positions):
    """A configuration of sixteen million positions takes no memory for them; other sizes are compared with the file."""
    folder = tmp_path / "model"
    given = settings("training.steps=1", f"model.positions={positions}", "model.tied=false", "model.hidden=64")
    assert run("train", "copy", "-o", str(folder), *TINY, *given).code == 0
    text = (folder / "config.json").read_text()

    def changed(**keys: int) -> None:
        (folder / "config.json").write_text(json.dumps(json.loads(text) | keys))

    (tmp_path / "texts.txt").write_text("s1 s2\n")
    commands = [("generate", "-m", str(folder), "s1 s2", "-n", "4", "--temperature", "0"), ("explain", "-m", str(folder), "s1 s2"),
                ("embed", "-m", str(folder), str(tmp_path / "texts.txt"), "-o", str(tmp_path / "vectors.npy"))]
    before = [run(*command).out for command in commands]
    changed(length=16777216)
    for command, out in zip(commands, before, strict=True):
        if positions == "learned":
            assert "positions: " in refused(*command)
            continue
        result = measured(*command)
        assert (result.code, result.out) == (0, out) and result.peak < 256 * MB, result
    for key in ("hidden", "inner", "vocab_size", "layers", "heads"):
        changed(**{key: 4096 if key == "layers" else 1 << 24})
        assert refused(*commands[0])
