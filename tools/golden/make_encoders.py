"""Writes tests/golden/models/{modernbert,nomic-bert,electra,albert,t5-encoder,t5,t5-gated}: small random checkpoints, and what transformers says.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch transformers safetensors tokenizers
    /tmp/golden/bin/python tools/golden/make_encoders.py [NAME ...]       # default: all of them

Encoders get the files that make_models.py, make_gradients.py and make_token_heads.py write for the others. Some of these families compute
norms, angles or softmax in float32 whatever their weights are; for the float64 truth those parts are replaced (exact(), below).

Encoders with a decoder have, in golden.safetensors, pairs of a source and a target: of pair P and layer N the states of all tokens, source
first, as attend's layers leave them (a decoder's block is two layers: it looks at itself, then at the source), the logits of the last token,
and the 24 tokens that float32 greedily writes.
"""

import contextlib
import copy
import json
import sys
from pathlib import Path

import numpy as np
import torch
import transformers as hf
from safetensors.numpy import save_file
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors
from transformers.models.modernbert.modeling_modernbert import ModernBertRotaryEmbedding
from transformers.models.nomic_bert.modeling_nomic_bert import NomicBertRotaryEmbedding
from transformers.models.t5.modeling_t5 import T5LayerNorm

ROOT = Path(__file__).resolve().parents[2] / "tests/golden/models"
LENGTHS = [7, 1, 19, 30]
PAIRS = [(7, 5), (19, 11), (1, 1)]
TOKEN = 17
SMALL = dict(hidden_size=16, num_hidden_layers=2, num_attention_heads=4, intermediate_size=24, vocab_size=64, max_position_embeddings=40)
IDS = dict(pad_token_id=0, bos_token_id=1, eos_token_id=2, cls_token_id=1, sep_token_id=2)
T5 = dict(d_kv=6, num_heads=4, num_layers=2, vocab_size=64, relative_attention_num_buckets=8, relative_attention_max_distance=12,
          pad_token_id=0, eos_token_id=1, decoder_start_token_id=0)
ENCODERS = {
    # One layer without a window, two with (4 tokens on each side), one without; each kind has its own rotary base.
    "modernbert": (hf.ModernBertForMaskedLM, hf.ModernBertConfig(**{**SMALL, "num_hidden_layers": 4, "intermediate_size": 20}, **IDS, local_attention=8),
                   ("attn.Wo",), lambda model, x: model.decoder(model.head(x))),
    "nomic-bert": (hf.NomicBertForMaskedLM, hf.NomicBertConfig(**SMALL), ("self_attn.o_proj",), lambda model, x: model.cls(x)),
    "electra": (hf.ElectraForMaskedLM, hf.ElectraConfig(**SMALL, embedding_size=12), ("attention.output.dense",),
                lambda model, x: model.generator_lm_head(model.generator_predictions(x))),
    # Three layers in two groups: the first two share their weights.
    "albert": (hf.AlbertForMaskedLM, hf.AlbertConfig(**{**SMALL, "num_hidden_layers": 3}, embedding_size=12, num_hidden_groups=2), ("attention.dense",),
               lambda model, x: model.predictions(x)),
    "t5-encoder": (hf.T5EncoderModel, hf.T5Config(**T5, d_model=16, d_ff=24), ("SelfAttention.o",), None),
}
DECODERS = {
    "t5": hf.T5Config(**T5, d_model=16, d_ff=24, num_decoder_layers=3),
    "t5-gated": hf.T5Config(**T5, d_model=16, d_ff=24, feed_forward_proj="gated-gelu", tie_word_embeddings=False),
}


def angles_of(base, size, positions):
    frequencies = base ** (-torch.arange(0, size, 2, dtype=torch.float64) / size)
    turned = positions[..., None].double() * frequencies
    return torch.cat((turned, turned), dim=-1)


@contextlib.contextmanager
def exact():
    """What transformers does in float32 whatever the weights are, in float64 where those are."""
    kept = torch.Tensor.float, torch.nn.functional.softmax, T5LayerNorm.forward, ModernBertRotaryEmbedding.forward, NomicBertRotaryEmbedding.forward

    def softmax(x, dim=None, dtype=None, **more):
        return kept[1](x, dim=dim, dtype=None if x.dtype == torch.float64 else dtype, **more)

    def norm(self, x):
        if x.dtype != torch.float64:
            return kept[2](self, x)
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon)

    def modernbert(self, x, position_ids, layer_type):
        if x.dtype != torch.float64:
            return kept[3](self, x, position_ids, layer_type)
        size = self.config.hidden_size // self.config.num_attention_heads
        turned = angles_of(self.config.rope_parameters[layer_type]["rope_theta"], size, position_ids)
        return turned.cos(), turned.sin()

    def nomic(self, x, position_ids):
        if x.dtype != torch.float64:
            return kept[4](self, x, position_ids)
        turned = angles_of(self.config.rope_parameters["rope_theta"], self.config.head_dim, position_ids)
        return turned.cos(), turned.sin()

    torch.Tensor.float = lambda self, *more, **named: self if self.dtype == torch.float64 else kept[0](self, *more, **named)
    torch.nn.functional.softmax = softmax
    T5LayerNorm.forward, ModernBertRotaryEmbedding.forward, NomicBertRotaryEmbedding.forward = norm, modernbert, nomic
    yield
    torch.Tensor.float, torch.nn.functional.softmax, T5LayerNorm.forward = kept[:3]
    ModernBertRotaryEmbedding.forward, NomicBertRotaryEmbedding.forward = kept[3:]


def save(tensors, path):
    save_file(tensors, path)
    path.chmod(0o644)


def states_of(model, text):
    out = model(torch.tensor(text)[None], output_hidden_states=True)
    return [*out.hidden_states[:-1], out.last_hidden_state]


def factor(tokens, size):
    """As make_gradients.py has it."""
    return ((tokens[:, None] * size + np.arange(size)) * 37 % 101 - 50) / 32


def gradients(model, mixers, text, tokens):
    kept, hooks = {}, []

    def keep(_, arguments):
        kept[f"attended.{len(kept) + 1}"] = arguments[0]
        arguments[0].retain_grad()

    for name, module in model.named_modules():
        if name.endswith(mixers):
            hooks.append(module.register_forward_pre_hook(keep))
    states = states_of(model, text)
    kept["embeddings"] = states[0]
    states[0].retain_grad()
    (states[-1] * torch.tensor(factor(tokens, states[-1].shape[-1]), dtype=states[-1].dtype)).sum().backward()
    for hook in hooks:
        hook.remove()
    return {name: tensor.grad[0].numpy() for name, tensor in kept.items()}


def larger(model, generator):
    for parameter in model.parameters():  # than at initialisation, so that every part matters; biases and norms included
        parameter.data += torch.randn(parameter.shape, generator=generator) * 0.1


def save_model(model, folder, change=lambda config: config):
    folder.mkdir(parents=True, exist_ok=True)
    model.save_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    config.pop("transformers_version", None)
    (folder / "config.json").write_text(json.dumps(change(config), indent=1, sort_keys=True) + "\n")
    (folder / "generation_config.json").unlink(missing_ok=True)
    (folder / "model.safetensors").chmod(0o644)


def nomic_config(config):
    """The keys of the family's published checkpoints, whose code is not transformers'."""
    return {"model_type": "nomic_bert", "architectures": ["NomicBertModel"], "auto_map": {"AutoModel": "modeling_hf_nomic_bert.NomicBertModel"},
            "n_embd": config["hidden_size"], "n_head": config["num_attention_heads"], "n_layer": config["num_hidden_layers"],
            "n_inner": config["intermediate_size"], "n_positions": config["max_position_embeddings"], "vocab_size": config["vocab_size"],
            "type_vocab_size": 2, "activation_function": "swiglu", "layer_norm_epsilon": config["layer_norm_eps"], "rotary_emb_base": 1000,
            "rotary_emb_fraction": 1.0, "rotary_emb_interleaved": False, "rotary_emb_scale_base": None, "rotary_scaling_factor": None,
            "max_trained_positions": 2048, "prenorm": False, "qkv_proj_bias": False, "mlp_fc1_bias": False, "mlp_fc2_bias": False}


def save_tokenizer(folder):
    """As T5 has it, of 64 pieces: a text is followed by </s>."""
    pieces = ["<pad>", "</s>", "<unk>", "▁", *"abcdefghijklmnopqrstuvwxyz", "▁the", "▁a", "▁b", "▁c", "▁d", "▁e", "th", "er", "in", "on"]
    pieces += [f"<extra_id_{i}>" for i in range(64 - len(pieces))]
    tokenizer = Tokenizer(models.Unigram([(piece, 0.0 if i < 3 else -2.0 - len(pieces[i]) / 10) for i, piece in enumerate(pieces)], 2, False))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    tokenizer.post_processor = processors.TemplateProcessing(single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return tokenizer


def make_encoder(name, seed):
    kind, config, mixers, head = ENCODERS[name]
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    whole = kind(config).eval()
    whole.set_attn_implementation("eager")
    model = whole.base_model if head else whole
    larger(model, generator)
    folder = ROOT / name
    save_model(model, folder, nomic_config if name == "nomic-bert" else lambda config: config)
    wide = copy.deepcopy(model).double()
    texts = [rng.integers(5, 64, length) for length in LENGTHS]
    with torch.no_grad():
        judged, narrow = ([[state[0].numpy() for state in states_of(which, text)] for text in texts] for which in (wide, model))
    golden = {"ids": np.concatenate(texts).astype(np.int64), "ends": np.cumsum([0, *LENGTHS]).astype(np.int64)}
    for layer in range(len(judged[0])):
        golden[f"hidden.{layer}"] = np.concatenate([states[layer] for states in judged])
        golden[f"error.{layer}"] = np.array([max(np.abs(a[layer] - b[layer]).max() for a, b in zip(judged, narrow))])
    if name == "t5-encoder":
        text = "the bird on a tree"
        ids = save_tokenizer(folder).encode(text).ids
        with torch.no_grad():
            golden["embedding"] = states_of(wide, ids)[-1][0].mean(0).numpy()
        golden["embedding.ids"] = np.array(ids)
    save(golden, folder / "golden.safetensors")

    ends, results = golden["ends"], []
    for which in (wide, model):
        parts = [gradients(which, mixers, text, np.arange(a, b)) for text, a, b in zip(texts, ends, ends[1:])]
        results.append({key: np.concatenate([part[key] for part in parts]) for key in parts[0]})
    errors = {f"error.{key}": np.array([np.sqrt(np.mean((values - results[1][key]) ** 2))]) for key, values in results[0].items()}
    save({**results[0], **errors}, folder / "gradients.safetensors")
    if not head:
        return

    inside = {id(parameter) for parameter in model.parameters()}
    for parameter in whole.parameters():
        if id(parameter) not in inside:
            parameter.data += torch.randn(parameter.shape, generator=generator) * 0.3
    table = whole.get_output_embeddings().weight
    assert table is whole.get_input_embeddings().weight
    saved = {key: value.clone().numpy() for key, value in whole.state_dict().items()
             if not key.startswith(whole.base_model_prefix + ".") and not (value.shape == table.shape and key.endswith(".weight"))}
    x = torch.randn(config.hidden_size, generator=generator, dtype=torch.float64).requires_grad_()
    logits = head(whole.double(), x)
    logits[TOKEN].backward()
    saved |= {"golden.hidden": x.detach().numpy(), "golden.logits": logits.detach().numpy(), "golden.gradient": x.grad.numpy(),
              "golden.token": np.array([TOKEN])}
    save(saved, folder / "token_head.safetensors")


def pair_states(model, source, target):
    """The states of all tokens after each of attend's layers, and the logits of the last."""
    own = []
    hooks = [block.layer[0].register_forward_hook(lambda _, __, out: own.append(out[0][0])) for block in model.decoder.block]
    with torch.no_grad():
        out = model(input_ids=torch.tensor(source)[None], decoder_input_ids=torch.tensor(target)[None], output_hidden_states=True, use_cache=False)
    for hook in hooks:
        hook.remove()
    sources = [state[0] for state in (*out.encoder_hidden_states[:-1], out.encoder_last_hidden_state)]
    blocks = [state[0] for state in out.decoder_hidden_states]
    targets = [blocks[0]]
    for after_self, after_block in zip(own, blocks[1:]):
        targets += [after_self, after_block]
    rows = [(state, targets[0]) for state in sources] + [(sources[-1], state) for state in targets[1:]]
    return [torch.cat(both).numpy() for both in rows], out.logits[0, -1].numpy()


def make_pairs(name, seed):
    config = DECODERS[name]
    rng, generator = np.random.default_rng(seed), torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = hf.T5ForConditionalGeneration(config).eval()
    model.set_attn_implementation("eager")
    if not config.scale_decoder_outputs:  # T5 1.1: an output layer of its own
        model.lm_head.weight = torch.nn.Parameter(torch.randn(model.lm_head.weight.shape, generator=generator))
        config.tie_word_embeddings = model.config.tie_word_embeddings = False
    larger(model, generator)
    for key, parameter in model.decoder.block.named_parameters():  # so that what is written depends on more than the last token
        if key.endswith(("v.weight", "o.weight", "wi.weight", "wi_0.weight", "wi_1.weight", "bias.weight")):
            parameter.data += torch.randn(parameter.shape, generator=generator) * 0.3
    model.shared.weight.data *= 0.3
    same = config.num_decoder_layers == config.num_layers  # transformers' cache fails where they differ
    folder = ROOT / name

    def published(text):  # as the files of its authors say it, which transformers 5 rewrites
        text.pop("scale_decoder_outputs", None)
        return {**text, "tie_word_embeddings": config.scale_decoder_outputs}

    save_model(model, folder, published)
    save_tokenizer(folder)
    wide = copy.deepcopy(model).double()
    golden, errors = {}, {}
    for number, (source_length, target_length) in enumerate(PAIRS):
        source, target = rng.integers(5, 64, source_length), np.concatenate(([0], rng.integers(5, 64, target_length - 1)))
        judged, logits = pair_states(wide, source, target)
        narrow, _ = pair_states(model, source, target)
        for layer, (a, b) in enumerate(zip(judged, narrow)):
            golden[f"hidden.{number}.{layer}"] = a
            errors[layer] = max(errors.get(layer, 0), np.abs(a - b).max())
        written, gap = [0], np.inf
        with torch.no_grad():
            for _ in range(24):
                last = model(input_ids=torch.tensor(source)[None], decoder_input_ids=torch.tensor(written)[None], use_cache=False).logits[0, -1]
                best = last.topk(2).values
                gap = min(gap, (best[0] - best[1]).item())
                written.append(last.argmax().item())
            theirs = model.generate(torch.tensor(source)[None], max_new_tokens=24, do_sample=False, num_beams=1, eos_token_id=None, use_cache=same)[0].tolist()
        assert theirs == written, (theirs, written)
        print(name, number, "smallest gap", gap, written)
        assert gap > 1e-4
        golden |= {f"source.{number}": source.astype(np.int64), f"target.{number}": target.astype(np.int64), f"logits.{number}": logits,
                   f"written.{number}": np.array(written[1:])}
    golden |= {f"error.{layer}": np.array([error]) for layer, error in errors.items()}
    save(golden, folder / "golden.safetensors")


def main():
    with exact():
        for seed, name in enumerate([*ENCODERS, *DECODERS]):
            if sys.argv[1:] and name not in sys.argv[1:]:
                continue
            (make_encoder if name in ENCODERS else make_pairs)(name, seed)


if __name__ == "__main__":
    main()
