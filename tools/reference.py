"""Writes a reference for `attend doctor`: what sentence-transformers and transformers compute for the lines of a file.

    python3 -m venv /tmp/reference && /tmp/reference/bin/pip install sentence-transformers
    /tmp/reference/bin/python tools/reference.py MODEL texts.txt -o reference.npy             # the vectors alone
    /tmp/reference/bin/python tools/reference.py MODEL texts.txt -o reference.safetensors     # ids and hidden states as well

MODEL is a folder or a name on the hub. docs/doctor.md has the layout.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np


def read_texts(path: Path) -> list[str]:
    """The lines as attend reads them: split at \\n alone, without \\r, bytes that are no UTF-8 replaced."""
    text = path.read_bytes().removeprefix(b"\xef\xbb\xbf").decode("utf-8", errors="replace")
    lines = text.split("\n")
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def embeddings(model: str, texts: list[str], dtype: str, batch_size: int) -> np.ndarray:
    """One vector a text, as sentence-transformers gives it."""
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(model, device="cpu", model_kwargs={"torch_dtype": dtype})
    return np.asarray(encoder.encode(texts, batch_size=batch_size, convert_to_numpy=True))


def hidden_states(model: str, texts: list[str], dtype: str) -> dict[str, np.ndarray]:
    """ids and ends of all texts one after another, and the states of every layer; each text by itself, so nothing is padded."""
    import torch
    from sentence_transformers import SentenceTransformer

    encoder = SentenceTransformer(model, device="cpu", model_kwargs={"torch_dtype": dtype})
    transformer = encoder[0].auto_model.eval()
    ids, ends, layers = [], [0], []
    for text in texts:
        tokens = encoder.tokenizer(text, truncation=True, max_length=encoder.max_seq_length, return_tensors="pt")
        with torch.no_grad():
            states = transformer(**tokens, output_hidden_states=True).hidden_states
        ids.append(tokens["input_ids"][0].numpy().astype(np.int64))
        ends.append(ends[-1] + len(ids[-1]))
        layers.append([state[0].to(torch.float64 if dtype == "float64" else torch.float32).numpy() for state in states])
    arrays = {"ids": np.concatenate(ids), "ends": np.array(ends, np.int64)}
    for layer in range(len(layers[0])):
        arrays[f"hidden.{layer}"] = np.concatenate([states[layer] for states in layers])
    return arrays


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("texts", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True, help=".npy, .npz or .safetensors")
    parser.add_argument("--dtype", default="float32", choices=["float32", "float64", "float16", "bfloat16"])
    parser.add_argument("--batch-size", type=int, default=32)
    given = parser.parse_args()
    texts = read_texts(given.texts)
    vectors = embeddings(given.model, texts, given.dtype, given.batch_size)
    if given.output.suffix == ".npy":
        np.save(given.output, vectors)
        return
    arrays = {"embeddings": vectors, **hidden_states(given.model, texts, given.dtype)}
    if given.output.suffix == ".npz":
        np.savez(given.output, **arrays)
    elif given.output.suffix == ".safetensors":
        from safetensors.numpy import save_file

        save_file(arrays, given.output)
    else:
        parser.error("the output must end in .npy, .npz or .safetensors")


if __name__ == "__main__":
    main()
