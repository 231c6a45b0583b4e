"""Writes tests/golden/minilm: 200 texts, and what transformers computes from them with all-MiniLM-L6-v2 in float64.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch==2.15.0 transformers==5.22.2 safetensors==0.8.0
    /tmp/golden/bin/python tools/golden/make_minilm.py FOLDER                 # of the model
    PYTHONPATH=build/release/python /tmp/golden/bin/python tools/golden/make_minilm.py FOLDER --measure

All states of all layers would take 380 MB, so golden.safetensors keeps sketches of them: the sums of a state's numbers under 8
random choices of signs. The difference of two sketches is the sketch of the difference, and its mean square is the sum of the squared
errors, whatever these are. State 7 is the text's vector, mean and norm as the folder says. --measure does without sketches: it
compares attend's own states with those of transformers in float64, number by number, and prints the table of docs/parity.md.
"""

import argparse
import copy
import json
from pathlib import Path

import numpy as np
import torch
import transformers as hf
from safetensors.numpy import save_file

from minilm_texts import texts

FOLDER = Path(__file__).resolve().parents[2] / "tests/golden/minilm"
SIGNS = 8
MAX_TOKENS = 256


def sign_bits(text: int, count: int) -> np.ndarray:
    """64 random bits for each number of a text's state: SplitMix64, whose generator starts anew for each text."""
    z = (np.uint64(text) << np.uint64(32)) + np.arange(1, count + 1, dtype=np.uint64)
    z = z * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def sketch(text: int, state: np.ndarray) -> list[float]:
    numbers = state.reshape(-1).astype(np.float64)
    bits = sign_bits(text, numbers.size)
    return [float(np.where((bits >> np.uint64(i)) & np.uint64(1), -numbers, numbers).sum()) for i in range(SIGNS)]


def hash_of(ids: list[int]) -> int:
    """FNV-1a over the ids, as a signed number."""
    value = 0xCBF29CE484222325
    for one in ids:
        value = (value ^ one) * 0x100000001B3 % 2**64
    return value - 2**64 if value >= 2**63 else value


class Reference:
    """transformers with eager attention, in float64 and in float32, one text at a time."""

    def __init__(self, folder: str) -> None:
        self.tokenizer = hf.PreTrainedTokenizerFast(tokenizer_file=str(Path(folder) / "tokenizer.json"))
        self.tokenizer._tokenizer.no_padding()
        self.tokenizer._tokenizer.enable_truncation(MAX_TOKENS)
        self.narrow = hf.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
        self.wide = copy.deepcopy(self.narrow).double()

    def ids(self, text: str) -> list[int]:
        return self.tokenizer._tokenizer.encode(text).ids

    @staticmethod
    @torch.no_grad()
    def states(model: hf.PreTrainedModel, ids: list[int]) -> list[np.ndarray]:
        """The embeddings, what leaves each layer, and the text's vector."""
        layers = [state[0] for state in model(torch.tensor([ids]), output_hidden_states=True).hidden_states]
        vector = torch.nn.functional.normalize(layers[-1].mean(dim=0), dim=0)
        return [state.numpy() for state in [*layers, vector]]


def write(reference: Reference) -> None:
    lines = texts()
    golden: dict[str, list] = {"hash": [], "tokens": [], "sketch": [], "squared_error": [], "vector": []}
    for number, text in enumerate(lines):
        ids = reference.ids(text)
        wide, narrow = reference.states(reference.wide, ids), reference.states(reference.narrow, ids)
        golden["hash"].append(hash_of(ids))
        golden["tokens"].append(len(ids))
        golden["sketch"].append([sketch(number, state) for state in wide])
        golden["squared_error"].append([float(((a - b) ** 2).sum()) for a, b in zip(narrow, wide)])
        golden["vector"].append(wide[-1])
    kinds = {"hash": np.int64, "tokens": np.int64, "sketch": np.float64, "vector": np.float16}
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "texts.txt").write_text("".join(text + "\n" for text in lines))
    tensors = {name: np.array(values, kinds.get(name, np.float32)) for name, values in golden.items()}
    made_with = json.dumps({"torch": torch.__version__, "transformers": hf.__version__})
    save_file(tensors, FOLDER / "golden.safetensors", {"made_with": made_with})


def measure(reference: Reference, folder: str) -> None:
    import attend

    model = attend.TextModel.from_pretrained(folder)
    squared, largest, elements, cosine = np.zeros((2, 8)), np.zeros((2, 8)), np.zeros(8), 1.0
    ratios = []
    for text in texts():
        ids = reference.ids(text)
        assert model.tokenize(text).ids == ids, text
        wide = reference.states(reference.wide, ids)
        ours = [*model.hidden_states(text), model.encode(text)]
        theirs = reference.states(reference.narrow, ids)
        errors = [[state - judge for state, judge in zip(states, wide)] for states in (ours, theirs)]
        one = np.array([[(error**2).sum() for error in of_one] for of_one in errors])
        squared += one
        largest = np.maximum(largest, [[np.abs(error).max() for error in of_one] for of_one in errors])
        elements += [judge.size for judge in wide]
        ratios.append(np.sqrt(one[0] / one[1]))
        vector = ours[-1].astype(np.float64)
        cosine = min(cosine, vector @ wide[-1] / np.linalg.norm(vector))
    rms, worst = np.sqrt(squared / elements), np.max(ratios, axis=0)
    print(f"attend {attend.__version__} on {attend.isa()}, {len(texts())} texts, {int(elements[0]) // 384} tokens")
    print("| state | attend, RMS | transformers fp32, RMS | ratio | worst text's ratio | attend, largest | transformers, largest |")
    print("|---|---|---|---|---|---|---|")
    for state, name in enumerate(["embeddings", *(f"layer {layer}" for layer in range(1, 7)), "vector"]):
        print(f"| {name} | {rms[0, state]:.2e} | {rms[1, state]:.2e} | {rms[0, state] / rms[1, state]:.2f} | {worst[state]:.2f} "
              f"| {largest[0, state]:.2e} | {largest[1, state]:.2e} |")
    print(f"smallest cosine of a vector with float64's: 1 - {1 - cosine:.1e}")


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("folder", help="of all-MiniLM-L6-v2")
    arguments.add_argument("--measure", action="store_true")
    given = arguments.parse_args()
    reference = Reference(given.folder)
    if given.measure:
        measure(reference, given.folder)
    else:
        write(reference)


main()
