"""One call as transformers makes it, without a model around it, against the formula."""

import pytest
import torch
import transformers
from formula import attention as formula

import attend.torch

attend.torch.install()


class Module(torch.nn.Module):
    def __init__(self, is_causal=True):
        super().__init__()
        self.is_causal = is_causal
        self.eval()


def inputs(queries, keys):
    torch.manual_seed(1)
    return [torch.randn(2, heads, length, 8, dtype=torch.float64) for heads, length in ((4, queries), (2, keys), (2, keys))]


def forward(module, q, k, v, mask=None, **options):
    out, weights = transformers.AttentionInterface()["attend"](module, q, k, v, mask, **options)
    assert weights is None and out.is_contiguous()
    return out.transpose(1, 2)


BIAS = torch.randn(1, 4, 6, 9, dtype=torch.float64, generator=torch.Generator().manual_seed(2))
MASK = torch.rand(2, 1, 6, 9, generator=torch.Generator().manual_seed(3)) > 0.3


@pytest.mark.parametrize("case, queries, module, given, meaning", [
    ("causal from the first key", 6, Module(), {}, {"causal": True}),
    ("one query is the last", 1, Module(), {}, {}),
    ("not causal", 6, Module(False), {}, {}),
    ("what is passed is stronger than the module", 6, Module(), {"is_causal": False}, {}),
    ("window", 6, Module(), {"sliding_window": 3}, {"causal": True, "window": (2, 2)}),
    ("window of one query", 1, Module(), {"sliding_window": 3}, {"window": (2, 2), "query_offset": 8}),
    ("window to both sides", 6, Module(False), {"sliding_window": 3}, {"window": (2, 2)}),
    ("a mask is all there is", 6, Module(), {"mask": MASK, "sliding_window": 3}, {"mask": MASK}),
    ("additive mask", 6, Module(), {"mask": BIAS}, {"bias": BIAS}),
    ("position bias", 6, Module(), {"position_bias": BIAS}, {"bias": BIAS, "causal": True}),
    ("position bias and mask", 6, Module(), {"position_bias": BIAS, "mask": MASK}, {"bias": BIAS, "mask": MASK}),
    ("position bias and additive mask", 6, Module(), {"position_bias": BIAS, "mask": BIAS}, {"bias": 2 * BIAS}),
    ("softcap and scaling", 6, Module(False), {"softcap": 0.8, "scaling": 0.5}, {"softcap": 0.8, "scale": 0.5}),
    ("sinks", 6, Module(False), {"s_aux": torch.arange(4.0)}, {"sinks": torch.arange(4.0)}),
    ("no dropout outside training", 6, Module(False), {"dropout": 0.5}, {}),
], ids=lambda value: value if isinstance(value, str) else "")
def test_what_a_call_means(case, queries, module, given, meaning):
    q, k, v = inputs(queries, 9)
    torch.testing.assert_close(forward(module, q, k, v, **given), formula(q, k, v, **meaning)[0])


def test_a_learned_scaling_and_sinks_have_gradients():
    q, k, v = inputs(6, 9)
    scaling, sinks = torch.tensor(0.3, dtype=torch.float64, requires_grad=True), torch.randn(4, dtype=torch.float64, requires_grad=True)
    got = torch.autograd.grad(forward(Module(False), q, k, v, scaling=scaling, s_aux=sinks).square().sum(), (scaling, sinks))
    want = torch.autograd.grad(formula(q * scaling, k, v, scale=1.0, sinks=sinks)[0].square().sum(), (scaling, sinks))
    for ours, theirs in zip(got, want):
        torch.testing.assert_close(ours, theirs)


def test_dropout_in_training():
    q, k, v = inputs(6, 9)
    module = Module(False).train()
    torch.manual_seed(3)
    first = forward(module, q, k, v, dropout=0.5)
    torch.manual_seed(3)
    assert torch.equal(first, forward(module, q, k, v, dropout=0.5))
    assert not torch.allclose(first, forward(module, q, k, v))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_16_bits_have_the_gradients_of_attention(dtype):
    leaves = [x.to(dtype).requires_grad_() for x in inputs(6, 9)]
    d_out = torch.randn(2, 4, 6, 8, generator=torch.Generator().manual_seed(4)).to(dtype)
    got = torch.autograd.grad(forward(Module(), *leaves), leaves, d_out)
    want = torch.autograd.grad(attend.torch.attention(*leaves, causal=True), leaves, d_out)
    assert all(torch.equal(ours, theirs) for ours, theirs in zip(got, want))
