"""Random calls of Attention: every mixture of its options, judged by the onnx package's own reference run in float64."""

from __future__ import annotations

from typing import Any

import adapter
import ml_dtypes
import numpy
import pytest
from onnx import TensorProto
from onnx.reference.ops.op_attention import _compute_attention

CALLS = 100  # of each type; 0.5 s in all
TOLERANCES = {"float64": 1e-12, "float32": 5e-6, "float16": 1e-3, "bfloat16": 1e-2}  # of 1 + |x|


class Call:
    """Inputs and attributes of one node."""

    def __init__(self, dice: numpy.random.Generator, dtype: Any) -> None:
        self.dice, self.dtype = dice, dtype
        self.batch, self.kv_heads, group = (int(n) for n in dice.integers(1, 4, 3))
        self.heads = self.kv_heads * group
        self.queries, keys = int(dice.choice([1, 2, 5, 17, 40])), int(dice.choice([1, 2, 9, 33, 70]))
        d, dv = int(dice.choice([1, 8, 24, 64])), int(dice.choice([1, 3, 8, 40]))
        self.q = self.normal(self.batch, self.heads, self.queries, d)
        self.k, self.v = (self.normal(self.batch, self.kv_heads, keys, size) for size in (d, dv))
        self.past_key = self.past_value = self.lengths = self.mask = None
        cache = dice.choice(["none", "past", "lengths"])
        if cache == "past":
            past = int(dice.integers(1, 12))
            self.past_key, self.past_value = (self.normal(self.batch, self.kv_heads, past, size) for size in (d, dv))
            keys += past
        elif cache == "lengths":
            self.lengths = dice.integers(0, keys + 1, self.batch)
        if self.sometimes():
            self.mask = self.some_mask(int(dice.integers(1, keys + 1)) if self.sometimes() else keys)
        self.attributes = self.some_attributes()

    def sometimes(self) -> bool:
        return bool(self.dice.random() < 0.4)

    def normal(self, *shape: int) -> Any:
        return self.dice.standard_normal(shape).astype(self.dtype)

    def some_mask(self, keys: int) -> Any:
        """Of one to four axes, boolean or added; an axis of size 1 serves all."""
        sizes = [1 if self.sometimes() else size for size in (self.batch, self.heads, self.queries)]
        shape = [*sizes, keys][self.dice.integers(4) :]
        out = self.dice.random(shape) < 0.3
        return ~out if self.sometimes() else numpy.where(out, self.dtype.type(-numpy.inf), self.normal(*shape))

    def some_attributes(self) -> dict[str, Any]:
        choices = {
            "is_causal": [1],
            "softcap": [0.5, 2.0, 30.0],
            "scale": [0.01, 0.3, 1.0],
            "left_window_size": [0, 1, 5],
            "right_window_size": [0, 1, 5],
            "softmax_precision": [TensorProto.FLOAT, TensorProto.DOUBLE],
        }
        chosen = {name: self.dice.choice(values).item() for name, values in choices.items() if self.sometimes()}
        return {**chosen, "qk_matmul_output_mode": int(self.dice.integers(4))}

    def outputs(self) -> list[Any]:
        """As attend has them; sometimes from arrays of three axes."""
        arguments = [self.q, self.k, self.v, self.mask, self.past_key, self.past_value, self.lengths]
        attributes = dict(self.attributes)
        if flat := self.sometimes():
            arguments[:3] = [x.transpose(0, 2, 1, 3).reshape(self.batch, x.shape[2], -1) for x in arguments[:3]]
            attributes |= {"q_num_heads": self.heads, "kv_num_heads": self.kv_heads}
        y, *others = adapter.attention(arguments, attributes, 4)
        return [y.reshape(self.batch, self.queries, self.heads, -1).transpose(0, 2, 1, 3) if flat else y, *others]

    def expected(self) -> list[Any]:
        """As the package has them, in float64, where a type for the softmax has nothing to say."""
        mask, attributes = self.mask, {name: value for name, value in self.attributes.items() if name != "softmax_precision"}
        if mask is not None:  # with is_causal the reference takes the mask's axis of queries for theirs
            mask = numpy.broadcast_to(mask, numpy.broadcast_shapes(mask.shape, (self.queries, mask.shape[-1])))
        scores = dict(attributes)
        if scores["qk_matmul_output_mode"] == 0:  # before the cap, by the operator's text; its reference gives it after
            scores["softcap"] = 0.0
        arguments = [wide(x) for x in (self.q, self.k, self.v, mask, self.past_key, self.past_value)]
        *results, _ = _compute_attention(*arguments, self.lengths, **attributes)
        return [*results, _compute_attention(*arguments, self.lengths, **scores)[3]]


def wide(x: Any) -> Any:
    return x if x is None or x.dtype == bool else x.astype(numpy.float64)


@pytest.mark.parametrize("dtype", [numpy.float64, numpy.float32, numpy.float16, ml_dtypes.bfloat16])
def test_random_calls(dtype: Any) -> None:
    dtype = numpy.dtype(dtype)
    for seed in range(CALLS):
        call = Call(numpy.random.default_rng(seed), dtype)
        for place, (output, expected) in enumerate(zip(call.outputs(), call.expected(), strict=True)):
            assert output.dtype == dtype and output.shape == expected.shape
            message = f"output {place} of seed {seed}: {call.attributes}"
            tolerance = TOLERANCES[dtype.name]
            numpy.testing.assert_allclose(wide(output), expected, rtol=tolerance, atol=tolerance, err_msg=message)
