"""The examples of the teaching texts, with attend's functions: what does "it" look at?

    python examples/textbook.py
"""

import numpy as np

import attend

np.set_printoptions(precision=4, suppress=True)

# softmax(X X^T) X: no parameters, four tokens.
tokens = ["I", "love", "deep", "learning"]
x = np.array([[1, 0, 1], [1, 1, 0], [0, 1, 1], [0, 0, 1]], np.float64)
result = attend.self_attention(x)
print("Four tokens look at each other:")
for token, weights, output in zip(tokens, result.weights, result.output):
    print(f"  {token:>8}  weights {weights}  output {output}")

# Queries, keys and values of their own, and the scale 1/sqrt(d).
rng = np.random.default_rng(0)
wq, wk, wv = (rng.normal(size=(3, 2)) for _ in range(3))
learned = attend.single_head_attention(x, wq, wk, wv)
print("With projections, as learned ones would be:")
print(f"  weights of the first row {learned.weights[0]}, output {learned.output[0]}")

# Without positions attention does not know the order; with them it does.
order = [2, 0, 3, 1]
moved = attend.self_attention(x[order]).output
print("Tokens in another order, the same vectors:", np.allclose(moved, result.output[order]))
placed = x + attend.sinusoidal_positions(4, 3, dtype="float64")
moved = attend.self_attention(x[order] + attend.sinusoidal_positions(4, 3, dtype="float64")).output
print("The same with positions added:", np.allclose(moved, attend.self_attention(placed).output[order]))

# A mask: no token sees what comes after it.
causal = attend.weights(x, x, causal=True, scale=1.0)
print("Causal weights, the last row sees all:")
print(causal)
