"""Tokenizers of every kind, trained on public text, and lines of text to try them on."""

import io
import json
import pathlib
import pydoc_data.topics
import random
import sysconfig
import tempfile
import unicodedata

import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

SENTENCES = [
    "The animal didn't cross the street because it was too tired.",
    "Ça coûte 3,50 € à Zürich; l'été naïf d'Ångström, œuvre et façade.",
    "Die Straße führt über größere Brücken. Größe: 10 µm!",
    "İstanbul'da IĞDIR ve ŞİŞLİ, ılık çay.",
    "Москва́ — столица России, а Ёлка стоит в лесу.",
    "Ἐν ἀρχῇ ἦν ὁ λόγος, καὶ ὁ λόγος ἦν πρὸς τὸν θεόν.",
    "北京是中华人民共和国的首都。我爱自然语言处理!",
    "東京タワーはとても高いです。カタカナとひらがな。ﾊﾝｶｸ",
    "한국어 문장은 띄어쓰기가 있습니다. 각 각 갂",
    "مرحبا بالعالم، كيف حالك؟ السَّلَامُ عَلَيْكُمْ",
    "שָׁלוֹם עוֹלָם, מה שלומך?",
    "हिन्दी में एक वाक्य। क्षत्रिय ज्ञान",
    "ภาษาไทยไม่มีการเว้นวรรค",
    "👍🏽 👨‍👩‍👧‍👦 🇩🇪🇫🇷 ❤️ ☺ 🏳️‍🌈 ok",
    "ﬁ ﬂ Ⅳ ½ ² ㎏ ﷺ ① ™ № ｆｕｌｌ　ｗｉｄｔｈ",
    "e\u0301 e\u0323\u0301 e\u0301\u0323 q\u0307\u0323 \u0301alone A\u030a \u1100\u1161\u11a8 \u0344",
    "def f(x: int) -> str:\n    return f'{x!r}'  # don't\n",
    "x_1 = y**2 + 3.14e-10; if (a&&b||!c) { goto end; }",
    "tab\tnew\nline\r\nform\ffeed\vend\x00nul\x7fdel\x85nel\u00a0nbsp\u200bzwsp\u2028ls\ufeffbom\ufffd",
    "   leading,  double  and trailing   ",
    "it's we're I'm they've you'll he'd 'S 'RE don''t ' s",
    "<mask> a<mask>b  <mask>  </s><s> [MASK][CLS] hello [SEP]. <unk> ▁under▁score",
    "ADDED added addedword <|end|> <|END|>\t<|end|>x",
    "http://example.org/a?b=c&d=%20#e user@host.tld 192.168.0.1 v1.2.3-rc4",
    "0123456789 1,000,000 ٣٤٥ ௧௨ 𝟘𝟙 Ⅻ",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa b",
    "...!!!???---___###$$$%%%^^^&&&***((()))[[[]]]{{{}}}",
    "\u0378\U000e0001\ue000\U0001fae9\U00010d50\u1c89 unassigned",
    "",
    " ",
    "a",
]


def topics():
    """Python's own reference: about 600 KB of English and code."""
    return [line for topic in pydoc_data.topics.topics.values() for line in topic.splitlines() if line.strip()]


def code():
    folder = pathlib.Path(sysconfig.get_path("stdlib"))
    for file in sorted(folder.glob("*.py")):
        yield from file.read_text(encoding="utf-8", errors="replace").splitlines()


BLOCKS = [(0x20, 0x7F), (0xA0, 0x250), (0x300, 0x370), (0x370, 0x530), (0x590, 0x700), (0x900, 0xE00), (0xE00, 0xF00), (0x1100, 0x1200), (0x1E00, 0x2000),
          (0x2000, 0x2070), (0x2070, 0x2C00), (0x3000, 0x3100), (0x3130, 0x3400), (0x4E00, 0x9FFF), (0xAC00, 0xD7A4), (0xF900, 0xFE10), (0xFE20, 0x10000),
          (0x10000, 0x11000), (0x11000, 0x12000), (0x1D100, 0x1D800), (0x1F000, 0x1FB00), (0x20000, 0x2FA20), (0xE0000, 0xE0200), (0, 0x20), (0x7F, 0xA0)]  # fmt: skip


def character(draw):
    while True:
        c = draw.randrange(*draw.choice(BLOCKS)) if draw.random() < 0.97 else draw.randrange(0x110000)
        if not 0xD800 <= c < 0xE000:
            return chr(c)


def odd_line(draw):
    """Words of one script each, with marks, control characters, emoji and special tokens between them."""
    parts = []
    for _ in range(draw.randrange(1, 9)):
        kind = draw.random()
        if kind < 0.35:
            block = draw.choice(BLOCKS)
            word = "".join(chr(draw.randrange(*block)) for _ in range(draw.randrange(1, 8)))
            parts.append(word if draw.random() < 0.7 else word.upper())
        elif kind < 0.55:
            parts.append("".join(character(draw) for _ in range(draw.randrange(1, 6))))
        elif kind < 0.75:
            parts.append(draw.choice(draw.choice(SENTENCES[:-3]).split() or ["x"]))
        elif kind < 0.85:
            parts.append(unicodedata.normalize(draw.choice(["NFC", "NFD", "NFKD"]), draw.choice(SENTENCES)[: draw.randrange(1, 20)]))
        else:
            parts.append(draw.choice(["<mask>", "[MASK]", "<|end|>", "ADDED", "</s>", "👍🏽", "\r\n", "  ", "\t", "'s", "'ll", "\u0301", "\u200d"]))
    line = draw.choice([" ", " ", " ", "", "  ", "\n", "\u3000"]).join(parts)
    return "".join(c for c in line if not 0xD800 <= ord(c) < 0xE000)


def lines(count, seed=1):
    draw = random.Random(seed)
    english, programs = topics(), list(code())
    for i in range(count):
        kind = i % 10
        if kind < 3:
            yield draw.choice(english)
        elif kind < 5:
            yield draw.choice(programs)
        elif kind < 6:
            yield " ".join(draw.choice(SENTENCES) for _ in range(draw.randrange(1, 4)))
        else:
            yield odd_line(draw)


def special(name, **flags):
    return AddedToken(name, special=True, normalized=False, **flags)


def corpus(size):
    return topics()[:size] + SENTENCES * 4


def bert(vocab_size=1000, text=4000, **options):
    made = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    made.normalizer = normalizers.BertNormalizer(**options)
    made.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    made.decoder = decoders.WordPiece()
    names = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    made.train_from_iterator(corpus(text), trainers.WordPieceTrainer(vocab_size=vocab_size, special_tokens=names, show_progress=False))
    made.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return made


def roberta(vocab_size=1000, text=4000, add_prefix_space=True):
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    made.decoder = decoders.ByteLevel()
    names = [special("<s>"), special("<pad>"), special("</s>"), special("<unk>"), special("<mask>", lstrip=True)]
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=names, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False
    )
    made.train_from_iterator(corpus(text), trainer)
    made.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=add_prefix_space)
    return made


def sentencepiece_model(vocab_size, text, rules=None, **options):
    with tempfile.TemporaryDirectory() as folder:
        if rules is not None:
            path = pathlib.Path(folder) / "rules.tsv"
            path.write_text("".join(f"{' '.join(f'{ord(c):X}' for c in a)}\t{' '.join(f'{ord(c):X}' for c in b)}\n" for a, b in rules.items()))
            options["normalization_rule_tsv"] = str(path)
        stream = io.BytesIO()
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(corpus(text)), model_writer=stream, vocab_size=vocab_size, model_type="unigram",
            hard_vocab_limit=False, minloglevel=2, **options,
        )  # fmt: skip
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(stream.getvalue())
    return proto


def xlm_roberta(vocab_size=1000, text=4000, rules=None):
    """As transformers converts XLM-R: its charsmap, runs of spaces, Metaspace, <s> A </s>."""
    proto = sentencepiece_model(vocab_size, text, rules)
    pieces = [("<s>", 0.0), ("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0)]
    pieces += [(piece.piece, piece.score) for piece in proto.pieces[3:]] + [("<mask>", 0.0)]
    made = Tokenizer(models.Unigram(pieces, 3, False))
    charsmap = normalizers.Precompiled(proto.normalizer_spec.precompiled_charsmap)
    made.normalizer = normalizers.Sequence([charsmap, normalizers.Replace(Regex(" {2,}"), "\u2581")])
    made.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    made.decoder = decoders.Metaspace()
    made.add_special_tokens([special(n) for n in ("<s>", "<pad>", "</s>", "<unk>")] + [special("<mask>", lstrip=True)])
    made.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)]
    )
    return made


SMALL_RULES = {"ﬁ": "fi", "½": "1/2", "\u3000": " ", "\t": " ", "\n": " ", "\r": " ", "™": "TM", "\u200b": "", "e\u0301": "\u00e9", "\u212b": "\u00c5", "ｆ": "f", "№": "No"}
LLAMA3 = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"


def edited(made, change):
    description = json.loads(made.to_str())
    change(description)
    return Tokenizer.from_str(json.dumps(description))


def llama(vocab_size=700, text=1500):
    made = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    made.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    made.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)])
    names = ["<unk>", "<s>", "</s>"] + [f"<0x{b:02X}>" for b in range(256)]
    made.train_from_iterator(
        [line.replace(" ", "▁") for line in corpus(text) if line.isascii()],
        trainers.BpeTrainer(vocab_size=vocab_size, special_tokens=names, show_progress=False, max_token_length=8),
    )
    made = edited(made, lambda d: d.update(added_tokens=d["added_tokens"][:3]))
    made.post_processor = processors.TemplateProcessing(single="<s> $A", pair="<s> $A <s> $B:1", special_tokens=[("<s>", 1)])
    return made


def llama3(vocab_size=700, text=1500):
    made = Tokenizer(models.BPE(ignore_merges=True))
    made.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(Regex(LLAMA3), "isolated"), pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(vocab_size=vocab_size, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False)
    made.train_from_iterator(corpus(text), trainer)
    made.add_special_tokens(["<|begin|>"])
    begin = made.token_to_id("<|begin|>")
    template = processors.TemplateProcessing(single="<|begin|> $A", pair="<|begin|> $A <|begin|> $B:1", special_tokens=[("<|begin|>", begin)])
    made.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return made


def clip(vocab_size=700, text=1500):
    made = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>", continuing_subword_prefix=""))
    made.normalizer = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"), "removed", invert=True),
        pre_tokenizers.ByteLevel(add_prefix_space=False),
    ])  # fmt: skip
    made.decoder = decoders.BPEDecoder()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size, special_tokens=["<|startoftext|>", "<|endoftext|>"], end_of_word_suffix="</w>",
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    made.train_from_iterator(corpus(text), trainer)
    made.post_processor = processors.RobertaProcessing(("<|endoftext|>", 1), ("<|startoftext|>", 0), trim_offsets=False, add_prefix_space=False)
    return made


def characters(normalizer=None, pre_tokenizer=None, **options):
    """One token a character, so that offsets show what a normalizer or pre-tokenizer did."""
    alphabet = sorted({c for sentence in SENTENCES for form in ("NFC", "NFKD") for c in unicodedata.normalize(form, sentence)} | set("abcdefghijklmnopqrstuvwxyz▁"))
    made = Tokenizer(models.BPE({c: i for i, c in enumerate(["<unk>"] + alphabet)}, [], unk_token="<unk>", **options))
    if normalizer is not None:
        made.normalizer = normalizer
    if pre_tokenizer is not None:
        made.pre_tokenizer = pre_tokenizer
    return made


def with_added(made):
    made.add_tokens([
        AddedToken("added", normalized=True), AddedToken("ADDED", normalized=False, single_word=True), AddedToken("<|end|>", lstrip=True, rstrip=True, normalized=False),
        AddedToken("don", normalized=True, single_word=True), AddedToken("ße", normalized=True), AddedToken("ad", normalized=True),
    ])  # fmt: skip
    made.add_special_tokens([AddedToken("<MASK>", special=True, normalized=True)])
    return made


def truncated(made, **options):
    made.enable_truncation(**options)
    return made


def zoo():
    """Name and tokenizer, small ones of every kind."""
    n, p = normalizers, pre_tokenizers
    bert_file = truncated(bert(), max_length=40)
    yield "bert", bert_file
    yield "roberta", roberta()
    yield "xlm_roberta", xlm_roberta(rules=SMALL_RULES)
    yield "llama", llama()
    yield "llama3", llama3()
    yield "clip", clip()
    cased = bert(600, 1000, lowercase=False, strip_accents=None, handle_chinese_chars=False)
    cased.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    yield "bert_cased_added", with_added(truncated(cased, max_length=9, direction="left"))
    gpt2 = roberta(600, 1000, add_prefix_space=False)
    gpt2.post_processor = processors.ByteLevel(trim_offsets=True, add_prefix_space=False)
    yield "gpt2_added", with_added(gpt2)
    yield "unigram_bytes", unigram_bytes()
    unknowns = characters(n.Sequence([n.NFKC(), n.Strip()]), p.Sequence([p.Punctuation("merged_with_previous"), p.Digits(False), p.Whitespace()]), fuse_unk=True)
    yield "nfkc_strip", truncated(unknowns, max_length=30, strategy="only_first")
    yield "nfd_marks", characters(n.Sequence([n.NFD(), n.StripAccents(), n.Lowercase()]), p.Sequence([p.WhitespaceSplit(), p.Digits(True)]))
    yield "nfkd", characters(n.NFKD(), p.Metaspace(prepend_scheme="first", split=False))
    yield "nfc_nmt", characters(n.Sequence([n.Nmt(), n.NFC()]), p.Split(" ", "merged_with_next"))


def unigram_bytes():
    proto = sentencepiece_model(600, 1000, byte_fallback=True, normalization_rule_name="identity")
    made = Tokenizer(models.Unigram([(piece.piece, piece.score) for piece in proto.pieces], 0, True))
    made.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="never")
    made.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="never")])
    return made
