"""PyTorch: its fused attention, forward and backward, and the path that returns the weights.

Each function returns a call with everything prepared, so that what is timed is the operator and not Python around it.
"""

import math
from typing import Callable

import numpy as np
import torch
from torch.nn.functional import scaled_dot_product_attention

NAME = f"torch {torch.__version__.split('+')[0]}"

# The fused path or an error, never a slower one in silence; and no graph but where one is asked for.
torch.backends.cuda.enable_flash_sdp(True)  # "cuda" by history: the switches are for all devices
torch.backends.cuda.enable_math_sdp(False)
torch.backends.cuda.enable_mem_efficient_sdp(False)
torch.set_grad_enabled(False)


def set_threads(count: int):
    torch.set_num_threads(count)


def tensor_of(array: np.ndarray) -> torch.Tensor:
    """The same memory; uint16 holds bf16."""
    tensor = torch.from_numpy(array)
    return tensor.view(torch.bfloat16) if array.dtype == np.uint16 else tensor


def sdpa_forward(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> Callable[[], torch.Tensor]:
    q, k, v = (tensor_of(x) for x in (q, k, v))
    return lambda: scaled_dot_product_attention(q, k, v, is_causal=causal)


def sdpa_backward(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool,
                  d_out: np.ndarray) -> Callable[[], tuple[torch.Tensor, ...]]:
    """The backward pass alone, on a graph that one forward pass left."""
    tensors = [tensor_of(x).requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        out = scaled_dot_product_attention(*tensors, is_causal=causal)
    gradient = tensor_of(d_out)
    return lambda: torch.autograd.grad(out, tensors, gradient, retain_graph=True)


def eager(q: np.ndarray, k: np.ndarray, v: np.ndarray, top: int = 0) -> Callable[[], tuple[torch.Tensor, ...]]:
    """Output and weights by the formula; with `top` also what we return instead of the weights."""
    q, k, v = (torch.from_numpy(x) for x in (q, k, v))
    scale = 1 / math.sqrt(q.shape[-1])

    def run() -> tuple[torch.Tensor, ...]:
        weights = torch.softmax((q * scale) @ k.transpose(-1, -2), dim=-1)
        out = weights @ v
        if top == 0:
            return out, weights
        best = torch.topk(weights, top, dim=-1)
        return out, best.indices, best.values, weights.sum(dim=-2)

    return run
