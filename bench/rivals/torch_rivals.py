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


def sdpa_forward(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> Callable[[], torch.Tensor]:
    q, k, v = (torch.from_numpy(x) for x in (q, k, v))
    return lambda: scaled_dot_product_attention(q, k, v, is_causal=causal)


def rounded(x: np.ndarray) -> np.ndarray:
    """The bits of numbers rounded to bf16."""
    return torch.from_numpy(x).bfloat16().view(torch.int16).numpy().view(np.uint16)


def widened(bits: np.ndarray) -> np.ndarray:
    return torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16).float().numpy()


def sdpa_forward_bf16(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool) -> Callable[[], torch.Tensor]:
    """Of arrays of bits, and into a tensor of bf16."""
    q, k, v = (torch.from_numpy(x.view(np.int16)).view(torch.bfloat16) for x in (q, k, v))
    return lambda: scaled_dot_product_attention(q, k, v, is_causal=causal)


def sdpa_backward(q: np.ndarray, k: np.ndarray, v: np.ndarray, causal: bool,
                  d_out: np.ndarray) -> Callable[[], tuple[torch.Tensor, ...]]:
    """The backward pass alone, on a graph that one forward pass left."""
    tensors = [torch.from_numpy(x).requires_grad_() for x in (q, k, v)]
    with torch.enable_grad():
        out = scaled_dot_product_attention(*tensors, is_causal=causal)
    gradient = torch.from_numpy(d_out)
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
