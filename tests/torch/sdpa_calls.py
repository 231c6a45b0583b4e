"""Random calls over the argument space of scaled_dot_product_attention, and what may be wrong with a call."""

import random

import torch

DTYPES = [torch.float32] * 5 + [torch.float64, torch.bfloat16, torch.float16]

FAULTS = ["axis", "type", "length", "heads", "few axes", "mask shape", "mask type", "mask and causal", "gqa", "batch", "integers"]


def tensor(chance: random.Random, shape, dtype):
    """Random numbers, one time in three behind strides that are not those of a new tensor."""
    generator = torch.Generator().manual_seed(chance.getrandbits(32))
    made = torch.randn(shape, dtype=torch.float64, generator=generator).to(dtype)
    if len(shape) >= 2 and chance.random() < 0.3:
        a, b = chance.sample(range(len(shape)), 2)
        made = made.transpose(a, b).contiguous().transpose(a, b)
    return made


def broadcast(chance: random.Random, shape):
    """A shape that broadcasts to `shape`: some axes 1, some of the first ones left out."""
    shape = [1 if chance.random() < 0.3 else size for size in shape]
    return tuple(shape[chance.choice([0, 0, 0, *range(len(shape) - 1)]):])


def call(seed: int):
    """Positional tensors and keyword arguments of a call that should be well formed."""
    chance = random.Random(seed)
    dtype = chance.choice(DTYPES)
    queries, keys = chance.choice([1, 2, 5, 17, 40]), chance.choice([1, 3, 5, 17, 70])
    d, d_v = chance.choice([1, 4, 8, 13, 64]), chance.choice([1, 4, 8, 13, 64])
    if chance.random() < 0.6:
        d_v = d
    empty = chance.random() < 0.05
    if empty:
        queries = 0
    axes = chance.choice([2, 2, 2, 2, 1, 1, 0, 3])  # in front of (length, d)
    lead = tuple(chance.choice([1, 2, 3]) for _ in range(axes))
    heads = lead
    keywords = {}
    if axes >= 2 and chance.random() < 0.3:
        keywords["enable_gqa"] = True
        lead = (*lead[:-1], lead[-1] * chance.choice([1, 2, 4]))
    elif axes and not empty and chance.random() < 0.2:  # leading axes that broadcast; PyTorch does not broadcast nothing
        lead, heads = ([size if chance.random() < 0.6 else 1 for size in lead] for _ in range(2))
    q = tensor(chance, (*lead, queries, d), dtype)
    k, v = tensor(chance, (*heads, keys, d), dtype), tensor(chance, (*heads, keys, d_v), dtype)
    kind = chance.choice(["none", "none", "causal", "boolean", "floating"])
    if kind == "causal":
        keywords["is_causal"] = True
    elif kind != "none":
        shape = broadcast(chance, (*(max(a, b) for a, b in zip(lead, heads)), queries, keys))
        keywords["attn_mask"] = tensor(chance, shape, dtype)
        if kind == "boolean":
            keywords["attn_mask"] = keywords["attn_mask"] > chance.choice([-1, 0, 1.5])
        elif chance.random() < 0.3:
            keywords["attn_mask"] = keywords["attn_mask"].masked_fill(keywords["attn_mask"] > 0.5, -torch.inf)
    if chance.random() < 0.3:
        keywords["scale"] = chance.choice([0.0, 0.05, 1.0, -0.3])
    return [q, k, v], keywords


def spoil(seed: int, tensors, keywords):
    """The same call with one thing wrong, or perhaps only unusual: whether it is, PyTorch says."""
    chance = random.Random(seed)
    tensors, keywords = list(tensors), dict(keywords)
    which = chance.randrange(3)
    q, k, v = tensors
    if q.numel() == 0:  # PyTorch returns before it looks
        return tensors, keywords, "nothing"
    kind = chance.choice(FAULTS)
    if kind == "axis":
        tensors[chance.randrange(2)] = torch.cat([tensors[0], tensors[0]], dim=-1)
    elif kind == "type":
        tensors[which] = tensors[which].to(torch.float64 if q.dtype != torch.float64 else torch.float32)
    elif kind == "length":
        tensors[1 + which % 2] = torch.cat([tensors[1 + which % 2]] * 2, dim=-2)
    elif kind == "heads" and q.ndim > 2:
        tensors[which] = torch.cat([tensors[which]] * chance.choice([2, 3]), dim=-3)
    elif kind == "few axes":
        tensors[which] = tensors[which].flatten()[:4] if chance.random() < 0.3 else tensors[which].flatten(0, -2)
    elif kind == "mask shape":
        keywords.pop("is_causal", None)
        keywords["attn_mask"] = torch.ones(q.shape[-2] + chance.choice([0, 1]), k.shape[-2] + 1, dtype=torch.bool)
    elif kind == "mask type":
        keywords.pop("is_causal", None)
        dtype = chance.choice([torch.int64, torch.uint8, torch.float64, torch.float32])
        keywords["attn_mask"] = torch.ones(q.shape[-2], k.shape[-2], dtype=dtype)
    elif kind == "mask and causal":
        keywords["attn_mask"] = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool)
        keywords["is_causal"] = True
    elif kind == "gqa":
        keywords["enable_gqa"] = not keywords.get("enable_gqa", False)
    elif kind == "batch" and q.ndim > 3:
        tensors[which] = torch.cat([tensors[which]] * 2, dim=0)
    elif kind == "integers":
        tensors = [x.long() for x in tensors]
    return tensors, keywords, kind
