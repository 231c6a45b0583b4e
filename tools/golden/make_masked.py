#!/usr/bin/env python3
"""Writes tests/golden/masked: a small encoder that `attend train masked` learned, and what transformers computes from its folder.

    build/golden-venv/bin/python tools/golden/make_masked.py [--program build/release/attend]

The folder is what the program wrote: config.json, model.safetensors, tokenizer.json. transformers opens it as anyone would, and
golden.safetensors holds the packed ids and ends of some texts (their bytes, with a [MASK] in one), the hidden states of every layer in
float64 (hidden.0 are the embeddings), and under error.N how far transformers' own float32 run is from them. Where another machine rounds
otherwise, training gives another model; the answers then go with that one.
"""

import argparse
import copy
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np
import torch
import transformers
from safetensors.numpy import save_file

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "tests" / "golden" / "masked"
SENTENCES = ("the animal did not cross the street because it was tired. ", "the street was too wide, so the dog lay down. ",
             "she read the letter twice and put it away. ")
SETTINGS = {"model.layers": 2, "model.hidden": 32, "model.heads": 4, "model.inner": 48, "data.length": 32, "training.steps": 300,
            "training.batch": 16, "training.warmup": 20, "training.evaluate": 300}
MASK = 256
TEXTS = (list(b"the animal was tired"), [*b"she ", MASK, *b"ead it twice, so"], list(b"x"), list(b"the dog did not cross the street"))


def train(program: pathlib.Path, folder: pathlib.Path):
    text = folder / "text.txt"
    text.write_text("".join(SENTENCES) * 60)
    settings = {"data.file": text, **SETTINGS}
    subprocess.run([program, "train", "masked", "-o", folder / "model", *(f"--set={key}={value}" for key, value in settings.items())], check=True)
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in ("config.json", "model.safetensors", "tokenizer.json"):
        shutil.copy(folder / "model" / name, FOLDER / name)


def hidden_states(model, text):
    with torch.no_grad():
        return [layer[0].numpy() for layer in model(torch.tensor(text)[None], output_hidden_states=True).hidden_states]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--program", type=pathlib.Path, default=ROOT / "build/release/attend")
    with tempfile.TemporaryDirectory() as folder:
        train(parser.parse_args().program.resolve(), pathlib.Path(folder))
    model, loading = transformers.AutoModel.from_pretrained(FOLDER, output_loading_info=True, add_pooling_layer=False)
    wrong = {what: names for what, names in loading.items() if names}
    if wrong:
        raise SystemExit(f"transformers does not find the folder whole: {wrong}")
    model.eval()
    wide = copy.deepcopy(model).double()
    judged, narrow = ([hidden_states(one, text) for text in TEXTS] for one in (wide, model))
    golden = {"ids": np.concatenate(TEXTS).astype(np.int64), "ends": np.cumsum([0, *map(len, TEXTS)]).astype(np.int64)}
    for layer in range(len(judged[0])):
        golden[f"hidden.{layer}"] = np.concatenate([states[layer] for states in judged])
        golden[f"error.{layer}"] = np.array([max(np.abs(a[layer] - b[layer]).max() for a, b in zip(judged, narrow))])
        print(layer, golden[f"error.{layer}"][0])
    save_file(golden, FOLDER / "golden.safetensors", {"transformers": transformers.__version__, "torch": torch.__version__})


if __name__ == "__main__":
    main()
