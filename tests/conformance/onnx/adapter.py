"""ONNX nodes as calls of attend: one function for each operator.

Arrays are reshaped, transposed, joined, padded and converted here; every sum, product and exponential is attend's.
"""

from __future__ import annotations

from typing import Any, Callable

import numpy
import onnx

import attend

# What qk_matmul_output_mode 0, 1, 2 and 3 ask for, by attend's names.
STAGES = ("scores", "capped", "biased", "weights")


def run(node: onnx.NodeProto, inputs: list[Any]) -> list[Any]:
    """The outputs that the node names, from the inputs that it names."""
    given = iter(inputs)
    arguments = [next(given) if name else None for name in node.input]
    attributes = {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}
    outputs = OPERATORS[node.op_type](arguments, attributes, len(node.output))
    return [output for name, output in zip(node.output, outputs, strict=False) if name]


def attention(arguments: list[Any], attributes: dict[str, Any], wanted: int) -> list[Any]:
    """Attention, opset 23 to 25: Y, present_key, present_value, qk_matmul_output."""
    q, k, v, mask, past_key, past_value, lengths = arguments + [None] * (7 - len(arguments))
    stored = q.dtype
    flat = q.ndim == 3
    if flat:
        q = _heads(q, attributes["q_num_heads"])
        k, v = (_heads(x, attributes["kv_num_heads"]) for x in (k, v))
    past = 0
    if past_key is not None:
        past = past_key.shape[2]
        k, v = numpy.concatenate([past_key, k], axis=2), numpy.concatenate([past_value, v], axis=2)
    present_key, present_value = k, v
    if attributes.get("softmax_precision") == onnx.TensorProto.DOUBLE:  # the other types: attend's softmax is in float32 at least
        q, k, v = (x.astype(numpy.float64) for x in (q, k, v))

    window = [attributes.get(f"{side}_window_size", -1) for side in ("left", "right")]
    options = {
        "scale": attributes.get("scale"),
        "softcap": attributes.get("softcap", 0.0),
        "causal": bool(attributes.get("is_causal", 0)),
        "window": [None if size < 0 else size for size in window],
        "query_offset": past if lengths is None else lengths - q.shape[2],
        "key_lengths": lengths,
    }
    if mask is not None:
        options["mask" if mask.dtype == bool else "bias"] = _padded(mask, k.shape[2])
    y, state = attend.attention(q, k, v, return_state=True, **options)
    y = y.astype(stored, copy=False)
    outputs = [_joined(y) if flat else y, present_key, present_value]
    if wanted > len(outputs):
        stage = STAGES[attributes.get("qk_matmul_output_mode", 0)]
        outputs.append(attend.weights(q, k, stage=stage, row_state=state, **options).astype(stored, copy=False))
    return outputs


def _heads(x: Any, heads: int) -> Any:
    """(batch, length, heads * d) seen as (batch, heads, length, d)."""
    return x.reshape(*x.shape[:2], heads, -1).transpose(0, 2, 1, 3)


def _joined(x: Any) -> Any:
    """(batch, heads, length, d) as (batch, length, heads * d)."""
    batch, heads, length, d = x.shape
    return x.transpose(0, 2, 1, 3).reshape(batch, length, heads * d)


def _padded(mask: Any, keys: int) -> Any:
    """Keys that the mask does not reach take no part."""
    missing = keys - mask.shape[-1]
    excluded = False if mask.dtype == bool else -numpy.inf
    return numpy.concatenate([mask, numpy.full((*mask.shape[:-1], missing), excluded, mask.dtype)], axis=-1)


def rotary_embedding(arguments: list[Any], attributes: dict[str, Any], wanted: int) -> list[Any]:
    """RotaryEmbedding, opset 23: tables by row, or by position and looked up here. Their width is rotary_embedding_dim / 2."""
    x, cosines, sines, positions = arguments + [None] * (4 - len(arguments))
    if positions is not None:
        cosines, sines = cosines[positions], sines[positions]
    flat = x.ndim == 3
    pairing = "interleaved" if attributes.get("interleaved", 0) else "halves"
    y = attend.apply_rotary_tables(_heads(x, attributes["num_heads"]) if flat else x, cosines[:, None], sines[:, None], pairing)
    return [_joined(y) if flat else y]


def softmax(arguments: list[Any], attributes: dict[str, Any], wanted: int) -> list[Any]:
    """Softmax, opset 13: over any axis, by a view in which it is the last."""
    axis = attributes.get("axis", -1)
    return [attend.softmax(arguments[0].swapaxes(axis, -1)).swapaxes(axis, -1)]


def layer_normalization(arguments: list[Any], attributes: dict[str, Any], wanted: int) -> list[Any]:
    """LayerNormalization, opset 17: Y, Mean, InvStdDev, over the axes from `axis` on, which are one here."""
    x, gamma, beta = arguments + [None] * (3 - len(arguments))
    axis = attributes.get("axis", -1) % x.ndim
    outer, inner = x.shape[:axis], x.shape[axis:]
    rows = x.reshape(-1, numpy.prod(inner, dtype=int))
    gamma, beta = (None if factor is None else factor.reshape(-1) for factor in (gamma, beta))
    y, state = attend.layer_norm(rows, gamma, beta, epsilon=attributes.get("epsilon", 1e-5), return_state=True)
    return [y.reshape(x.shape), *(moment.reshape(*outer, *(1 for _ in inner)) for moment in state)]


def gelu(arguments: list[Any], attributes: dict[str, Any], wanted: int) -> list[Any]:
    """Gelu, opset 20."""
    return [attend.gelu(arguments[0], approximate=attributes.get("approximate", b"none").decode())]


OPERATORS: dict[str, Callable[[list[Any], dict[str, Any], int], list[Any]]] = {
    "Attention": attention,
    "RotaryEmbedding": rotary_embedding,
    "LayerNormalization": layer_normalization,
    "Softmax": softmax,
    "Gelu": gelu,
}
