#!/usr/bin/env python3
"""Writes tests/golden/gru.safetensors: a layer of torch.nn.GRU in float64, what it answers and its gradients.

Names are torch's, without the number of the layer; `d_NAME` is the gradient of NAME for `d_out`, that of the states. The README
beside this file says how to run it.
"""

import pathlib

import torch
from safetensors.torch import save_file

FILE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden" / "gru.safetensors"
SEQUENCES, LENGTH, INPUT, WIDTH = 2, 7, 5, 6


def main():
    random = torch.Generator().manual_seed(1)

    def normal(*shape):
        # f32 numbers, so that both types start from the same.
        return torch.randn(shape, generator=random).to(torch.float64)

    layer = torch.nn.GRU(INPUT, WIDTH, batch_first=True, dtype=torch.float64)
    with torch.no_grad():
        for value in layer.parameters():
            value.copy_(normal(*value.shape))
    x = normal(SEQUENCES, LENGTH, INPUT).requires_grad_()
    d_out = normal(SEQUENCES, LENGTH, WIDTH)
    out, _ = layer(x)
    out.backward(d_out)
    tensors = {"x": x.detach(), "d_x": x.grad.contiguous(), "out": out.detach().contiguous(), "d_out": d_out}
    for name, value in layer.named_parameters():
        short = name.removesuffix("_l0")
        tensors |= {short: value.detach(), "d_" + short: value.grad}
    save_file(tensors, FILE, metadata={"torch": torch.__version__})


if __name__ == "__main__":
    main()
