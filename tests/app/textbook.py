"""Attention as in a textbook, in NumPy: what `attend steps --json` must agree with."""

import math

import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def sinusoids(rows: int, columns: int) -> np.ndarray:
    table = np.zeros((rows, columns))
    for p in range(rows):
        for c in range(columns):
            angle = p / 10000 ** (c // 2 * 2 / columns)
            table[p, c] = math.cos(angle) if c % 2 else math.sin(angle)
    return table


def vectors(lesson: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Q, K and V of a lesson, as a file of `attend steps` states it."""
    if "q" in lesson:
        return tuple(np.array(lesson[name], float) for name in "qkv")
    x = np.array(lesson["x"], float)
    context = np.array(lesson["context"], float) if "context" in lesson else x
    if lesson.get("positions") == "sinusoidal":
        x, context = (rows + sinusoids(*rows.shape) for rows in (x, context))
    if "wq" not in lesson:
        return x, context, context
    return tuple(rows @ np.array(lesson["w" + name]) + np.array(lesson.get("b" + name, 0.0))
                 for name, rows in zip("qkv", (x, context, context)))


def attention(lesson: dict) -> dict[str, np.ndarray]:
    """scores and weights (heads, n, m), output (n, columns)."""
    q, k, v = vectors(lesson)
    heads = lesson.get("heads", 1)
    plain = "x" in lesson and "wq" not in lesson and heads == 1
    scale = lesson.get("scale", 1 if plain else 1 / math.sqrt(q.shape[1] // heads))
    all_scores, all_weights, outputs = [], [], []
    for qh, kh, vh in zip(*(np.split(matrix, heads, axis=1) for matrix in (q, k, v))):
        scores = qh @ kh.T * scale
        seen = np.tril(np.ones_like(scores)) == 1 if lesson.get("causal") else np.ones_like(scores) == 1
        weights = softmax(np.where(seen, scores, -np.inf))
        all_scores.append(scores)
        all_weights.append(weights)
        outputs.append(weights @ vh)
    output = np.concatenate(outputs, axis=1)
    if "wo" in lesson:
        output = output @ np.array(lesson["wo"]) + np.array(lesson.get("bo", 0.0))
    return {"scores": np.array(all_scores), "weights": np.array(all_weights), "output": output}
