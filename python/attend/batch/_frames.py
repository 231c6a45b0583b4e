"""Columns put into batches of the kinds that engines have: dicts of arrays, pandas' frames, Arrow's tables and record batches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

# The types that a job's columns have wherever a type is written down, as Arrow names them. Vectors are lists of a fixed size.
_LISTS = {
    "units": "string", "begin": "int32", "end": "int32", "received": "float64", "entropy": "float64",
}  # fmt: skip
_LISTS_OF_LISTS = {"top_keys": "int32", "top_weights": "float64"}
_SCALARS = {"generated": "string", "reason": "string", "tokens": "int32", "prompt_tokens": "int32"}


def arrow() -> Any:
    """pyarrow, or one sentence that says how to get it."""
    try:
        import pyarrow
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise ImportError("attend.batch needs pyarrow for Parquet and Arrow, and it is not installed (pip install pyarrow)") from None
    return pyarrow


def arrow_column(name: str, values: Any) -> Any:
    """A column of a job as an Arrow array, whose type depends on the name alone, and the size of a vector."""
    pa = arrow()
    if isinstance(values, np.ndarray):
        return pa.FixedSizeListArray.from_arrays(pa.array(np.ascontiguousarray(values).reshape(-1)), values.shape[1])
    if name in _LISTS:
        return pa.array(values, pa.list_(getattr(pa, _LISTS[name])()))
    if name in _LISTS_OF_LISTS:
        return pa.array(values, pa.list_(pa.list_(getattr(pa, _LISTS_OF_LISTS[name])())))
    return pa.array(values, getattr(pa, _SCALARS[name])())


def with_columns(job: Callable[[list[str]], dict[str, Any]], batch: Any, column: str) -> Any:
    """The batch with what the job makes of its texts."""
    if isinstance(batch, Mapping):  # of arrays: Ray's and NumPy's way
        if column not in batch:
            raise KeyError(f'there is no column "{column}"; there are {", ".join(map(str, batch))}')
        return {**batch, **{name: _array(values) for name, values in job(_texts(batch[column])).items()}}
    names = list(batch.columns) if hasattr(batch, "assign") else batch.schema.names
    if column not in names:
        raise KeyError(f'there is no column "{column}"; there are {", ".join(map(str, names))}')
    if hasattr(batch, "assign"):
        found = job(_texts(batch[column]))
        return batch.assign(**{name: list(values) for name, values in found.items()})
    pa = arrow()
    found = job(_texts(batch.column(names.index(column)).to_pylist()))
    arrays = [batch.column(i) for i in range(len(names))] + [arrow_column(name, values) for name, values in found.items()]
    return type(batch).from_arrays(arrays, names=[*names, *found])


def _texts(values: Any) -> list[str]:
    texts = [value.decode("utf-8", "replace") if isinstance(value, bytes) else value for value in values]
    for number, text in enumerate(texts):
        if not isinstance(text, str):
            raise TypeError(f"text {number} of a batch is a {type(text).__name__}, expected a string")
    return [str(text) for text in texts]  # NumPy's own strings become Python's


def _array(values: Any) -> Any:
    if isinstance(values, np.ndarray) or not values or not isinstance(values[0], list):
        return np.asarray(values)
    entries = np.empty(len(values), object)  # of lists of different lengths
    entries[:] = values
    return entries
