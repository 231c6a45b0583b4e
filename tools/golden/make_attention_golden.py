#!/usr/bin/env python3
"""Writes tests/golden/attention/*.txt: what PyTorch itself answers, in float64, to small attention problems.

Inputs come from Python's own random.Random, seeded with the name of the case, so they are the same everywhere; the
answers and their gradients come from torch. The README beside this file says how to run it and describes the format.
"""

import math
import pathlib
import random

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "attention"
INF = math.inf


class Case:
    """A named problem: its numbers and tensors, in the order in which they are written."""

    def __init__(self, name):
        self.name = name
        self.random = random.Random(name)
        self.entries = []

    def draw(self, *shape, size=1.7):
        """Uniform in [-size, size]; 1.7 makes the deviation about 1."""
        values = [self.random.uniform(-size, size) for _ in range(math.prod(shape))]
        return torch.tensor(values, dtype=torch.float64).reshape(shape)

    def flags(self, *shape, share=0.6):
        values = [self.random.random() < share for _ in range(math.prod(shape))]
        return torch.tensor(values, dtype=torch.bool).reshape(shape)

    def number(self, name, value):
        self.entries.append(f"number {name} {value!r}")

    def tensor(self, name, value):
        kind = "bool" if value.dtype == torch.bool else "f64"
        head = " ".join(["tensor", name, kind, str(value.dim()), *(str(size) for size in value.shape)])
        rows = value.detach().reshape(-1, value.shape[-1]).tolist()
        lines = [" ".join(repr(number) if kind == "f64" else str(int(number)) for number in row) for row in rows]
        self.entries.append("\n".join([head, *lines]))

    def gradients(self, output, **leaves):
        """Of sum(output * d_out) for a random d_out."""
        d_out = self.draw(*output.shape)
        self.tensor("d_out", d_out)
        for name, gradient in zip(leaves, torch.autograd.grad(output, list(leaves.values()), d_out)):
            assert gradient.isfinite().all(), f"{self.name}: torch's own d_{name} is not finite"
            self.tensor(f"d_{name}", gradient)

    def text(self):
        return "\n".join([f"case {self.name}", *self.entries, "end", ""])


# scaled_dot_product_attention ---------------------------------------------------------------------------------------


def sdpa(name, q=(1, 2, 4, 3), keys=None, dv=None, key_heads=None, mask=None, causal=False, scale=None):
    """q is (B, Hq, Lq, D); what is not said about k and v is as in q. mask: from a Case to an attn_mask."""
    case = Case(name)
    batch, heads, queries, d = q
    keys = queries if keys is None else keys
    key_heads = heads if key_heads is None else key_heads
    query = case.draw(*q).requires_grad_()
    key = case.draw(batch, key_heads, keys, d).requires_grad_()
    value = case.draw(batch, key_heads, keys, d if dv is None else dv).requires_grad_()
    leaves = {"q": query, "k": key, "v": value}
    for leaf in leaves:
        case.tensor(leaf, leaves[leaf])
    attn_mask = mask(case) if mask else None
    if attn_mask is not None:
        case.tensor("attn_mask", attn_mask)
        if attn_mask.dtype == torch.float64:
            leaves["attn_mask"] = attn_mask.requires_grad_()
    if causal:
        case.number("is_causal", 1)
    if scale is not None:
        case.number("scale", scale)

    def attend(values):
        return scaled_dot_product_attention(query, key, values, attn_mask=attn_mask, is_causal=causal, scale=scale,
                                            enable_gqa=key_heads != heads)

    with sdpa_kernel(SDPBackend.MATH):
        out = attend(value)
        case.tensor("out", out)
        # With the unit vectors as values the output is the weights.
        case.tensor("weights", attend(torch.eye(keys, dtype=torch.float64).expand(batch, key_heads, keys, keys)))
        case.tensor("lse", row_log_sum_exp(query, key, attn_mask, causal, scale))
        case.gradients(out, **leaves)
    return case


def row_log_sum_exp(query, key, attn_mask, causal, scale):
    """torch.logsumexp of the masked scores, as the documentation of scaled_dot_product_attention builds them."""
    key = key.repeat_interleave(query.shape[1] // key.shape[1], 1)
    scores = query @ key.transpose(-2, -1) * (1 / math.sqrt(query.shape[-1]) if scale is None else scale)
    if causal:
        scores = scores.masked_fill(~torch.ones(scores.shape[-2:], dtype=torch.bool).tril(), -INF)
    if attn_mask is not None:
        taken = attn_mask.dtype == torch.bool
        scores = scores.masked_fill(~attn_mask, -INF) if taken else scores + attn_mask
    return torch.logsumexp(scores, -1)


def with_minus_infinity(*shape):
    return lambda case: case.draw(*shape).masked_fill(~case.flags(*shape, share=0.7), -INF)


def first_row_masked(*shape):
    """Boolean, and nobody takes part in the first row of each matrix."""
    def make(case):
        mask = case.flags(*shape, share=0.7)
        mask[..., 0, :] = False
        return mask
    return make


def first_row_minus_infinity(*shape):
    def make(case):
        mask = case.draw(*shape)
        mask[..., 0, :] = -INF
        return mask
    return make


def sdpa_cases():
    shape = (2, 2, 4, 3)
    return [
        sdpa("full", (2, 3, 5, 4)),
        sdpa("one_query_one_key", (1, 1, 1, 1)),
        sdpa("cross_more_keys", (1, 2, 3, 8), keys=9),
        sdpa("cross_more_queries", (1, 2, 9, 8), keys=3),
        sdpa("wider_values", (1, 2, 4, 3), dv=7),
        sdpa("narrower_values", (1, 2, 4, 8), dv=1),
        sdpa("scale_one", scale=1.0),
        sdpa("scale_small", (1, 2, 4, 8), scale=0.0625),
        sdpa("scale_negative", scale=-0.5),
        sdpa("scale_zero", scale=0.0),
        sdpa("causal", (2, 2, 6, 4), causal=True),
        sdpa("causal_more_keys", (1, 2, 3, 4), keys=7, causal=True),
        sdpa("causal_more_queries", (1, 2, 7, 4), keys=3, causal=True),
        sdpa("causal_scale", causal=True, scale=0.3),
        sdpa("bool_mask_full", shape, mask=lambda c: c.flags(2, 2, 4, 4)),
        sdpa("bool_mask_matrix", shape, keys=5, mask=lambda c: c.flags(4, 5)),
        sdpa("bool_mask_keys_of_each_sequence", shape, mask=lambda c: c.flags(2, 1, 1, 4)),
        sdpa("bool_mask_of_each_head", shape, mask=lambda c: c.flags(1, 2, 4, 4)),
        sdpa("bool_mask_queries", shape, mask=lambda c: c.flags(4, 1)),
        sdpa("bool_mask_rows_without_keys", shape, mask=first_row_masked(2, 2, 4, 4)),
        sdpa("bool_mask_no_keys_at_all", (1, 1, 2, 3), mask=lambda c: c.flags(2, 2, share=0)),
        sdpa("float_mask_full", shape, mask=lambda c: c.draw(2, 2, 4, 4)),
        sdpa("float_mask_matrix", shape, keys=5, mask=lambda c: c.draw(4, 5)),
        sdpa("float_mask_keys_of_each_sequence", shape, mask=lambda c: c.draw(2, 1, 1, 4)),
        sdpa("float_mask_of_each_head", shape, mask=lambda c: c.draw(2, 4, 4)),
        sdpa("float_mask_minus_infinity", shape, mask=with_minus_infinity(2, 2, 4, 4)),
        sdpa("float_mask_minus_infinity_keys", shape, mask=with_minus_infinity(1, 4)),
        sdpa("float_mask_rows_without_keys", shape, mask=first_row_minus_infinity(4, 4)),
        sdpa("grouped", (1, 4, 5, 4), key_heads=2),
        sdpa("grouped_one_key_head", (2, 3, 4, 4), key_heads=1, dv=2),
        sdpa("grouped_causal", (1, 4, 4, 4), keys=6, key_heads=2, causal=True),
        sdpa("grouped_float_mask", (1, 4, 4, 4), key_heads=2, mask=with_minus_infinity(4, 4, 4)),
    ]


# nn.MultiheadAttention ----------------------------------------------------------------------------------------------


def mha(name, embed=4, heads=2, batch=2, queries=4, keys=None, kdim=None, vdim=None, bias=True, padding=None, mask=None,
        need_weights=True):
    """Self-attention without keys; else cross-attention, with values of their own where vdim differs from kdim.

    padding and mask: from a Case to a key_padding_mask and an attn_mask, in torch's polarity here (true = masked).
    """
    case = Case(name)
    module = torch.nn.MultiheadAttention(embed, heads, bias=bias, kdim=kdim, vdim=vdim, batch_first=True,
                                         dtype=torch.float64)
    parameters = dict(module.named_parameters())
    leaves = {"x": case.draw(batch, queries, embed)}
    if keys is not None:
        kdim, vdim = kdim or embed, vdim or embed
        leaves["key"] = case.draw(batch, keys, kdim)
        if vdim != kdim:
            leaves["value"] = case.draw(batch, keys, vdim)
    with torch.no_grad():
        for parameter in parameters.values():
            parameter.copy_(case.draw(*parameter.shape, size=1))
    leaves |= parameters
    case.number("num_heads", heads)
    for leaf in leaves:
        case.tensor(leaf, leaves[leaf].requires_grad_())
    key_padding_mask = padding(case) if padding else None
    if key_padding_mask is not None:
        case.tensor("key_padding_mask", key_padding_mask)
    attn_mask = mask(case) if mask else None
    if attn_mask is not None:
        case.tensor("attn_mask", attn_mask)

    key = leaves.get("key", leaves["x"])
    out, weights = module(leaves["x"], key, leaves.get("value", key), key_padding_mask=key_padding_mask,
                          attn_mask=attn_mask, need_weights=need_weights, average_attn_weights=False)
    case.tensor("out", out)
    if need_weights:
        case.tensor("weights", weights)
    case.gradients(out, **leaves)
    return case


def last_keys_padded(*counts, keys):
    return lambda case: torch.tensor([[place >= keys - count for place in range(keys)] for count in counts])


def strictly_future(length):
    return lambda case: torch.ones(length, length, dtype=torch.bool).triu(1)


def mha_cases():
    return [
        mha("self_one_head", embed=3, heads=1, batch=1),
        mha("self_two_heads", embed=6, heads=2, queries=5),
        mha("self_eight_heads", embed=8, heads=8, batch=1, queries=3),
        mha("self_without_biases", embed=4, heads=2, bias=False),
        mha("self_padded", embed=4, heads=2, queries=5, padding=last_keys_padded(0, 3, keys=5)),
        mha("self_causal", embed=4, heads=2, batch=1, queries=5, mask=strictly_future(5)),
        mha("self_float_mask", embed=4, heads=2, queries=4, mask=lambda c: c.draw(4, 4)),
        mha("self_mask_of_each_head", embed=4, heads=2, queries=4,
            mask=lambda c: c.flags(4, 4, 4, share=0.3) & ~torch.eye(4, dtype=torch.bool)),
        # With need_weights torch answers NaN for a sequence that is all padding, without them 0.
        mha("self_all_padded", embed=4, heads=2, queries=3, padding=last_keys_padded(3, 0, keys=3), need_weights=False),
        mha("cross_same_size", embed=4, heads=2, queries=3, keys=6),
        mha("cross_narrower_context", embed=6, heads=3, queries=4, keys=5, kdim=2, vdim=2),
        mha("cross_padded", embed=4, heads=2, queries=3, keys=6, kdim=5, vdim=5,
            padding=last_keys_padded(1, 4, keys=6)),
        mha("cross_values_of_their_own", embed=4, heads=2, queries=3, keys=5, kdim=3, vdim=7),
        mha("cross_without_biases", embed=4, heads=4, batch=1, queries=2, keys=3, kdim=3, vdim=3, bias=False),
    ]


# softmax ------------------------------------------------------------------------------------------------------------


def softmax(name, make):
    case = Case(name)
    x = make(case).requires_grad_()
    case.tensor("x", x)
    out = torch.softmax(x, -1)
    case.tensor("out", out)
    case.tensor("lse", torch.logsumexp(x, -1, keepdim=True))
    case.gradients(out, x=x)
    return case


def softmax_cases():
    return [
        softmax("vector", lambda c: c.draw(7)),
        softmax("rank_4", lambda c: c.draw(2, 2, 3, 5)),
        softmax("one_column", lambda c: c.draw(3, 1)),
        softmax("masked_places", lambda c: with_minus_infinity(4, 6)(c).index_fill(1, torch.tensor([0]), 0.5)),
        # Multiples of 1/4, which float32 holds exactly however large.
        softmax("large", lambda c: 1e4 + (c.draw(3, 8) * 8).round() / 4),
        softmax("spread", lambda c: (c.draw(3, 8) * 1e4).round()),
    ]


def write(name, cases):
    version = torch.__version__.split("+")[0]
    head = f"# PyTorch {version}, float64, by tools/golden/make_attention_golden.py\ncases {len(cases)}\n"
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / name).write_text("\n".join([head, *(case.text() for case in cases)]), encoding="ascii")
    print(f"{name}: {len(cases)} cases")


def main():
    torch.set_num_threads(1)  # one order of additions
    write("scaled_dot_product_attention.txt", sdpa_cases())
    write("multihead_attention.txt", mha_cases())
    write("softmax.txt", softmax_cases())


if __name__ == "__main__":
    main()
