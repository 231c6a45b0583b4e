"""BERT in float64, written down once more: what explain and compare are judged by."""

import json
import math

import numpy as np


def read_safetensors(path):
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    types = {"F32": np.float32, "F64": np.float64, "I64": np.int64}
    arrays = {}
    for name, entry in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            arrays[name] = np.frombuffer(data[8 + size + begin : 8 + size + end], types[entry["dtype"]]).reshape(entry["shape"])
    return arrays


def safetensors_metadata(path):
    data = path.read_bytes()
    return json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")]).get("__metadata__", {})


def write_safetensors(path, arrays, metadata=None):
    names = {np.dtype(np.float32): "F32", np.dtype(np.float64): "F64", np.dtype(np.int64): "I64"}
    header, place = {"__metadata__": metadata} if metadata else {}, 0
    for name, array in arrays.items():
        header[name] = {"dtype": names[array.dtype], "shape": array.shape, "data_offsets": [place, place + array.nbytes]}
        place += array.nbytes
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values()))


class NumpyBert:
    nudge = None  # (layer, index of a head, query, key, change): one weight is changed by so much
    scaled = None  # (layer, index of a head, (query, keys) or None, scale); layer 0 and index -1 mean every one

    def __init__(self, folder):
        self.config = json.loads((folder / "config.json").read_text())
        weights = read_safetensors(folder / "model.safetensors")
        self.weights = {name.removeprefix("bert."): np.float64(array) for name, array in weights.items() if array.dtype == np.float32}
        self.layers, self.heads = self.config["num_hidden_layers"], self.config["num_attention_heads"]

    def linear(self, name, x):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(axis=-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.config["layer_norm_eps"])
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def read(self, ids):
        """Sets hidden[layer] (n, E), weights_of[layer] (H, n, n) and lengths[layer] (n, n): of what all heads take together."""
        embeddings = "embeddings.{}_embeddings.weight"
        table = {kind: self.weights[embeddings.format(kind)] for kind in ("word", "position", "token_type")}
        self.static = table["word"][ids]
        x = self.norm("embeddings.LayerNorm", self.static + table["position"][: len(ids)] + table["token_type"][0])
        self.hidden, self.attention, self.lengths, self.head_lengths = [x], [None], [None], [None]
        for layer in range(self.layers):
            x = self.layer(f"encoder.layer.{layer}.", x, layer + 1)
            self.hidden.append(x)
        return self

    def edited(self, weights, number):
        weights = weights.copy()
        if self.nudge and self.nudge[0] == number:
            weights[self.nudge[1:4]] += self.nudge[4]
        if self.scaled:
            layer, head, edge, scale = self.scaled
            if layer in (0, number):
                weights[(slice(None) if head < 0 else head, *(edge or ()))] *= scale
        return weights

    def layer(self, name, x, number):
        n = len(x)
        q, k, v = (self.linear(f"{name}attention.self.{part}", x).reshape(n, self.heads, -1).swapaxes(0, 1) for part in ("query", "key", "value"))
        scores = q @ k.swapaxes(1, 2) / math.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
        weights /= weights.sum(axis=-1, keepdims=True)
        self.attention.append(weights)
        weights = self.edited(weights, number)
        out = self.weights[f"{name}attention.output.dense.weight"].reshape(-1, self.heads, q.shape[-1])
        taken = np.einsum("hij,hjd,ehd->hije", weights, v, out)  # every vector that is added, made in full
        self.lengths.append(np.linalg.norm(taken.sum(axis=0), axis=-1))
        self.head_lengths.append(np.linalg.norm(taken, axis=-1))
        mixed = self.linear(f"{name}attention.output.dense", (weights @ v).swapaxes(0, 1).reshape(n, -1))
        x = self.norm(f"{name}attention.output.LayerNorm", x + mixed)
        inner = self.linear(f"{name}intermediate.dense", x)
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / math.sqrt(2)))
        return self.norm(f"{name}output.LayerNorm", x + self.linear(f"{name}output.dense", inner))

    def map(self, method, layer=None, head=None):
        """(n, n), rows that add up to 1; the mean over what is not chosen."""
        maps = []
        for number in [layer] if layer else range(1, self.layers + 1):
            if method == "raw":
                one = self.attention[number].mean(axis=0) if head is None else self.attention[number][head - 1]
            else:
                one = self.lengths[number] if head is None else self.head_lengths[number][head - 1]
            maps.append(one / one.sum(axis=-1, keepdims=True))
        return np.mean(maps, axis=0)


def between_words(tokens, words):
    """The sum over the tokens of a key word, the mean over those of a query word; words are [first, last)."""
    keys = np.stack([tokens[:, first:last].sum(axis=1) for first, last in words], axis=1)
    return np.stack([keys[first:last].mean(axis=0) for first, last in words])


class Guesser(NumpyBert):
    """With the head that fills in masks."""

    def logits(self, x):
        inner = self.linear("cls.predictions.transform.dense", x)
        inner = inner * 0.5 * (1 + np.vectorize(math.erf)(inner / np.sqrt(2)))
        inner = self.norm("cls.predictions.transform.LayerNorm", inner)
        return inner @ self.weights["embeddings.word_embeddings.weight"].T + self.weights["cls.predictions.bias"]
