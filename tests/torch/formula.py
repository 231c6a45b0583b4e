"""The formula of attend.attention() in PyTorch, with every option, for autograd to differentiate."""

import math

import torch


def attention(q, k, v, *, scale=None, causal=False, query_offset=0, window=None, key_lengths=None, mask=None, bias=None,
              alibi_slopes=None, softcap=0.0, sinks=None):
    """Output and weights for (B, H, L, D)."""
    group = q.shape[1] // k.shape[1]
    k, v = k.repeat_interleave(group, dim=1), v.repeat_interleave(group, dim=1)
    scores = q @ k.transpose(-1, -2) * (1 / math.sqrt(q.shape[-1]) if scale is None else scale)
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    if bias is not None:
        scores = scores + bias
    distance = torch.arange(q.shape[2])[:, None] + query_offset - torch.arange(k.shape[2])  # > 0: the key is before the query
    if alibi_slopes is not None:
        scores = scores - alibi_slopes[:, None, None] * distance.abs()
    takes_part = torch.ones_like(scores, dtype=torch.bool)
    if causal:
        takes_part = takes_part & (distance >= 0)
    if window is not None:
        left, right = window
        takes_part = takes_part & (True if left is None else distance <= left) & (True if right is None else distance >= -right)
    if key_lengths is not None:
        takes_part = takes_part & (torch.arange(k.shape[2]) < torch.as_tensor(key_lengths)[:, None, None, None])
    if mask is not None:
        takes_part = takes_part & mask
    scores = scores.masked_fill(~takes_part, -math.inf)
    if sinks is not None:
        scores = torch.cat([scores, sinks[:, None, None].expand(*scores.shape[:3], 1)], dim=-1)
    some = (scores > -math.inf).any(-1, keepdim=True)
    weights = torch.softmax(torch.where(some, scores, 0.0), dim=-1) * some
    weights = weights[..., :-1] if sinks is not None else weights
    return weights @ v, weights
