"""Multi-head attention with the weights of a torch.nn.MultiheadAttention."""

from __future__ import annotations

from typing import Any, Mapping

import numpy

from . import _core
from ._numbers import whole
from ._results import RowState, WeightsSummary
from ._typing import Array


class MultiheadAttention:
    """torch.nn.MultiheadAttention without PyTorch: its parameters, its results, and its weights without giving up the fused kernel.

    A mask says True = takes part, as everywhere in attend; nn.MultiheadAttention says the opposite.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        batch_first: bool = True,
        add_zero_attn: bool = False,
        dtype: Any = "float32",
    ) -> None:
        embed_dim = whole("MultiheadAttention", "embed_dim", embed_dim)
        num_heads = whole("MultiheadAttention", "num_heads", num_heads)
        if num_heads < 1 or embed_dim < 1 or embed_dim % num_heads != 0:
            raise ValueError(f"MultiheadAttention: embed_dim is {embed_dim}, expected a multiple of num_heads, which is {num_heads}")
        if numpy.dtype(dtype) not in (numpy.float32, numpy.float64):
            raise TypeError(f"MultiheadAttention: dtype is {dtype}, expected float32 or float64")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.batch_first = batch_first
        self.add_zero_attn = add_zero_attn
        self.dtype = numpy.dtype(dtype)
        self._parameters: dict[str, Any] = {}

    def __repr__(self) -> str:
        return f"<attend.MultiheadAttention, embed_dim {self.embed_dim}, {self.num_heads} heads>"

    # -- parameters --------------------------------------------------------------------------------------------------------------

    def load_state_dict(self, state: Mapping[str, Any]) -> "MultiheadAttention":
        """Takes the parameters of an nn.MultiheadAttention: arrays or tensors by their names there. Returns self."""
        e = self.embed_dim
        given = {name: _as_numpy(tensor, self.dtype) for name, tensor in state.items()}
        fused = "in_proj_weight" in given
        names = ["in_proj_weight"] if fused else ["q_proj_weight", "k_proj_weight", "v_proj_weight"]
        _require_names(given, [*names, "out_proj.weight"], ["in_proj_bias", "out_proj.bias", "bias_k", "bias_v"])
        if ("bias_k" in given) != ("bias_v" in given):
            raise ValueError("MultiheadAttention: the state has one of bias_k and bias_v, expected both or neither")
        if fused:
            _require_shape("in_proj_weight", given["in_proj_weight"], (3 * e, e))
            weights = numpy.split(given["in_proj_weight"], 3)
        else:
            weights = [given[name] for name in names]
            _require_shape("q_proj_weight", weights[0], (e, e))
            for name, weight in zip(names[1:], weights[1:]):
                _require_shape(name, weight, (e, weight.shape[1] if weight.ndim == 2 else -1))
        _require_shape("out_proj.weight", given["out_proj.weight"], (e, e))
        for name, size in (("in_proj_bias", 3 * e), ("out_proj.bias", e)):
            if name in given:
                _require_shape(name, given[name], (size,))
        biases = numpy.split(given["in_proj_bias"], 3) if "in_proj_bias" in given else [None] * 3
        self._parameters = {
            "weights": [self._packed(weight) for weight in weights],
            "biases": biases,
            # One product for all three when they read the same vectors.
            "fused_weight": self._packed(numpy.concatenate(weights)) if len({w.shape for w in weights}) == 1 else None,
            "fused_bias": given.get("in_proj_bias"),
            "out_weight": self._packed(given["out_proj.weight"]),
            "out_bias": given.get("out_proj.bias"),
        }
        for name in ("bias_k", "bias_v"):
            if name in given:
                _require_shape(name, given[name], (1, 1, e))
                self._parameters[name] = given[name]
        return self

    @classmethod
    def from_torch(cls, module: Any) -> "MultiheadAttention":
        """The same as an nn.MultiheadAttention."""
        dtype = str(module.out_proj.weight.dtype).removeprefix("torch.")
        made = cls(
            module.embed_dim, module.num_heads, batch_first=module.batch_first, add_zero_attn=module.add_zero_attn, dtype=dtype
        )
        return made.load_state_dict(module.state_dict())

    def _packed(self, weight: Any) -> Any:
        # The reference (float64) takes its weights as they are.
        return _core.PackedMatrix(weight.T) if self.dtype == numpy.float32 else weight.T

    # -- calls -------------------------------------------------------------------------------------------------------------------

    def __call__(
        self,
        query: Array,
        key: Array | None = None,
        value: Array | None = None,
        *,
        need_weights: bool = True,
        average_attn_weights: bool = True,
        mask: Array | None = None,
        bias: Array | None = None,
        key_mask: Array | None = None,
        causal: bool = False,
        **others: Any,
    ) -> tuple[Any, Any]:
        """The output and, unless need_weights is False, the weights: (batch, queries, keys), or of each head without averaging.

        key and value default to query. mask and bias broadcast to (batch, heads, queries, keys); key_mask is (batch, keys). Masks:
        True = takes part. The output comes from the fused kernel either way; the weights are made from its row state.
        """
        heads = self._project(query, key, value, mask, bias, key_mask, causal, others)
        output, state = self._attend(heads)
        weights = None
        if need_weights:
            weights = _core.weights(heads.q, heads.k, row_state=state, **heads.options)
            if average_attn_weights:
                weights = weights.mean(axis=1)
            weights = weights if heads.batched else weights[0]
        return output, weights

    def summarize(
        self,
        query: Array,
        key: Array | None = None,
        value: Array | None = None,
        *,
        top_k: int = 0,
        received: bool = False,
        entropy: bool = False,
        map_shape: tuple[int, int] | None = None,
        map_reduction: Any = "mean",
        mask: Array | None = None,
        bias: Array | None = None,
        key_mask: Array | None = None,
        causal: bool = False,
        **others: Any,
    ) -> tuple[Any, WeightsSummary]:
        """The output and what the weights of every head say, as summarize_weights() reports it, without a matrix of weights."""
        heads = self._project(query, key, value, mask, bias, key_mask, causal, others)
        output, state = self._attend(heads)
        summary = _core.summarize_weights(
            heads.q,
            heads.k,
            top_k=top_k,
            received=received,
            entropy=entropy,
            map_shape=map_shape,
            map_reduction=map_reduction,
            row_state=state,
            **heads.options,
        )
        if not heads.batched:
            summary = WeightsSummary(*(None if part is None else part[0] for part in summary))
        return output, summary

    def _attend(self, heads: "_Heads") -> tuple[Any, RowState]:
        batch, count, queries, d = heads.q.shape
        merged = numpy.empty((batch, queries, count * d), self.dtype)  # heads are written where concatenation puts them
        _, state = _core.attention(heads.q, heads.k, heads.v, return_state=True, out=self._split(merged), **heads.options)
        output = _core.matmul(merged, self._parameters["out_weight"], self._parameters["out_bias"])
        return self._given_order(output, heads.batched), state

    def _given_order(self, array: Any, batched: bool) -> Any:
        if not batched:
            return array[0]
        return array if self.batch_first else array.swapaxes(0, 1)

    def _project(
        self, query: Any, key: Any, value: Any, mask: Any, bias: Any, key_mask: Any, causal: bool, others: dict[str, Any]
    ) -> "_Heads":
        if not self._parameters:
            raise ValueError("MultiheadAttention: it has no parameters yet; call load_state_dict() first")
        _refuse_others(others)
        key = query if key is None else key
        value = key if value is None else value
        same = query is key and key is value
        query = _as_numpy(query, self.dtype)
        batched = query.ndim == 3
        if query.ndim not in (2, 3):
            raise ValueError(f"MultiheadAttention: query has {query.ndim} axes, expected two, or three with a batch")
        q, k, v = (self._rows(name, array, batched) for name, array in (("query", query), ("key", key), ("value", value)))
        p = self._parameters
        if same and p["fused_weight"] is not None:
            q, k, v = numpy.split(_core.matmul(q, p["fused_weight"], p["fused_bias"]), 3, axis=-1)
        else:
            q, k, v = (_core.matmul(x, w, b) for x, w, b in zip((q, k, v), p["weights"], p["biases"]))
        added = 0
        if "bias_k" in p:
            k, v = (numpy.concatenate([x, numpy.broadcast_to(p[n], (len(x), 1, x.shape[2]))], axis=1) for x, n in ((k, "bias_k"), (v, "bias_v")))
            added += 1
        if self.add_zero_attn:
            k, v = (numpy.concatenate([x, numpy.zeros((len(x), 1, x.shape[2]), x.dtype)], axis=1) for x in (k, v))
            added += 1
        options: dict[str, Any] = {"causal": causal}
        keys = k.shape[1] - added
        options["mask"] = _combined(_with_keys(mask, keys, added, True), _with_keys(_key_axis(key_mask), keys, added, True))
        options["bias"] = _with_keys(bias, keys, added, 0)
        if causal and added:  # the added keys are seen by every query
            options["causal"] = False
            triangle = numpy.tri(q.shape[1], keys, dtype=bool)
            options["mask"] = _combined(options["mask"], _with_keys(triangle, keys, added, True))
        return _Heads(self._split(q), self._split(k), self._split(v), options, batched)

    def _rows(self, name: str, array: Any, batched: bool) -> Any:
        array = _as_numpy(array, self.dtype)
        if array.ndim != 2 + batched:
            raise ValueError(f"MultiheadAttention: {name} has {array.ndim} axes and query has {2 + batched}, expected the same number")
        if not batched:
            return array[None]
        return array if self.batch_first else array.swapaxes(0, 1)

    def _split(self, x: Any) -> Any:
        batch, length, _ = x.shape
        return x.reshape(batch, length, self.num_heads, -1).transpose(0, 2, 1, 3)


class _Heads:
    """The projected heads, (batch, heads, length, d), and the options of their attention."""

    def __init__(self, q: Any, k: Any, v: Any, options: dict[str, Any], batched: bool) -> None:
        self.q, self.k, self.v, self.options, self.batched = q, k, v, options, batched


def _as_numpy(array: Any, dtype: Any) -> Any:
    if hasattr(array, "detach"):
        array = array.detach().resolve_conj().resolve_neg().cpu()
        array = array.float() if str(array.dtype) in ("torch.bfloat16", "torch.float16") else array
        array = array.numpy()
    if numpy.iscomplexobj(array):
        raise TypeError("MultiheadAttention: an array holds complex numbers, expected real ones")
    return numpy.asarray(array, dtype)


def _require_names(given: Mapping[str, Any], needed: list[str], optional: list[str]) -> None:
    missing = [name for name in needed if name not in given]
    if missing:
        raise ValueError(f"MultiheadAttention: the state has no {', '.join(missing)}")
    unknown = [name for name in given if name not in needed and name not in optional]
    if unknown:
        raise ValueError(f"MultiheadAttention: the state has {', '.join(unknown)}, which nn.MultiheadAttention does not have")


def _require_shape(name: str, array: Any, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ValueError(f"MultiheadAttention: {name} is {array.shape}, expected {shape}")


def _refuse_others(others: Mapping[str, Any]) -> None:
    """Masks under nn.MultiheadAttention's names would mean the opposite, so they are refused, not guessed."""
    for name, ours in (("attn_mask", "mask"), ("key_padding_mask", "key_mask")):
        if name in others:
            raise TypeError(f"{name} means True = masked out; attend's {ours} means True = takes part: pass {ours}=~{name}")
    if "is_causal" in others:
        raise TypeError("is_causal is called causal here")
    if others:
        raise TypeError(f"MultiheadAttention got an unexpected keyword argument '{next(iter(others))}'")


def _key_axis(key_mask: Any) -> Any:
    if key_mask is None:
        return None
    key_mask = numpy.asarray(key_mask)
    if key_mask.dtype != bool or key_mask.ndim not in (1, 2):
        raise ValueError("MultiheadAttention: key_mask must be boolean, (keys) or (batch, keys)")
    return key_mask.reshape(-1, 1, 1, key_mask.shape[-1])


def _with_keys(array: Any, keys: int, added: int, fill: Any) -> Any:
    """A mask or bias over `keys`, for the added ones as well: they take part, and nothing is added to their scores."""
    if array is None or added == 0:
        return array
    array = numpy.asarray(array)
    if array.shape[-1] == 1:
        array = numpy.broadcast_to(array, (*array.shape[:-1], keys))
    return numpy.concatenate([array, numpy.full((*array.shape[:-1], added), fill, array.dtype)], axis=-1)


def _combined(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    return numpy.logical_and(a, b)
