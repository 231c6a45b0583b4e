"""What 32,768 tokens look at, without the matrix of their weights, which would take 4.3 GB.

    python examples/long_sequence.py [tokens]
"""

import resource
import sys

import numpy as np

import attend

n, d = int(sys.argv[1]) if len(sys.argv) > 1 else 32768, 64
rng = np.random.default_rng(0)
q, k, v = (rng.normal(size=(n, d)).astype(np.float32) for _ in range(3))
needle, place = rng.normal(size=d).astype(np.float32), n // 3
k[place] = needle
q[-1] = needle * 2  # the last token looks for something that stands far back

start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
out, state = attend.attention(q, k, v, causal=True, return_state=True)
summary = attend.summarize_weights(q, k, top_k=3, received=True, entropy=True, map_shape=(8, 8), causal=True, row_state=state)
grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - start) / 1024

print(f"{n} tokens: the matrix would take {n * n * 4 / 1e9:.1f} GB, this took {grown:.0f} MB")
print(f"the last token looks at {summary.top_keys[-1].tolist()} with weights {np.round(summary.top_weights[-1], 4).tolist()}")
assert summary.top_keys[-1, 0] == place
print(f"token {place} receives {summary.received[place]:.2f}, its neighbours {summary.received[place - 1]:.2f} and {summary.received[place + 1]:.2f}")
print(f"entropy grows with what a token sees: {summary.entropy[10]:.2f} at 10, {summary.entropy[n // 2]:.2f} in the middle, ln(n) = {np.log(n):.2f}")
print("where the weights are, in 8 x 8 cells, as parts of the whole:")
cells = summary.map / summary.map.sum(axis=1, keepdims=True)
for row in cells:
    print("  " + " ".join(f"{cell:5.3f}" for cell in row))
row = attend.weights(q, k, rows=[n - 1], causal=True, row_state=state)[0]
print(f"and its whole row, when asked for: {row.shape[0]} weights that add up to {row.sum():.6f}")
