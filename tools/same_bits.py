#!/usr/bin/env python3
"""Do two builds of attend compute the same bits?

    tools/same_bits.py OLD NEW [--only PATTERN] [--keep FOLDER] [--words] [--list]

Runs one list of commands with both programs, each in a folder of its own that starts out the same, and compares what they leave: standard
output, exit code and every file written. A command that needs a trained model runs after the one that trains it. The models are the small
ones of tests/golden, and all-MiniLM-L6-v2 where it is installed. Standard error is not compared, since it holds progress and messages.
docs/same-bits.md says more.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
GOLDEN = ROOT / "tests/golden/models"

# What may differ between two runs of the same build. Everything else is compared as it is.
NORMALISED = [
    (re.compile(rb'"tokens_per_second": ?[0-9.e+]+'), b'"tokens_per_second":0'),  # metrics.jsonl: how fast it learned
    (re.compile(rb'"available_bytes": ?[0-9.e+]+'), b'"available_bytes":0'),  # doctor --json: memory that is free at the moment
    (re.compile(rb"of which [0-9.]+ [kMGT]?B (can be had|is available) now"), rb"of which 0 B \1 now"),  # doctor: the same
    (re.compile(rb'"version": ?"[0-9][0-9.]*"'), b'"version":"0"'),  # doctor, and the Page: the version of the program
    (re.compile(rb'"compiler": ?"[^"]*"'), b'"compiler":""'),  # doctor --json
    (re.compile(rb"/CreationDate \([^)]*\)"), b"/CreationDate ()"),  # PDF
]


class Case(NamedTuple):
    name: str
    arguments: list[str]
    stdin: str = ""
    environment: dict = {}


# ---- what the commands read ---------------------------------------------------------------------------------------------------------------

WORDS = "the bank of river money is , - . ##s animal cross street because it was tired".split()
SPECIAL = {
    "bert": ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"],
    "roberta": ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
}


def safetensors(path: Path) -> dict[str, tuple[dict, bytes]]:
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    return {name: (entry, data[8 + size + entry["data_offsets"][0] : 8 + size + entry["data_offsets"][1]]) for name, entry in header.items()}


def write_safetensors(path: Path, tensors: dict[str, tuple[dict, bytes]]) -> None:
    header, place = {}, 0
    for name, (entry, data) in tensors.items():
        header[name] = entry | {"data_offsets": [place, place + len(data)]}
        place += len(data)
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + b"".join(data for _, data in tensors.values()))


def tokenizer(style: str) -> dict:
    """WordPiece over 64 tokens, with the special tokens of BERT or of RoBERTa, or none for GPT-2."""
    special = SPECIAL.get(style, ["<unk>", "<end>"])
    words = special + WORDS
    words += [f"w{i}" for i in range(len(words), 64)]
    begin, end, unknown = {"bert": (2, 3, 1), "roberta": (0, 2, 3)}.get(style, (None, None, 0))
    template = None
    if begin is not None:
        first, last = special[begin], special[end]

        def token(name, kind):
            return {"SpecialToken": {"id": name, "type_id": kind}}

        second = 1 if style == "bert" else 0
        template = {
            "type": "TemplateProcessing",
            "single": [token(first, 0), {"Sequence": {"id": "A", "type_id": 0}}, token(last, 0)],
            "pair": [token(first, 0), {"Sequence": {"id": "A", "type_id": 0}}, token(last, 0), *([] if second else [token(last, 0)]),
                     {"Sequence": {"id": "B", "type_id": second}}, token(last, second)],
            "special_tokens": {name: {"id": name, "ids": [special.index(name)], "tokens": [name]} for name in (first, last)},
        }
    added = [{"id": i, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
             for i, name in enumerate(special)]
    return {
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": added,
        "normalizer": {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None, "lowercase": True},
        "pre_tokenizer": {"type": "BertPreTokenizer"}, "post_processor": template, "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": True},
        "model": {"type": "WordPiece", "unk_token": special[unknown], "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
                  "vocab": {word: i for i, word in enumerate(words)}},
    }


FAMILIES = {"bert": "bert", "bert-relu": "bert", "distilbert": "bert", "mpnet": "roberta", "roberta": "roberta", "xlm-roberta": "roberta", "gpt2": "gpt2"}


def make_inputs(folder: Path) -> None:
    """The models with their output heads and a tokenizer, and the texts."""
    for family, style in FAMILIES.items():
        model = folder / "models" / family
        model.mkdir(parents=True)
        shutil.copy(GOLDEN / family / "config.json", model)
        head = {name: tensor for name, tensor in safetensors(GOLDEN / family / "token_head.safetensors").items() if not name.startswith("golden.")}
        write_safetensors(model / "model.safetensors", safetensors(GOLDEN / family / "model.safetensors") | head)
        (model / "tokenizer.json").write_text(json.dumps(tokenizer(style)))
    shutil.copytree(folder / "models/bert", folder / "models/sentence")
    (folder / "models/sentence/modules.json").write_text(json.dumps([
        {"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"},
        {"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"},
        {"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"}]))
    (folder / "models/sentence/1_Pooling").mkdir()
    (folder / "models/sentence/1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}))
    (folder / "models/sentence/config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "money of "}}))

    # Lines of 1 to 60 words, by a generator that never changes: some are longer than the 40 positions of the models.
    state = 1
    lines = []
    for line in range(24):
        words = []
        for _ in range(1 + line * line % 61):
            state = (state * 1103515245 + 12345) % 2**31
            words.append((WORDS[:9] + WORDS[10:] + [f"w{i}" for i in range(30, 60)])[(state >> 16) % (len(WORDS) + 29)])
        lines.append(" ".join(words))
    (folder / "texts.txt").write_text("\n".join(lines) + "\n")
    (folder / "texts.jsonl").write_text("".join(json.dumps({"text": line}) + "\n" for line in lines[:8]))
    (folder / "book.txt").write_text("the animal did not cross the street because it was too tired.\nshe sat on the bank of the river.\n" * 40)
    words = ["the", "bank", "of", "river", "money", "is", "w40", "w41", "w42", "w43"]
    pairs = [(f"the {first} is w{30 + i}", f"{second} of w{30 + i}", i % 5 / 4) for i, (first, second) in enumerate(zip(words * 2, reversed(words * 2)))]
    (folder / "scored.tsv").write_text("".join(f"{first}\t{second}\t{score}\n" for first, second, score in pairs))
    (folder / "partners.tsv").write_text("".join(f"{first}\t{second}\n" for first, second, _ in pairs))
    (folder / "lesson.json").write_text(json.dumps({
        "tokens": ["a", "b", "c"], "x": [[1, 0.5, 0, 0.25], [0.1, 1, -1, 0], [0, 0.3, 0.7, -0.2]], "heads": 2, "causal": True,
        "wq": [[0.5, 0, 1, 0], [0, 1, 0, 0.3], [1, 0, 0.2, 0], [0, 0.1, 0, 1]], "wk": [[1, 0, 0, 0.5], [0, 1, 0.25, 0], [0, 0, 1, 0], [0.75, 0, 0, 1]],
        "wv": [[1, 0.1, 0, 0], [0, 1, 0, 0.2], [0.3, 0, 1, 0], [0, 0, 0.4, 1]], "wo": [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0.5, 0, 0, 1]]}))


# ---- the commands -------------------------------------------------------------------------------------------------------------------------

TEXT = "the bank of the river is the money of the animal because it was tired ."
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
SMALL = ["model.hidden=16", "model.heads=2", "model.inner=32", "training.batch=4", "training.steps=8", "training.evaluate=4", "training.save=4", "training.warmup=2"]

# Folder of the model: task and what it sets besides SMALL.
TRAINED = {
    "recall": ("recall", []),
    "copy": ("copy", ["model.layers=2", "data.length=6"]),
    "reverse": ("reverse", ["model.layers=2", "data.length=6"]),
    "text": ("text", ["data.file=book.txt", "data.length=24", "model.layers=2"]),
    "text-words": ("text", ["data.file=book.txt", "data.tokenizer=models/gpt2/tokenizer.json", "data.length=12", "model.layers=1"]),
    "masked": ("masked", ["data.file=book.txt", "data.length=24", "model.layers=2"]),
    "masked-words": ("masked", ["data.file=book.txt", "data.tokenizer=models/bert/tokenizer.json", "data.length=16", "model.layers=2", "model.dropout=0.1"]),
    "pairs-scored": ("pairs", ["data.file=scored.tsv", "data.model=models/bert"]),
    "pairs-partners": ("pairs", ["data.file=partners.tsv", "data.model=models/roberta", "model.dropout=0.2"]),
    "pairs-distilbert": ("pairs", ["data.file=scored.tsv", "data.model=models/distilbert"]),
    "gru": ("recall", ["model.mixer=gru", "data.distance=4"]),
    "gru-layers": ("text", ["model.mixer=gru", "model.layers=3", "data.file=book.txt", "data.length=24"]),
    "post-norm": ("copy", ["model.norm_first=false", "data.length=6"]),
    "llama": ("copy", ["model.positions=rotary", "model.norm=rms", "model.feed_forward=swiglu", "model.tied=false", "data.length=6"]),
    "alibi": ("copy", ["model.positions=alibi", "model.norm_first=false", "model.layers=2", "data.length=6"]),
    "sinusoidal": ("recall", ["model.positions=sinusoidal", "model.scaled=false"]),
    "no-positions": ("recall", ["model.positions=none", "model.feed_forward=gelu", "model.norm=rms"]),
    "recompute": ("text", ["data.file=book.txt", "data.length=24", "model.layers=2", "model.recompute=true", "model.dropout=0.2"]),
    "accumulate": ("copy", ["data.length=6", "training.accumulate=3", "training.clip=0.5", "training.seed=7", "training.floor=0.5"]),
    "reverse-rms": ("reverse", ["model.norm=rms", "model.norm_first=false", "model.positions=rotary", "data.length=6", "model.dropout=0.1"]),
    "reverse-alibi": ("reverse", ["model.positions=alibi", "model.feed_forward=swiglu", "model.tied=false", "data.length=6", "model.recompute=true"]),
    "masked-own": ("masked", ["data.file=book.txt", "data.length=24", "model.layers=2", "model.positions=rotary", "model.norm=rms", "model.norm_first=true"]),
    "it": ("it", ["training.steps=20"]),
}


def settings(values: list[str]) -> list[str]:
    return [part for value in values for part in ("--set", value)]


def train_cases() -> list[Case]:
    cases = []
    for name, (task, changes) in TRAINED.items():
        values = [value for value in SMALL if task != "pairs" or value.startswith("training.")] if task != "it" else []
        folder = f"trained/{name}"
        if task == "it":
            cases.append(Case(f"train {name}", ["train", task, "-o", folder, *settings(values + changes)]))
            continue
        cases.append(Case(f"train {name}, half", ["train", task, "-o", folder, *settings(values + changes + ["training.stop_after=5"])]))
        cases.append(Case(f"resume {name}", ["train", "--resume", "-o", folder]))
    watch = ["--watch", "the river", "--set", "training.rate=0.01"]
    cases.append(Case("train text, watched", ["train", "text", "-o", "trained/watched", *settings(SMALL + TRAINED["text"][1]), *watch]))
    cases += [Case(f"train {task} --print-config", ["train", task, "--print-config"]) for task in ("recall", "pairs")]
    return cases


def embed_cases() -> list[Case]:
    def case(name, *arguments, file="texts.txt"):
        return Case(f"embed {name}", ["embed", file, *arguments])

    cases = [case(f"{family}", "-m", f"models/{family}", "-o", f"embed-{family}.npy") for family in FAMILIES]
    cases += [case(f"{family} --tokens", "-m", f"models/{family}", "--tokens", "-o", f"tokens-{family}.safetensors") for family in ("bert", "roberta", "gpt2", "mpnet")]
    cases += [case(f"{how} pooling", "-m", "models/distilbert", "--pool", how, "-o", f"pool-{how}.npy")
              for how in ("cls", "max", "mean", "mean_sqrt_length", "weighted_mean", "last_token")]
    cases += [
        case("several poolings", "-m", "models/gpt2", "--pool", "mean", "max", "last_token", "--normalize", "-o", "pool-several.npz"),
        case("to standard output", "-m", "models/bert", file="texts.jsonl"),
        case("--jsonl", "-m", "models/bert", "--jsonl", "-o", "embed.jsonl", file="texts.jsonl"),
        case("--words", "-m", "models/xlm-roberta", "--words", "-o", "words.npz"),
        case("layer 0", "-m", "models/bert", "--layer", "0", "-o", "layer-0.npy"),
        case("layer 1", "-m", "models/gpt2", "--layer", "1", "-o", "layer-1.npy"),
        case("split", "-m", "models/mpnet", "--on-overflow", "split", "-o", "split.npy"),
        case("error", "-m", "models/mpnet", "--on-overflow", "error", "-o", "error.npy"),
        case("max tokens, small batches", "-m", "models/roberta", "--max-tokens", "9", "--batch-tokens", "64", "-o", "max.npy"),
        case("prompt", "-m", "models/bert", "--prompt", "the money ", "-o", "prompt.npy"),
        case("sentence model", "-m", "models/sentence", "-o", "sentence.npy"),
        case("sentence model, prompt by name", "-m", "models/sentence", "--prompt-name", "query", "--no-normalize", "-o", "named.npy"),
        case("MiniLM", "-m", MINILM, "-o", "minilm.npy"),
        case("MiniLM tokens", "-m", MINILM, "--tokens", "--layer", "3", "-o", "minilm.safetensors"),
    ]
    cases += [case(f"trained {name}", "-m", f"trained/{name}", "-o", f"trained-{name}.npy")
              for name in ("text-words", "masked-words", "pairs-scored", "pairs-partners", "llama", "alibi", "sinusoidal", "reverse", "masked-own")]
    return cases


def explain_cases() -> list[Case]:
    def case(name, *arguments, text=TEXT):
        return Case(f"explain {name}", ["explain", text, *arguments])

    def of(family):
        return ["-m", f"models/{family}"]

    mask = {"bert": "[MASK]", "roberta": "<mask>"}
    cases = [case(f"{family} {method}", *of(family), "--method", method, "--special", "--tokens", "--json")
             for family, method in [("bert", "raw"), ("distilbert", "norm"), ("mpnet", "rollout"), ("gpt2", "norm"), ("xlm-roberta", "rollout"), ("gpt2", "rollout")]]
    cases += [case(f"{family} npz", *of(family), "-o", f"explain-{family}.npz") for family in ("bert", "roberta", "mpnet", "gpt2")]
    cases += [case(f"{family} guess", *of(family), "--method", "grad", "--guess", "money", "--json",
                   text=f"the bank of {mask.get(FAMILIES[family], '')}".strip()) for family in FAMILIES]
    cases += [
        case("as text", *of("bert")),
        case("safetensors", *of("distilbert"), "--method", "norm", "-o", "explain.safetensors"),
        case("svg", *of("roberta"), "-o", "explain.svg"),
        case("lines, svg", *of("gpt2"), "--view", "lines", "--layer", "2", "-o", "lines.svg"),
        case("model, png", *of("bert"), "--view", "model", "-o", "model.png"),
        case("film, pdf", *of("bert"), "--view", "film", "-o", "film.pdf"),
        case("figure", *of("mpnet"), "--layer", "1", "--head", "3", "--format", "figure"),
        case("html", *of("bert"), "--focus", "bank", "-o", "explain.html"),
        case("html, gpt2", *of("gpt2"), "-o", "gpt2.html"),
        case("focus", *of("bert"), "--focus", "it", "--top", "5"),
        case("focus and to", *of("gpt2"), "--focus", "it", "--to", "animal", "--top", "5"),
        case("focus and to, JSON", *of("bert"), "--focus", "it", "--to", "animal", "--method", "norm", "--json"),
        case("flow", *of("bert"), "--method", "flow", "--focus", "it", "--json"),
        case("flow, gpt2", *of("gpt2"), "--method", "flow", "--focus", "tired"),
        case("heads", *of("roberta"), "--heads"),
        case("heads, JSON", *of("gpt2"), "--heads", "--json"),
        case("relation", *of("bert"), "--relation", "what:it>animal,bank>money", "--relation", "who:river>bank"),
        case("relation, JSON", *of("mpnet"), "--relation", "what:it>animal,bank>money", "--json"),
        case("ablate", *of("bert"), "--ablate", "1.2", "--ablate", "it>animal"),
        case("ablate, JSON", *of("gpt2"), "--ablate", "2.1:it>animal", "--ablate", "1.3=0.5", "--json"),
        case("ablate, distilbert", *of("distilbert"), "--ablate", "1.2=0.25", "--focus", "it", "--json"),
        case("grad towards", *of("bert"), "--method", "grad", "--towards", "the money is cross", "--json"),
        case("grad towards, gpt2", *of("gpt2"), "--method", "grad", "--towards", "the money is cross", "-o", "grad.npz"),
        case("grad towards, mpnet", *of("mpnet"), "--method", "grad", "--towards", "the money is cross", "--layer", "2", "--json"),
        case("pair", *of("bert"), "--second", "the money is of the bank", "--special", "--json"),
        case("pair, roberta", *of("roberta"), "--second", "the money is of the bank", "--special", "--json"),
        case("MiniLM", "-m", MINILM, "--json"),
        case("MiniLM html", "-m", MINILM, "--focus", "it", "-o", "minilm.html"),
        case("MiniLM grad", "-m", MINILM, "--method", "grad", "--towards", "the shore", "-o", "minilm.npz"),
        case("MiniLM flow", "-m", MINILM, "--method", "flow", "--focus", "it", "--json"),
    ]
    source = "s4 s2 s7 s1 s3 s0"
    for name in ("reverse", "reverse-rms", "reverse-alibi"):
        model = ["-m", f"trained/{name}"]
        cases += [
            case(f"{name}", *model, "--json", text=source),
            case(f"{name} with a target", *model, "--second", "s1 s2 s3", "--method", "norm", "-o", f"{name}.npz", text=source),
            case(f"{name} grad", *model, "--method", "grad", "--towards", "s1 s2 s3 s4 s5 s6", "--json", text=source),
        ]
    cases += [
        case("reverse, rollout", "-m", "trained/reverse", "--method", "rollout", "--json", text=source),
        case("reverse, ablate", "-m", "trained/reverse", "--ablate", "2.1", "--json", text=source),
        case("reverse, guess", "-m", "trained/reverse", "--method", "grad", "--guess", "s1", "--json", text=source),
        case("reverse, model", "-m", "trained/reverse", "--view", "model", "-o", "reverse.svg", text=source),
        case("reverse, html", "-m", "trained/reverse", "-o", "reverse.html", text=source),
        case("recall", "-m", "trained/recall", "--method", "norm", "--json", text="d7 a3 f1 a?"),
        case("llama guess", "-m", "trained/llama", "--method", "grad", "--guess", "s1", "--json", text="s1 s5 s3 | s1"),
        case("alibi ablate", "-m", "trained/alibi", "--ablate", "2.1", "--json", text="s1 s5 s3 | s1"),
        case("masked-own", "-m", "trained/masked-own", "--tokens", "--json", text="the river"),
        case("masked-words", "-m", "trained/masked-words", "--focus", "river"),
        case("gru, refused", "-m", "trained/gru", "--json"),
    ]
    return cases


def other_cases() -> list[Case]:
    cases = []
    for family in ("bert", "gpt2", "mpnet"):
        model = ["-m", f"models/{family}", "--word", "bank", "--json"]
        cases.append(Case(f"compare {family}", ["compare", "the bank of the river", "the money of the bank is w40", *model]))
    cases += [
        Case("compare as text", ["compare", "the bank of the river", "the money of the bank is w40", "-m", "models/roberta", "--word", "bank"]),
        Case("compare in one text", ["compare", TEXT, "-m", "models/distilbert", "--word", "the", "--json"]),
        Case("compare other word", ["compare", "the bank is", "the river is", "-m", "models/xlm-roberta", "--word", "bank", "--other-word", "river"]),
        Case("compare MiniLM", ["compare", "She sat on the bank of the river.", "He put the money in the bank.", "-m", MINILM, "--word", "bank", "--json"]),
        Case("compare trained", ["compare", "s1 s5 s3 | s1", "s3 s5 s2 | s1", "-m", "trained/llama", "--word", "s5", "--json"]),
    ]
    for name in ("love", "it", "it-trained", "heads", "causal", "cross", "positions", "scale"):
        cases.append(Case(f"steps {name}", ["steps", "--example", name]))
    cases += [
        Case("steps heads, JSON", ["steps", "--example", "heads", "--json"]),
        Case("steps, focus", ["steps", "--example", "it", "--focus", "it"]),
        Case("steps of a file", ["steps", "lesson.json"]),
        Case("steps of a file, JSON", ["steps", "lesson.json", "-o", "lesson-steps.json"]),
        Case("steps, svg", ["steps", "lesson.json", "-o", "lesson.svg"]),
    ]
    greedy = ["--temperature", "0"]
    long = " ".join([TEXT] * 3)  # more than the 40 positions that there are
    cases += [
        Case("generate gpt2, greedy", ["generate", "-m", "models/gpt2", TEXT, "-n", "20", *greedy]),
        Case("generate gpt2, sampled", ["generate", "-m", "models/gpt2", TEXT, "-n", "60", "--seed", "3"]),
        Case("generate gpt2, wild", ["generate", "-m", "models/gpt2", "the", "-n", "100", "--temperature", "2", "--top", "0", "--new-only"]),
        Case("generate gpt2, long prompt", ["generate", "-m", "models/gpt2", long, "-n", "30"]),
        Case("generate recall", ["generate", "-m", "trained/recall", "d7 a3 f1 a?", "-n", "40", *greedy]),
        Case("generate text", ["generate", "-m", "trained/text", "the animal", "-n", "80"]),
        Case("generate text-words", ["generate", "-m", "trained/text-words", "the animal", "-n", "40", "--top", "5"]),
        Case("generate llama", ["generate", "-m", "trained/llama", "s1 s5 s3 |", "-n", "30", "--temperature", "1"]),
        Case("generate alibi", ["generate", "-m", "trained/alibi", "s1 s5 s3 |", "-n", "60"]),
        Case("generate sinusoidal", ["generate", "-m", "trained/sinusoidal", "d7 a3 f1 a?", "-n", "60"]),
        Case("generate no-positions", ["generate", "-m", "trained/no-positions", "d7 a3 f1 a?", "-n", "30"]),
        Case("generate reverse", ["generate", "-m", "trained/reverse", "s4 s2 s7 s1 s3 s0"]),
        Case("generate reverse, sampled", ["generate", "-m", "trained/reverse-rms", "s4 s2 s7 s1", "--temperature", "1", "--seed", "5", "-n", "20"]),
        Case("generate reverse-alibi", ["generate", "-m", "trained/reverse-alibi", "s4 s2 s7 s1", "-n", "30"]),
        Case("generate masked, refused", ["generate", "-m", "trained/masked", "the"]),
        Case("generate gru, refused", ["generate", "-m", "trained/gru", "d7"]),
        Case("doctor bert, JSON", ["doctor", "-m", "models/bert", "--json"]),
        Case("doctor gpt2", ["doctor", "-m", "models/gpt2"]),
        Case("doctor reverse", ["doctor", "-m", "trained/reverse"]),
        Case("doctor, parity", ["doctor", "-m", "models/distilbert", "--reference", "embed-distilbert.npy", "--texts", "texts.txt", "--json"]),
        Case("doctor, no parity", ["doctor", "-m", "models/distilbert", "--reference", "pool-cls.npy", "--texts", "texts.txt"]),
    ]
    # The other instruction sets, and one thread.
    for isa in ("avx2", "sse4", "scalar"):
        forced = {"ATTEND_ISA": isa}
        cases += [
            Case(f"embed gpt2, {isa}", ["embed", "texts.txt", "-m", "models/gpt2", "-o", f"gpt2-{isa}.npy"], environment=forced),
            Case(f"explain bert grad, {isa}", ["explain", TEXT, "-m", "models/bert", "--method", "grad", "--towards", "the money", "--json"], environment=forced),
            Case(f"train copy, {isa}", ["train", "copy", "-o", f"trained/copy-{isa}", *settings(SMALL + ["data.length=6"])], environment=forced),
        ]
    cases.append(Case("train copy, one thread", ["train", "copy", "-o", "trained/copy-thread", *settings(SMALL + ["data.length=6"])], environment={"ATTEND_THREADS": "1"}))
    return cases


def all_cases() -> list[Case]:
    return train_cases() + embed_cases() + explain_cases() + other_cases()


def selected(cases: list[Case], pattern: str | None) -> list[Case]:
    """Those whose name matches, and before them what writes the files that they read."""
    wanted = set()

    def add(index: int) -> None:
        if index in wanted:
            return
        wanted.add(index)
        reads = [argument for argument in cases[index].arguments if argument.startswith("trained/") or argument.endswith(".npy")]
        for earlier in range(index):
            arguments = cases[earlier].arguments
            if "-o" in arguments and arguments[arguments.index("-o") + 1] in reads:
                add(earlier)

    for index, case in enumerate(cases):
        if pattern is None or re.search(pattern, case.name):
            add(index)
    return [cases[index] for index in sorted(wanted)]


# ---- running and comparing ----------------------------------------------------------------------------------------------------------------


def normalised(data: bytes, folder: Path) -> bytes:
    data = data.replace(str(folder).encode(), b"FOLDER")  # the folder in which the command runs
    for expression, replacement in NORMALISED:
        data = expression.sub(replacement, data)
    return data


class Outcome(NamedTuple):
    outputs: dict[str, bytes]  # "stdout", "exit code" and the names of the files written: what they hold
    stderr: bytes


class Runner:
    def __init__(self, program: Path, folder: Path):
        self.program, self.folder = program.resolve(), folder.resolve()
        self.folder.mkdir(parents=True)
        make_inputs(self.folder)
        self.seen = self.stamps()
        kept = ("PATH", "HOME", "XDG_CACHE_HOME", "HF_HOME", "HF_HUB_CACHE", "ATTEND_MODELS", "ATTEND_THREADS", "ATTEND_ISA", "LD_LIBRARY_PATH", "LANG")
        self.environment = {name: os.environ[name] for name in kept if name in os.environ} | {"COLUMNS": "100"}

    def stamps(self) -> dict[str, tuple]:
        found = {}
        for path in self.folder.rglob("*"):
            if path.is_file():
                status = path.stat()
                found[str(path.relative_to(self.folder))] = (status.st_mtime_ns, status.st_size, status.st_ino)
        return found

    def run(self, case: Case) -> Outcome:
        done = subprocess.run([self.program, *case.arguments], input=case.stdin.encode(), capture_output=True, cwd=self.folder,
                              env=self.environment | case.environment, timeout=120)
        now = self.stamps()
        outputs = {"exit code": str(done.returncode).encode(), "stdout": normalised(done.stdout, self.folder)}
        for name in sorted(name for name, stamp in now.items() if self.seen.get(name) != stamp):
            outputs[name] = normalised((self.folder / name).read_bytes(), self.folder)
        for name in self.seen.keys() - now.keys():
            outputs[name] = b"(removed)"
        self.seen = now
        return Outcome(outputs, done.stderr)


def only_words(old: bytes, new: bytes) -> bool:
    """Whether two texts have the same numbers, in the same order."""
    numbers = re.compile(rb"[0-9.]+(?:e[+-]?[0-9]+)?")
    try:
        old.decode(), new.decode()
    except UnicodeDecodeError:
        return False
    return numbers.findall(old) == numbers.findall(new)


def differences(old: Outcome, new: Outcome) -> list[str]:
    found = []
    for name in sorted(old.outputs.keys() | new.outputs.keys()):
        first, second = old.outputs.get(name), new.outputs.get(name)
        if first == second:
            continue
        if first is None or second is None:
            found.append(f"{name} (written by {'NEW' if first is None else 'OLD'} alone)")
        else:
            found.append(f"{name} (words only)" if name != "exit code" and only_words(first, second) else name)
    return found


def run_both(runners: list[Runner], case: Case) -> list[Outcome]:
    outcomes: list = [None, None]

    def work(index: int) -> None:
        outcomes[index] = runners[index].run(case)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return outcomes


def main() -> int:
    parser = argparse.ArgumentParser(description="Do two builds of attend compute the same bits?")
    parser.add_argument("old", type=Path, metavar="OLD")
    parser.add_argument("new", type=Path, metavar="NEW")
    parser.add_argument("--only", metavar="PATTERN", help="only commands whose name matches this regular expression, and those that they need")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="leave everything that was written in FOLDER/old and FOLDER/new")
    parser.add_argument("--words", action="store_true", help="differences in words alone, with all numbers the same, do not count")
    parser.add_argument("--list", action="store_true", help="print the commands and stop")
    arguments = parser.parse_args()
    cases = selected(all_cases(), arguments.only)
    if arguments.list:
        for case in cases:
            print(f"{case.name:40} {' '.join(case.arguments)}")
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        where = arguments.keep or Path(temporary)
        for name in ("old", "new"):
            shutil.rmtree(where / name, ignore_errors=True)
        runners = [Runner(arguments.old, where / "old"), Runner(arguments.new, where / "new")]
        width = max((len(case.name) for case in cases), default=0)
        different = failed = in_words = 0
        everything = [hashlib.sha256(), hashlib.sha256()]
        for case in cases:
            old, new = run_both(runners, case)
            for digest, outcome in zip(everything, (old, new)):
                for name, data in sorted(outcome.outputs.items()):
                    digest.update(f"{case.name}\n{name}\n{len(data)}\n".encode() + data)
            code = old.outputs["exit code"].decode()
            found = differences(old, new)
            exit_note = "" if code == "0" else f" (exit code {code}: {old.stderr.decode(errors='replace').strip().splitlines()[-1:]})"
            failed += code != "0"
            different += bool(found)
            in_words += bool(found) and all(name.endswith("(words only)") for name in found)
            result = f"differs: {', '.join(found)}" if found else f"same   {len(old.outputs) - 1:2} outputs"
            print(f"{case.name:{width}}  {result}{exit_note}", flush=True)
        print(f"\n{len(cases)} commands: {len(cases) - different} the same, {different} differ ({in_words} of them in words only); "
              f"{failed} are refused or fail in OLD.")
        print(f"sha256 of all outputs: OLD {everything[0].hexdigest()}\n                       NEW {everything[1].hexdigest()}")
    return 1 if different > (in_words if arguments.words else 0) else 0


if __name__ == "__main__":
    sys.exit(main())
