"""attend as an attention implementation of Hugging Face transformers."""

from __future__ import annotations

from typing import Any

import torch

from ._autograd import run
from ._known import Known

# What models pass along to every implementation and what changes nothing about one attention: positions are in q and k already,
# and a cache in k and v.
_NO_MATTER = frozenset(
    "position_ids position_embeddings cache_position past_key_values past_key_value use_cache hidden_states encoder_hidden_states "
    "input_ids token_type_ids mm_token_type_ids labels logits_to_keep max_length_q max_length_k num_items_in_batch deterministic "
    "output_hidden_states output_router_logits return_dict layer_idx".split()
)
_WHY = {
    "output_attentions": "has no matrix to return here; attend.torch.collect(weights=True) gives it, or what it says without it",
    "cache": "is a paged cache, which attend does not read",
    **dict.fromkeys(
        ("cu_seq_lens_q", "cu_seq_lens_k", "seq_idx"),
        "describes packed sequences; leave it out and pass position_ids, from which transformers makes a mask",
    ),
}


def install(name: str = "attend") -> None:
    """Registers attend with Hugging Face transformers, as an attention implementation of that name.

    Then `model.set_attn_implementation("attend")`, or attn_implementation="attend" where a model is made, runs it on attend.
    """
    try:
        from transformers import AttentionInterface, AttentionMaskInterface
    except ImportError:
        raise ImportError("attend.torch.install needs transformers 5, which is not installed (pip install transformers)") from None

    if not name.isidentifier() or any(part in name for part in ("flash", "flex", "sdpa", "eager")):
        raise ValueError(f'install: "{name}" would mean something else to transformers; expected a plain word such as "attend"')
    if AttentionInterface().get(name, _forward) is not _forward:
        raise ValueError(f'install: transformers has another attention implementation "{name}" already')
    AttentionInterface.register(name, _forward)
    AttentionMaskInterface.register(name, _mask)


def _mask(*, q_length: int, mask_function: Any, **arguments: Any) -> torch.Tensor | None:
    """The mask that a model prepares once for its layers: boolean, True = takes part, or None where _forward knows without.

    It is the one that transformers makes for PyTorch's attention, but padding alone takes O(n) memory.
    """
    from transformers.masking_utils import bidirectional_mask_function, sdpa_mask

    if mask_function is not bidirectional_mask_function:
        return sdpa_mask(q_length=q_length, mask_function=mask_function, **arguments)
    row = sdpa_mask(q_length=1, mask_function=mask_function, **arguments)  # every query sees the same keys
    return None if row is None else row.expand(-1, -1, q_length, -1)


def _forward(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: Any = None,
    is_causal: bool | None = None,
    sliding_window: int | None = None,
    softcap: float | None = None,
    s_aux: torch.Tensor | None = None,
    position_bias: torch.Tensor | None = None,
    **others: Any,
) -> tuple[torch.Tensor, None]:
    """What transformers calls: query (B, Hq, Lq, D), key and value with as many heads or fewer; gives (B, Lq, Hq, Dv)."""
    _refuse(module, others)
    if isinstance(scaling, torch.Tensor):  # learned: it belongs to the graph
        query, scaling = query * scaling, 1.0
    options: dict[str, Any] = {"scale": scaling, "softcap": softcap, "sinks": s_aux, "bias": position_bias}
    if module.training:
        options["dropout"] = dropout
    if attention_mask is None:
        _add_pattern(options, module, query.shape[2], is_causal, sliding_window)
    elif attention_mask.dtype == torch.bool:
        lengths = _key_lengths(attention_mask, query.shape[0])
        options.update({"mask": attention_mask} if lengths is None else {"key_lengths": lengths})
    elif attention_mask.is_floating_point():
        options["bias"] = attention_mask if position_bias is None else attention_mask + position_bias
    else:
        raise TypeError(f"attend.torch: attention_mask is {attention_mask.dtype}, expected boolean or floating")
    out, _ = run(module, query, key, value, options, tokens_first=True)
    return out.transpose(1, 2).contiguous(), None


def _add_pattern(options: dict[str, Any], module: Any, queries: int, is_causal: bool | None, sliding_window: int | None) -> None:
    """Without a mask: causal from the first key on, if the module is causal. A single query is the last of all, and sees them."""
    causal = getattr(module, "is_causal", True) if is_causal is None else is_causal
    options["causal"] = bool(causal) and queries > 1
    options["query_offset"] = "top_left" if queries > 1 else "bottom_right"
    if sliding_window is not None:  # counts the query itself
        options["window"] = (sliding_window - 1, sliding_window - 1)


def _key_lengths(mask: torch.Tensor, batch: int) -> list[int] | None:
    """Padding on the right alone, as _mask() gives it, is a number of keys per sequence: those after it are not computed at all."""
    if mask.ndim != 4 or mask.shape[:2] != (batch, 1) or mask.stride(2) != 0:
        return None
    lengths: list[int] | None = _lengths.get(mask, _lengths_of, lambda: None)  # a graph takes the mask as it is
    return lengths


_lengths = Known()


def _lengths_of(mask: torch.Tensor) -> list[int] | None:
    row = mask[:, 0, 0]
    lengths = row.sum(dim=-1)
    return lengths.tolist() if torch.equal(row, torch.arange(row.shape[-1], device=row.device) < lengths[:, None]) else None


def _refuse(module: torch.nn.Module, others: dict[str, Any]) -> None:
    for name, value in others.items():
        if value is None or value is False or name in _NO_MATTER:
            continue
        why = _WHY.get(name, "is not supported by attend")
        raise ValueError(f"attend.torch: {type(module).__name__} passes {name} to its attention, which {why}")
