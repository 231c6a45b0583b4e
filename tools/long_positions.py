#!/usr/bin/env python3
"""Makes a model with room for long texts out of one that has learned positions: its table of positions is stretched.

    .venv/bin/python tools/long_positions.py MODEL FOLDER [--tokens 8192]

MODEL is the folder of a BERT-like model with one .safetensors file, FOLDER is made. Position p of the new table lies between the rows of
the old one at the same share of its length, so that a text of 8,192 tokens reads positions as one of 512 did, only finer; but for the
first, which is [CLS]'s own, and has no neighbours in kind. Nothing is trained: this is for trying and timing long texts, not for
vectors one would use.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import numpy as np

POSITIONS = "embeddings.position_embeddings.weight"


def read_tensors(file: Path) -> tuple[dict[str, dict], bytes]:
    data = file.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    return header, data[8 + size :]


def write_tensors(file: Path, tensors: dict[str, tuple[str, list[int], bytes]]) -> None:
    header, place = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [place, place + len(data)]}
        place += len(data)
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with file.open("wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for _, _, data in tensors.values():
            out.write(data)


def stretched(table: np.ndarray, rows: int) -> np.ndarray:
    places = np.concatenate([[0], np.linspace(1, len(table) - 1, rows - 1)])
    low = np.minimum(places.astype(int), len(table) - 2)
    share = (places - low)[:, None]
    return ((1 - share) * table[low] + share * table[low + 1]).astype(np.float32)


def change_json(file: Path, change: dict) -> None:
    if not file.exists():
        return
    values = json.loads(file.read_text())
    for name, value in change.items():
        if name in values:
            values[name] = value
    file.write_text(json.dumps(values, ensure_ascii=False))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tokens", type=int, default=8192)
    given = parser.parse_args()
    weights = given.model / "model.safetensors"
    if not weights.is_file():
        sys.exit(f"{weights}: there is no such file")
    header, data = read_tensors(weights)
    name = next((name for name in header if name.endswith(POSITIONS)), None)
    if name is None or header[name]["dtype"] != "F32":
        sys.exit(f"{weights}: there is no tensor {POSITIONS} of type F32")

    shutil.copytree(given.model, given.folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("*.safetensors", ".cache"))
    tensors = {}
    for tensor, facts in header.items():
        begin, end = facts["data_offsets"]
        tensors[tensor] = (facts["dtype"], facts["shape"], data[begin:end])
    shape = header[name]["shape"]
    table = np.frombuffer(tensors[name][2], np.float32).reshape(shape)
    tensors[name] = ("F32", [given.tokens, shape[1]], stretched(table, given.tokens).tobytes())
    for tensor in [tensor for tensor in tensors if tensor.endswith("position_ids")]:
        del tensors[tensor]  # 0, 1, 2, ...: as many as there were
    write_tensors(given.folder / "model.safetensors", tensors)
    change_json(given.folder / "config.json", {"max_position_embeddings": given.tokens})
    change_json(given.folder / "sentence_bert_config.json", {"max_seq_length": given.tokens})
    change_json(given.folder / "tokenizer_config.json", {"model_max_length": given.tokens})
    change_json(given.folder / "tokenizer.json", {"truncation": None, "padding": None})
    print(f"{given.folder}: {given.tokens} positions, from {shape[0]}")


if __name__ == "__main__":
    main()
