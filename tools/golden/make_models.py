"""Writes tests/golden/models: one small random checkpoint of each family, and what transformers computes from it.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch transformers safetensors
    /tmp/golden/bin/python tools/golden/make_models.py [NAME ...]       # default: all of them

Each folder has config.json, model.safetensors and golden.safetensors: the packed ids and ends of some texts, the hidden states of every layer
in float64 (hidden.0 are the embeddings), and under error.N how far transformers' own float32 run is from them.
"""

import copy
import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers as hf
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2] / "tests/golden/models"
LENGTHS = [7, 1, 19, 30]
SMALL = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=64, max_position_embeddings=40)
MODELS = {
    "bert": hf.BertModel(hf.BertConfig(**SMALL)),
    "roberta": hf.RobertaModel(hf.RobertaConfig(**SMALL)),
    "xlm-roberta": hf.XLMRobertaModel(hf.XLMRobertaConfig(**SMALL)),
    "mpnet": hf.MPNetModel(hf.MPNetConfig(**SMALL)),
    "distilbert": hf.DistilBertModel(hf.DistilBertConfig(dim=32, n_layers=2, n_heads=4, hidden_dim=48, vocab_size=64, max_position_embeddings=40)),
    "bert-relu": hf.BertModel(hf.BertConfig(**SMALL, hidden_act="relu")),
    "gpt2": hf.GPT2Model(hf.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_inner=48, vocab_size=64, n_positions=40, bos_token_id=1, eos_token_id=1)),
}


def hidden_states(model, text):
    with torch.no_grad():
        return [layer[0].numpy() for layer in model(torch.tensor(text)[None], output_hidden_states=True).hidden_states]


def main():
    rng = np.random.default_rng(0)
    generator = torch.Generator().manual_seed(0)
    for name in sys.argv[1:] or MODELS:
        model = MODELS[name]
        model.eval()
        for parameter in model.parameters():  # larger than at initialisation, so that every part matters; biases and norms included
            parameter.data += torch.randn(parameter.shape, generator=generator) * 0.1
        texts = [rng.integers(5, 64, length) for length in LENGTHS]  # 5: behind every family's special ids
        wide = copy.deepcopy(model).double()
        judged = [hidden_states(wide, text) for text in texts]
        narrow = [hidden_states(model, text) for text in texts]
        golden = {"ids": np.concatenate(texts).astype(np.int64), "ends": np.cumsum([0, *LENGTHS]).astype(np.int64)}
        for layer in range(len(judged[0])):
            golden[f"hidden.{layer}"] = np.concatenate([states[layer] for states in judged])
            error = max(np.abs(a[layer] - b[layer]).max() for a, b in zip(judged, narrow))
            golden[f"error.{layer}"] = np.array([error])
        folder = ROOT / name
        folder.mkdir(parents=True, exist_ok=True)
        tensors = {key: value.numpy() for key, value in model.state_dict().items() if value.dtype == torch.float32}
        save_file(tensors, folder / "model.safetensors", {"format": "pt"})
        save_file(golden, folder / "golden.safetensors")
        config = {**model.config.to_diff_dict(), "architectures": [type(model).__name__], "model_type": model.config.model_type}
        config.pop("transformers_version", None)
        full = model.config.to_dict()
        for key in ("layer_norm_eps", "layer_norm_epsilon", "hidden_act", "activation_function", "activation", "type_vocab_size", "pad_token_id",
                    "relative_attention_num_buckets"):
            if full.get(key) is not None:
                config[key] = full[key]
        (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")


main()
