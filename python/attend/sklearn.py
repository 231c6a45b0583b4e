"""attend in scikit-learn: texts to vectors as a step of a pipeline.

Imported only when asked for (`import attend.sklearn`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
except ImportError:
    raise ImportError("attend.sklearn needs scikit-learn, which is not installed (pip install scikit-learn)") from None

from ._text_model import Text, TextModel

__all__ = ["SentenceEncoder"]

# Estimators with the same model share it as long as one of them is alive, such as the steps of a FeatureUnion that read several layers.
_models: WeakValueDictionary[str, TextModel] = WeakValueDictionary()


class SentenceEncoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Turns texts into contextual vectors, (texts, size) float32, with the model of a folder or of the hub's cache.

    Nothing is learned, so fit() only loads the model. A text's vector does not depend on the other texts: cross-validation cannot
    leak through it. Pickles and clones hold the model's name and not its weights.

    model: a folder, or a name in the hub's cache. The other parameters are those of TextModel.encode; None: what the folder says.
    """

    def __init__(
        self,
        model: str | os.PathLike[str] = "sentence-transformers/all-MiniLM-L6-v2",
        *,
        pooling: str | Sequence[str] | None = None,
        normalize: bool | None = None,
        layer: int | None = None,
        prompt: str | None = None,
        prompt_name: str | None = None,
        max_tokens: int | None = None,
        batch_tokens: int = 2048,
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.normalize = normalize
        self.layer = layer
        self.prompt = prompt
        self.prompt_name = prompt_name
        self.max_tokens = max_tokens
        self.batch_tokens = batch_tokens

    def fit(self, X: Iterable[Text], y: Any = None) -> "SentenceEncoder":
        """Loads the model and checks the parameters; of X only its shape."""
        _require_one_axis(X)  # and no more: an iterator is left for transform()
        self._encode([])
        return self

    def transform(self, X: Iterable[Text]) -> Any:
        """One vector per text."""
        return self._encode(_texts_of(X))

    @property
    def model_(self) -> TextModel:
        """The model itself, which also has hidden states and attention."""
        name = os.path.abspath(self.model) if os.path.isdir(self.model) else os.fspath(self.model)
        loaded: tuple[str, TextModel] | None = self.__dict__.get("_loaded")
        if loaded is None or loaded[0] != name:
            model = _models.get(name) or TextModel.from_pretrained(name)
            _models[name] = model
            self._loaded = loaded = (name, model)
        return loaded[1]

    def _encode(self, texts: Iterable[Text]) -> Any:
        return self.model_.encode(
            texts,
            prompt_name=self.prompt_name,
            prompt=self.prompt,
            normalize_embeddings=self.normalize,
            pooling=self.pooling,
            layer=self.layer,
            max_tokens=self.max_tokens,
            batch_tokens=self.batch_tokens,
        )

    @property
    def _n_features_out(self) -> int:
        return int(self._encode([]).shape[1])

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in super().__getstate__().items() if name != "_loaded"}

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        return tags


def _require_one_axis(X: Iterable[Text]) -> None:
    """Refuses what would silently be read as something else: one text as its letters, a table as the names of its columns."""
    if isinstance(X, (str, bytes)):
        raise ValueError("SentenceEncoder: X is one text, expected a list, an array or a Series of texts")
    shape = getattr(X, "shape", None)
    if shape is not None and len(shape) != 1 and (len(shape) != 2 or shape[1] != 1):
        raise ValueError(f"SentenceEncoder: X has shape {tuple(shape)}, expected texts in one dimension or one column")


def _texts_of(X: Iterable[Text]) -> list[Text]:
    _require_one_axis(X)
    texts = list(np.asarray(X).ravel() if len(getattr(X, "shape", ())) == 2 else X)
    for i, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"SentenceEncoder: text {i} is a {type(text).__name__}, expected str or bytes")
    return texts
