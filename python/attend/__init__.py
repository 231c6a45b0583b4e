"""attend: self-attention that is exact, fast, and shows its work.

Every function takes NumPy arrays, PyTorch tensors, or anything else with the buffer protocol or DLPack, in place and of any strides.
attend.torch has autograd and the way into Hugging Face transformers; attend.lens shows what a model's attention
does with a text, attend.draw draws it, and attend.train lets attention learn.
"""

import typing as _types

from ._core import (
    Encoding,
    FileError,
    KeyValueCache,
    PackedMatrix,
    Tokenizer,
    __version__,
    add_learned_positions,
    alibi_slopes,
    apply_rotary,
    apply_rotary_tables,
    attention,
    attention_backward,
    attention_kernel,
    available_isas,
    gelu,
    isa,
    layer_norm,
    log_sum_exp,
    matmul,
    merge_attention,
    relative_bias,
    relative_bucket,
    self_attention,
    set_isa,
    set_threads,
    single_head_attention,
    sinusoidal_positions,
    softmax,
    summarize_weights,
    threads,
    weights,
)
from ._encoder import Encoder
from ._multihead import MultiheadAttention
from ._results import AttentionResult, Gradients, KernelChoice, LayerNormState, RowState, TopK, WeightsSummary
from ._sdpa import scaled_dot_product_attention
from ._weights import attention_map, entropy, received, top_k

if _types.TYPE_CHECKING:
    from . import draw as draw
    from . import lens as lens
    from . import train as train
else:

    def __getattr__(name: str) -> object:
        """attend.draw, attend.lens and attend.train without an import of their own, and `import attend` no slower for them."""
        if name in ("draw", "lens", "train"):
            from importlib import import_module

            return import_module(f"attend.{name}")
        raise AttributeError(f"module 'attend' has no attribute '{name}'")


__all__ = [
    "AttentionResult",
    "Encoder",
    "Encoding",
    "FileError",
    "Gradients",
    "KernelChoice",
    "KeyValueCache",
    "LayerNormState",
    "MultiheadAttention",
    "PackedMatrix",
    "RowState",
    "Tokenizer",
    "TopK",
    "WeightsSummary",
    "__version__",
    "add_learned_positions",
    "alibi_slopes",
    "apply_rotary",
    "apply_rotary_tables",
    "attention",
    "attention_backward",
    "attention_kernel",
    "attention_map",
    "available_isas",
    "entropy",
    "gelu",
    "isa",
    "layer_norm",
    "log_sum_exp",
    "matmul",
    "merge_attention",
    "received",
    "relative_bias",
    "relative_bucket",
    "scaled_dot_product_attention",
    "self_attention",
    "set_isa",
    "set_threads",
    "single_head_attention",
    "sinusoidal_positions",
    "softmax",
    "summarize_weights",
    "threads",
    "top_k",
    "weights",
]
