"""A language model of GPT-2's form that learns in PyTorch: the rival of `attend train text`. One process, started by training.py.

    torch_training.py --text FILE --steps N --warmup N --threads N [--compile] [--bf16]    # a JSON line: seconds of a step after the warm-up
    torch_training.py --text FILE --threads N --judge FOLDER                      # the loss of what attend learned on what it held out

--bf16: products and attention under autocast. With --steps 0 it is the idle program, whose memory is subtracted.
"""

import argparse
import json
import time
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import nn
from torch.nn import functional as F

from training_shape import BATCH, HEADS, HELD_OUT, HIDDEN, INNER, LAYERS, LENGTH, RATE, VOCABULARY


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(HIDDEN), nn.LayerNorm(HIDDEN)
        self.c_attn, self.c_proj = nn.Linear(HIDDEN, 3 * HIDDEN), nn.Linear(HIDDEN, HIDDEN)
        self.c_fc, self.c_out = nn.Linear(HIDDEN, INNER), nn.Linear(INNER, HIDDEN)

    def forward(self, x):
        sequences, length, _ = x.shape
        q, k, v = (part.view(sequences, length, HEADS, -1).transpose(1, 2) for part in self.c_attn(self.ln_1(x)).chunk(3, -1))
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.c_proj(mixed.transpose(1, 2).reshape(sequences, length, HIDDEN))
        return x + self.c_out(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt2(nn.Module):
    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, HIDDEN), nn.Embedding(LENGTH, HIDDEN)
        self.h = nn.ModuleList(Block() for _ in range(LAYERS))
        self.ln_f = nn.LayerNorm(HIDDEN)
        for name, value in self.named_parameters():
            if value.dim() > 1:
                nn.init.normal_(value, std=HIDDEN**-0.5 / (2 if name.startswith("w") else 1))

    def forward(self, ids, targets):
        x = self.wte(ids) + self.wpe.weight[: ids.shape[1]]
        for block in self.h:
            x = block(x)
        return F.cross_entropy((self.ln_f(x) @ self.wte.weight.T).flatten(0, 1), targets.flatten())

    def load(self, file: Path):
        """From GPT-2's names and layout, in which matrices are (in, out)."""
        stored = load_file(file)
        names = {"c_attn": "attn.c_attn", "c_proj": "attn.c_proj", "c_fc": "mlp.c_fc", "c_out": "mlp.c_proj"}
        with torch.no_grad():
            for name, value in self.named_parameters():
                parts = [names.get(part, part) for part in name.split(".")]
                tensor = stored.pop(".".join(parts))
                value.copy_(tensor.T if tensor.dim() == 2 and parts[0] == "h" else tensor)
        if stored:
            raise SystemExit(f"rivals: training: PyTorch's model has no {', '.join(stored)}")


def windows(ids: torch.Tensor, places: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    rows = ids[places[:, None] + torch.arange(LENGTH + 1)]
    return rows[:, :-1], rows[:, 1:]


def judge(ids: torch.Tensor, folder: Path) -> float:
    """The mean loss over the windows that attend holds out, side by side at the text's end."""
    model = Gpt2()
    model.load(folder / "model.safetensors")
    held = int(len(ids) * HELD_OUT)
    split = len(ids) - held
    places = split + LENGTH * torch.arange((held - 1) // LENGTH)
    with torch.no_grad():
        return float(model(*windows(ids, places)))


def train(ids: torch.Tensor, steps: int, warmup: int, compiled: bool, bf16: bool) -> float:
    torch.manual_seed(1)
    model = Gpt2()
    matrices = [value for value in model.parameters() if value.dim() > 1]
    others = [value for value in model.parameters() if value.dim() == 1]
    optimiser = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.01}, {"params": others, "weight_decay": 0.0}], lr=RATE, fused=True)
    run = torch.compile(model) if compiled else model
    start = time.perf_counter()
    for step in range(steps):
        if step == warmup:
            start = time.perf_counter()
        ids_now, targets = windows(ids, torch.randint(int(len(ids) * (1 - HELD_OUT)) - LENGTH, (BATCH,)))
        optimiser.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
            loss = run(ids_now, targets)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        float(loss)  # as one who watches it
    return (time.perf_counter() - start) / (steps - warmup)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=0)
    parser.add_argument("--warmup", type=int, default=0)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--bf16", action="store_true")
    parser.add_argument("--judge", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    ids = torch.frombuffer(bytearray(arguments.text.read_bytes()), dtype=torch.uint8).to(torch.int64)
    if arguments.judge:
        print(json.dumps({"loss": judge(ids, arguments.judge)}))
    elif arguments.steps:
        print(json.dumps({"seconds": train(ids, arguments.steps, arguments.warmup, arguments.compile, arguments.bf16)}))
    else:
        torch.ones(256, 256) @ torch.ones(256, 256)  # its threads and libraries are there


if __name__ == "__main__":
    main()
