"""Training: attend's own tasks with callbacks, and small models for loops of your own.

start() and resume() return a Run, which writes the folder that `attend train` writes: the same bits for the same configuration. Model and
AdamW are for those who write the loop themselves.
"""

from __future__ import annotations

import json
import numbers
import os
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._train_model import AdamW, Guesses, Model, Schedule
from ._typing import Array
from .draw import Figure

__all__ = [
    "AdamW",
    "Callback",
    "Config",
    "Evaluation",
    "Guesses",
    "Maps",
    "Model",
    "Run",
    "Schedule",
    "StepLoss",
    "StepReport",
    "resume",
    "start",
    "tasks",
]

Setting = Union[bool, int, float, str, "os.PathLike[str]"]
Section = Mapping[str, Setting]


def tasks() -> list[str]:
    """The names of the tasks."""
    return _core.train_tasks()


class Config:
    """The configuration of a training run: a task, and what differs from its defaults in the sections model, data and training.

    Wrong keys and values raise ValueError with the program's message; `attend train TASK --print-config` prints what to_dict() returns.
    """

    def __init__(
        self,
        task: str = "recall",
        *,
        model: Section | None = None,
        data: Section | None = None,
        training: Section | None = None,
    ) -> None:
        self._core = _core.ConfigCore.of_task(task)
        self._set({"model": model or {}, "data": data or {}, "training": training or {}})

    @classmethod
    def from_dict(cls, sections: Mapping[str, str | Section]) -> Config:
        """{"task": "recall", "model": {"layers": 2}, ...}: what to_dict() returns, or a part of it."""
        config = cls(str(sections.get("task", "recall")))
        config._set({name: value for name, value in sections.items() if name != "task"})
        return config

    @classmethod
    def from_file(cls, file: str | os.PathLike[str]) -> Config:
        """Reads a JSON file of that form. FileError says what is wrong with it."""
        config = cls()
        config._core = _core.ConfigCore.read(file)
        config._core.check()
        return config

    def replace(self, *, model: Section | None = None, data: Section | None = None, training: Section | None = None) -> Config:
        """A copy with these keys changed."""
        config = Config._of(self._core.copy())
        config._set({"model": model or {}, "data": data or {}, "training": training or {}})
        return config

    @property
    def task(self) -> str:
        return str(self.to_dict()["task"])

    def to_dict(self) -> dict[str, Any]:
        """Every key with its value, by section."""
        whole: dict[str, Any] = json.loads(self._core.json())
        return whole

    def to_json(self) -> str:
        """The same as the text of a file that `attend train` and from_file() read."""
        return self._core.json()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self.to_json() == other.to_json()

    def __repr__(self) -> str:
        """What differs from the task's defaults."""
        usual = Config(self.task).to_dict()
        words = [repr(self.task)]
        for name, section in self.to_dict().items():
            changed = {key: value for key, value in section.items() if value != usual[name][key]} if name != "task" else {}
            if changed:
                words.append(f"{name}={changed!r}")
        return f"attend.train.Config({', '.join(words)})"

    @classmethod
    def _of(cls, core: _core.ConfigCore) -> Config:
        config = cls.__new__(cls)
        config._core = core
        return config

    def _set(self, sections: Mapping[str, str | Section]) -> None:
        for name, section in sections.items():
            if not isinstance(section, Mapping) or name not in ("model", "data", "training"):
                self._core.set(name, "")  # which says that there is no such key
                continue
            for key, value in section.items():
                self._core.set(f"{name}.{key}", _text(f"{name}.{key}", value))
        self._core.check()


class StepReport(NamedTuple):
    """One step, after it was made."""

    step: int
    steps: int  # of the whole training
    loss: float  # before the step: the mean over the tokens that are predicted
    rate: float
    norm: float  # of the gradient, before it was clipped
    tokens_per_second: float
    seconds_left: float


class StepLoss(NamedTuple):
    """The loss of a step."""

    step: int
    loss: float


class Evaluation(NamedTuple):
    """How good a model is on data that it does not learn from."""

    step: int
    loss: float
    accuracy: float  # NaN where answers are not right or wrong
    measures: dict[str, float]  # for pairs: spearman and pearson, or mean_reciprocal_rank; else empty


class Maps(NamedTuple):
    """The attention of every head of every layer in one sequence."""

    weights: NDArray[np.float64]  # (layers, heads, rows, columns)
    row_labels: list[str]
    column_labels: list[str]
    answers: NDArray[np.int64]  # the column where each row finds its answer; -1: no single one
    on_answers: NDArray[np.float64]  # (layers, heads): the mean weight there


class Callback:
    """What fit() calls; any object with one of these methods will do. A method that returns False ends fit(), which saves first."""

    def on_step(self, report: StepReport, /) -> object:
        """After every step."""

    def on_evaluation(self, evaluation: Evaluation, /) -> object:
        """After every `training.evaluate` steps, and after the last step."""

    def on_snapshot(self, step: int, /) -> object:
        """When the film gets a frame: at step 0, and at each doubling of 1/32 of all steps."""


_METHODS = ("on_step", "on_evaluation", "on_snapshot")


class Run:
    """A training run and its folder. Made by start() and resume(); other threads may use it while it fits."""

    def __init__(self, core: _core.RunCore) -> None:
        self._core = core

    def __repr__(self) -> str:
        last = f", loss {self.losses[-1].loss:.4g}" if self.losses else ""
        whole = self.config.to_dict()
        return f"<attend.train.Run of {whole['task']}, step {self.step} of {whole['training']['steps']}{last}>"

    def fit(
        self,
        callbacks: Iterable[Callback | Callable[[StepReport], object]] = (),
        *,
        steps: int | None = None,
        watch: str | None = None,
    ) -> Run:
        """Trains to the last step, or for `steps` more steps, and saves the model and the state from which resume() continues.

        callbacks: objects as Callback describes them, or functions that get each StepReport. One that returns False or raises ends fit(),
        and so does Ctrl-C: the state is saved first, then the exception is raised. watch: a text for the figures, in place of the task's
        example. A loss that is not finite raises RuntimeError; the last saved state is kept.
        """
        told: dict[str, list[Callable[..., object]]] = {name: [] for name in _METHODS}
        for callback in callbacks:
            found = [name for name in _METHODS if hasattr(callback, name)]
            for name in found:
                told[name].append(getattr(callback, name))
            if not found:
                if not callable(callback):
                    raise TypeError(f"fit: a callback is a function or has {', '.join(_METHODS)}; {type(callback).__name__} is neither")
                told["on_step"].append(callback)

        def tell(name: str, report: object) -> bool:
            answers = [method(report) for method in told[name]]
            return not any(isinstance(answer, (bool, np.bool_)) and not answer for answer in answers)

        self._core.fit(
            lambda *fields: tell("on_step", StepReport(*fields)),
            lambda *fields: tell("on_evaluation", Evaluation(*fields)),
            lambda step: tell("on_snapshot", step),
            steps,
            watch,
        )
        return self

    @property
    def folder(self) -> Path:
        return self._core.folder()

    @property
    def config(self) -> Config:
        return Config._of(self._core.config())

    @property
    def step(self) -> int:
        """How many steps it has made."""
        return self._core.step()

    @property
    def losses(self) -> list[StepLoss]:
        """The loss of every step, including those before resume()."""
        return [StepLoss(*fields) for fields in self._core.losses()]

    @property
    def evaluations(self) -> list[Evaluation]:
        """The evaluations that fit() made."""
        return [Evaluation(*fields) for fields in self._core.evaluations()]

    def evaluate(self) -> Evaluation:
        """How good it is now."""
        return Evaluation(*self._core.evaluate())

    def maps(self) -> Maps:
        """Where every head looks now in the task's example. Tasks over texts have no example: use watch()."""
        return Maps(*self._core.maps(None))

    def watch(self, text: str) -> Maps:
        """Where every head looks now in a text of the task's words."""
        return Maps(*self._core.maps(text))

    def figure(self, kind: Literal["loss", "attention", "film"] = "loss") -> Figure:
        """The program's figures: the loss, where attention looks in the example, and how that developed since the first step."""
        return Figure(self._core.figure(kind))

    @property
    def parameters(self) -> dict[str, NDArray[np.float32]]:
        """Copies of the parameters, by name."""
        return self._core.parameters()

    def load_parameters(self, parameters: Mapping[str, Array]) -> None:
        """Sets the parameters that are named; the others keep their values."""
        self._core.load_parameters(dict(parameters))

    def save(self) -> None:
        """Saves the model and the state in the folder, as fit() does at its end."""
        self._core.save()


def start(config: Config | Mapping[str, Any] | str | os.PathLike[str] = "recall", folder: str | os.PathLike[str] | None = None) -> Run:
    """Starts a training run from a Config, a dictionary as Config.from_dict() takes it, the name of a task, or a JSON file.

    folder: one that is empty or does not exist; by default TASK-model, as in the program.
    """
    if isinstance(config, Mapping):
        config = Config.from_dict(config)
    elif not isinstance(config, Config):
        name = os.fspath(config)
        is_file = name not in tasks() and (os.sep in name or "." in name or os.path.exists(name))
        config = Config.from_file(name) if is_file else Config(name)
    return Run(_core.RunCore.start(config._core, f"{config.task}-model" if folder is None else folder))


def resume(folder: str | os.PathLike[str]) -> Run:
    """Continues the training run that was saved in this folder, with the same bits as if it had never stopped."""
    return Run(_core.RunCore.resume(folder))


def _text(key: str, value: object) -> str:
    """A value as a configuration file writes it."""
    if isinstance(value, (bool, np.bool_)):
        return "true" if value else "false"
    if isinstance(value, numbers.Integral):
        return str(int(value))
    if isinstance(value, numbers.Real):
        return repr(float(value))
    if isinstance(value, (str, os.PathLike)):
        return os.fspath(value)
    raise TypeError(f"{key}: expected a number, a text, True or False, not {type(value).__name__}")
