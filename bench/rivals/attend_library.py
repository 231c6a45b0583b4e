"""attend, through the C ABI of adapter.cpp. Arrays are row-major, of float32, or of attention in bf16 (bf16.py)."""

import ctypes
from pathlib import Path
from typing import Callable

import numpy as np


class Shape(ctypes.Structure):
    _fields_ = [(name, ctypes.c_int64) for name in ("b", "h", "n", "d")] + [("is_bf16", ctypes.c_int32)]

    @classmethod
    def of(cls, array: np.ndarray) -> "Shape":
        return cls(*array.shape, int(array.dtype == np.uint16))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    assert array.flags.c_contiguous
    return array.ctypes.data_as(ctypes.c_void_p)  # keeps the array, too


class Attend:
    def __init__(self, path: Path, threads: int):
        self._library = ctypes.CDLL(str(path))
        for name in ("attend_error", "attend_isa", "attend_isa_bf16"):
            getattr(self._library, name).restype = ctypes.c_char_p
        self._library.attend_pack.restype = ctypes.c_void_p
        self._prepared("attend_set_threads", threads)()

    def _prepared(self, name: str, *arguments) -> Callable[[], None]:
        """A call with its arguments converted beforehand, as cheap as ctypes can make it."""
        function = getattr(self._library, name)

        def run():
            if function(*arguments) != 0:
                raise RuntimeError(self._library.attend_error().decode())

        return run

    def isa(self) -> str:
        return self._library.attend_isa().decode()

    def isa_bf16(self) -> str:
        return self._library.attend_isa_bf16().decode()

    def forward(self, q, k, v, causal, out, state=None) -> Callable[[], None]:
        rows = [None, None] if state is None else [_pointer(part) for part in state]
        return self._prepared("attend_forward", Shape.of(q), int(causal), *map(_pointer, (q, k, v, out)), *rows)

    def backward(self, q, k, v, causal, out, state, d_out, gradients) -> Callable[[], None]:
        return self._prepared("attend_backward", Shape.of(q), int(causal),
                              *map(_pointer, (q, k, v, out, *state, d_out, *gradients)))

    def output_and_weights(self, q, k, v, out, top_keys, top_weights, received) -> Callable[[], None]:
        return self._prepared("attend_output_and_weights", Shape.of(q), ctypes.c_int64(top_keys.shape[-1]),
                              *map(_pointer, (q, k, v, out)), _pointer(top_keys),
                              _pointer(top_weights), _pointer(received))

    def pack(self, w: np.ndarray) -> "Packed":
        return Packed(self._library, w)

    def matmul(self, a: np.ndarray, packed: "Packed", out: np.ndarray) -> Callable[[], None]:
        return self._prepared("attend_matmul", ctypes.c_int64(a.shape[0]), packed.handle, _pointer(a), _pointer(out))


class Packed:
    """A packed matrix, freed with this object."""

    def __init__(self, library, w: np.ndarray):
        self._library = library
        self.handle = ctypes.c_void_p(library.attend_pack(ctypes.c_int64(w.shape[0]), ctypes.c_int64(w.shape[1]),
                                                          _pointer(w)))
        if not self.handle:
            raise RuntimeError(library.attend_error().decode())

    def __del__(self):
        self._library.attend_free(self.handle)
