"""Tokenizers of the package `tokenizers` that do what the tokenizer in a GGUF file does, and GGUF files made of a tokenizer. Needs gguf and numpy."""

import base64
import json

import gguf
from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, BYTE = 1, 2, 3, 4, 6

# Of `tokenizer.ggml.pre`, as the models' own tokenizer.json files have it: whether NFC comes first, and whether digits stand alone.
NFC = {"gpt-neox", "mpt", "command-r"}
DIGITS = {"smollm", "starcoder", "refact", "command-r"}
PLAIN = {"gpt-2", "gpt-neox", "mpt"}


def values(reader, name):
    field = reader.get_field(f"tokenizer.ggml.{name}")
    return None if field is None else field.contents()


def byte_level(file):
    """The tokenizer of a file of the kind gpt2."""
    reader = gguf.GGUFReader(file)
    tokens, merges, kinds = values(reader, "tokens"), values(reader, "merges"), values(reader, "token_type")
    pairs = []
    for merge in merges:
        space = merge.index(" ", 1)
        pairs.append((merge[:space], merge[space + 1 :]))
    made = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, pairs))
    name = values(reader, "pre") or ("gpt-neox" if reader.get_field("general.architecture").contents() == "gptneox" else "gpt-2")
    if name not in DIGITS | PLAIN:
        raise ValueError(f"{file}: {name} needs its own tokenizer.json to compare with: FILE.gguf=FILE.json")
    digits = [pre_tokenizers.Digits(individual_digits=True)] if name in DIGITS else []
    made.pre_tokenizer = pre_tokenizers.Sequence([*digits, pre_tokenizers.ByteLevel(add_prefix_space=False)])
    if name in NFC:
        made.normalizer = normalizers.NFC()
    made.decoder = decoders.ByteLevel()
    made.add_special_tokens([AddedToken(token, special=True, normalized=False) for token, kind in zip(tokens, kinds) if kind == CONTROL])
    made.add_tokens([AddedToken(token, normalized=False) for token, kind in zip(tokens, kinds) if kind == USER_DEFINED])
    return made


def sentence_pieces(file):
    """The tokenizer of a file of the kind llama: any two pieces merge that make a third one, those with the highest score first."""
    reader = gguf.GGUFReader(file)
    tokens, scores, kinds = values(reader, "tokens"), values(reader, "scores"), values(reader, "token_type")
    vocabulary = {token: i for i, token in enumerate(tokens)}
    usual = {token for token, kind in zip(tokens, kinds) if kind in (NORMAL, USER_DEFINED)}
    merges = [
        (-scores[vocabulary[token]], -cut, token[:cut], token[cut:])
        for token in usual
        for cut in range(1, len(token))
        if token[:cut] in usual and token[cut:] in usual
    ]
    made = Tokenizer(models.BPE(vocabulary, [merge[2:] for merge in sorted(merges)], unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("\u2581"), normalizers.Replace(" ", "\u2581")])
    made.decoder = decoders.Sequence([decoders.Replace("\u2581", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    special = [AddedToken(token, special=True, normalized=False) for token, kind in zip(tokens, kinds) if kind in (CONTROL, UNKNOWN)]
    made.add_special_tokens(special)
    made.add_tokens([AddedToken(token, normalized=False) for token, kind in zip(tokens, kinds) if kind == USER_DEFINED])
    return made


def equal_of(file):
    kind = values(gguf.GGUFReader(file), "model")
    return sentence_pieces(file) if kind == "llama" else byte_level(file)


def write_pieces(file, source, kind):
    """A GGUF file of the kind llama (sentence pieces with merges) or t5 (Unigram), with the vocabulary of a tokenizer.json."""
    described = json.loads(source.to_str())
    model, added = described["model"], {token["id"]: token for token in described["added_tokens"]}
    if kind == "llama":
        # The sooner a piece is made of two others, the higher its score.
        tokens = [token for token, _ in sorted(model["vocab"].items(), key=lambda entry: entry[1])]
        first = {}
        for rank, merge in enumerate(model["merges"]):
            first.setdefault("".join(merge), rank)
        scores = [-float(first.get(token, 1e9)) for token in tokens]
    else:
        tokens, scores = [piece for piece, _ in model["vocab"]], [score for _, score in model["vocab"]]
    unknown = model["unk_id"] if kind == "t5" else tokens.index(model["unk_token"])

    def kind_of(i):
        if i == unknown:
            return UNKNOWN
        if tokens[i].startswith("<0x") and len(tokens[i]) == 6:
            return BYTE
        if i in added:
            return CONTROL if added[i]["special"] else USER_DEFINED
        return NORMAL

    writer = gguf.GGUFWriter(file, "llama" if kind == "llama" else "t5")
    writer.add_tokenizer_model(kind)
    writer.add_token_list(tokens)
    writer.add_token_scores(scores)
    writer.add_token_types([kind_of(i) for i in range(len(tokens))])
    writer.add_unk_token_id(unknown)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)
    if kind == "llama":
        writer.add_add_space_prefix('"Prepend"' in source.to_str())
    else:
        for step in normalizer_steps(described["normalizer"]):
            if step["type"] == "Precompiled":
                writer.add_precompiled_charsmap(base64.b64decode(step["precompiled_charsmap"]))
        writer.add_add_space_prefix(True)
        writer.add_remove_extra_whitespaces(True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def normalizer_steps(section):
    return section["normalizers"] if section["type"] == "Sequence" else [section]


def t5(zoo, vocab_size=8000):
    """As transformers converts T5's sentence pieces: its table of characters, words between white space, Metaspace."""
    made = zoo.xlm_roberta(vocab_size, None)
    described = json.loads(made.to_str())
    vocabulary = [["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0]] + described["model"]["vocab"][4:-1]
    made = Tokenizer(models.Unigram([tuple(piece) for piece in vocabulary], 2, False))
    made.normalizer = normalizers.Precompiled(base64.b64decode(normalizer_steps(described["normalizer"])[0]["precompiled_charsmap"]))
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    made.decoder = decoders.Metaspace()
    made.add_special_tokens([AddedToken(name, special=True, normalized=False) for name in ("<pad>", "</s>", "<unk>")])
    return made
