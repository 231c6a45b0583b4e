"""One question about the weights at a time. summarize_weights() answers several in one pass."""

from __future__ import annotations

from typing import Any

from . import _core
from ._numbers import whole
from ._results import RowState, TopK
from ._typing import A, Reduction


def top_k(q: A, k: A, count: int, *, row_state: RowState | None = None, **options: Any) -> TopK:
    """The `count` keys of largest weight in each row, best first, and their weights.

    Shapes (..., queries, count). Where a row has fewer keys that take part: key -1, weight 0. Options as for attention().
    """
    if whole("top_k", "count", count) < 1:
        raise ValueError(f"top_k: count is {count}, expected at least 1")
    summary = _core.summarize_weights(q, k, top_k=count, row_state=row_state, **options)
    return TopK(summary.top_keys, summary.top_weights)


def received(q: A, k: A, *, row_state: RowState | None = None, **options: Any) -> A:
    """How much attention each key receives: the sum of its weights over all queries, (..., keys)."""
    sums: A = _core.summarize_weights(q, k, received=True, row_state=row_state, **options).received
    return sums


def entropy(q: A, k: A, *, row_state: RowState | None = None, **options: Any) -> A:
    """How spread out each row is: -sum w ln w, in nats, (..., queries)."""
    nats: A = _core.summarize_weights(q, k, entropy=True, row_state=row_state, **options).entropy
    return nats


def attention_map(
    q: A, k: A, rows: int, columns: int, *, reduction: Reduction = "mean", row_state: RowState | None = None, **options: Any
) -> A:
    """The whole matrix as a map of rows x columns cells, each the mean or the maximum of its weights."""
    if whole("attention_map", "rows", rows) < 1 or whole("attention_map", "columns", columns) < 1:
        raise ValueError(f"attention_map: the map is {rows} x {columns}, expected at least 1 x 1")
    cells: A = _core.summarize_weights(
        q, k, map_shape=(rows, columns), map_reduction=reduction, row_state=row_state, **options
    ).map
    return cells
