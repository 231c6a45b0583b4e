"""scaled_dot_product_attention beside PyTorch's: 500 random calls over its argument space, gradients, dropout."""

import math
from collections import Counter

import pytest
import sdpa_calls
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import scaled_dot_product_attention as theirs

import attend
import attend.torch

CALLS = 500


def attempt(function, tensors, keywords):
    try:
        return function(*tensors, **keywords)
    except Exception as refused:
        return refused


def by_the_formula(tensors, keywords):
    """PyTorch's plain path. The fused one does not notice, for one, that there are more values than keys."""
    with sdpa_kernel(SDPBackend.MATH):
        return attempt(theirs, tensors, keywords)


def doubled(tensors, keywords):
    mask = keywords.get("attn_mask")
    if mask is not None and mask.is_floating_point():
        keywords = {**keywords, "attn_mask": mask.double()}
    return [x.double() for x in tensors], keywords


def rounding(tensors, keywords, truth):
    """What one rounding may do: that of the scores moves a weight by their ulp, that of the result by its own."""
    q, k, v = tensors
    if keywords.get("enable_gqa"):
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3)
    scale = keywords.get("scale", 1 / math.sqrt(q.shape[-1]))
    scores = (scale * q.double() @ k.double().transpose(-1, -2)).abs().max().item()
    computed = torch.float64 if q.dtype == torch.float64 else torch.float32
    stored = 0 if q.dtype == computed else torch.finfo(q.dtype).eps * truth.abs().max().item()
    return torch.finfo(computed).eps * max(1.0, scores) * v.abs().max().item() + stored


def random_call(seed):
    tensors, keywords = sdpa_calls.call(seed)
    return sdpa_calls.spoil(seed, tensors, keywords)[:2] if seed % 3 == 2 else (tensors, keywords)


@pytest.mark.parametrize("package", [attend, attend.torch], ids=["attend", "attend.torch"])
def test_500_random_calls(package, capsys):
    ours = package.scaled_dot_product_attention
    counts, squares, differently = Counter(), {}, []
    for seed in range(CALLS):
        tensors, keywords = random_call(seed)
        got, plain = attempt(ours, tensors, keywords), by_the_formula(tensors, keywords)
        refused = isinstance(got, Exception), isinstance(plain, Exception)
        if refused[0] != refused[1]:
            differently.append((seed, got if refused[0] else plain))
            continue
        if refused[0]:
            assert isinstance(got, (ValueError, TypeError)), (seed, repr(got))
            counts["refused by both"] += 1
            continue
        assert got.shape == plain.shape and got.dtype == plain.dtype, seed
        counts["answered by both"] += 1
        if got.numel() == 0:
            continue
        truth = by_the_formula(*doubled(tensors, keywords))
        error, their_error = ((x.double() - truth).abs().max().item() for x in (got, theirs(*tensors, **keywords)))
        if math.isnan(their_error):  # PyTorch's fused path with a negative scale and causal
            their_error = (plain.double() - truth).abs().max().item()
            counts["of these NaN in PyTorch's fused path"] += 1
        floor = rounding(tensors, keywords, truth)
        assert error <= 1.5 * their_error + floor, f"call {seed}: wrong by {error:.3g}, PyTorch by {their_error:.3g}"
        if got.dtype != torch.float64:  # where PyTorch judges itself
            pair = squares.setdefault(str(got.dtype).removeprefix("torch."), [0.0, 0.0, 0])
            unit = torch.finfo(got.dtype).eps * max(truth.abs().max().item(), 1e-3)  # an ulp
            pair[0] += (error / unit) ** 2
            pair[1] += (their_error / unit) ** 2
            pair[2] += 1
            near, reverse = error <= 1.5 * their_error + unit, their_error <= 1.5 * error + unit
            counts["of these f32 or 16 bits, judged by a float64 run"] += 1
            counts["of these attend within 1.5x PyTorch's error and an ulp of the largest number"] += near
            counts["of these PyTorch within 1.5x attend's error and an ulp of the largest number"] += reverse
    with capsys.disabled():
        print(f"\n{CALLS} random calls of {package.__name__}.scaled_dot_product_attention beside PyTorch's:")
        for what, count in counts.items():
            print(f"  {count:4} {what}")
        print(f"  {len(differently):4} refused by one of the two")
        for dtype, (a, b, count) in squares.items():
            print(f"  {dtype}: errors over {count} calls, root mean square of the largest: {math.sqrt(a / count):.2f} ulp, "
                  f"PyTorch {math.sqrt(b / count):.2f} ulp, ratio {math.sqrt(a / b):.2f}")
    assert not differently
    assert all(math.sqrt(a / b) <= 1.5 for a, b, _ in squares.values())


@pytest.mark.parametrize("seed", range(0, 60, 3))
def test_gradients_of_random_calls(seed):
    tensors, keywords = sdpa_calls.call(seed)
    tensors, keywords = doubled(tensors, keywords)
    mask = keywords.get("attn_mask")
    if mask is not None and mask.is_floating_point():
        tensors.append(mask.clone())
    leaves = [x.requires_grad_() for x in tensors]

    def gradients(function):
        given = {**keywords, "attn_mask": leaves[3]} if len(leaves) == 4 else keywords
        out = function(*leaves[:3], **given)
        return torch.autograd.grad(out, leaves, torch.randn(out.shape, dtype=out.dtype, generator=torch.Generator().manual_seed(1)))

    with sdpa_kernel(SDPBackend.MATH):
        expected = gradients(theirs)
    for ours, wanted in zip(gradients(attend.torch.scaled_dot_product_attention), expected, strict=True):
        torch.testing.assert_close(ours, torch.nan_to_num(wanted), atol=1e-11, rtol=1e-9)


def test_dropout_follows_the_generator():
    q = torch.randn(1, 2, 50, 8)

    def dropped(seed):
        torch.manual_seed(seed)
        return attend.torch.scaled_dot_product_attention(q, q, torch.ones(1, 2, 50, 4), dropout_p=0.25)

    assert torch.equal(dropped(1), dropped(1)) and not torch.equal(dropped(1), dropped(2))
    assert dropped(3).mean().item() == pytest.approx(1, abs=0.1)
