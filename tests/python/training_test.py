"""attend.train: the program's trainings from Python, and what callbacks see and stop."""

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import attend
from attend import train

sys.path.append(str(Path(__file__).resolve().parents[1] / "app"))
from program import PROGRAM, run as run_program  # the directory of tests/app

SMALL = {"model": {"hidden": 16, "inner": 32}, "training": {"batch": 8, "steps": 20, "evaluate": 10, "save": 5}}
FILES = ["model.safetensors", "training.safetensors", "config.json", "tokenizer.json"]


def settings(sections):
    return [word for name, section in sections.items() for key, value in section.items() for word in ("--set", f"{name}.{key}={value}")]


def small(task="recall", **changes):
    return train.Config(task, **{name: {**SMALL.get(name, {}), **changes.get(name, {})} for name in ("model", "data", "training")})


def same_folders(one, other):
    return all((Path(one) / name).read_bytes() == (Path(other) / name).read_bytes() for name in FILES)


# What a training is told.


def test_configurations_in_every_form(tmp_path):
    config = small()
    whole = config.to_dict()
    assert whole["model"]["hidden"] == 16 and whole["task"] == config.task == "recall" and whole["data"]["keys"] == 16
    (tmp_path / "config.json").write_text(config.to_json())
    assert config == train.Config.from_dict(whole) == train.Config.from_file(tmp_path / "config.json")
    assert json.loads(run_program("train", "recall", *settings(SMALL), "--print-config").out) == whole
    other = config.replace(model={"layers": np.int64(3), "scaled": False, "dropout": np.float32(0.5)})
    assert other.to_dict()["model"]["layers"] == 3 and not other.to_dict()["model"]["scaled"] and config.to_dict() == whole
    assert repr(other) == repr(eval(repr(other), {"attend": attend}))
    assert train.tasks()[0] == "recall"


@pytest.mark.parametrize("key, value", [("model.layer", 2), ("model.layers", "two"), ("training.rate", float("nan")), ("model.heads", 3),
                                        ("model.norm", "batch"), ("data.pairs", 99)])
def test_a_wrong_configuration_gets_the_programs_sentence(key, value):
    section, name = key.split(".")
    with pytest.raises(ValueError) as refused:
        train.Config("recall", **{section: {name: value}})
    program = run_program("train", "recall", "--set", f"{key}={value}", "--print-config")
    assert program.code != 0 and str(refused.value) in program.err.replace("\n", " ")


def test_other_mistakes(tmp_path):
    with pytest.raises(ValueError, match='task: "nothing" is not one of recall, copy'):
        train.Config("nothing")
    with pytest.raises(ValueError, match="modle: there is no such key"):
        train.Config.from_dict({"modle": {}})
    with pytest.raises(TypeError, match="model.layers: expected a number, a text, True or False, not list"):
        train.Config(model={"layers": [2]})
    with pytest.raises(attend.FileError, match="training.safetensors: cannot be read"):
        train.resume(tmp_path)
    with pytest.raises(ValueError, match="is not a model to train"):
        train.start("it", tmp_path / "it")
    (tmp_path / "something").touch()
    with pytest.raises(attend.FileError, match="is not empty"):
        train.start(small(), tmp_path)
    (tmp_path / "bad.json").write_text('{"model": {"layer": 2}}')
    with pytest.raises(attend.FileError, match="model.layer: there is no such key"):
        train.start(tmp_path / "bad.json", tmp_path / "model")


# Runs.


@pytest.mark.parametrize("task", ["recall", "reverse"])
def test_the_folder_is_that_of_the_program(task, tmp_path):
    seen = []
    run = train.start(small(task), tmp_path / "here").fit([seen.append])
    result = run_program("train", task, "-o", str(tmp_path / "there"), *settings(SMALL))
    assert result.code == 0, result.err
    assert same_folders(tmp_path / "here", tmp_path / "there")
    assert run.step == 20 and [report.step for report in seen] == list(range(1, 21))
    assert [(report.step, report.loss) for report in seen] == run.losses
    assert [evaluation.step for evaluation in run.evaluations] == [10, 20] and run.evaluate() == run.evaluations[-1]
    assert all(report.steps == 20 and report.rate > 0 and report.norm > 0 and report.tokens_per_second > 0 for report in seen)


class Recorder(train.Callback):
    def __init__(self, stop_at=None, fail_at=None):
        self.heard, self.stop_at, self.fail_at = [], stop_at, fail_at

    def on_step(self, report):
        self.heard.append(("step", report.step))
        if report.step == self.fail_at:
            raise LookupError("enough")
        return report.step != self.stop_at

    def on_evaluation(self, evaluation):
        self.heard.append(("evaluation", evaluation.step))

    def on_snapshot(self, step):
        self.heard.append(("snapshot", step))


def test_callbacks_hear_everything_in_order(tmp_path):
    recorder = Recorder()
    train.start(small(), tmp_path).fit([recorder, lambda report: None])
    assert recorder.heard[:4] == [("snapshot", 0), ("step", 1), ("snapshot", 1), ("step", 2)]
    assert [one for one in recorder.heard if one[0] == "evaluation"] == [("evaluation", 10), ("evaluation", 20)]
    assert [step for kind, step in recorder.heard if kind == "snapshot"] == [0, 1, 2, 5, 10, 20]


@pytest.mark.parametrize("how", ["false", "raise", "steps", "interrupt"])
def test_what_stops_is_saved_and_resumed_to_the_same_bits(how, tmp_path):
    train.start(small(), tmp_path / "whole").fit()
    run = train.start(small(), tmp_path / "parts")
    if how == "false":
        run.fit([Recorder(stop_at=7)])
    elif how == "steps":
        run.fit(steps=7)
    elif how == "raise":
        recorder = Recorder(fail_at=7)
        with pytest.raises(LookupError, match="enough"):
            run.fit([recorder])
        assert recorder.heard[-1] == ("step", 7)
    else:
        with pytest.raises(KeyboardInterrupt):
            run.fit([lambda report: signal.raise_signal(signal.SIGINT) if report.step == 7 else None])
    assert run.step == 7
    again = train.resume(tmp_path / "parts")
    assert again.step == 7 and again.losses == run.losses and again.config == run.config
    again.fit()
    assert same_folders(tmp_path / "whole", tmp_path / "parts")


def test_ctrl_c_saves_and_goes_on_as_usual(tmp_path):
    program = ("import attend\n"
               f"run = attend.train.start({{'training': {{'steps': 100000}}}}, {str(tmp_path / 'model')!r})\n"
               "run.fit([lambda report: print(report.step, flush=True)])\n")
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    for _ in range(3):
        assert process.stdout.readline()
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert "KeyboardInterrupt" in errors and process.returncode != 0
    told = int((output.split() or ["3"])[-1])
    assert train.resume(tmp_path / "model").step in (told, told + 1)  # the last step may have been made and not told


def test_other_threads_run_and_ask_while_it_fits(tmp_path):
    run = train.start(small(), tmp_path)
    steps, asked, answered, done = [], threading.Event(), [], threading.Event()

    def ask():
        while not done.is_set():
            steps.append(run.step)
            asked.set()

    def wait_for_the_other(_):
        asked.clear()
        answered.append(asked.wait(60))

    thread = threading.Thread(target=ask)
    thread.start()
    run.fit([wait_for_the_other])
    done.set()
    thread.join()
    assert answered == [True] * 20 and steps == sorted(steps) and len(set(steps)) > 5


def test_a_callback_may_use_the_run_and_the_library(tmp_path):
    run = train.start(small(), tmp_path / "model")
    found = []

    def look(report):
        attend.set_threads(1 + report.step % 2)
        found.append((run.evaluate().step, run.maps().weights.shape, len(run.parameters)))
        with pytest.raises(ValueError, match="in a fit already"):
            run.fit()

    try:
        run.fit([look])
    finally:
        attend.set_threads(0)
    assert [step for step, *_ in found] == list(range(1, 21))
    train.start(small(), tmp_path / "undisturbed").fit()
    assert same_folders(tmp_path / "model", tmp_path / "undisturbed")


@pytest.mark.parametrize("arguments, error, sentence", [({"callbacks": [3]}, TypeError, "a callback is a function or has on_step"),
                                                        ({"steps": 0}, ValueError, "steps is 0"),
                                                        ({"watch": "d7 " * 50}, ValueError, "the text has 50 tokens")])
def test_fits_that_are_refused(arguments, error, sentence, tmp_path):
    run = train.start(small(), tmp_path)
    with pytest.raises(error, match=sentence):
        run.fit(**arguments)
    assert run.step == 0 and run.fit(steps=1).step == 1


def test_a_loss_that_is_no_number_leaves_the_last_state(tmp_path):
    run = train.start(small(training={"rate": 1e30, "clip": 0, "warmup": 6}), tmp_path)
    with pytest.raises(RuntimeError, match="the loss is no longer finite"):
        run.fit()
    assert run.step < 20


def test_recall_is_learned_and_the_answer_looked_at(tmp_path):
    run = train.start("recall", tmp_path / "model")
    before = run.maps()
    run.fit(steps=300)
    after = run.maps()
    assert run.evaluations[-1].accuracy > 0.95
    assert after.on_answers.max() > 0.8 > before.on_answers.max()
    assert after.weights.shape == (1, 2, len(after.row_labels), len(after.column_labels))
    np.testing.assert_allclose(after.weights.sum(-1), 1, atol=1e-6)
    (row,) = np.flatnonzero(after.answers >= 0)
    head = after.on_answers[0].argmax()
    assert after.weights[0, head, row].argmax() == after.answers[row]
    assert after.row_labels[row] == after.column_labels[after.answers[row]][0] + "?"  # asks "a?", looks at "a3"
    weights = attend.TextModel.from_pretrained(run.folder).attention(" ".join(after.row_labels))[0]
    np.testing.assert_allclose(weights, after.weights[0], atol=1e-5)
    assert attend.lens.read(run.folder, "d7 a3 a?").map().shape == (3, 3)


def test_figures(tmp_path):
    run = train.start(small(), tmp_path)
    with pytest.raises(ValueError, match="no step was made yet"):
        run.figure("loss")
    run.fit(steps=10)
    assert "Loss of recall" in run.figure("loss").text()
    assert "Attention after step 10" in run.figure("attention").text()
    frames = json.loads(run.figure("film").json())["parts"][0]["frames"]
    assert [frame["title"] for frame in frames] == [f"step {step}" for step in (0, 1, 2, 5, 10)]
    run.fit(watch="d7 a3 a?", steps=1)
    assert json.loads(run.figure("attention").json())["parts"][0]["row_labels"] == ["d7", "a3", "a?"]
    with pytest.raises(ValueError, match='kind is "losses", expected loss, attention or film'):
        run.figure("losses")


def frames_of(run):
    return [(frame["title"], frame["values"]) for frame in json.loads(run.figure("film").json())["parts"][0]["frames"]]


@pytest.mark.parametrize("watch", [None, "d7 a3 a?"])
def test_a_film_goes_on_where_a_run_is_resumed(tmp_path, watch):
    whole = train.start(small(), tmp_path / "whole").fit(watch=watch)
    train.start(small(), tmp_path / "halves").fit(watch=watch, steps=7)
    resumed = train.resume(tmp_path / "halves").fit()
    assert frames_of(resumed) == frames_of(whole) and len(frames_of(whole)) == 6
    assert frames_of(train.resume(tmp_path / "halves")) == frames_of(whole)  # nothing is left to do
    assert (tmp_path / "halves/training.safetensors").read_bytes() == (tmp_path / "whole/training.safetensors").read_bytes()


def test_a_gru_has_nothing_to_be_seen(tmp_path):
    run = train.start(small(model={"mixer": "gru"}), tmp_path)
    for look in (run.maps, lambda: run.figure("film"), lambda: run.figure("attention"), lambda: run.watch("d7")):
        with pytest.raises(ValueError, match="a GRU has no attention to watch"):
            look()


def test_what_cannot_fit_is_refused_before_it_is_made(tmp_path):
    with pytest.raises(ValueError, match="model.hidden: 16777216 is too large here: the training would take .*B of memory"):
        train.start(small(model={"hidden": 2**24, "heads": 1}), tmp_path / "run")
    with pytest.raises(ValueError, match="data.values: 1000000000 is not a number from 2 to 1048576"):
        train.Config(data={"values": 10**9})
    with pytest.raises(ValueError, match="a model of this shape would take .*B to learn in batches of 16777216"):
        train.Model(vocabulary=2**24, length=2**24, batch=2**24)
    for name in ("vocabulary", "length"):
        with pytest.raises(ValueError, match=f"{name} is {2**40}, expected a number from 1 to 16777216"):
            train.Model(**{"vocabulary": 4, "length": 4, name: 2**40})
    with pytest.raises(ValueError, match="a batch has 1099511627776 sequences, expected 1 to 16777216"):
        train.Model(vocabulary=4, length=4, batch=2**40)
    assert not (tmp_path / "run").exists()


def test_a_text_is_watched_by_name(tmp_path):
    (tmp_path / "text.txt").write_text("the animal did not cross the street because it was tired. " * 40)
    run = train.start(small("text", data={"file": tmp_path / "text.txt", "length": 32}, model={"heads": 2, "layers": 2}), tmp_path / "model")
    with pytest.raises(ValueError, match="the task text has no example of its own"):
        run.maps()
    run.fit(watch="the animal", steps=2)
    assert run.watch("it was").weights.shape == (2, 2, 6, 6)
    assert run.watch("été").row_labels == ["\ufffd", "\ufffd", "t", "\ufffd", "\ufffd"]
    assert "Attention after step 2" in run.figure("attention").text()


def test_parameters_are_copied_out_and_in(tmp_path):
    run = train.start(small(), tmp_path)
    names = run.parameters
    assert names["words"].shape[1] == 16 and names["words"].dtype == np.float32
    names["words"][:] = 0
    assert run.parameters["words"].any()
    run.load_parameters({"words": np.full(names["words"].shape, 0.25)})
    assert (run.parameters["words"] == 0.25).all()
    for wrong, error, sentence in (({"word": names["words"]}, ValueError, "there is no parameter word"),
                                   ({"words": names["words"][1:]}, ValueError, "words has shape .*, expected"),
                                   ({"words": [1.0]}, TypeError, "words must be an array"),
                                   ({"words": np.zeros(names["words"].shape, np.int64)}, TypeError, "holds no floating-point")):
        with pytest.raises(error, match=sentence):
            run.load_parameters(wrong)
    run.save()
    assert (train.resume(tmp_path).parameters["words"] == 0.25).all()


def test_the_program_goes_on_with_what_python_began(tmp_path):
    train.start(small(), tmp_path / "model").fit(steps=9)
    assert subprocess.run([PROGRAM, "train", "--resume", "-o", tmp_path / "model"], capture_output=True).returncode == 0
    train.start(small(), tmp_path / "whole").fit()
    assert same_folders(tmp_path / "model", tmp_path / "whole")
