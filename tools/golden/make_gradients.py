"""Writes gradients.safetensors into the folders of tests/golden/models: what PyTorch's autograd says about the checkpoints there.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch transformers safetensors
    /tmp/golden/bin/python tools/golden/make_gradients.py

L is the sum of the last hidden states of the texts in golden.safetensors times factors that factor() makes. attended.N is dL / d the input of
layer N's output projection, embeddings dL / d the first hidden states, both from float64; error.attended.N and error.embeddings say how far
float32 is from them, as a root mean square.
"""

from pathlib import Path

import numpy as np
import torch
import transformers as hf
from safetensors.numpy import load_file, save_file

ROOT = Path(__file__).resolve().parents[2] / "tests/golden/models"
# Those of make_models.py; make_encoders.py does this for its own.
MODELS = ("bert", "bert-relu", "distilbert", "gpt2", "mpnet", "roberta", "xlm-roberta")
# The linear layers that mix the heads.
MIXERS = ("attention.output.dense", "attention.out_lin", "attention.attn.o", "attn.c_proj")


def factor(tokens: np.ndarray, size: int) -> np.ndarray:
    """A factor for each element of these tokens' vectors: multiples of 1/32, which every type has."""
    places = tokens[:, None] * size + np.arange(size)
    return (places * 37 % 101 - 50) / 32


def gradients(model, text: np.ndarray, tokens: np.ndarray) -> dict[str, np.ndarray]:
    kept = {}

    def keep(name):
        def hook(_, arguments):
            kept[name] = arguments[0]
            arguments[0].retain_grad()
        return hook

    mixers = [module for name, module in model.named_modules() if name.endswith(MIXERS)]
    hooks = [module.register_forward_pre_hook(keep(f"attended.{i + 1}")) for i, module in enumerate(mixers)]
    states = model(torch.tensor(text)[None], output_hidden_states=True).hidden_states
    kept["embeddings"] = states[0]
    states[0].retain_grad()
    last = states[-1]
    (last * torch.tensor(factor(tokens, last.shape[-1]), dtype=last.dtype)).sum().backward()
    for hook in hooks:
        hook.remove()
    return {name: tensor.grad[0].numpy() for name, tensor in kept.items()}


def main():
    for folder in (ROOT / name for name in MODELS):
        golden = load_file(folder / "golden.safetensors")
        ids, ends = golden["ids"], golden["ends"]
        results = {}
        for dtype in (torch.float64, torch.float32):
            model = hf.AutoModel.from_pretrained(folder, dtype=dtype, attn_implementation="eager").eval()
            texts = [gradients(model, ids[a:b], np.arange(a, b)) for a, b in zip(ends, ends[1:])]
            results[dtype] = {name: np.concatenate([text[name] for text in texts]) for name in texts[0]}
        judged, narrow = results[torch.float64], results[torch.float32]
        errors = {f"error.{name}": np.array([np.sqrt(np.mean((values - narrow[name]) ** 2))]) for name, values in judged.items()}
        save_file({**judged, **errors}, folder / "gradients.safetensors")


main()
