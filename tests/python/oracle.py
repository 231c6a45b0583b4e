"""Attention in plain NumPy and float64, one formula a line: the judge of the package's tests."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np


def attention(q, k, v=None, *, scale=None, causal=False, query_offset=0, window=(None, None), key_lengths=None, mask=None, bias=None,
              alibi_slopes=None, softcap=0.0, sinks=None):
    """Every stage of a dense call, (batch, heads, queries, keys) each, and its output."""
    q, k = np.asarray(q, np.float64), np.asarray(k, np.float64)
    batch, heads, queries, d = q.shape
    keys, group = k.shape[2], heads // k.shape[1]
    scores = np.einsum("bhid,bhjd->bhij", q, np.repeat(k, group, axis=1)) * (d**-0.5 if scale is None else scale)
    capped = softcap * np.tanh(scores / softcap) if softcap else scores

    if isinstance(query_offset, str):
        exist = np.full(batch, keys) if key_lengths is None else np.asarray(key_lengths)
        query_offset = {"top_left": 0, "bottom_right": exist - queries}[query_offset]
    position = np.arange(queries)[None, :, None] + np.broadcast_to(query_offset, (batch,))[:, None, None]
    key = np.arange(keys)[None, None, :]
    seen = np.ones((batch, queries, keys), bool)
    if causal:
        seen &= key <= position
    if window[0] is not None:
        seen &= key >= position - window[0]
    if window[1] is not None:
        seen &= key <= position + window[1]
    if key_lengths is not None:
        seen &= key < np.asarray(key_lengths)[:, None, None]
    seen = seen[:, None]
    if mask is not None:
        seen = seen & np.asarray(mask)
    biased = capped
    if bias is not None:
        biased = biased + np.asarray(bias, np.float64)
    if alibi_slopes is not None:
        biased = biased - np.asarray(alibi_slopes)[None, :, None, None] * np.abs(position - key)[:, None]
    biased = np.where(seen, biased, -np.inf)

    logits = biased
    if sinks is not None:
        logits = np.concatenate([biased, np.broadcast_to(np.asarray(sinks)[None, :, None, None], (*biased.shape[:3], 1))], axis=-1)
    largest = logits.max(axis=-1, keepdims=True, initial=-np.inf)
    exponentials = np.exp(logits - np.where(np.isinf(largest), 0, largest))
    total = exponentials.sum(axis=-1, keepdims=True)
    weights = np.divide(exponentials, total, out=np.zeros_like(exponentials), where=total > 0)[..., :keys]
    output = None if v is None else np.einsum("bhij,bhjd->bhid", weights, np.repeat(np.asarray(v, np.float64), group, axis=1))
    return SimpleNamespace(scores=scores, capped=capped, biased=biased, weights=weights, output=output)


def random_options(rng, batch, heads, queries, keys):
    """Some of the options that attend.attention() takes, drawn together."""
    options = {}

    def sometimes(name, make, chance=0.35):
        if rng.random() < chance:
            options[name] = make()

    sometimes("scale", lambda: float(rng.uniform(0.05, 0.5)))
    sometimes("causal", lambda: True)
    sometimes("query_offset", lambda: ["bottom_right", int(rng.integers(0, 5)), list(map(int, rng.integers(0, 5, batch)))][rng.integers(3)])
    sometimes("window", lambda: [(2, 3), (None, 4), (5, None), (0, 0)][rng.integers(4)])
    sometimes("key_lengths", lambda: list(map(int, rng.integers(0, keys + 1, batch))))
    sometimes("mask", lambda: rng.random([(queries, keys), (batch, 1, queries, keys), (heads, 1, keys)][rng.integers(3)]) < 0.8)
    sometimes("bias", lambda: rng.normal(size=[(queries, keys), (batch, heads, queries, keys), (1, keys)][rng.integers(3)]).astype(np.float32))
    sometimes("alibi_slopes", lambda: rng.uniform(0, 0.5, heads))
    sometimes("softcap", lambda: float(rng.uniform(1, 20)))
    sometimes("sinks", lambda: rng.normal(size=heads))
    return options


def random_heads(rng, dtype=np.float32, batch=None, queries=None, keys=None, d=None):
    """q, k, v of random sizes, key heads shared by query heads in groups."""
    batch = batch or int(rng.integers(1, 4))
    key_heads, group = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    queries, keys = queries or int(rng.integers(1, 40)), keys or int(rng.integers(1, 70))
    d, dv = d or int(rng.choice([1, 8, 17, 32, 64])), int(rng.choice([1, 8, 24, 64]))
    shapes = (batch, key_heads * group, queries, d), (batch, key_heads, keys, d), (batch, key_heads, keys, dv)
    return [rng.normal(size=shape).astype(dtype) for shape in shapes]
