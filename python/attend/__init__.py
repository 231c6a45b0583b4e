"""attend: self-attention that is exact, fast, and shows its work.

Every function takes NumPy arrays, PyTorch tensors, or anything else with the buffer protocol or DLPack, in place and of any strides.
attend.torch has autograd, and runs Hugging Face transformers on attend; attend.lens shows what a model's attention
does with a text, attend.draw draws it, attend.batch works through files of texts, and attend.train trains models.
"""

import typing as _types

from ._core import (
    DeviceArray,
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
    cross_entropy,
    dropout,
    embedding,
    embedding_backward,
    gelu,
    gelu_backward,
    isa,
    layer_norm,
    layer_norm_backward,
    linear,
    linear_backward,
    log_sum_exp,
    matmul,
    merge_attention,
    multi_head_attention,
    multi_head_attention_backward,
    relative_bias,
    relative_bias_backward,
    relative_bucket,
    rms_norm,
    rms_norm_backward,
    self_attention,
    set_isa,
    set_threads,
    single_head_attention,
    sinusoidal_positions,
    softmax,
    softmax_backward,
    summarize_weights,
    swiglu,
    swiglu_backward,
    threads,
    weights,
)
from ._generator import Generated, Generator
from ._multihead import MultiheadAttention
from ._results import (
    AttentionResult,
    CrossEntropy,
    Gradients,
    KernelChoice,
    LayerNormState,
    LinearGradients,
    MultiHeadGradients,
    NormGradients,
    RowState,
    SwigluGradients,
    TopK,
    WeightsSummary,
)
from ._sdpa import scaled_dot_product_attention
from ._text_model import TextModel
from ._weights import attention_map, entropy, received, top_k

if _types.TYPE_CHECKING:
    from . import batch as batch
    from . import draw as draw
    from . import lens as lens
    from . import train as train
else:

    def __getattr__(name: str) -> object:
        """attend.batch, draw, lens and train need no import of their own, and do not slow down `import attend`."""
        if name in ("batch", "draw", "lens", "train"):
            from importlib import import_module

            return import_module(f"attend.{name}")
        raise AttributeError(f"module 'attend' has no attribute '{name}'")


__all__ = [
    "AttentionResult",
    "CrossEntropy",
    "DeviceArray",
    "Encoding",
    "FileError",
    "Generated",
    "Generator",
    "Gradients",
    "KernelChoice",
    "KeyValueCache",
    "LayerNormState",
    "LinearGradients",
    "MultiHeadGradients",
    "MultiheadAttention",
    "NormGradients",
    "PackedMatrix",
    "RowState",
    "SwigluGradients",
    "TextModel",
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
    "cross_entropy",
    "dropout",
    "embedding",
    "embedding_backward",
    "entropy",
    "gelu",
    "gelu_backward",
    "isa",
    "layer_norm",
    "layer_norm_backward",
    "linear",
    "linear_backward",
    "log_sum_exp",
    "matmul",
    "merge_attention",
    "multi_head_attention",
    "multi_head_attention_backward",
    "received",
    "relative_bias",
    "relative_bias_backward",
    "relative_bucket",
    "rms_norm",
    "rms_norm_backward",
    "scaled_dot_product_attention",
    "self_attention",
    "set_isa",
    "set_threads",
    "single_head_attention",
    "sinusoidal_positions",
    "softmax",
    "softmax_backward",
    "summarize_weights",
    "swiglu",
    "swiglu_backward",
    "threads",
    "top_k",
    "weights",
]
