"""What Python adds: the call of a small attention beside the same call in C++, and the import beside NumPy's.

    cmake --preset release -DATTEND_PYTHON=ON && cmake --build --preset release --target attend_small_call
    python bench/python/overhead.py          # with attend installed; run it alone

Times are medians of turns that alternate.
"""

import statistics
import subprocess
import sys
import timeit
from pathlib import Path

import numpy as np

import attend

SMALL_CALL = Path(__file__).resolve().parents[2] / "build/release/bench/python/attend_small_call"
x = np.ones((1, 1, 8, 8), np.float32)
out = np.empty_like(x)
mask = np.ones((8, 8), bool)
CALLS = {
    "attention(x, x, x)": lambda: attend.attention(x, x, x),
    "attention(x, x, x, out=out)": lambda: attend.attention(x, x, x, out=out),
    "attention(x, x, x, causal=True, mask=mask)": lambda: attend.attention(x, x, x, causal=True, mask=mask),
    "scaled_dot_product_attention(x, x, x)": lambda: attend.scaled_dot_product_attention(x, x, x),
    "top_k(x, x, 2)": lambda: attend.top_k(x, x, 2),
}
if "torch" in sys.argv[1:]:
    import torch

    t = torch.ones(1, 1, 8, 8)
    CALLS["attention(t, t, t) of torch tensors"] = lambda: attend.attention(t, t, t)
    CALLS["torch's own sdpa(t, t, t)"] = lambda: torch.nn.functional.scaled_dot_product_attention(t, t, t)


def microseconds(call, count=5000):
    return timeit.timeit(call, number=count) / count * 1e6


def in_cpp():
    return float(subprocess.run([SMALL_CALL], check=True, capture_output=True, text=True).stdout) / 1000


def import_time(modules):
    code = f"import time; start = time.perf_counter(); import {modules}; print(time.perf_counter() - start)"
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout) * 1e3


times = {name: [] for name in ("C++", *CALLS)}
for _ in range(15):
    times["C++"].append(in_cpp())
    for name, call in CALLS.items():
        times[name].append(microseconds(call))
cpp = statistics.median(times["C++"])
print(f"{'(1, 1, 8, 8), float32':<48} {'µs':>6}  {'over C++':>8}")
for name, turns in times.items():
    median = statistics.median(turns)
    low, _, high = statistics.quantiles(turns, n=4)
    print(f"{name:<48} {median:6.2f}  {median - cpp:8.2f}   quartiles {low:.2f} to {high:.2f}")

bare, both = [], []
for _ in range(15):
    bare.append(import_time("numpy"))
    both.append(import_time("numpy, attend"))
beyond = [b - a for a, b in zip(bare, both)]
print(f"import attend: {statistics.median(beyond):.1f} ms beyond numpy's {statistics.median(bare):.1f} ms")
