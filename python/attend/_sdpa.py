"""scaled_dot_product_attention with the interface of torch.nn.functional's."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy

from . import _core
from ._typing import A, Array

_NAME = "scaled_dot_product_attention"


def scaled_dot_product_attention(
    query: A,
    key: A,
    value: A,
    attn_mask: Array | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> A:
    """softmax(scale query key^T + mask) value, as torch.nn.functional.scaled_dot_product_attention defines it.

    query (N, ..., Hq, L, E), key (N, ..., H, S, E), value (N, ..., H, S, Ev); leading axes broadcast. attn_mask: boolean, True =
    takes part, or floating, which is added; it broadcasts to (N, ..., Hq, L, S). is_causal is top-left and excludes attn_mask.
    enable_gqa lets Hq be a multiple of H. A row without keys gives 0. dropout_p: the dropped weights follow from Python's
    `random`, so that random.seed() repeats them.
    """
    out: A = in_four_axes(_core.attention, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)
    return out


def in_four_axes(
    attention: Any,
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any,
    dropout_p: float,
    is_causal: bool,
    scale: float | None,
    enable_gqa: bool,
) -> Any:
    """Calls attention(q, k, v, **options) with the arguments brought to (B, H, L, D); the axes of its result are brought back."""
    query, key, value = (_array(name, one) for name, one in (("query", query), ("key", key), ("value", value)))
    attn_mask = None if attn_mask is None else _array("attn_mask", attn_mask)
    options: dict[str, Any] = {"scale": scale, "causal": is_causal}
    if dropout_p:
        options["dropout"] = dropout_p
        options["dropout_seed"] = random.getrandbits(64)
    q, k, v = query.shape, key.shape, value.shape
    plain = len(q) == len(k) == len(v) == 4 and q[0] == k[0] == v[0] and k[1] == v[1] and (q[1] == k[1] or enable_gqa)
    if not plain:
        return _general(attention, query, key, value, attn_mask, options, enable_gqa)
    if attn_mask is not None:
        _add_mask(options, attn_mask, query)
    return attention(query, key, value, **options)


def _array(name: str, given: Any) -> Any:
    """An array whose axes can be read and moved."""
    if isinstance(given, memoryview):
        return numpy.asarray(given)
    if not all(hasattr(given, part) for part in ("shape", "ndim", "dtype", "reshape")):
        raise TypeError(f"{_NAME}: {name} must be an array (NumPy's, PyTorch's, or one used like them), not {type(given).__name__}")
    return given


def _add_mask(options: dict[str, Any], attn_mask: Any, query: Any) -> None:
    if options["causal"]:
        raise ValueError(f"{_NAME}: attn_mask and is_causal exclude each other; put the causal part into the mask")
    dtype = str(attn_mask.dtype).removeprefix("torch.")
    if dtype not in ("bool", "float32") and attn_mask.dtype != query.dtype:
        raise TypeError(f"{_NAME}: attn_mask is {dtype}, expected bool, float32 or the type of query")
    options["mask" if dtype == "bool" else "bias"] = attn_mask


def _general(
    attention: Any, query: Any, key: Any, value: Any, attn_mask: Any, options: dict[str, Any], enable_gqa: bool
) -> Any:
    """Any number of leading axes, which broadcast: expanded without a copy where the strides allow it, then flattened."""
    for name, array in (("query", query), ("key", key), ("value", value)):
        if array.ndim < 2:
            raise ValueError(f"{_NAME}: {name} has {array.ndim} axes, expected at least two: (length, d)")
    leads = [tuple(array.shape[:-2]) for array in (query, key, value)]
    heads = [lead[-1] if lead else 1 for lead in leads]
    if enable_gqa:
        if min(array.ndim for array in (query, key, value)) < 3:
            raise ValueError(f"{_NAME}: enable_gqa takes an axis of heads, (heads, length, d), in query, key and value")
        if min(heads) == 0 or heads[0] % heads[1] != 0 or heads[0] % heads[2] != 0:
            raise ValueError(f"{_NAME}: {heads[0]} query heads are not a multiple of {heads[1]} key heads and {heads[2]} value heads")
        if heads[1] != heads[2]:  # each is repeated by its own factor
            key, value = (_repeat_heads(array, heads[0]) for array in (key, value))
            heads[1:] = [heads[0]] * 2
    else:
        heads = [_broadcast_shapes([(count,) for count in heads])[0]] * 3
    batch = _broadcast_shapes([lead[:-1] for lead in leads])
    flat = [
        _expand(array, (*batch, count, *array.shape[-2:])).reshape(math.prod(batch), count, *array.shape[-2:])
        for array, count in zip((query, key, value), heads)
    ]
    if attn_mask is not None:
        if attn_mask.ndim > 4 or (attn_mask.ndim == 4 and len(batch) > 1):
            attn_mask = _expand(attn_mask, (*batch, *attn_mask.shape[-3:])).reshape(math.prod(batch), *attn_mask.shape[-3:])
        _add_mask(options, attn_mask, query)
    out = attention(*flat, **options)
    rank = max(len(lead) for lead in leads)
    return out.reshape((*batch, heads[0])[len(batch) + 1 - rank :] + tuple(out.shape[-2:]))


def _broadcast_shapes(shapes: list[tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return numpy.broadcast_shapes(*shapes)
    except ValueError:
        raise ValueError(
            f"{_NAME}: leading axes {', '.join(str(shape) for shape in shapes)} of query, key and value do not broadcast"
        ) from None


def _expand(array: Any, shape: tuple[int, ...]) -> Any:
    if tuple(array.shape) == shape:
        return array
    return array.expand(shape) if hasattr(array, "expand") else numpy.broadcast_to(array, shape)


def _repeat_heads(array: Any, heads: int) -> Any:
    times = heads // array.shape[-3]
    return array.repeat_interleave(times, dim=-3) if hasattr(array, "repeat_interleave") else numpy.repeat(array, times, axis=-3)
