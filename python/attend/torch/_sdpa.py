"""The drop-in for torch.nn.functional.scaled_dot_product_attention, with autograd."""

from __future__ import annotations

from typing import Any

import torch

from .._sdpa import in_four_axes
from ._autograd import attention


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """torch.nn.functional.scaled_dot_product_attention on attend: its arguments, its results, its gradients.

    The seed of dropout comes from PyTorch's generator: torch.manual_seed() repeats it, with other weights dropped than by PyTorch.
    """
    return in_four_axes(_attention, query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def _attention(q: Any, k: Any, v: Any, **options: Any) -> Any:
    options.pop("dropout_seed", None)  # attention() takes one from PyTorch's generator
    return attention(q, k, v, **options)
