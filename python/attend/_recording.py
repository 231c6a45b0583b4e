"""Passes of any model, recorded: for the lens and the explorer where attend cannot load the model itself."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _core

if TYPE_CHECKING:
    from .lens import Reading

_MASKED = -1e30  # a bias below this is a mask, written in numbers


@dataclass(frozen=True, eq=False)
class RecordedLayer:
    """The self-attention of one layer over one text: q, k and v as attend.attention() takes them, positions applied, and its options.

    q is (heads, tokens, head size), k and v have as many heads or a divisor of that. Where only the weights are known, they take the place
    of all else: (heads, tokens, tokens). mask and bias are (tokens, tokens), or have an axis of heads before.
    """

    q: Any = None
    k: Any = None
    v: Any = None
    weights: Any = None
    name: str = ""
    scale: float | None = None
    causal: bool = False
    window: tuple[int | None, int | None] | None = None  # how many keys to the left and to the right; None: all of them
    softcap: float | None = None
    sinks: Any = None
    alibi_slopes: Any = None
    mask: Any = None  # boolean, True = takes part
    bias: Any = None


class Recording:
    """One pass of a model over one text. save() writes a file that `attend explore` and `attend explain` open; reading() is for the lens.

    layers: RecordedLayer, or arrays of weights, such as the `attentions` that a Hugging Face model returns, (heads, tokens, tokens) each,
    with or without an axis of one sequence before. tokens: as the vocabulary writes them. ids: the same number for the same token.
    text and places: the text, and the characters [begin, end) of each token in it, from which words are made; without them each token is
    a word. special: which tokens were added around the text, such as [CLS].
    """

    def __init__(
        self,
        layers: Iterable[Any],
        tokens: Sequence[str],
        *,
        ids: Sequence[int] | None = None,
        text: str = "",
        places: Sequence[tuple[int, int]] | None = None,
        special: Sequence[bool] | None = None,
        model: str = "",
        family: str = "",
    ) -> None:
        self.tokens = [str(token) for token in tokens]
        self.layers = [layer if isinstance(layer, RecordedLayer) else RecordedLayer(weights=layer) for layer in layers]
        numbers: dict[str, int] = {}
        known = [numbers.setdefault(token, len(numbers)) for token in self.tokens]
        count = len(self.tokens)
        self.ids = _per_token("ids", known if ids is None else [int(one) for one in ids], count)
        begins_and_ends = [(int(begin), int(end)) for begin, end in places or [(0, 0)] * count]
        self.places = _per_token("places", begins_and_ends if text else [(0, 0)] * count, count)
        self.special = _per_token("special", [bool(one) for one in special or [False] * count], count)
        self.text, self.model, self.family = text, model, family

    def __repr__(self) -> str:
        return f"<attend.lens.Recording of {len(self.tokens)} tokens, {len(self.layers)} layers>"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Into a file run.attn, complete or not at all: safetensors with metadata. FileError if it cannot be written."""
        if not os.fspath(path).endswith(".attn"):
            raise ValueError(f"save: expected a name that ends in .attn, not {os.path.basename(os.fspath(path))!r}")
        _core.save_recording(path, *self._parts())

    def reading(self) -> Reading:
        """For the lens: all that needs no more than weights, such as maps, rows, rollout, flow, received and profiles of heads.

        What needs the model is refused with a ValueError: norm, gradients, edits, guesses.
        """
        from .lens import Reading, _warned

        reading = Reading(_core.recorded_reading(*self._parts()))
        _warned(reading.not_finite)
        return reading

    def _parts(self) -> tuple[Any, ...]:
        layers = [_layer_parts(layer, number) for number, layer in enumerate(self.layers, 1)]
        return layers, self.tokens, self.ids, self.places, self.special, self.text, self.model, self.family


def load(path: str | os.PathLike[str]) -> Reading:
    """The reading of a pass that was recorded: a file of Recording.save(). FileError if it is not one."""
    from .lens import Reading, _warned

    reading = Reading(_core.load_recording(path))
    _warned(reading.not_finite)
    return reading


def _per_token(name: str, values: list[Any], count: int) -> list[Any]:
    if len(values) != count:
        raise ValueError(f"Recording: {name} has {len(values)} elements, and there are {count} tokens")
    return values


def _layer_parts(layer: RecordedLayer, number: int) -> tuple[Any, ...]:
    """As the library takes them: arrays of float32 with the axis of tokens first, numbers, and as few masks as possible."""
    tokens_first = [_array(getattr(layer, part), f"layer {number}: {part}", 3) for part in "qkv"]
    q, k, v = (None if part is None else np.ascontiguousarray(part.swapaxes(0, 1)) for part in tokens_first)
    weights = _array(layer.weights, f"layer {number}: weights", 3)
    bias = _array(layer.bias, f"layer {number}: bias", 3)
    mask = None if layer.mask is None else _with_heads(np.asarray(layer.mask), f"layer {number}: mask", 3)
    if mask is not None and mask.dtype != np.bool_:
        raise TypeError(f"Recording: layer {number}: mask is {mask.dtype}, expected boolean")
    if bias is not None and not np.any((bias != 0) & (bias > _MASKED)):  # a mask in numbers: NaN stays what it is
        if not np.isnan(bias).any():
            mask = bias > _MASKED if mask is None else mask & (bias > _MASKED)
            bias = None
    causal = bool(layer.causal)
    sides = layer.window or (None, None)
    for side in sides:
        if side is not None and side < 0:
            raise ValueError(f"Recording: layer {number}: window is {side} on one side, expected None or a number from 0")
    left, right = (-1 if side is None else int(side) for side in sides)
    if mask is not None:
        pattern = _pattern(mask)
        if pattern is not None and (left, right) == (-1, -1):
            mask, causal, left, right = None, causal or pattern[0], *pattern[1:]
    floats = [[] if part is None else [float(one) for one in part] for part in (layer.sinks, layer.alibi_slopes)]
    scale = None if layer.scale is None else float(layer.scale)
    squares = [None if part is None else np.ascontiguousarray(part) for part in (mask, bias)]
    return (layer.name, q, k, v, weights, scale, causal, left, right, float(layer.softcap or 0.0), *floats, *squares)


def _pattern(mask: NDArray[np.bool_]) -> tuple[bool, int, int] | None:
    """What a mask of (1, tokens, tokens) comes to, where it is a band: whether it is causal, and its window. A page carries no masks."""
    if mask.shape[0] != 1 or mask.shape[1] != mask.shape[2] or not mask.any(axis=-1).all():
        return None
    rows, count = mask[0], mask.shape[1]
    places = np.arange(count)
    first, last = rows.argmax(axis=1), count - 1 - rows[:, ::-1].argmax(axis=1)
    if (rows.sum(axis=1) != last - first + 1).any():
        return None
    left, right = int((places - first).max()), int((last - places).max())
    if (first != np.maximum(places - left, 0)).any() or (last != np.minimum(places + right, count - 1)).any():
        return None
    return right == 0, -1 if left == count - 1 else left, -1 if right in (0, count - 1) else right


def _array(values: Any, name: str, axes: int) -> NDArray[np.float32] | None:
    if values is None:
        return None
    if hasattr(values, "detach"):  # a tensor of PyTorch, of any type: NumPy has no bfloat16
        values = values.detach().float().cpu().numpy()
    numbers = np.asarray(values)
    if numbers.dtype.kind not in "fiu":
        raise TypeError(f"Recording: {name} is an array of {numbers.dtype}, expected real numbers")
    return np.ascontiguousarray(_with_heads(numbers, name, axes), np.float32)


def _with_heads(values: NDArray[Any], name: str, axes: int) -> NDArray[Any]:
    if values.ndim == axes + 1 and values.shape[0] == 1:
        values = values[0]  # a batch of one
    if values.ndim == axes - 1:
        values = values[None]
    if values.ndim != axes:
        raise ValueError(f"Recording: {name} has the shape {values.shape}, expected {axes} axes")
    return values
