"""Numbers of bf16 as NumPy holds them: their 16 bits, in uint16."""

import numpy as np


def rounded(values: np.ndarray) -> np.ndarray:
    """To the nearest, ties to even; of finite numbers."""
    bits = values.view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def widened(bits: np.ndarray) -> np.ndarray:
    return (bits.astype(np.uint32) << 16).view(np.float32)
