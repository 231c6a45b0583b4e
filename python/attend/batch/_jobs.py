"""What is done with texts: options that can be pickled, and the function that they describe."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Literal, Union

import numpy as np

from .. import _core
from .._generator import Generator
from .._text_model import TextModel
from .._typing import Precision
from ..lens import Reading, read
from ._frames import with_columns

Columns = dict[str, Any]  # by name: an array or a list with an entry for each text

# What several jobs of one process have opened. Pickles hold options only, so that a job is small wherever it is sent.
_open: dict["Job", Callable[[Sequence[str]], Columns]] = {}


@dataclass(frozen=True)
class Job(ABC):
    """Options, and job(texts), which gives a dict of columns. The model is loaded at the first call in a process, and kept."""

    model: str = _core.DEFAULT_MODEL  # a name or a folder, as TextModel.from_pretrained takes it
    precision: Precision = "f32"

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():  # a Path is as good as its name, and a list as a tuple
            if isinstance(value, os.PathLike):
                object.__setattr__(self, name, os.fspath(value))
            elif isinstance(value, list):
                object.__setattr__(self, name, tuple(value))

    def __call__(self, texts: Iterable[str]) -> Columns:
        if self not in _open:
            _open[self] = self._opened(self.load())
        return _open[self](list(texts))

    def load(self) -> TextModel:
        """The model, anew."""
        return TextModel.from_pretrained(self.model, precision=self.precision)

    def over(self, column: str = "text") -> Callable[[Iterable[Any]], Iterator[Any]]:
        """A function for Spark's mapInPandas and mapInArrow: batches come back with the job's columns after their own."""
        return partial(_over, self, column)

    def options(self) -> dict[str, Any]:
        """What its results depend on, for JSON."""
        return {"job": type(self).__name__.lower()} | asdict(self)

    @abstractmethod
    def _opened(self, model: TextModel) -> Callable[[Sequence[str]], Columns]: ...


def _over(job: Job, column: str, batches: Iterable[Any]) -> Iterator[Any]:
    for batch in batches:
        yield with_columns(job, batch, column)


@dataclass(frozen=True)
class Embed(Job):
    """A vector for each text: the column embedding, (texts, size). The options are those of TextModel.encode."""

    pooling: Union[str, tuple[str, ...], None] = None
    normalize: Union[bool, None] = None
    layer: Union[int, None] = None
    prompt: Union[str, None] = None
    prompt_name: Union[str, None] = None
    max_tokens: Union[int, None] = None

    def _opened(self, model: TextModel) -> Callable[[Sequence[str]], Columns]:
        def embed(texts: Sequence[str]) -> Columns:
            return {
                "embedding": model.encode(
                    texts, prompt_name=self.prompt_name, prompt=self.prompt, normalize_embeddings=self.normalize,
                    pooling=self.pooling, layer=self.layer, max_tokens=self.max_tokens,
                )
            }  # fmt: skip

        return embed


@dataclass(frozen=True)
class Explain(Job):
    """What attention did in each text, between its words, or tokens.

    Columns, with an entry for each unit of a text: units, the words; begin and end, their characters; received, the attention that a unit gets
    from all together; entropy of its own row, in nats; top_keys, the numbers of the top_k units it looks at most, and top_weights. layer and
    head count from 1; None: the mean. The other options are those of attend.lens.
    """

    layer: Union[int, None] = None
    head: Union[int, None] = None
    method: Literal["raw", "norm", "rollout"] = "raw"
    top_k: int = 3
    tokens: bool = False
    special: bool = True
    sink: Literal["keep", "fold", "auto"] = "keep"
    max_tokens: Union[int, None] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top_k < 1:
            raise ValueError(f"Explain: top_k is {self.top_k}, expected at least 1")
        if self.head is not None and self.layer is None:
            raise ValueError("Explain: head is given without its layer")

    def _opened(self, model: TextModel) -> Callable[[Sequence[str]], Columns]:
        only = self.layer if self.method == "raw" else None  # layers after it are not needed then

        def explain(texts: Sequence[str]) -> Columns:
            columns: Columns = {name: [] for name in ("units", "begin", "end", "received", "entropy", "top_keys", "top_weights")}
            for text in texts:
                reading = read(model, text, max_tokens=self.max_tokens, only_layer=only)
                units = reading.units(tokens=self.tokens, special=self.special, sink=self.sink)
                received, entropy, keys, weights = np.zeros(len(units)), [], [], []
                for row in self._rows(reading, len(units)):
                    received += row
                    positive = row[row > 0]
                    entropy.append(float(-(positive * np.log(positive)).sum()))
                    best = np.argsort(-row, kind="stable")[: self.top_k]
                    keys.append(best.tolist())
                    weights.append(row[best].tolist())
                found = ([u.text for u in units], [u.begin for u in units], [u.end for u in units], received.tolist(), entropy, keys, weights)
                for column, value in zip(columns.values(), found):
                    column.append(value)
            return columns

        return explain

    def _rows(self, reading: Reading, count: int) -> Iterator[Any]:
        """All rows: of a map where that is small, else one by one."""
        if count <= 1024:
            yield from reading.map(self.method, self.layer, self.head, tokens=self.tokens, special=self.special, sink=self.sink)
            return
        shown = {unit.first_token for unit in reading.units(tokens=self.tokens, special=self.special, sink=self.sink)}
        for number, unit in enumerate(reading.units(tokens=self.tokens)):
            if unit.first_token in shown:
                yield reading.row(number, self.method, self.layer, self.head, tokens=self.tokens, special=self.special, sink=self.sink)


@dataclass(frozen=True)
class Generate(Job):
    """What the model writes after each text, or with chat=True answers to it.

    Columns: generated, the text; reason, why it ended; tokens, how many it wrote; prompt_tokens, how many it read. Each text is written with the
    same seed, so that what is written does not depend on where a text stands. The options are those of Generator.generate.
    """

    model: str = "smollm2"
    chat: bool = False
    system: Union[str, None] = None  # the first message of each conversation
    max_tokens: Union[int, None] = None
    temperature: Union[float, None] = None
    top_k: Union[int, None] = None
    top_p: Union[float, None] = None
    min_p: Union[float, None] = None
    repetition_penalty: Union[float, None] = None
    seed: int = 1
    stop: Union[str, tuple[str, ...], None] = None
    cache_type: Literal["f32", "f16", "bf16", "int8"] = "f32"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.system is not None and not self.chat:
            raise ValueError("Generate: system is a message of a conversation, which takes chat=True")

    def _opened(self, model: TextModel) -> Callable[[Sequence[str]], Columns]:
        generator = Generator(model, cache_type=self.cache_type)
        first = [] if self.system is None else [{"role": "system", "content": self.system}]
        options: dict[str, Any] = {
            name: getattr(self, name)
            for name in ("max_tokens", "temperature", "top_k", "top_p", "min_p", "repetition_penalty", "seed", "stop")
        }

        def generate(texts: Sequence[str]) -> Columns:
            columns: Columns = {name: [] for name in ("generated", "reason", "tokens", "prompt_tokens")}
            if self.chat:
                all_written = generator.chat_many([[*first, {"role": "user", "content": text}] for text in texts], **options)
            else:
                all_written = generator.generate_many(list(texts), **options)
            for written in all_written:
                for column, value in zip(columns.values(), (written.text, written.reason, len(written.tokens), written.prompt_tokens)):
                    column.append(value)
            return columns

        return generate
