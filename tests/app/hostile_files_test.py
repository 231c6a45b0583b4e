"""Files of less than a megabyte that ask for gigabytes or hours: one sentence from each command, within 256 MB and ten seconds."""

import json
import math
import struct

import pytest

from measured import SANITIZED, measured

HUGE = 1 << 24
OWN = {"model_type": "attend", "kind": "decoder", "hidden": 8, "layers": 1, "heads": 1, "vocab_size": 64, "length": 64, "inner": 8,
       "norm": "layer", "feed_forward": "gelu", "positions": "learned"}  # fmt: skip
TRANSFORMER = {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}
POOLING = {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}
DENSE = {"idx": 2, "name": "2", "path": "2_Dense", "type": "sentence_transformers.models.Dense"}


def safetensors(shapes):
    header, size = {}, 0
    for name, shape in shapes.items():
        begin, size = size, size + 4 * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, size]}
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + bytes(size)


def own_model():
    """The tensors of a model that attend train wrote."""
    layer = {"attention.qkv": (8, 24), "attention.out": (8, 8), "feed_forward.up": (8, 8), "feed_forward.down": (8, 8)}
    shapes = {"words": (64, 8), "positions": (64, 8), "norm.gamma": (8,), "norm.beta": (8,)}
    for name, shape in layer.items():
        shapes |= {f"layer.0.{name}.weight": shape, f"layer.0.{name}.bias": shape[1:]}
    for name in ("attention.norm", "feed_forward.norm"):
        shapes |= {f"layer.0.{name}.gamma": (8,), f"layer.0.{name}.beta": (8,)}
    return safetensors(shapes)


def tokenizer(folder, **parts):
    words = {word: number for number, word in enumerate((folder / "vocab.txt").read_text().split())}
    model = {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
             "vocab": words}  # fmt: skip
    empty = {"truncation": None, "padding": None, "added_tokens": [], "normalizer": None, "post_processor": None, "decoder": None}
    return {"version": "1.0", "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": model} | empty | parts


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def sequence(step, count):
    return {"type": "Sequence", "normalizers": [step] * count}


def split(expression):
    return {"type": "Split", "pattern": {"Regex": expression}, "behavior": "Isolated", "invert": False}


def write(folder, name, content):
    path = folder / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())


def check(cost, sentence):
    lines = cost.err.splitlines()
    assert cost.code == 1 and len(lines) == 1 and sentence in lines[0], cost.err
    if not SANITIZED:
        assert cost.megabytes < 256 and cost.seconds < 10, cost


CONFIGS = [
    ({"hidden_size": HUGE}, "embeddings.word_embeddings.weight: its shape is (64, 32), but the configuration says (64, 16777216)"),
    ({"intermediate_size": HUGE}, "intermediate.dense.weight: its shape is (48, 32), but the configuration says (16777216, 32)"),
    ({"vocab_size": HUGE}, "embeddings.word_embeddings.weight: its shape is (64, 32), but the configuration says (16777216, 32)"),
    ({"max_position_embeddings": HUGE}, "position_embeddings.weight: its shape is (40, 32), but the configuration says (16777216, 32)"),
    ({"type_vocab_size": HUGE}, "token_type_embeddings.weight: its shape is (2, 32), but the configuration says (16777216, 32)"),
    ({"num_hidden_layers": 4096}, "encoder.layer.2.attention.self.query.weight: there is no such tensor"),
    ({"num_attention_heads": HUGE}, "num_attention_heads: 16777216 does not divide the hidden size 32"),
]


@pytest.mark.parametrize("change, sentence", CONFIGS, ids=[next(iter(change)) for change, _ in CONFIGS])
def test_sizes_in_config_json(folder, change, sentence):
    write(folder, "config.json", json.loads((folder / "config.json").read_text()) | change)
    check(measured("embed", "-m", folder, "-", stdin=b"the bank\n"), sentence)


COMMANDS = [["explain", "the bank"], ["compare", "the bank", "a bank", "-w", "bank"], ["doctor"], ["explore"]]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
def test_every_command_that_reads_a_model(folder, command):
    change, sentence = CONFIGS[1]
    write(folder, "config.json", json.loads((folder / "config.json").read_text()) | change)
    check(measured(*command, "-m", folder), sentence)


@pytest.mark.parametrize("change, sentence", [
    ({"length": HUGE}, "positions: "),
    ({"inner": HUGE}, "layer.0.feed_forward.up.weight: "),
    ({"hidden": HUGE}, "words: "),
], ids=["length", "inner", "hidden"])  # fmt: skip
@pytest.mark.parametrize("command", ["embed", "generate"])
def test_sizes_of_a_model_of_our_own(folder, command, change, sentence):
    write(folder, "config.json", OWN | change)
    write(folder, "model.safetensors", own_model())
    arguments = ["-", "-m", folder, "--pool", "mean"] if command == "embed" else ["the bank", "-m", folder, "-n", "3"]
    check(measured(command, *arguments, stdin=b"the bank\n"), sentence)


@pytest.mark.parametrize("positions", ["none", "sinusoidal", "rotary", "alibi"])
@pytest.mark.parametrize("command", ["embed", "generate"])
def test_positions_that_are_not_in_the_file(folder, command, positions):
    """The file does not say how many there are, so their number cannot determine how much memory is allocated."""
    write(folder, "config.json", OWN | {"positions": positions, "length": HUGE})
    write(folder, "model.safetensors", own_model())
    arguments = ["-", "-m", folder, "--pool", "mean"] if command == "embed" else ["the bank", "-m", folder, "-n", "3"]
    done = measured(command, *arguments, stdin=b"the bank\n")
    assert done.code == 0 and done.err == "" and (SANITIZED or done.megabytes < 256), done


MANY = {"x": {"id": "x", "ids": [2] * 4000, "tokens": ["x"] * 4000}}
SPECIAL = {"SpecialToken": {"id": "x", "type_id": 0}}
TEXT_A, TEXT_B = {"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}
TEMPLATE = {"type": "TemplateProcessing", "single": [SPECIAL] * 4000 + [TEXT_A], "pair": [TEXT_A, TEXT_B], "special_tokens": MANY}
TOKENIZERS = {  # what is in the file, the text, the sentence
    "replace": ({"normalizer": sequence(replace("a", "a" * 10), 8)}, b"aaaaaaaaa",
                "normalizer.normalizers[5] (Replace) would make 9000000 bytes of a text of 9"),
    "nothing": ({"normalizer": replace("x*", "a" * 500_000, "Regex")}, b"bbbb", "normalizer (Replace) would make"),
    "steps": ({"normalizer": sequence({"type": "NFD"}, 50_000)}, b"a", "has 50000 elements, more than the 1000"),
    "backwards": ({"pre_tokenizer": split(r"\s+\s+$")}, b" " * 30_000 + b"x", "takes too many steps on this text"),
    "special": ({"post_processor": TEMPLATE}, b"a", "post_processor.single: adds more than 4096 special tokens"),
}  # fmt: skip


@pytest.mark.parametrize("name", TOKENIZERS)
def test_tokenizers(folder, name):
    parts, text, sentence = TOKENIZERS[name]
    write(folder, "tokenizer.json", tokenizer(folder, **parts))
    assert (folder / "tokenizer.json").stat().st_size < 1 << 20
    check(measured("embed", "-m", folder, "-", stdin=text + b"\n"), sentence)


FILES = {  # files of the folder, the sentence
    "header": ({"model.safetensors": struct.pack("<Q", 99_000_000) + b"{" * 500_000}, "99000000 bytes, but only 500000 follow"),
    "elements": ({"model.safetensors": safetensors({"t": (1,)}).replace(b"[1]", b"[9]")}, "its type and shape take 36"),
    "dense": ({"modules.json": [TRANSFORMER, POOLING, DENSE],
               "1_Pooling/config.json": {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True},
               "2_Dense/config.json": {"in_features": 32, "out_features": HUGE, "bias": False,
                                       "activation_function": "torch.nn.modules.activation.Tanh"},
               "2_Dense/model.safetensors": safetensors({"linear.weight": (4, 32)})},
              "linear.weight: its shape is (4, 32), but the configuration says (16777216, 32)"),
    "modules": ({"modules.json": [TRANSFORMER] * 8000}, "has more than 16 modules"),
    "nested": ({"config.json": b'{"a":' * 150_000}, "is nested more than 32 deep"),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_other_files_of_a_model(folder, name):
    files, sentence = FILES[name]
    for file, content in files.items():
        write(folder, file, content)
    check(measured("embed", "-m", folder, "-", stdin=b"the bank\n"), sentence)


def test_arrays(folder):
    (folder / "texts.txt").write_text("the bank\n")
    for shape, sentence in [((1 << 40, 1 << 20), "has 0 bytes of numbers"), ((1 << 62,), "more numbers than 64 bits can count")]:
        header = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).encode().ljust(117) + b"\n"
        write(folder, "r.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header)
        check(measured("doctor", "-m", folder, "--reference", folder / "r.npy", "--texts", folder / "texts.txt"), sentence)


def test_lessons():
    tall = json.dumps({"x": [[0]] * 150_000}).encode()
    check(measured("steps", "-", stdin=tall), "150000 x 150000 weights are too many to write out")
    check(measured("steps", "-", stdin=b"[" * 900_000), "expected an object in braces")


def test_a_token_file_without_an_end(folder, tmp_path, monkeypatch):
    (tmp_path / "token").write_bytes(b"x" * 900_000)
    monkeypatch.setenv("HF_TOKEN_PATH", str(tmp_path / "token"))
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:1")
    check(measured("pull", "someone/something"), "is too long for a token")
