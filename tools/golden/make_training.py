#!/usr/bin/env python3
"""Writes tests/golden/training/*.safetensors: 200 steps of AdamW on small models, by PyTorch in float64.

Each file holds where a model starts (f32), its batches, and after every step the loss and some of its parameters as they
are in float64; and how far all parameters of PyTorch in float32, which starts from the same numbers, are away from them. The models are
written out here in plain PyTorch, by the names and in the layout of src/train. The README beside this file says how to
run it.
"""

import pathlib

import torch
from safetensors.torch import save_file
from torch.nn import functional as F

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "training"
STEPS, BATCHES, SEQUENCES, LENGTH = 200, 4, 4, 8
VOCABULARY, HIDDEN, HEADS, INNER, LAYERS = 13, 16, 2, 24, 2
PROBES = 8
ADAMW = {"lr": 5e-4, "betas": (0.9, 0.999), "eps": 1e-6}
DECAY, CLIP = 0.1, 1.0
# With some seeds a run turns chaotic and even PyTorch's two types part by 1e-3; with this one they stay within 1e-6, where
# a comparison of errors means something.
SEED = 30


def norm(parameters, name, x):
    gamma = parameters[name + ".gamma"]
    if name + ".beta" in parameters:
        return F.layer_norm(x, (HIDDEN,), gamma, parameters[name + ".beta"], 1e-5)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gamma


def linear(parameters, name, x):
    return x @ parameters[name + ".weight"] + parameters[name + ".bias"]


def turned(x):
    """Rotary positions, halves: pair i is elements i and i + D / 2."""
    length, half = x.shape[-2], x.shape[-1] // 2
    rates = 10000.0 ** (-torch.arange(half, dtype=torch.float64) / half)
    angles = torch.arange(length, dtype=torch.float64)[:, None] * rates
    cosines, sines = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    a, b = x[..., :half], x[..., half:]
    return torch.cat([a * cosines - b * sines, a * sines + b * cosines], -1)


def attention(parameters, name, x, causal, rotary):
    sequences, length, _ = x.shape
    heads = [part.view(sequences, length, HEADS, -1).transpose(1, 2) for part in linear(parameters, name + ".qkv", x).chunk(3, -1)]
    q, k, v = (turned(heads[0]), turned(heads[1]), heads[2]) if rotary else heads
    scores = q @ k.transpose(-1, -2) / (HIDDEN // HEADS) ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(length, length, dtype=torch.bool).triu(1), float("-inf"))
    mixed = (scores.softmax(-1) @ v).transpose(1, 2).reshape(sequences, length, HIDDEN)
    return linear(parameters, name + ".out", mixed)


def feed_forward(parameters, name, x, kind):
    wide = linear(parameters, name + ".up", x)
    if kind == "swiglu":
        gate, up = wide.chunk(2, -1)
        wide = F.silu(gate) * up
    else:
        wide = F.gelu(wide, approximate="tanh" if kind == "gelu_tanh" else "none")
    return linear(parameters, name + ".down", wide)


def loss_of(parameters, model, ids, targets):
    x = parameters["words"][ids]
    if "positions" in parameters:
        x = x + parameters["positions"][: ids.shape[1]]
    first = model["norm_first"]
    if not first:
        x = norm(parameters, "embedding.norm", x)
    for layer in range(LAYERS):
        for part in ("attention", "feed_forward"):
            name = f"layer.{layer}.{part}"
            read = norm(parameters, name + ".norm", x) if first else x
            if part == "attention":
                added = attention(parameters, name, read, model["causal"], model["rotary"])
            else:
                added = feed_forward(parameters, name, read, model["feed_forward"])
            x = x + added if first else norm(parameters, name + ".norm", x + added)
    if first:
        x = norm(parameters, "norm", x)
    output = parameters["output"] if "output" in parameters else parameters["words"].T
    return F.cross_entropy((x @ output).flatten(0, 1), targets.flatten())


def start_of(model, random):
    """Parameters in f32. Biases and norms start off their usual places, so that they matter from the first step."""

    def normal(*shape, mean=0.0, deviation=1.0):
        return (mean + deviation * torch.randn(shape, generator=random, dtype=torch.float64)).to(torch.float32)

    found = {"words": normal(VOCABULARY, HIDDEN, deviation=0.2)}
    if not model["rotary"]:
        found["positions"] = normal(LENGTH, HIDDEN, deviation=0.2)

    def add_norm(name):
        found[name + ".gamma"] = normal(HIDDEN, mean=1, deviation=0.1)
        if not model["rms"]:
            found[name + ".beta"] = normal(HIDDEN, deviation=0.1)

    def add_linear(name, inputs, outputs):
        found[name + ".weight"] = normal(inputs, outputs, deviation=inputs**-0.5)
        found[name + ".bias"] = normal(outputs, deviation=0.1)

    if not model["norm_first"]:
        add_norm("embedding.norm")
    for layer in range(LAYERS):
        name = f"layer.{layer}"
        add_linear(name + ".attention.qkv", HIDDEN, 3 * HIDDEN)
        add_linear(name + ".attention.out", HIDDEN, HIDDEN)
        add_norm(name + ".attention.norm")
        add_linear(name + ".feed_forward.up", HIDDEN, INNER * (2 if model["feed_forward"] == "swiglu" else 1))
        add_linear(name + ".feed_forward.down", INNER, HIDDEN)
        add_norm(name + ".feed_forward.norm")
    if model["norm_first"]:
        add_norm("norm")
    if not model["tied"]:
        found["output"] = normal(HIDDEN, VOCABULARY, deviation=HIDDEN**-0.5)
    return found


def compared(start):
    """Which numbers are compared. Not the bias of keys: without rotary positions it moves no weight, so that its gradient is
    rounding alone, which AdamW blows up to the size of a step."""
    masks = {name: torch.ones(value.shape, dtype=torch.bool) for name, value in start.items()}
    for name, mask in masks.items():
        if name.endswith(".qkv.bias"):
            mask[HIDDEN : 2 * HIDDEN] = False
    return torch.cat([mask.flatten() for mask in masks.values()])


def trained(model, start, ids, targets, dtype):
    """The losses, and all parameters after each step."""
    parameters = {name: value.to(dtype, copy=True).requires_grad_() for name, value in start.items()}
    groups = [
        {"params": [p for p in parameters.values() if p.dim() > 1], "weight_decay": DECAY},
        {"params": [p for p in parameters.values() if p.dim() == 1], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, **ADAMW)
    losses, seen = [], []
    for step in range(STEPS):
        optimiser.zero_grad()
        loss = loss_of(parameters, model, ids[step % BATCHES], targets[step % BATCHES])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters.values(), CLIP)
        optimiser.step()
        losses.append(loss.detach().to(torch.float64))
        seen.append(torch.cat([p.detach().flatten() for p in parameters.values()]).to(torch.float64))
    return torch.stack(losses), torch.stack(seen)


MODELS = {
    "gpt2": dict(norm_first=True, causal=True, rms=False, rotary=False, tied=True, feed_forward="gelu_tanh"),
    "bert": dict(norm_first=False, causal=False, rms=False, rotary=False, tied=False, feed_forward="gelu"),
    "llama": dict(norm_first=True, causal=True, rms=True, rotary=True, tied=True, feed_forward="swiglu"),
}


def main():
    torch.set_num_threads(1)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for place, (name, model) in enumerate(MODELS.items()):
        random = torch.Generator().manual_seed(SEED + place)
        start = start_of(model, random)
        ids = torch.randint(VOCABULARY, (BATCHES, SEQUENCES, LENGTH), generator=random)
        targets = torch.randint(VOCABULARY, (BATCHES, SEQUENCES, LENGTH), generator=random)
        numbers = sum(value.numel() for value in start.values())
        probes = torch.randint(numbers, (PROBES,), generator=random)
        losses, seen = trained(model, start, ids, targets, torch.float64)
        narrow_losses, narrow_seen = trained(model, start, ids, targets, torch.float32)
        tensors = {"start." + key: value for key, value in start.items()}
        tensors |= {
            "ids": ids,
            "targets": targets,
            "probes": probes,
            "losses": losses,
            "probed": seen[:, probes].contiguous(),
            "loss_error": (narrow_losses - losses).abs(),
            "parameter_error": (narrow_seen - seen)[:, compared(start)].square().mean(-1).sqrt(),
        }
        order = "\n".join(start)  # a probe counts through the parameters in this order
        save_file(tensors, FOLDER / f"{name}.safetensors", metadata={"order": order, "torch": torch.__version__})
        print(name, float(losses[0]), float(losses[-1]), float(tensors["parameter_error"].max()))


if __name__ == "__main__":
    main()
