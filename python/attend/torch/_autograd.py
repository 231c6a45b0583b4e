"""attend.attention() and attend.attention_backward() as one node of PyTorch's graph."""

from __future__ import annotations

from typing import Any

import torch
from torch.autograd import forward_ad

from .. import _core
from .._results import RowState
from . import _collect
from ._known import Known

_NAME = "attend.torch.attention"
_DIFFERENTIABLE = ("q", "k", "v", "bias", "alibi_slopes", "sinks")


def attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, *, return_state: bool = False, **options: Any) -> Any:
    """attend.attention(), with gradients of q, k and v, and of bias, alibi_slopes and sinks where these are tensors.

    Options as there. With dropout and no dropout_seed the seed comes from PyTorch's generator, so that torch.manual_seed() repeats
    it. Under autocast q, k and v are cast as for PyTorch's own attention. The row state has no gradient. A second derivative is
    refused, and so are derivatives in forward mode.
    """
    if "out" in options:
        raise TypeError(f"{_NAME} makes a new tensor and takes no out; attend.attention does, without gradients")
    out, state = run(None, q, k, v, options, want_state=return_state)
    return (out, state) if return_state else out


def run(
    module: Any,
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    options: dict[str, Any],
    *,
    want_state: bool = False,
    tokens_first: bool = False,
) -> tuple[torch.Tensor, RowState | None]:
    """The output and, where it is wanted or the call is collected, the row state. `module` is who calls, for collect().

    tokens_first: the output of (B, H, L, D) inputs lies in memory as (B, L, H, D), where the next layer reads it without a copy.
    """
    options = {name: value for name, value in options.items() if value is not None}
    for name, tensor in (("q", q), ("k", k), ("v", v), ("mask", options.get("mask")), ("bias", options.get("bias"))):
        _require_here(name, tensor, needed=name in "qkv")
    q, k, v = _autocast(q, k, v)
    _refuse_lost_gradients(q, k, v, options)
    for name in ("key_lengths", "query_offset", "cumulative_query_lengths", "cumulative_key_lengths"):
        if isinstance(options.get(name), torch.Tensor):
            options[name] = numbers_of(options[name])
    if options.get("dropout") and "dropout_seed" not in options:
        options["dropout_seed"] = int(torch.randint(2**63 - 1, (), dtype=torch.int64))

    extras = [_tensor_or_none(options.get(name)) for name in _DIFFERENTIABLE[3:]]
    collecting = _collect.is_open()
    if torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in (q, k, v, *extras)):
        row_state: RowState | None
        out, *state = _Attention.apply(q, k, v, *extras, _tensor_or_none(options.get("mask")), options, tokens_first)
        row_state = RowState(*state)
    else:
        plain = _plain(options)
        into = _new_out(q, v, q.dtype) if tokens_first else None
        result = _core.attention(q.detach(), k.detach(), v.detach(), out=into, return_state=want_state or collecting, **plain)
        out, row_state = result if want_state or collecting else (result, None)
    if collecting:
        _collect.add(module, q.detach(), k.detach(), v.detach(), _plain(options), row_state)
    return out, row_state


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, q: Any, k: Any, v: Any, bias: Any, slopes: Any, sinks: Any, mask: Any, options: dict[str, Any], tokens_first: bool
    ) -> Any:
        # Backward reads the output; 16-bit inputs keep it in f32, before it was rounded.
        narrow = q.dtype in (torch.bfloat16, torch.float16)
        into = None
        if tokens_first:
            into = _new_out(q, v, torch.float32 if narrow else q.dtype)
        elif narrow:
            into = q.new_empty((*q.shape[:-1], v.shape[-1]), dtype=torch.float32)
        out, state = _core.attention(q.detach(), k.detach(), v.detach(), out=into, return_state=True, **_plain(options))
        ctx.save_for_backward(q, k, v, bias, slopes, sinks, mask, out, *state)
        ctx.mark_non_differentiable(*state)
        ctx.set_materialize_grads(False)
        # The tensors among the options are saved above, where PyTorch sees whether they were written to since.
        ctx.options = {name: value for name, value in options.items() if not isinstance(value, torch.Tensor)}
        return out.to(q.dtype), *state

    @staticmethod
    def backward(ctx: Any, d_out: Any, *_: Any) -> Any:
        wanted = [name for name, needed in zip(_DIFFERENTIABLE, ctx.needs_input_grad) if needed]
        if d_out is None or not wanted:
            return (None,) * 9
        saved = ctx.saved_tensors
        q, k, v, bias, slopes, sinks, mask, out, *state = (None if x is None else x.detach() for x in saved)
        tensors = {"bias": bias, "alibi_slopes": slopes, "sinks": sinks, "mask": mask}
        options = _plain({**ctx.options, **{name: value for name, value in tensors.items() if value is not None}})
        gradients = _core.attention_backward(q, k, v, out, RowState(*state), d_out.detach(), wanted=wanted, **options)._asdict()
        for name, given in (("alibi_slopes", slopes), ("sinks", sinks)):
            if given is not None and gradients[name] is not None:
                gradients[name] = gradients[name].to(given.dtype)
        found = [gradients[name] for name in _DIFFERENTIABLE]
        if torch.is_grad_enabled():  # create_graph=True: they are functions of every input, which must not be forgotten
            found = _End.apply(*found, *saved[: len(found)], d_out)
        return *found, None, None, None


class _End(torch.autograd.Function):
    """Gradients that know what they depend on, so that a derivative of them is refused and not taken for 0."""

    @staticmethod
    def forward(ctx: Any, *tensors: Any) -> Any:
        return tuple(None if x is None else x.detach() for x in tensors[: len(_DIFFERENTIABLE)])

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(f"{_NAME}: attend has no second derivative; PyTorch's attention has one")


def _require_here(name: str, tensor: Any, needed: bool) -> None:
    if not isinstance(tensor, torch.Tensor):
        if needed:
            raise TypeError(f"{_NAME}: {name} is a {type(tensor).__name__}, expected a torch.Tensor")
    elif tensor.device.type not in ("cpu", "cuda"):
        raise ValueError(f"{_NAME}: {name} is on {tensor.device}; attend computes on the CPU and on CUDA devices, so pass {name}.cpu()")
    elif tensor.layout != torch.strided:
        raise ValueError(f"{_NAME}: {name} is {tensor.layout}, expected a dense tensor (torch.strided)")


def _refuse_lost_gradients(q: Any, k: Any, v: Any, options: dict[str, Any]) -> None:
    """Refuses what would be read as a plain number or tensor although its gradient is wanted."""
    if torch.is_grad_enabled():
        for name, value in options.items():
            parts = value if isinstance(value, (list, tuple)) else () if name in _DIFFERENTIABLE else (value,)
            if any(isinstance(part, torch.Tensor) and part.requires_grad for part in parts):
                raise TypeError(f"{_NAME}: {name} requires a gradient, and gets none; pass its detach(), or put it into q or bias")
    tensors = [x for x in (q, k, v, *options.values()) if isinstance(x, torch.Tensor)]
    if any(forward_ad.unpack_dual(x).tangent is not None for x in tensors):
        raise RuntimeError(f"{_NAME}: attend has no derivative in forward mode; PyTorch's attention has one")


def _autocast(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    kind = tensors[0].device.type
    if not torch.is_autocast_enabled(kind):
        return tensors
    dtype = torch.get_autocast_dtype(kind)
    return tuple(x.to(dtype) if x.is_floating_point() and x.dtype != torch.float64 else x for x in tensors)


def _new_out(q: torch.Tensor, v: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    batch, heads, queries, _ = q.shape
    return q.new_empty((batch, queries, heads, v.shape[-1]), dtype=dtype).transpose(1, 2)


def _tensor_or_none(value: Any) -> torch.Tensor | None:
    return value if isinstance(value, torch.Tensor) else None


def _plain(options: dict[str, Any]) -> dict[str, Any]:
    """The options without a graph: tensors detached, numbers per head as a list."""
    plain = {name: value.detach() if isinstance(value, torch.Tensor) else value for name, value in options.items()}
    for name in ("alibi_slopes", "sinks"):
        if isinstance(options.get(name), torch.Tensor):
            plain[name] = numbers_of(options[name])
    return plain


_numbers = Known()


def numbers_of(tensor: torch.Tensor) -> Any:
    """A small tensor as a list."""

    def refuse() -> Any:
        raise ValueError(
            f"{_NAME}: numbers on {tensor.device} are read on the CPU, which cannot be captured; call it once before, or pass a list"
        )

    return _numbers.get(tensor, torch.Tensor.tolist, refuse)
