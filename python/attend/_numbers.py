"""Whole numbers as Python's own, or one sentence that says what was given instead."""

from __future__ import annotations

import operator
from typing import Any


def whole(function: str, name: str, value: Any) -> int:
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{function}: {name} must be a whole number, not {type(value).__name__}") from None
    if not -(2**63) <= number < 2**63:
        shown = number if number.bit_length() <= 256 else f"a number of {number.bit_length()} bits"
        raise ValueError(f"{function}: {name} is {shown}, which does not fit 64 bits")
    return number
