"""Writes tests/golden/heads: small random checkpoints that score whole texts, and what transformers and sentence-transformers make of them.

    build/golden-venv/bin/pip install transformers==5.22.2 sentence-transformers==6.2.0
    build/golden-venv/bin/python tools/golden/make_sequence_heads.py [NAME ...]       # default: all of them; keeps weights that are there

Each folder has the config.json and model.safetensors of a ForSequenceClassification class and, in golden.safetensors, texts and pairs of texts
(ids, ends; firsts: the tokens of the first one), their logits in float64, and under error how far transformers' own float32 run is from them. What it computes in float32
whatever the model's type is computed in float64 there.

cross-encoder is a folder as sentence-transformers saves it, with a tokenizer, and answers.json: what CrossEncoder says of a few texts.
"""

import copy
import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers as hf
from make_decoders import float64_everywhere
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2] / "tests/golden/heads"
# Tokens of the first text and of the second; 0: a text alone.
PARTS = [(7, 0), (1, 0), (12, 7), (4, 26), (30, 0), (3, 3)] * 16  # so many that the largest error is no accident
SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, vocab_size=64, max_position_embeddings=40)
IDS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
DECODER = dict(SMALL, num_key_value_heads=2, head_dim=6, bos_token_id=None, eos_token_id=None, pad_token_id=None)
NAMES = dict(id2label={0: "no", 1: "perhaps", 2: "yes"}, label2id={"no": 0, "perhaps": 1, "yes": 2})
MULTI = dict(problem_type="multi_label_classification", num_labels=4)
CASES = {
    "bert": hf.BertForSequenceClassification(hf.BertConfig(**SMALL, **NAMES)),
    "roberta": hf.RobertaForSequenceClassification(hf.RobertaConfig(**SMALL, **NAMES)),
    "xlm-roberta": hf.XLMRobertaForSequenceClassification(hf.XLMRobertaConfig(**SMALL, num_labels=1)),
    "distilbert": hf.DistilBertForSequenceClassification(hf.DistilBertConfig(dim=16, n_layers=2, n_heads=4, hidden_dim=24, vocab_size=64,
                                                                             max_position_embeddings=40)),
    "mpnet": hf.MPNetForSequenceClassification(hf.MPNetConfig(**SMALL, num_labels=1, problem_type="regression")),
    "electra": hf.ElectraForSequenceClassification(hf.ElectraConfig(**SMALL, embedding_size=12, num_labels=2)),
    "albert": hf.AlbertForSequenceClassification(hf.AlbertConfig(**SMALL, embedding_size=12, **MULTI)),
    "nomic-bert": hf.NomicBertForSequenceClassification(hf.NomicBertConfig(**SMALL, num_labels=1)),
    "modernbert": hf.ModernBertForSequenceClassification(hf.ModernBertConfig(**SMALL, **IDS, local_attention=8, num_labels=1)),
    "modernbert-mean": hf.ModernBertForSequenceClassification(hf.ModernBertConfig(
        **SMALL, **IDS, local_attention=8, **NAMES, classifier_pooling="mean", classifier_bias=True, norm_bias=True)),
    "gpt2": hf.GPT2ForSequenceClassification(hf.GPT2Config(n_embd=16, n_layer=2, n_head=4, n_inner=24, vocab_size=64, n_positions=40, bos_token_id=1, eos_token_id=1, **NAMES)),
    "gpt-neox": hf.GPTNeoXForSequenceClassification(hf.GPTNeoXConfig(**SMALL, rotary_pct=0.5, bos_token_id=None, eos_token_id=None)),
    "llama": hf.LlamaForSequenceClassification(hf.LlamaConfig(**DECODER, num_labels=1)),
    "qwen3": hf.Qwen3ForSequenceClassification(hf.Qwen3Config(**DECODER, num_labels=1, tie_word_embeddings=True)),
    "gemma3": hf.Gemma3TextForSequenceClassification(hf.Gemma3TextConfig(**DECODER, num_labels=2, sliding_window=6)),
    "phi3": hf.Phi3ForSequenceClassification(hf.Phi3Config(**{k: v for k, v in DECODER.items() if k != "head_dim"}, num_labels=1)),
}
WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "the", "bank", "of", "river", "money", "is", "a", "water", "in", "where", "?"]


def larger(model, generator):
    for parameter in model.parameters():  # than at initialisation, so that every part matters; biases and norms included
        parameter.data += torch.randn(parameter.shape, generator=generator) * 0.2


def save_config(folder):
    config = json.loads((folder / "config.json").read_text())
    config.pop("transformers_version", None)
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "model.safetensors").chmod(0o644)


def logits_of(model, ids, types):
    typed = {"token_type_ids": torch.tensor(types)[None]} if getattr(model.config, "type_vocab_size", 0) == 2 else {}
    with torch.no_grad():
        return model(torch.tensor(ids)[None], **typed).logits[0].numpy()


def write_case(name, seed):
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    folder, model = ROOT / name, CASES[name].eval()
    if (folder / "model.safetensors").exists():
        model = type(model).from_pretrained(folder, dtype=torch.float32).eval()
    else:
        larger(model, generator)
        model.save_pretrained(folder)
        save_config(folder)
    model.set_attn_implementation("eager")
    texts = [rng.integers(5, 64, sum(part)) for part in PARTS]  # 5: behind every family's special ids
    types = [np.repeat([0, 1], part) for part in PARTS]
    with float64_everywhere():
        wide = type(model)(copy.deepcopy(model.config))
        wide.set_attn_implementation("eager")
        wide = wide.double().eval()
        wide.load_state_dict({key: value.double() for key, value in model.state_dict().items()})
        judged = np.stack([logits_of(wide, *text) for text in zip(texts, types)])
    assert judged.dtype == np.float64
    error = np.abs(judged - np.stack([logits_of(model, *text) for text in zip(texts, types)])).max()
    golden = {"ids": np.concatenate(texts), "firsts": np.array([first for first, _ in PARTS]), "ends": np.cumsum([0, *map(len, texts)]), "logits": judged}
    save_file({key: np.ascontiguousarray(value) for key, value in golden.items()} | {"error": np.array([error])}, folder / "golden.safetensors")
    print(f"{name}: logits up to {np.abs(judged).max():.2g}, error {error:.2g}")


def write_cross_encoder(folder):
    from sentence_transformers import CrossEncoder

    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    config = hf.BertConfig(**{**SMALL, "vocab_size": len(WORDS)}, num_labels=1)
    model = hf.BertForSequenceClassification(config)
    larger(model, torch.Generator().manual_seed(0))
    model.save_pretrained(folder)
    (folder / "vocab.txt").write_text("\n".join(WORDS) + "\n")
    hf.BertTokenizer(str(folder / "vocab.txt")).save_pretrained(folder)
    encoder = CrossEncoder(str(folder), device="cpu")
    encoder.save_pretrained(str(folder))
    for name in ("README.md", "vocab.txt"):
        (folder / name).unlink(missing_ok=True)
    save_config(folder)

    query, long = "Where is the bank?", "the water of the river " * 20
    documents = ["money is in the bank", "a river", "", "the bank of the river", "unheard of", long, "Money, money!"]
    pairs = [[query, document] for document in documents] + [[long, "a bank"], [long, long]]
    identity, softmax = torch.nn.Identity(), torch.nn.Softmax(dim=-1)
    answers = {
        "query": query,
        "documents": documents,
        "rank": encoder.rank(query, documents, return_documents=True),
        "top": encoder.rank(query, documents, top_k=2),
        "pairs": pairs,
        "scores": encoder.predict(pairs).tolist(),
        "logits": encoder.predict(pairs, activation_fn=identity).tolist(),
        "single": float(encoder.predict("a river")),
        "prompted": encoder.predict(pairs, prompt="the money ").tolist(),
    }
    (folder / "answers.json").write_text(json.dumps(answers, indent=1) + "\n")
    print("cross-encoder", np.round(answers["logits"], 3))


def main():
    torch.set_num_threads(1)  # models this small are slower with more
    torch.manual_seed(0)
    for seed, name in enumerate(CASES):
        if name in (sys.argv[1:] or CASES):
            write_case(name, seed)
    if not sys.argv[1:] or "cross-encoder" in sys.argv[1:]:
        write_cross_encoder(ROOT / "cross-encoder")


if __name__ == "__main__":
    main()
