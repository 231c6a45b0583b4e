"""What the attention of a whole model did, collected while it runs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .. import _core
from .._recording import RecordedLayer, Recording

if TYPE_CHECKING:
    from ..lens import Reading


@dataclass(frozen=True)
class Seen:
    """One call of attention: who made it, and what was asked about its weights; None for what was not asked for.

    Shapes for queries of (B, H, Lq, D): those that attend.summarize_weights() and attend.weights() give.
    """

    layer: int | None  # the layer's number, from 1: the module's layer_idx + 1
    name: str | None  # the module's place in the model where collect() was given one, else its class
    top_keys: torch.Tensor | None = None  # (B, H, Lq, top_k), best first; -1 where a row has fewer keys
    top_weights: torch.Tensor | None = None
    received: torch.Tensor | None = None  # (B, H, Lk)
    entropy: torch.Tensor | None = None  # (B, H, Lq), in nats
    map: torch.Tensor | None = None  # (B, H, *map_shape)
    rows: torch.Tensor | None = None  # (B, H, len(rows), Lk)
    weights: torch.Tensor | None = None  # (B, H, Lq, Lk)
    q: torch.Tensor | None = None  # (B, H, Lq, D); k and v have as many heads or fewer
    k: torch.Tensor | None = None
    v: torch.Tensor | None = None
    options: dict[str, Any] | None = None  # those of the call, such as causal, mask and scale, where q, k and v were asked for


class Collected(list[Seen]):
    """The calls in their order. recording() makes one pass of them that the lens and the explorer open."""

    def __init__(self, model: torch.nn.Module | None) -> None:
        super().__init__()
        config = getattr(model, "config", None)
        self._model = str(getattr(config, "_name_or_path", "") or ("" if model is None else type(model).__name__))
        self._family = str(getattr(config, "model_type", "") or "")

    def recording(
        self,
        inputs: Any,
        *,
        text: str = "",
        tokenizer: Any = None,
        sequence: int = 0,
        calls: Iterable[int] | None = None,
    ) -> Recording:
        """One sequence of the pass that was collected, with qkv=True or weights=True: each call is a layer.

        inputs: what the tokenizer returned and the model was given, or the tokens as strings. Padding at its ends is left out. text: the
        text itself, from which words are made. tokenizer: needed where `inputs` came from a slow one. calls: which calls are the layers, by
        their index, where not all of them are self-attention over the same tokens.
        """
        tokens = _tokens_of(inputs, tokenizer, sequence)
        chosen = range(len(self)) if calls is None else calls
        layers = [_layer_of(self[call], call, sequence, tokens) for call in chosen]
        return Recording(
            layers,
            tokens.texts[tokens.real],
            ids=tokens.ids[tokens.real],
            text=text,
            places=tokens.places[tokens.real],
            special=tokens.special[tokens.real],
            model=self._model,
            family=self._family,
        )

    def save(self, path: str | os.PathLike[str], inputs: Any, **options: Any) -> None:
        """recording(inputs, ...).save(path): a file run.attn for `attend explore` and `attend explain`."""
        self.recording(inputs, **options).save(path)

    def reading(self, inputs: Any, **options: Any) -> Reading:
        """recording(inputs, ...).reading(): for the lens."""
        return self.recording(inputs, **options).reading()


@contextmanager
def collect(
    *,
    top_k: int = 0,
    received: bool = False,
    entropy: bool = False,
    map_shape: tuple[int, int] | None = None,
    map_reduction: str = "mean",
    rows: Sequence[int] | None = None,
    weights: bool = False,
    qkv: bool = False,
    heads: Sequence[int] | None = None,
    model: torch.nn.Module | None = None,
) -> Iterator[Collected]:
    """Collects what is asked about every call of attention made inside the `with`, one Seen per call, in order.

    Calls are those of attend.torch and of models that run on it by install(). Everything but `weights` is made from the row state
    that the fused kernel left, never from a matrix of all weights. rows: which queries to show whole; negative ones count from the end.
    heads: only these numbers, from 1; all by default. model: gives the calls their module's place in it as a name. qkv: queries, keys and
    values themselves, O(n), from which recording() makes a pass that the lens and the explorer open.

    Only calls of the same thread (the same context, contextvars) are seen. When several are open, each collects its own.
    """
    summary = {"top_k": top_k, "received": received, "entropy": entropy, "map_shape": map_shape, "map_reduction": map_reduction}
    if not (top_k or received or entropy or map_shape or rows is not None or weights or qkv):
        raise ValueError("collect: nothing is asked for; give top_k, received, entropy, map_shape, rows, weights or qkv")
    if qkv and heads is not None:
        raise ValueError("collect: qkv holds all heads, but heads are given; leave one of the two out")
    names = {} if model is None else {id(module): name for name, module in model.named_modules()}
    if heads is not None and any(head < 1 for head in heads):
        raise ValueError(f"collect: heads are {list(heads)}, and heads count from 1")
    collector = _Collector(summary, rows, weights, None if heads is None else [head - 1 for head in heads], names, qkv, Collected(model))
    token = _open.set((*_open.get(), collector))
    try:
        yield collector.seen
    finally:
        _open.reset(token)


def is_open() -> bool:
    return bool(_open.get())


def add(module: Any, q: Any, k: Any, v: Any, options: dict[str, Any], row_state: Any) -> None:
    """Reports one call to every open collection."""
    options = {name: value for name, value in options.items() if not name.startswith("dropout")}
    for collector in _open.get():
        collector.add(module, q, k, v, options, row_state)


class _Collector:
    def __init__(
        self, summary: dict[str, Any], rows: Any, weights: bool, indices: Any, names: dict[int, str], qkv: bool, seen: Collected
    ) -> None:
        self.seen, self._qkv = seen, qkv
        self._summary, self._rows, self._weights, self._indices, self._names = summary, rows, weights, indices, names
        self._summarizes = any(summary[name] for name in ("top_k", "received", "entropy", "map_shape"))

    def add(self, module: Any, q: Any, k: Any, v: Any, options: dict[str, Any], row_state: Any) -> None:
        parts: dict[str, Any] = {}
        if self._summarizes:
            parts = _core.summarize_weights(q, k, row_state=row_state, **self._summary, **options)._asdict()
            if self._indices is not None:
                axis = 0 if q.ndim == 3 and "cumulative_query_lengths" not in options else 1
                indices = torch.as_tensor(self._indices, device=q.device)
                parts = {name: part if part is None else part.index_select(axis, indices) for name, part in parts.items()}
        if self._rows is not None:
            rows = [row + q.shape[-2] if row < 0 else row for row in self._rows]
            parts["rows"] = _core.weights(q, k, rows=rows, heads=self._indices, row_state=row_state, **options)
        if self._weights:
            parts["weights"] = _core.weights(q, k, heads=self._indices, row_state=row_state, **options)
        if self._qkv:  # a cache may be written to after the call
            parts |= {"q": q.clone(), "k": k.clone(), "v": v.clone(), "options": options}
        name = None if module is None else self._names.get(id(module), type(module).__name__)
        index = getattr(module, "layer_idx", None)
        self.seen.append(Seen(None if index is None else index + 1, name, **parts))


class _Tokens(NamedTuple):
    texts: list[str]
    ids: list[int]
    places: list[tuple[int, int]]
    special: list[bool]
    real: slice  # without the padding at its ends


def _tokens_of(inputs: Any, tokenizer: Any, sequence: int) -> _Tokens:
    encodings = getattr(inputs, "encodings", None)
    if encodings:  # of a fast tokenizer
        one = encodings[sequence]
        special = [bool(flag) for flag in one.special_tokens_mask]
        return _Tokens(list(one.tokens), list(one.ids), list(one.offsets), special, _real(list(one.attention_mask)))
    if isinstance(inputs, Mapping) and "input_ids" in inputs:
        if tokenizer is None:
            raise ValueError("recording: inputs have ids alone; pass the tokenizer, or the tokens as strings")
        ids = [int(one) for one in inputs["input_ids"][sequence]]
        mask = [int(one) for one in inputs["attention_mask"][sequence]] if "attention_mask" in inputs else [1] * len(ids)
        special = [one in tokenizer.all_special_ids for one in ids]
        return _Tokens(tokenizer.convert_ids_to_tokens(ids), ids, [(0, 0)] * len(ids), special, _real(mask))
    texts = [] if isinstance(inputs, str) else list(inputs)
    if not texts or not all(isinstance(one, str) for one in texts):
        raise TypeError("recording: inputs are neither what a tokenizer returns nor a list of tokens as strings")
    numbers: dict[str, int] = {}
    ids = [numbers.setdefault(one, len(numbers)) for one in texts]
    return _Tokens(texts, ids, [(0, 0)] * len(texts), [False] * len(texts), slice(0, len(texts)))


def _real(mask: list[int]) -> slice:
    """From the first token that is not padding to the last."""
    kept = [place for place, flag in enumerate(mask) if flag]
    return slice(kept[0], kept[-1] + 1) if kept else slice(0, len(mask))


def _layer_of(call: Seen, number: int, sequence: int, tokens: _Tokens) -> RecordedLayer:
    name, count, real = call.name or "", len(tokens.texts), tokens.real
    seen = call.weights if call.q is None else call.q
    if seen is None:
        raise ValueError("recording: neither q, k and v nor the weights were collected; ask for collect(qkv=True)")
    shape = seen.shape
    queries = shape[-2]
    keys = shape[-1] if call.k is None else call.k.shape[-2]
    if len(shape) != 4 or (queries, keys) != (count, count):
        raise ValueError(
            f"recording: call {number} ({name or 'attention'}) has {queries} queries and {keys} keys, expected the {count} tokens of inputs"
            " for both; collect one pass over the whole text, or choose its calls by calls="
        )
    if call.q is None:
        return RecordedLayer(weights=seen[sequence, :, real, real], name=name)
    options = dict(call.options or {})
    offset = options.pop("query_offset", 0)
    if offset not in (0, "top_left", "bottom_right"):
        raise ValueError(f"recording: call {number} ({name}) has query_offset={offset}, expected queries that begin at the first key")
    lengths = options.pop("key_lengths", None)
    mask, bias = (_square(options.pop(part, None), sequence, count) for part in ("mask", "bias"))
    if lengths is not None and lengths[sequence] < real.stop:
        exists = (torch.arange(count, device=call.q.device) < lengths[sequence]).expand(1, count, count)
        mask = exists if mask is None else mask & exists
    known = {part: options.pop(part) for part in ("scale", "causal", "window", "softcap", "sinks", "alibi_slopes") if part in options}
    if options:
        raise ValueError(f"recording: call {number} ({name}) has the option {sorted(options)[0]}, which a recording does not have")
    q, k, v = (part[sequence, :, real] for part in (call.q, call.k, call.v) if part is not None)
    inner = [None if part is None else part[:, real, real] for part in (mask, bias)]
    return RecordedLayer(q, k, v, name=name, mask=None if inner[0] is None else inner[0].cpu().numpy(), bias=inner[1], **known)


def _square(given: torch.Tensor | None, sequence: int, count: int) -> torch.Tensor | None:
    """Of one sequence: (1 or H, tokens, tokens)."""
    if given is None:
        return None
    four = given.reshape((1,) * (4 - given.ndim) + tuple(given.shape))
    one = four[sequence if four.shape[0] > 1 else 0]
    return one.expand(one.shape[0], count, count)


_open: ContextVar[tuple[_Collector, ...]] = ContextVar("attend.torch.collect", default=())
