#!/usr/bin/env python3
"""Writes tests/golden/checkpoints/types.safetensors with the safetensors package: one small tensor of each kind.

Needs safetensors and torch (which has bfloat16); the README beside this file says how to get them. The bytes depend on
nothing but the versions of the two.
"""

import pathlib

import torch
from safetensors.torch import save_file

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "checkpoints"


def main():
    counted = torch.arange(6).reshape(2, 3)
    tensors = {
        "f32": counted.to(torch.float32),
        "f64": counted.to(torch.float64),
        "f16": counted.to(torch.float16),
        "bf16": counted.to(torch.bfloat16),
        "i64": torch.arange(5),
        "i8": torch.arange(4, dtype=torch.int8),
        "bool": torch.tensor([False, True, False]),
        "scalar": torch.tensor(7.5),
        "empty": torch.zeros(0, 4),
        "five": torch.zeros(1, 2, 1, 2, 1),
    }
    FOLDER.mkdir(parents=True, exist_ok=True)
    save_file(tensors, FOLDER / "types.safetensors", metadata={"format": "pt", "note": '"quoted" é'})


if __name__ == "__main__":
    main()
