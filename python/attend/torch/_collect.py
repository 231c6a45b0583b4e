"""What the attention of a whole model did, collected while it runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any

import torch

from .. import _core


@dataclass(frozen=True)
class Seen:
    """One call of attention: who made it, and what was asked about its weights; None for what was not asked for.

    Shapes for queries of (B, H, Lq, D): those that attend.summarize_weights() and attend.weights() give.
    """

    layer: int | None  # the layer's number, from 1: the module's layer_idx + 1
    name: str | None  # the module's place in the model where collect() was given one, else its class
    top_keys: torch.Tensor | None = None  # (B, H, Lq, top_k), best first; -1 where a row has fewer keys
    top_weights: torch.Tensor | None = None
    received: torch.Tensor | None = None  # (B, H, Lk)
    entropy: torch.Tensor | None = None  # (B, H, Lq), in nats
    map: torch.Tensor | None = None  # (B, H, *map_shape)
    rows: torch.Tensor | None = None  # (B, H, len(rows), Lk)
    weights: torch.Tensor | None = None  # (B, H, Lq, Lk)


@contextmanager
def collect(
    *,
    top_k: int = 0,
    received: bool = False,
    entropy: bool = False,
    map_shape: tuple[int, int] | None = None,
    map_reduction: str = "mean",
    rows: Sequence[int] | None = None,
    weights: bool = False,
    heads: Sequence[int] | None = None,
    model: torch.nn.Module | None = None,
) -> Iterator[list[Seen]]:
    """Collects what is asked about every call of attention made inside the `with`, one Seen per call, in order.

    Calls are those of attend.torch and of models that run on it by install(). Everything but `weights` is made from the row state
    that the fused kernel left, never from a matrix of all weights. rows: which queries to show whole; negative ones count from the end.
    heads: only these numbers, from 1; all by default. model: gives the calls their module's place in it as a name.

    Only calls of the same thread (the same context, contextvars) are seen. When several are open, each collects its own.
    """
    summary = {"top_k": top_k, "received": received, "entropy": entropy, "map_shape": map_shape, "map_reduction": map_reduction}
    if not (top_k or received or entropy or map_shape or rows is not None or weights):
        raise ValueError("collect: nothing is asked for; say top_k, received, entropy, map_shape, rows or weights")
    names = {} if model is None else {id(module): name for name, module in model.named_modules()}
    if heads is not None and any(head < 1 for head in heads):
        raise ValueError(f"collect: heads are {list(heads)}, and heads count from 1")
    collector = _Collector(summary, rows, weights, None if heads is None else [head - 1 for head in heads], names)
    token = _open.set((*_open.get(), collector))
    try:
        yield collector.seen
    finally:
        _open.reset(token)


def is_open() -> bool:
    return bool(_open.get())


def add(module: Any, q: Any, k: Any, options: dict[str, Any], row_state: Any) -> None:
    """Reports one call to every open collection."""
    options = {name: value for name, value in options.items() if not name.startswith("dropout")}
    for collector in _open.get():
        collector.add(module, q, k, options, row_state)


class _Collector:
    def __init__(self, summary: dict[str, Any], rows: Any, weights: bool, indices: Any, names: dict[int, str]) -> None:
        self.seen: list[Seen] = []
        self._summary, self._rows, self._weights, self._indices, self._names = summary, rows, weights, indices, names
        self._summarizes = any(summary[name] for name in ("top_k", "received", "entropy", "map_shape"))

    def add(self, module: Any, q: Any, k: Any, options: dict[str, Any], row_state: Any) -> None:
        parts: dict[str, Any] = {}
        if self._summarizes:
            parts = _core.summarize_weights(q, k, row_state=row_state, **self._summary, **options)._asdict()
            if self._indices is not None:
                axis = 0 if q.ndim == 3 and "cumulative_query_lengths" not in options else 1
                indices = torch.as_tensor(self._indices, device=q.device)
                parts = {name: part if part is None else part.index_select(axis, indices) for name, part in parts.items()}
        if self._rows is not None:
            rows = [row + q.shape[-2] if row < 0 else row for row in self._rows]
            parts["rows"] = _core.weights(q, k, rows=rows, heads=self._indices, row_state=row_state, **options)
        if self._weights:
            parts["weights"] = _core.weights(q, k, heads=self._indices, row_state=row_state, **options)
        name = None if module is None else self._names.get(id(module), type(module).__name__)
        index = getattr(module, "layer_idx", None)
        self.seen.append(Seen(None if index is None else index + 1, name, **parts))


_open: ContextVar[tuple[_Collector, ...]] = ContextVar("attend.torch.collect", default=())
