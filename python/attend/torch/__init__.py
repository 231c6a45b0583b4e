"""attend in PyTorch: attention with autograd, and attend as an attention of Hugging Face transformers.

Imported only when asked for (`import attend.torch`); tensors are read and written where they are, on the CPU or on a GPU. There everything
is put onto PyTorch's current stream, and a CUDA graph may capture it.
"""

try:
    import torch  # noqa: F401
except ImportError:
    raise ImportError("attend.torch needs PyTorch, which is not installed (pip install torch)") from None

from ._autograd import attention
from ._collect import Collected, Seen, collect
from ._sdpa import scaled_dot_product_attention
from ._transformers import install

__all__ = ["Collected", "Seen", "attention", "collect", "install", "scaled_dot_product_attention"]
