"""What functions return when it is more than one array."""

from __future__ import annotations

from typing import Any, NamedTuple


class RowState(NamedTuple):
    """The maximum of each row of scores and the sum of exp(score - maximum): all that backward and the weights need."""

    max: Any
    sum: Any


class AttentionResult(NamedTuple):
    """The output of a small attention, and its whole matrix of weights."""

    output: Any
    weights: Any


class TopK(NamedTuple):
    """The keys of largest weight of each row, best first, and their weights; key -1 where a row has fewer."""

    keys: Any
    weights: Any


class WeightsSummary(NamedTuple):
    """What the weights of every row say; None for what was not asked for."""

    top_keys: Any
    top_weights: Any
    received: Any
    entropy: Any
    map: Any


class Gradients(NamedTuple):
    """The gradients of attention(); None for those that were not wanted."""

    q: Any
    k: Any
    v: Any
    bias: Any
    alibi_slopes: Any
    sinks: Any


class LayerNormState(NamedTuple):
    """The mean of each row and 1 / sqrt(variance + epsilon)."""

    mean: Any
    inverse_deviation: Any


class LinearGradients(NamedTuple):
    """The gradients of linear()."""

    x: Any
    w: Any
    bias: Any


class NormGradients(NamedTuple):
    """The gradients of layer_norm() or rms_norm(), which has no beta; None for factors that are not there."""

    x: Any
    gamma: Any
    beta: Any


class SwigluGradients(NamedTuple):
    """The gradients of swiglu()."""

    gate: Any
    up: Any


class CrossEntropy(NamedTuple):
    """How surprising the right answers were, in how many rows, how many of them were predicted, and the gradient if it was asked for."""

    loss: float
    counted: int
    right: int
    d_logits: Any


class MultiHeadGradients(NamedTuple):
    """The gradients of multi_head_attention(); None for what is not there. In self-attention x gets those of both its roles."""

    x: Any
    context: Any
    wq: Any
    wk: Any
    wv: Any
    wo: Any
    bq: Any
    bk: Any
    bv: Any
    bo: Any


class KernelChoice(NamedTuple):
    """The kernel that a call runs on, and why."""

    name: str
    why: str
