"""Models that several folders of tests use."""

import shutil
from pathlib import Path

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
def sinking_model():
    """A model that writes, whose heads rest on the first token: four heads on two key heads, no special tokens."""
    return GOLDEN.parent / "sink"
