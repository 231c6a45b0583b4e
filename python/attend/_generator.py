"""Text that a model writes: token after token, each drawn from what the model expects after those before it."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, cast

from . import _core
from ._text_model import Text, TextModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

StopReason = Literal["length", "stop", "callback", "end", "context"]


class Generated(NamedTuple):
    """What a model wrote, without the prompt."""

    text: str  # up to the first stop text
    tokens: list[int]  # all of them, those of a stop text included; a stop token is left out
    log_probabilities: NDArray[np.float64] | None  # of each token, where they were asked for
    reason: StopReason  # max_tokens, a stop text or token, on_token, the model's end token, or no position left in a conversation
    prompt_tokens: int = 0  # that were read
    dropped: int = 0  # tokens from the start of a prompt that was longer than the model can read
    reused: int = 0  # of prompt_tokens, those that a conversation had read before
    rereads: int = 0  # how often positions ran out and the second half was read again


def _generated(found: tuple[str, list[int], NDArray[np.float64] | None, str, int, int, int, int]) -> Generated:
    return Generated(*found[:3], cast(StopReason, found[3]), *found[4:])


class Generator:
    """Writes text with a causal model, such as GPT-2, or answers a source with an encoder-decoder.

    model: a TextModel, or a name or folder as TextModel.from_pretrained takes it. FileError says why a model cannot write. Threads may
    share a generator; it serves one call at a time.

    cache_type: the numbers in which keys and values of what was read are kept. f16 and bf16 take half of the memory of f32, int8 a
    quarter; what they round changes the text a little.
    """

    def __init__(self, model: TextModel | str | os.PathLike[str], *, cache_type: Literal["f32", "f16", "bf16", "int8"] = "f32") -> None:
        self._model = model if isinstance(model, TextModel) else TextModel.from_pretrained(model)
        self._core = _core.GeneratorCore(self._model._core, cache_type)

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
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        frequency_penalty: float = 0,
        presence_penalty: float = 0,
        seed: int = 1,
        stop: Text | Sequence[Text] | None = None,
        stop_tokens: ArrayLike | None = None,
        ignore_end: bool = False,
        on_token: Callable[[int, str, float | None], object] | None = None,
        log_probabilities: bool = False,
    ) -> Generated:
        """What follows a prompt, a text or ids; with an encoder-decoder, its answer. The same arguments give the same text.

        What is None is as the model's generation_config.json says; without one, 200 tokens (or as many as the source has), temperature 0.8 (or
        0 with a source) and top_k 40. temperature: higher is more random, 0 always takes the most probable token. top_k: choose from this many
        most probable tokens; 0: from all. top_p: from the most probable that have this probability together. min_p: from those with this share
        of the largest probability. repetition_penalty: divides the logits of tokens that are there already, the prompt's included.
        frequency_penalty, presence_penalty: taken off the logits of tokens that were written, for each time and once. stop, stop_tokens: texts
        and ids that end it. ignore_end: goes on after the model's end tokens. log_probabilities: those of the model itself, at temperature 1 and
        before everything else.

        on_token(id, text, log_probability) is called after each token with what became certain of the text: whole characters, and nothing that
        may yet be part of a stop text. It ends the generation by returning False; what it raises is raised here.

        A prompt longer than the model can read is cut at its start. Where positions run out, the second half is read again from position 0.
        An empty text is the model's begin token, where it has one.
        """
        return _generated(
            self._core.generate(
                prompt, max_tokens, temperature, top_k, top_p, min_p, repetition_penalty, frequency_penalty, presence_penalty, seed, stop,
                stop_tokens, ignore_end, on_token, log_probabilities,
            )
        )

    def chat(
        self,
        messages: Sequence[Mapping[str, str]],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        frequency_penalty: float = 0,
        presence_penalty: float = 0,
        seed: int = 1,
        stop: Text | Sequence[Text] | None = None,
        stop_tokens: ArrayLike | None = None,
        ignore_end: bool = False,
        on_token: Callable[[int, str, float | None], object] | None = None,
        log_probabilities: bool = False,
    ) -> Generated:
        """The model's answer to a conversation, by its own chat template. The rest is as in generate().

        messages: dicts of "role" ("system", "user", "assistant") and "content". Special tokens are never made from them. What the conversation
        has in common with the one read last is not read again. FileError says what is wrong with the template, or that there is none.
        """
        return _generated(
            self._core.chat(
                messages, max_tokens, temperature, top_k, top_p, min_p, repetition_penalty, frequency_penalty, presence_penalty, seed, stop,
                stop_tokens, ignore_end, on_token, log_probabilities,
            )
        )

    def generate_many(
        self,
        prompts: Sequence[Text | ArrayLike],
        *,
        at_once: int = 16,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        frequency_penalty: float = 0,
        presence_penalty: float = 0,
        seed: int = 1,
        stop: Text | Sequence[Text] | None = None,
        stop_tokens: ArrayLike | None = None,
        ignore_end: bool = False,
        log_probabilities: bool = False,
    ) -> list[Generated]:
        """What follows each of several prompts, which takes a fraction of the time of one after the other.

        at_once: how many are written at the same time, each with a cache of its own. Each is what generate() makes of it, to the last bit, and
        with the same seed. The rest is as in generate(). The tokens that this generator has read stay as they are.
        """
        return [
            _generated(one)
            for one in self._core.generate_many(
                prompts, at_once, max_tokens, temperature, top_k, top_p, min_p, repetition_penalty, frequency_penalty, presence_penalty, seed,
                stop, stop_tokens, ignore_end, None, log_probabilities,
            )
        ]

    def chat_many(
        self,
        conversations: Sequence[Sequence[Mapping[str, str]]],
        *,
        at_once: int = 16,
        max_tokens: int | None = None,
        temperature: float | None = None,
        top_k: int | None = None,
        top_p: float | None = None,
        min_p: float | None = None,
        repetition_penalty: float | None = None,
        frequency_penalty: float = 0,
        presence_penalty: float = 0,
        seed: int = 1,
        stop: Text | Sequence[Text] | None = None,
        stop_tokens: ArrayLike | None = None,
        ignore_end: bool = False,
        log_probabilities: bool = False,
    ) -> list[Generated]:
        """The model's answer to each of several conversations, each as chat() reads it from its beginning. The rest is as in generate_many()."""
        return [
            _generated(one)
            for one in self._core.chat_many(
                conversations, at_once, max_tokens, temperature, top_k, top_p, min_p, repetition_penalty, frequency_penalty, presence_penalty,
                seed, stop, stop_tokens, ignore_end, None, log_probabilities,
            )
        ]

    def chat_prompt(self, messages: Sequence[Mapping[str, str]]) -> list[int]:
        """The ids of a conversation, up to where the model's answer begins."""
        return self._core.chat_prompt(messages)

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
