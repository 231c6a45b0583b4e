"""NumPy: attention by the formula, and the OpenBLAS that its package carries, for the matrix product alone."""

import ctypes
import glob
import math
from pathlib import Path
from typing import Callable

import numpy as np

NAME = f"numpy {np.__version__}"


def attention(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> Callable[[], np.ndarray]:
    """One head after the other, in place where NumPy can, so that memory is n x n and not more."""
    n = q.shape[2]
    scale = np.float32(1 / math.sqrt(q.shape[3]))
    hidden = np.triu(np.ones((n, n), bool), 1) if causal else None
    out = np.empty_like(q)

    def run() -> np.ndarray:
        for index in np.ndindex(q.shape[:2]):
            weights = (q[index] * scale) @ k[index].T
            if causal:
                weights[hidden] = -np.inf
            weights -= weights.max(axis=-1, keepdims=True)
            np.exp(weights, out=weights)
            weights /= weights.sum(axis=-1, keepdims=True)
            np.matmul(weights, v[index], out=out[index])
        return out

    return run


class OpenBlas:
    """The library in the wheel of NumPy: 64-bit integers, and names with a prefix and a suffix of their own."""

    def __init__(self, threads: int):
        folder = Path(np.__file__).parents[1] / "numpy.libs"
        found = glob.glob(str(folder / "libscipy_openblas64_*.so*"))
        if len(found) != 1:
            raise RuntimeError(f"expected one OpenBLAS in {folder}, found {len(found)}")
        self._library = ctypes.CDLL(found[0])
        self._get("get_config").restype = ctypes.c_char_p
        self._get("get_corename").restype = ctypes.c_char_p
        self._sgemm = self._library.scipy_cblas_sgemm64_
        self._sgemm.argtypes = [ctypes.c_int] * 3 + [ctypes.c_int64] * 3 + [
            ctypes.c_float, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64, ctypes.c_float,
            ctypes.c_void_p, ctypes.c_int64]
        self._get("set_num_threads")(threads)

    def _get(self, name: str):
        return getattr(self._library, f"scipy_openblas_{name}64_")

    def name(self) -> str:
        """"OpenBLAS 0.3.30, Zen": its version and the kernels it has chosen."""
        version = self._get("get_config")().decode().split()[1]
        return f"OpenBLAS {version}, {self._get('get_corename')().decode()} kernels"

    def matmul(self, a: np.ndarray, w: np.ndarray, out: np.ndarray) -> Callable[[], None]:
        """out (m, n) = a (m, k) times w (k, n). The call itself, without NumPy around it."""
        row_major, no_transpose = 101, 111
        (m, k), n = a.shape, w.shape[1]
        arguments = (row_major, no_transpose, no_transpose, m, n, k, 1.0, a.ctypes.data, k, w.ctypes.data, n, 0.0,
                     out.ctypes.data, n)
        return lambda: self._sgemm(*arguments)
