"""attend.MultiheadAttention with the parameters of nn.MultiheadAttention, against it."""

import itertools

import numpy as np
import pytest
import torch

import attend

B, LQ, LK, E, H = 2, 5, 7, 12, 3


def pair(**made):
    torch.manual_seed(3)
    theirs = torch.nn.MultiheadAttention(E, H, **made).double().eval()
    for parameter in theirs.parameters():
        torch.nn.init.normal_(parameter, std=0.5)
    return theirs, attend.MultiheadAttention.from_torch(theirs)


def rows(batched, batch_first, length, size, seed):
    x = torch.randn(B, length, size, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    if not batched:
        return x[0]
    return x if batch_first else x.transpose(0, 1)


def compare(got, expected, bound=1e-11):
    for ours, theirs in zip(got, expected, strict=True):
        if theirs is None:
            assert ours is None
        else:
            np.testing.assert_allclose(ours, theirs.detach().numpy(), atol=bound, rtol=bound)


MADE = [{}, {"bias": False}, {"add_bias_kv": True}, {"add_zero_attn": True}, {"add_bias_kv": True, "add_zero_attn": True},
        {"kdim": 8, "vdim": 10}, {"kdim": 8, "vdim": 10, "add_bias_kv": True, "bias": False}]


@pytest.mark.parametrize("batched, batch_first, averaged", list(itertools.product([True, False], repeat=3)))
@pytest.mark.parametrize("made", MADE, ids=str)
def test_output_and_weights(made, batched, batch_first, averaged):
    theirs, ours = pair(batch_first=batch_first, **made)
    q = rows(batched, batch_first, LQ, E, 1)
    k, v = rows(batched, batch_first, LK, made.get("kdim", E), 2), rows(batched, batch_first, LK, made.get("vdim", E), 3)
    compare(ours(q, k, v, average_attn_weights=averaged), theirs(q, k, v, average_attn_weights=averaged))
    compare(ours(q, k, v, need_weights=False), theirs(q, k, v, need_weights=False))


@pytest.mark.parametrize("made", MADE[:5], ids=str)
@pytest.mark.parametrize("kind", ["mask", "mask a head", "key mask", "both", "bias", "causal"])
def test_masks_of_the_opposite_polarity(kind, made):
    theirs, ours = pair(batch_first=True, **made)
    q = rows(True, True, LQ, E, 1)
    k = q if kind == "causal" else rows(True, True, LK, E, 2)
    draw = np.random.default_rng(4)
    hidden = draw.random((LQ, LK)) < 0.4
    hidden[:, 0] = False  # every query has a key: without one theirs is NaN and ours 0
    padded = np.arange(LK) >= np.array([[4], [LK]])
    if kind == "mask":
        given, mine = {"attn_mask": torch.from_numpy(hidden)}, {"mask": ~hidden}
    elif kind == "mask a head":
        of_heads = draw.random((B, H, LQ, LK)) < 0.4
        of_heads[..., 0] = False
        given, mine = {"attn_mask": torch.from_numpy(of_heads.reshape(B * H, LQ, LK))}, {"mask": ~of_heads}
    elif kind == "key mask":
        given, mine = {"key_padding_mask": torch.from_numpy(padded)}, {"key_mask": ~padded}
    elif kind == "both":
        given = {"attn_mask": torch.from_numpy(hidden), "key_padding_mask": torch.from_numpy(padded)}
        mine = {"mask": ~hidden, "key_mask": ~padded}
    elif kind == "bias":
        bias = draw.standard_normal((LQ, LK))
        given, mine = {"attn_mask": torch.from_numpy(bias)}, {"bias": bias}
    else:
        given = {"attn_mask": torch.ones(LQ, LQ, dtype=torch.bool).triu(1)}
        mine = {"causal": True}
    compare(ours(q, k, k, average_attn_weights=False, **mine), theirs(q, k, k, average_attn_weights=False, **given))


def test_their_names_for_masks_are_refused():
    _, ours = pair(batch_first=True)
    q = rows(True, True, LQ, E, 1)
    with pytest.raises(TypeError, match="attn_mask means True = masked out"):
        ours(q, attn_mask=np.zeros((LQ, LQ), bool))
    with pytest.raises(TypeError, match="key_padding_mask means True = masked out"):
        ours(q, key_padding_mask=np.zeros((B, LQ), bool))


def test_f32_and_self_attention():
    torch.manual_seed(3)
    theirs = torch.nn.MultiheadAttention(64, 4, batch_first=True).eval()
    ours = attend.MultiheadAttention.from_torch(theirs)
    x = torch.randn(2, 50, 64)
    compare(ours(x, average_attn_weights=False), theirs(x, x, x, average_attn_weights=False), bound=2e-5)
    _, summary = ours.summarize(x, top_k=3, received=True, entropy=True)
    weights = theirs(x, x, x, average_attn_weights=False)[1]
    np.testing.assert_allclose(summary.received, weights.sum(-2).detach(), atol=1e-5)
    np.testing.assert_allclose(summary.top_weights, weights.topk(3).values.detach(), atol=1e-6)
    np.testing.assert_allclose(summary.entropy, torch.special.entr(weights).sum(-1).detach(), atol=1e-5)
