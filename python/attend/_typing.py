"""The types of attend's arguments, for signatures and type checkers."""

from __future__ import annotations

from typing import Any, Literal, Protocol, Sequence, TypeVar, Union


class SupportsDLPack(Protocol):
    """An array of any library that exchanges memory by DLPack: NumPy's, PyTorch's, JAX's."""

    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...


class SupportsBuffer(Protocol):
    """Anything with the buffer protocol, such as array.array or a memoryview."""

    def __buffer__(self, flags: int, /) -> memoryview: ...


Array = Union[SupportsDLPack, SupportsBuffer]
A = TypeVar("A", bound=Array)  # a result is of the kind of the array it comes from

Integers = Union[Sequence[int], Array]  # a list, a range, an array of whole numbers
Floats = Union[Sequence[float], Array]
Choice = Union[int, Integers]  # one index, or several in that order
QueryOffset = Union[int, Integers, Literal["top_left", "bottom_right"]]
Window = tuple[Union[int, None], Union[int, None]]  # how far to the left and to the right; None: no limit
Stage = Literal["scores", "capped", "biased", "weights"]
Precision = Literal["f32", "bf16", "int8"]  # the numbers in which products are made
Reduction = Literal["mean", "max"]
Stream = Any  # a CUDA stream: PyTorch's, CuPy's, or its address
DType = Any  # "float32", numpy.float32, torch.float32, ...
