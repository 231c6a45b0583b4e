"""Writes tests/golden/models/NAME/token_head.safetensors: the head that guesses tokens of each golden model, and what it answers.

    build/golden-venv/bin/python tools/golden/make_token_heads.py

The models of make_models.py get a random head of their family's ForMaskedLM class (GPT-2: LMHeadModel). Each file has the head's tensors
under the names that transformers saves them with and, under `golden.`, a vector, the logits of it and the gradient of one of them, in float64.
"""

import json
from pathlib import Path

import torch
import transformers as hf
from safetensors.torch import load_file, save_file

ROOT = Path(__file__).resolve().parents[2] / "tests/golden/models"
CLASSES = {
    "bert": (hf.BertForMaskedLM, lambda model, x: model.cls(x)),
    "bert-relu": (hf.BertForMaskedLM, lambda model, x: model.cls(x)),
    "roberta": (hf.RobertaForMaskedLM, lambda model, x: model.lm_head(x)),
    "xlm-roberta": (hf.XLMRobertaForMaskedLM, lambda model, x: model.lm_head(x)),
    "mpnet": (hf.MPNetForMaskedLM, lambda model, x: model.lm_head(x)),
    "distilbert": (hf.DistilBertForMaskedLM, lambda model, x: model.vocab_projector(model.vocab_layer_norm(model.activation(model.vocab_transform(x))))),
    "gpt2": (hf.GPT2LMHeadModel, lambda model, x: model.lm_head(x)),
}
TOKEN = 17


def main():
    for seed, (name, (kind, head)) in enumerate(CLASSES.items()):
        generator = torch.Generator().manual_seed(seed)
        folder = ROOT / name
        config = kind.config_class(**json.loads((folder / "config.json").read_text()))
        model = kind(config).eval()
        model.base_model.load_state_dict(load_file(folder / "model.safetensors"), strict=False)
        inside = {id(parameter) for parameter in model.base_model.parameters()}
        for parameter in model.parameters():
            if id(parameter) not in inside:  # larger than at initialisation, so that every part matters
                parameter.data += torch.randn(parameter.shape, generator=generator) * 0.3
        own = {key: value.clone() for key, value in model.state_dict().items() if not key.startswith(model.base_model_prefix + ".")}
        table = model.get_output_embeddings().weight
        tied = table is model.get_input_embeddings().weight
        saved = {key: value for key, value in own.items() if not (tied and value.shape == table.shape and key.endswith(".weight"))}

        x = torch.randn(config.hidden_size, generator=generator, dtype=torch.float64).requires_grad_()
        logits = head(model.double(), x)
        logits[TOKEN].backward()
        saved |= {"golden.hidden": x.detach(), "golden.logits": logits.detach(), "golden.gradient": x.grad, "golden.token": torch.tensor([TOKEN])}
        save_file(saved, folder / "token_head.safetensors")
        print(name, tied, sorted(saved))


if __name__ == "__main__":
    main()
