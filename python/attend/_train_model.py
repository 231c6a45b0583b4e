"""A model that learns one batch at a time, and its optimiser: the parts of a training loop of your own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from . import _core
from ._numbers import whole
from ._typing import Array, DType

Ids = NDArray[np.int32]


class Guesses(NamedTuple):
    """How well the tokens of a batch were predicted."""

    loss: float  # the mean over the tokens that have a target
    accuracy: float
    counted: int  # how many tokens have one


class Model:
    """An encoder, a decoder or both, with its forward and backward pass. Memory is planned once, for `batch` sequences of `length` tokens.

    norm_first: the norms come before attention and the feed-forward part, as in GPT-2, and not after them, as in BERT. tied: the output
    layer is the table of words. scaled: scores are divided by the square root of the head size. recompute: less memory, more time, the
    same bits. dtype: float64 is the reference, in plain loops. precision: "bf16" rounds what products and attention multiply, forward and
    backward, where the processor multiplies bf16; parameters, gradients, norms, softmax and sums stay float32.
    """

    def __init__(
        self,
        kind: Literal["encoder", "decoder", "encoder_decoder"] = "decoder",
        *,
        vocabulary: int,
        length: int,
        batch: int = 64,
        layers: int = 2,
        hidden: int = 64,
        heads: int = 4,
        inner: int | None = None,
        norm_first: bool = True,
        norm: Literal["layer", "rms"] = "layer",
        feed_forward: Literal["gelu", "gelu_tanh", "swiglu"] = "gelu_tanh",
        positions: Literal["none", "sinusoidal", "learned", "rotary", "alibi"] = "learned",
        tied: bool = True,
        scaled: bool = True,
        epsilon: float = 1e-5,
        dropout: float = 0.0,
        recompute: bool = False,
        dtype: DType = "float32",
        precision: Literal["f32", "bf16"] = "f32",
        seed: int = 1,
    ) -> None:
        from .train import Config

        for name, value in (("vocabulary", vocabulary), ("length", length), ("batch", batch)):
            if whole("Model", name, value) < 1:
                raise ValueError(f"Model: {name} is {value}, expected a whole number of at least 1")
        sizes = {"layers": layers, "hidden": hidden, "heads": heads, "inner": 4 * hidden if inner is None else inner}
        choices = {"norm_first": norm_first, "norm": norm, "feed_forward": feed_forward, "positions": positions, "tied": tied}
        rest = {"scaled": scaled, "epsilon": epsilon, "dropout": dropout, "recompute": recompute}
        config = Config(model={**sizes, **choices, **rest}, training={"precision": precision})
        self.kind = kind
        self._core = _core.ModelCore(config._core, kind, vocabulary, length, batch, dtype, seed)
        self._seed = seed
        self._batches = 0

    def __repr__(self) -> str:
        return f"<attend.train.Model, {self.kind} of {self.size:,} parameters>"

    @property
    def size(self) -> int:
        """How many parameters it has."""
        return self._core.numbers()

    def evaluate(
        self,
        ids: Any,
        targets: Any = None,
        *,
        source: Any = None,
        lengths: Sequence[int] | None = None,
        source_lengths: Sequence[int] | None = None,
    ) -> Guesses:
        """How well it predicts, without dropout. ids and targets are (sequences, tokens); a target of -1 asks for nothing.

        targets: by default the next token, except in an encoder, which sees it. source: what the encoder of an encoder-decoder reads,
        (sequences, tokens). lengths, source_lengths: how many tokens of each sequence are real, where the rest is padding.
        """
        return _guesses(self._core.evaluate(*self._batch(ids, targets, lengths, source, source_lengths)))

    def loss(self, ids: Any, targets: Any = None, **rest: Any) -> float:
        """evaluate(...).loss."""
        return self.evaluate(ids, targets, **rest).loss

    def learn(
        self,
        ids: Any,
        targets: Any = None,
        *,
        source: Any = None,
        lengths: Sequence[int] | None = None,
        source_lengths: Sequence[int] | None = None,
        weight: float | None = None,
    ) -> float:
        """The loss, with dropout; adds its gradient to those already there, so several batches can make one step.

        weight: the factor of each target's gradient; by default 1 / their number, which gives the gradient of the mean. Ctrl-C in the
        middle of it clears all gradients.
        """
        seed = self._seed * 0x9E3779B97F4A7C15 + self._batches & 0xFFFFFFFFFFFFFFFF  # of dropout, another one for each batch
        batch = self._batch(ids, targets, lengths, source, source_lengths)
        found = self._core.learn(*batch, weight, seed)
        self._batches += 1
        return _guesses(found).loss

    def logits(self, ids: Any, row: int = -1, *, source: Any = None) -> NDArray[Any]:
        """The logits at one token of a sequence (default: the last), (vocabulary,)."""
        given = _one("logits", ids)
        row = whole("logits", "row", row)
        return self._core.logits(given, row + given.shape[1] if row < 0 else row, None if source is None else _one("logits", source))

    def attention(self, ids: Any, *, source: Any = None, which: Literal["self", "cross", "encoder"] = "self") -> NDArray[Any]:
        """Where every head looks in one sequence: (layers, heads, queries, keys)."""
        return self._core.attention(_one("attention", ids), None if source is None else _one("attention", source), which)

    @property
    def parameters(self) -> dict[str, NDArray[Any]]:
        """Copies of the parameters, by name."""
        return self._core.parameters()

    @property
    def gradients(self) -> dict[str, NDArray[Any]]:
        """Copies of the gradients that learn() has summed since the last step."""
        return self._core.gradients()

    def load_parameters(self, parameters: Mapping[str, Array]) -> None:
        """Sets the parameters that are named; the others keep their values."""
        self._core.load_parameters(dict(parameters))

    def clear_gradients(self) -> None:
        """Sets the gradients to zero; AdamW.step() does so itself."""
        self._core.clear_gradients()

    def save(self, folder: str | os.PathLike[str], words: Sequence[str], start: str | None = None) -> None:
        """Writes a folder like that of `attend train`, with a tokenizer of these words: one for each id, the last one for unknown words.

        start: for an encoder-decoder, the word that its targets begin with. A decoder with the default options is stored as GPT-2, which
        Hugging Face's transformers open, too. attend.TextModel, attend.lens and, where it can write, attend.Generator open every model.
        """
        vocabulary = len(self._core.parameters()["words"])
        if len(words) != vocabulary:
            raise ValueError(f"save: there are {len(words)} words for a vocabulary of {vocabulary}")
        if (self.kind == "encoder_decoder") != (start is not None):
            raise ValueError("save: start is the word that targets begin with: an encoder-decoder needs it, and no other model has it")
        if start is not None and start not in words:
            raise ValueError(f"save: start is {start!r}, which is not one of the words")
        tokenizer = _core.train_word_tokenizer(list(words), start or "")
        self._core.save(folder, tokenizer, None if start is None else list(words).index(start))

    def _batch(
        self, ids: Any, targets: Any, lengths: Any, source: Any, source_lengths: Any
    ) -> tuple[Ids, Ids, list[int], Ids | None, list[int]]:
        given = _ids("ids", ids)
        lengths, source_lengths = (() if one is None else tuple(one) for one in (lengths, source_lengths))
        if len(lengths) not in (0, len(given)):
            raise ValueError(f"lengths has {len(lengths)} entries for {len(given)} sequences")
        if targets is None:
            if self.kind == "encoder":
                raise ValueError("an encoder sees every token, so it needs targets")
            wanted = np.full_like(given, -1)
            wanted[:, :-1] = given[:, 1:]
            for row, length in enumerate(lengths):
                wanted[row, max(0, length - 1) :] = -1
        else:
            wanted = _ids("targets", targets)
        if (source is None) == (self.kind == "encoder_decoder"):
            article, wanted_source = "an" if self.kind[0] == "e" else "a", "a" if source is None else "no"
            raise ValueError(f"this model is {article} {self.kind} and takes {wanted_source} source")
        return given, wanted, list(lengths), None if source is None else _ids("source", source), list(source_lengths)


@dataclass(frozen=True)
class Schedule:
    """A rate over time: up from 0 over `warmup` steps, then along half a cosine down to `floor` times the peak."""

    peak: float
    steps: int
    warmup: int = 0
    floor: float = 0.1

    def __call__(self, step: int) -> float:
        """The rate of step 1, 2, ..."""
        return _core.train_rate(step, self.peak, self.floor, self.warmup, self.steps)


class AdamW:
    """AdamW (Loshchilov and Hutter 2019), with gradients clipped by their norm. The moments are kept in the model, so it has one at a time.

    rate: a number, or a function of the step, such as a Schedule. decay: of matrices; biases and norms do not decay. clip: the largest
    norm of all gradients together; 0: no limit.
    """

    def __init__(
        self,
        model: Model,
        rate: float | Callable[[int], float] = 1e-3,
        *,
        betas: tuple[float, float] = (0.9, 0.999),
        epsilon: float = 1e-8,
        decay: float = 0.01,
        clip: float = 1.0,
    ) -> None:
        for name, value, most in (("betas[0]", betas[0], 1), ("betas[1]", betas[1], 1), ("decay", decay, np.inf), ("clip", clip, np.inf)):
            if not 0 <= value < most:
                raise ValueError(f"AdamW: {name} is {value}, expected a number {'from 0 to below 1' if most == 1 else 'of at least 0'}")
        if not 0 < epsilon < np.inf:
            raise ValueError(f"AdamW: epsilon is {epsilon}, expected a number above 0")
        self.model = model
        self.rate = rate
        self.steps = 0
        self._options = (betas[0], betas[1], epsilon, decay, clip)
        model._core.clear_moments()

    def step(self) -> float:
        """Updates the parameters and clears the gradients. Returns the norm of the gradients; RuntimeError if it is not finite."""
        rate = self.rate(self.steps + 1) if callable(self.rate) else self.rate
        if not 0 <= rate < np.inf:
            raise ValueError(f"AdamW: the rate is {rate}, expected at least 0")
        norm = self.model._core.adamw_step(rate, *self._options, self.steps + 1)
        self.steps += 1
        return norm


def _guesses(found: tuple[float, int, int]) -> Guesses:
    loss, counted, right = found
    return Guesses(loss / max(1, counted), right / max(1, counted), counted)


def _ids(name: str, values: Any) -> Ids:
    """(sequences, tokens) of whole numbers; one sequence may come without its axis."""
    given = np.asarray(values)
    if given.dtype.kind not in "iu":
        raise TypeError(f"{name} must be whole numbers, not {given.dtype}")
    if given.ndim not in (1, 2):
        raise ValueError(f"{name} have shape {given.shape}, expected (sequences, tokens)")
    if given.size and not -(2**31) <= int(given.min()) <= int(given.max()) < 2**31:
        raise ValueError(f"{name} do not all fit 32 bits")
    return np.ascontiguousarray(given.reshape(-1, given.shape[-1]), np.int32)


def _one(operation: str, values: Any) -> Ids:
    given = _ids("ids", values)
    if len(given) != 1:
        raise ValueError(f"{operation}: expected one sequence, not {len(given)}")
    return given
