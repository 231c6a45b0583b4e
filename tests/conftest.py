"""Models that several folders of tests use."""

import shutil
from pathlib import Path

import numpy as np
import pytest

from numpy_bert import read_safetensors, write_safetensors

GOLDEN = Path(__file__).resolve().parent / "golden/models"
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "bank", "of", "river", "money", "is", ",", "-", ".", "##s"]


@pytest.fixture(scope="session")
def small_bert(tmp_path_factory):
    """The golden BERT with a vocabulary of words, so that it reads text."""
    folder = tmp_path_factory.mktemp("bert")
    for name in ("config.json", "model.safetensors"):
        shutil.copy(GOLDEN / "bert" / name, folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS + [f"w{i}" for i in range(len(WORDS), 64)]) + "\n")
    return folder


@pytest.fixture
def folder(small_bert, tmp_path):
    """A copy of it that a test may change."""
    shutil.copytree(small_bert, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture(scope="session")
def guessing_bert(small_bert, tmp_path_factory):
    """The small BERT with the golden head."""
    folder = tmp_path_factory.mktemp("guessing") / "bert"
    shutil.copytree(small_bert, folder)
    tensors = read_safetensors(folder / "model.safetensors")
    head = read_safetensors(GOLDEN / "bert/token_head.safetensors")
    tensors |= {name: array for name, array in head.items() if not name.startswith("golden.")}
    write_safetensors(folder / "model.safetensors", tensors)
    return folder


@pytest.fixture(scope="session")
def counting(tmp_path_factory):
    """A decoder that counts on from any of the words w0 to w8, around 9, though not surely: it learned for a few steps."""
    from attend import train
    from learning import learned

    length, rng = 24, np.random.default_rng(0)
    model = train.Model(vocabulary=10, length=length, batch=8, layers=2, hidden=16, heads=2)
    learned(model, ({"ids": (rng.integers(0, 9, (8, 1)) + np.arange(length)) % 9} for _ in range(60)))
    folder = tmp_path_factory.mktemp("counting")
    model.save(folder, [f"w{number}" for number in range(9)] + ["[UNK]"])
    return folder


@pytest.fixture(scope="session")
def recorded(small_bert):
    """A pass of the small BERT as another program would write it down: an attend.lens.Recording, and the reading to compare it with."""
    import attend

    text = "The river-bank of the river, money."
    model = attend.TextModel.from_pretrained(small_bert)
    reading, encoding = attend.lens.read(model, text), model.tokenize(text)
    layers = [
        attend.lens.RecordedLayer(*(getattr(reading, part)(layer).swapaxes(0, 1) for part in "qkv"), name=f"layer {layer}")
        for layer in range(1, reading.layers + 1)
    ]
    recording = attend.lens.Recording(
        layers,
        reading.tokens,
        ids=encoding.ids,
        text=text,
        places=encoding.offsets,
        special=[word.special for word in reading.units(tokens=True)],
        model="somebody/else",
        family="unheard-of",
    )
    return recording, reading


@pytest.fixture(scope="session")
def sinking_model():
    """A model that writes, whose heads rest on the first token: four heads on two key heads, no special tokens."""
    return GOLDEN.parent / "sink"


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    """The golden BERT that scores three labels, with a vocabulary; a copy for each file of tests."""
    folder = tmp_path_factory.mktemp("classifier") / "bert"
    shutil.copytree(GOLDEN.parent / "heads/bert", folder)
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "bank", "of", "river"]
    (folder / "vocab.txt").write_text("\n".join(words + [f"w{i}" for i in range(len(words), 64)]) + "\n")
    return folder
