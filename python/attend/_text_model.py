"""A model from its folder: texts to vectors, and what its attention does."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Union

from . import _core
from ._typing import Choice, Precision, Stage

Text = Union[str, bytes]
ScoreFunction = Literal["identity", "sigmoid", "softmax"]


def _require_one_or_two(items: list[tuple[Text, ...]]) -> None:
    for item in items:
        if len(item) not in (1, 2):
            raise ValueError(f"a list of {len(item)} texts is neither a text nor a pair")


def _texts_to_score(inputs: Any) -> tuple[bool, list[tuple[Text, ...]]]:
    """Whether it is a single one, and all as tuples. A flat list is one pair, as in CrossEncoder."""
    if isinstance(inputs, (str, bytes)):
        return True, [(inputs,)]
    items = list(inputs)
    single = bool(items) and isinstance(items[0], (str, bytes))
    pairs = [tuple(items)] if single else [tuple(item) if not isinstance(item, (str, bytes)) else (item,) for item in items]
    if single and len(items) > 2:
        raise ValueError(f"a flat list of {len(items)} texts is not a pair; expected [[first, second], ...]")
    _require_one_or_two(pairs)
    return single, pairs


class TextModel:
    """A model from a folder with config.json, tokenizer.json and safetensors: BERT, RoBERTa, XLM-R, DistilBERT, MPNet, GPT-2, attend's own,
    or a decoder of today (Llama, Mistral, Qwen, Gemma, Phi-3, OLMo 2, GPT-NeoX).

    A text's vector does not depend on the other texts of a batch, down to the bit.
    """

    def __init__(self, core: _core.TextModelCore) -> None:
        if not isinstance(core, _core.TextModelCore):
            raise TypeError("TextModel: a model is loaded by its name or folder with TextModel.from_pretrained()")
        self._core = core
        self._told_of_pooling = False

    def __repr__(self) -> str:
        sizes = f"{self.layers} layers, {self.heads} heads, vectors of {self.embedding_size}"
        return f"<attend.TextModel {self._core.name}, {sizes}>"

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

        Prompt, pooling and normalisation are those of the model's folder, unless given; a folder that does not say how to pool gives the mean
        over the tokens, and a UserWarning, once. layer: the layer whose vectors are pooled; 0 is
        the embeddings. Texts longer than max_tokens (default: what the model allows) are cut. batch_tokens changes time and memory only.
        """
        if prompt_name is not None:
            if prompt is not None:
                raise ValueError("encode: prompt and prompt_name are both given")
            if prompt_name not in self._core.prompts:
                known = ", ".join(self._core.prompts) or "none"
                raise ValueError(f'encode: the model has no prompt "{prompt_name}"; it has {known}')
            prompt = self._core.prompts[prompt_name]
        if pooling is None and not self._core.says_pooling and not self._told_of_pooling:
            self._told_of_pooling = True
            message = f"{self._core.name} does not say how to pool, so a text's vector is the mean over its tokens; pooling= chooses another way"
            warnings.warn(message, UserWarning, stacklevel=2)
        single = isinstance(sentences, (str, bytes))
        texts: Iterable[Text] = [sentences] if isinstance(sentences, (str, bytes)) else sentences
        vectors = self._core.embed(texts, pooling, normalize_embeddings, layer, max_tokens, prompt, batch_tokens)
        return vectors[0] if single else vectors

    def predict(
        self,
        inputs: Text | Sequence[Text] | Iterable[Sequence[Text]],
        *,
        function: ScoreFunction | None = None,
        prompt: str | None = None,
        max_tokens: int | None = None,
        batch_tokens: int = 2048,
    ) -> Any:
        """The scores of pairs of texts, as sentence-transformers' CrossEncoder.predict() returns them: (pairs,) for a model with one label,
        else (pairs, labels); without the first axis for a single pair.

        inputs: a list of pairs, [[query, passage], ...]; or one pair, (query, passage); or one text. Lists of one text are texts alone.
        function: what makes scores of the model's numbers; default: what its folder says, else "sigmoid" for one label and "identity" for
        several. prompt: put in front of the first text of each pair. ValueError for a model that does not score texts.
        """
        single, items = _texts_to_score(inputs)
        scores = self._core.predict(items, function, max_tokens, prompt, batch_tokens)
        if scores.shape[1] == 1:
            scores = scores[:, 0]
        return scores[0] if single else scores

    def rank(
        self,
        query: Text,
        documents: Iterable[Text],
        top_k: int | None = None,
        return_documents: bool = False,
        *,
        function: ScoreFunction | None = None,
        prompt: str | None = None,
        max_tokens: int | None = None,
        batch_tokens: int = 2048,
    ) -> list[dict[str, Any]]:
        """The documents by how well they answer a query, the best first, as sentence-transformers' CrossEncoder.rank() returns them:
        [{"corpus_id": 3, "score": 0.9}, ...], with "text" if documents are to be returned. NaN comes last."""
        if self.labels is not None and len(self.labels) != 1:
            raise ValueError(f"rank: the model gives {len(self.labels)} scores for a pair, and ranking needs exactly one")
        if top_k is not None and top_k < 1:
            raise ValueError(f"rank: top_k is {top_k}, expected at least 1")
        texts = list(documents)
        scores = self._core.predict([(query, text) for text in texts], function, max_tokens, prompt, batch_tokens)[:, 0].tolist()
        order = sorted(range(len(texts)), key=lambda i: (scores[i] != scores[i], -scores[i]))[:top_k]
        return [{"corpus_id": i, "score": scores[i]} | ({"text": texts[i]} if return_documents else {}) for i in order]

    def classify(
        self,
        inputs: Text | tuple[Text, Text] | Iterable[Text | tuple[Text, Text]],
        *,
        top_k: int | None = None,
        max_tokens: int | None = None,
        batch_tokens: int = 2048,
    ) -> Any:
        """The labels of each text or tuple of two texts with their scores, the best first: [{"label": "POSITIVE", "score": 0.99}, ...], as
        transformers' pipeline("text-classification", top_k=None) returns them; a list of such lists, or one for a single text.

        Scores are a softmax over the labels, a sigmoid of each or the model's own numbers, by problem_type and the number of labels.
        """
        if top_k is not None and top_k < 1:
            raise ValueError(f"classify: top_k is {top_k}, expected at least 1")
        classifier = self._core.classifier()
        labels, function = classifier if classifier is not None else ([], None)
        single = isinstance(inputs, (str, bytes, tuple))
        items = [item if isinstance(item, tuple) else (item,) for item in ([inputs] if single else inputs)]
        _require_one_or_two(items)
        found = []
        for row in self._core.predict(items, function, max_tokens, None, batch_tokens).tolist():
            order = sorted(range(len(row)), key=lambda i: (row[i] != row[i], -row[i]))[:top_k]
            found.append([{"label": labels[i], "score": row[i]} for i in order])
        return found[0] if single else found

    @property
    def labels(self) -> list[str] | None:
        """The names of the scores that predict() returns; None for a model that does not score texts."""
        classifier = self._core.classifier()
        return classifier[0] if classifier is not None else None

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
