"""Text that a model writes: token after token, each drawn from what the model expects after those before it."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from . import _core
from ._text_model import Text, TextModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

StopReason = Literal["length", "stop", "callback"]


class Generated(NamedTuple):
    """What a model wrote, without the prompt."""

    text: str  # up to the first stop text
    tokens: list[int]  # all of them, those of a stop text included; a stop token is left out
    log_probabilities: NDArray[np.float64] | None  # of each token, where they were asked for
    reason: StopReason  # why it ended: max_tokens, a stop text or token, or on_token


class Generator:
    """Writes text with a causal model, such as GPT-2, or answers a source with an encoder-decoder.

    model: a TextModel, or a name or folder as TextModel.from_pretrained takes it. FileError says why a model cannot write. Threads may
    share a generator; it serves one call at a time.
    """

    def __init__(self, model: TextModel | str | os.PathLike[str]) -> None:
        self._model = model if isinstance(model, TextModel) else TextModel.from_pretrained(model)
        self._core = _core.GeneratorCore(self._model._core)

    def __repr__(self) -> str:
        return f"<attend.Generator, {self._model.layers} layers, {self.length} tokens read>"

    @property
    def model(self) -> TextModel:
        return self._model

    def generate(
        self,
        prompt: Text | ArrayLike,
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int = 40,
        seed: int = 1,
        stop: Text | Sequence[Text] | None = None,
        stop_tokens: ArrayLike | None = None,
        on_token: Callable[[int, str, float | None], object] | None = None,
        log_probabilities: bool = False,
    ) -> Generated:
        """What follows a prompt, a text or ids; with an encoder-decoder, its answer. The same arguments give the same text.

        max_tokens: default 200, or as many as the source has. temperature: higher is more random, 0 always takes the most probable token;
        default 0.8, or 0 with a source. top_k: choose from this many most probable tokens; 0: from all. stop, stop_tokens: texts and ids
        that end it. log_probabilities: those of the model itself, at temperature 1 and before top_k.

        on_token(id, text, log_probability) is called after each token with what it adds to the text, which is "" for a token that ends
        in the middle of a character. It ends the generation by returning False; what it raises is raised here.

        A prompt longer than the model can read is cut at its start. Where positions run out, the second half is read again from position 0.
        """
        found = self._core.generate(
            prompt, max_tokens, temperature, top_k, seed, stop, stop_tokens, on_token, log_probabilities
        )
        return Generated(*found[:3], cast(StopReason, found[3]))

    def read(self, ids: ArrayLike) -> NDArray[np.float32]:
        """Reads tokens after those read so far. The logits of what follows the last of them, (vocabulary,)."""
        return self._core.read(ids)

    def read_source(self, ids: ArrayLike) -> None:
        """Gives an encoder-decoder the source to answer, and forgets the tokens read so far."""
        self._core.read_source(ids)

    def clear(self) -> None:
        """Forgets the tokens read so far, but not the source."""
        self._core.clear()

    @property
    def length(self) -> int:
        """How many tokens it has read so far, without the source."""
        return self._core.length
