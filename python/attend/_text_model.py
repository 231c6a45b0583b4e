"""A model from its folder: texts to vectors, and what its attention does."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Union

from . import _core
from ._typing import Choice, Precision, Stage

Text = Union[str, bytes]


class TextModel:
    """A model from a folder with config.json, tokenizer.json and safetensors: BERT, RoBERTa, XLM-R, DistilBERT, MPNet, GPT-2, attend's own,
    or a decoder of today (Llama, Mistral, Qwen, Gemma, Phi-3, OLMo 2, GPT-NeoX).

    A text's vector does not depend on the other texts of a batch, down to the bit.
    """

    def __init__(self, core: _core.TextModelCore) -> None:
        self._core = core

    @classmethod
    def from_pretrained(
        cls, name_or_folder: str | os.PathLike[str] = _core.DEFAULT_MODEL, *, precision: Precision = "f32"
    ) -> "TextModel":
        """Loads a folder, or a model by its name on the hub. Nothing is downloaded. FileError says what is wrong with a file.

        A name is looked for in the hub's cache, then in attend's own folder of models, where `make model` puts the default one.
        precision: the numbers in which the model multiplies. "f32" is exact; "bf16" and "int8" are faster (docs/precision.md).
        """
        return cls(_core.TextModelCore(os.fsdecode(name_or_folder), precision))

    def encode(
        self,
        sentences: Text | Iterable[Text],
        *,
        prompt_name: str | None = None,
        prompt: str | None = None,
        normalize_embeddings: bool | None = None,
        pooling: str | Sequence[str] | None = None,
        layer: int | None = None,
        max_tokens: int | None = None,
        batch_tokens: int = 2048,
    ) -> Any:
        """One vector for each text, (texts, size), or (size,) for a single text, as sentence-transformers' encode() returns them.

        Prompt, pooling and normalisation are those of the model's folder, unless given. layer: the layer whose vectors are pooled; 0 is
        the embeddings. Texts longer than max_tokens (default: what the model allows) are cut. batch_tokens changes time and memory only.
        """
        if prompt_name is not None:
            if prompt is not None:
                raise ValueError("encode: prompt and prompt_name are both given")
            if prompt_name not in self._core.prompts:
                known = ", ".join(self._core.prompts) or "none"
                raise ValueError(f'encode: the model has no prompt "{prompt_name}"; it has {known}')
            prompt = self._core.prompts[prompt_name]
        single = isinstance(sentences, (str, bytes))
        texts: Iterable[Text] = [sentences] if isinstance(sentences, (str, bytes)) else sentences
        vectors = self._core.embed(texts, pooling, normalize_embeddings, layer, max_tokens, prompt, batch_tokens)
        return vectors[0] if single else vectors

    def tokenize(self, text: Text, pair: Text | None = None, *, max_tokens: int | None = None) -> _core.Encoding:
        """The tokens that the model sees, with their ids and the characters they stand for."""
        return self._core.tokenize(text, pair, max_tokens)

    def hidden_states(self, text: Text, pair: Text | None = None, *, max_tokens: int | None = None) -> list[Any]:
        """The vectors that leave each layer, (tokens, hidden_size); the first are the embeddings."""
        return list(self._core.hidden_states(text, pair, max_tokens))

    def attention(
        self,
        text: Text,
        pair: Text | None = None,
        *,
        layers: Choice | None = None,
        heads: Choice | None = None,
        rows: Choice | None = None,
        stage: Stage = "weights",
        max_tokens: int | None = None,
    ) -> list[Any]:
        """The weights of each layer, (heads, rows, tokens): all, or those that are chosen: layers and heads by number, from 1, rows from 0."""
        return list(self._core.attention(text, pair, layers, heads, rows, stage, max_tokens))

    @property
    def tokenizer(self) -> _core.Tokenizer:
        return self._core.tokenizer

    @property
    def folder(self) -> Path:
        """Where config.json and the weights are."""
        return Path(self._core.folder)

    @property
    def precision(self) -> Precision:
        """The numbers in which it multiplies."""
        return self._core.precision

    @property
    def max_tokens(self) -> int:
        """The largest number of tokens of a text, special tokens included."""
        return self._core.max_tokens

    @property
    def embedding_size(self) -> int:
        """The size of a text's vector."""
        return self._core.embedding_size

    @property
    def hidden_size(self) -> int:
        """The size of a token's vector."""
        return self._core.hidden_size

    @property
    def layers(self) -> int:
        return self._core.layers

    @property
    def heads(self) -> int:
        return self._core.heads

    @property
    def prompts(self) -> dict[str, str]:
        """Texts to put before others, by name, as the model's folder lists them."""
        return self._core.prompts
