"""Writes tests/golden/gguf/models: small random models as GGUF files, and what transformers computes from the same weights.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch transformers safetensors gguf
    /tmp/golden/bin/python tools/golden/make_gguf_models.py

NAME.gguf has F32 tensors under the names and in the order that converters to GGUF give them; NAME.safetensors has the ids and ends of some texts,
the last hidden states in float64, and how far transformers' own float32 run is from them.
"""

import copy
from pathlib import Path

import gguf
import numpy as np
import torch
import transformers as hf
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parents[2] / "tests/golden/gguf/models"
LENGTHS = [7, 1, 19, 30]
ENCODER = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48, vocab_size=64, max_position_embeddings=40)
DECODER = dict(ENCODER, num_key_value_heads=2, rms_norm_eps=1e-5, pad_token_id=0, bos_token_id=1, eos_token_id=2)
LLAMA3 = dict(rope_type="llama3", rope_theta=10000.0, factor=4.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=16)
LONG = dict(rope_type="longrope", rope_theta=10000.0, short_factor=[1.0, 1.1, 1.3, 1.7], long_factor=[1.5, 2.0, 3.0, 4.0], original_max_position_embeddings=20)
MODELS = {
    "llama": hf.LlamaModel(hf.LlamaConfig(**DECODER, rope_theta=50000.0)),
    "llama3": hf.LlamaModel(hf.LlamaConfig(**DECODER, rope_parameters=LLAMA3, attention_bias=True)),
    "qwen2": hf.Qwen2Model(hf.Qwen2Config(**DECODER)),
    "qwen3": hf.Qwen3Model(hf.Qwen3Config(**DECODER, head_dim=16)),
    "gemma2": hf.Gemma2Model(hf.Gemma2Config(**DECODER, head_dim=16, query_pre_attn_scalar=16, sliding_window=8)),
    "gemma3": hf.Gemma3TextModel(hf.Gemma3TextConfig(**dict(DECODER, num_hidden_layers=6), head_dim=16, query_pre_attn_scalar=16, sliding_window=8)),
    "phi3": hf.Phi3Model(hf.Phi3Config(**DECODER, rope_parameters=LONG, original_max_position_embeddings=20, sliding_window=12)),
    "gpt2": hf.GPT2Model(hf.GPT2Config(n_embd=32, n_layer=2, n_head=4, n_inner=48, vocab_size=64, n_positions=40, bos_token_id=1, eos_token_id=1)),
    "bert": hf.BertModel(hf.BertConfig(**ENCODER), add_pooling_layer=False),
    "nomic-bert": hf.NomicBertModel(hf.NomicBertConfig(**ENCODER, rope_parameters=dict(rope_type="default", rope_theta=1000.0)), add_pooling_layer=False),
}
# How transformers ends a tensor's name, and how GGUF does.
LAYER_NAMES = {
    "self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v", "self_attn.o_proj": "attn_output",
    "self_attn.qkv_proj": "attn_qkv", "self_attn.q_norm": "attn_q_norm", "self_attn.k_norm": "attn_k_norm", "input_layernorm": "attn_norm",
    "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up", "mlp.down_proj": "ffn_down", "mlp.gate_up_proj": "ffn_up",
    "pre_feedforward_layernorm": "ffn_norm", "post_feedforward_layernorm": "post_ffw_norm",
    "attn.c_attn": "attn_qkv", "attn.c_proj": "attn_output", "ln_1": "attn_norm", "ln_2": "ffn_norm", "mlp.c_fc": "ffn_up", "mlp.c_proj": "ffn_down",
    "attention.self.query": "attn_q", "attention.self.key": "attn_k", "attention.self.value": "attn_v", "attention.output.dense": "attn_output",
    "attention.output.LayerNorm": "attn_output_norm", "intermediate.dense": "ffn_up", "output.dense": "ffn_down", "output.LayerNorm": "layer_output_norm",
}
OTHER_NAMES = {
    "embed_tokens": "token_embd", "norm": "output_norm", "wte": "token_embd", "wpe": "position_embd", "ln_f": "output_norm",
    "embeddings.word_embeddings": "token_embd", "embeddings.position_embeddings": "position_embd",
    "embeddings.token_type_embeddings": "token_types", "embeddings.LayerNorm": "token_embd_norm", "embeddings.layer_norm": "token_embd_norm",
}


def gguf_name(name, architecture):
    stem, kind = name.rsplit(".", 1)
    if stem in OTHER_NAMES:
        return f"{OTHER_NAMES[stem]}.{kind}"
    parts = stem.split(".")
    at = next(i for i, part in enumerate(parts) if part.isdigit())
    rest = ".".join(parts[at + 1:])
    if rest == "post_attention_layernorm":
        if architecture == "nomic-bert":
            rest = "attention.output.LayerNorm"
        else:
            return f"blk.{parts[at]}.{'post_attention_norm' if architecture.startswith('gemma') else 'ffn_norm'}.{kind}"
    if rest == "post_mlp_layernorm":
        rest = "output.LayerNorm"
    return f"blk.{parts[at]}.{LAYER_NAMES[rest]}.{kind}"


def interleaved(x, heads):
    return x.reshape(heads, 2, x.shape[0] // heads // 2, *x.shape[1:]).swapaxes(1, 2).reshape(x.shape)


def tensors_of(model, architecture):
    config, tensors = model.config, {}
    for name, value in model.state_dict().items():
        if value.dtype != torch.float32 or "inv_freq" in name:
            continue
        value = value.numpy()
        if architecture == "llama" and "q_proj" in name:
            value = interleaved(value, config.num_attention_heads)
        if architecture == "llama" and "k_proj" in name:
            value = interleaved(value, config.num_key_value_heads)
        if architecture.startswith("gemma") and "norm" in name:
            value = value + 1
        if architecture == "gpt2" and name.endswith(("c_attn.weight", "c_proj.weight", "c_fc.weight")):
            value = value.T
        tensors[gguf_name(name, architecture)] = np.ascontiguousarray(value)
    return tensors


def llama3_divisors(head_size):
    frequencies = LLAMA3["rope_theta"] ** (-np.arange(0, head_size, 2) / head_size)
    waves, out = 2 * np.pi / frequencies, []
    low, high = LLAMA3["original_max_position_embeddings"] / LLAMA3["low_freq_factor"], LLAMA3["original_max_position_embeddings"] / LLAMA3["high_freq_factor"]
    for wave in waves:
        smooth = (LLAMA3["original_max_position_embeddings"] / wave - LLAMA3["low_freq_factor"]) / (LLAMA3["high_freq_factor"] - LLAMA3["low_freq_factor"])
        out.append(1 if wave < high else LLAMA3["factor"] if wave > low else 1 / ((1 - smooth) / LLAMA3["factor"] + smooth))
    return np.array(out, np.float32)


def write_gguf(name, model, path):
    architecture = "llama" if name == "llama3" else name
    config, writer = model.config, gguf.GGUFWriter(path, architecture)
    heads = config.num_attention_heads
    writer.add_context_length(40)
    writer.add_embedding_length(32)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(48)
    writer.add_head_count(heads)
    encoder = architecture in ("bert", "nomic-bert")
    if encoder or architecture == "gpt2":
        writer.add_layer_norm_eps(config.layer_norm_epsilon if architecture == "gpt2" else config.layer_norm_eps)
    else:
        writer.add_layer_norm_rms_eps(config.rms_norm_eps)
        writer.add_head_count_kv(config.num_key_value_heads)
    if encoder:
        writer.add_causal_attention(False)
        writer.add_pooling_type(gguf.PoolingType.CLS if architecture == "bert" else gguf.PoolingType.MEAN)
    if architecture.startswith("gemma") or architecture == "qwen3":
        writer.add_key_length(16)
        writer.add_value_length(16)
    if name == "llama":
        writer.add_rope_freq_base(50000.0)
    if architecture == "nomic-bert":
        writer.add_rope_freq_base(1000.0)
    if architecture.startswith("gemma"):
        writer.add_sliding_window(8)
    if architecture == "phi3":
        writer.add_sliding_window(12)
        writer.add_rope_scaling_orig_ctx_len(20)
        writer.add_rope_scaling_attn_factors(float(np.sqrt(1 + np.log(40 / 20) / np.log(20))))
        writer.add_tensor("rope_factors_short.weight", np.array(LONG["short_factor"], np.float32))
        writer.add_tensor("rope_factors_long.weight", np.array(LONG["long_factor"], np.float32))
    if name == "llama3":
        writer.add_tensor("rope_freqs.weight", llama3_divisors(8))
    for tensor, value in tensors_of(model, architecture).items():
        writer.add_tensor(tensor, value)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def last_hidden(model, text):
    with torch.no_grad():
        return model(torch.tensor(text)[None]).last_hidden_state[0].numpy()


def main():
    ROOT.mkdir(parents=True, exist_ok=True)
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    for name, model in MODELS.items():
        model.eval()
        model.config._attn_implementation = "eager"
        for parameter in model.parameters():  # larger than at initialisation, so that every part matters
            parameter.data += torch.randn(parameter.shape, generator=generator) * 0.1
        texts = [rng.integers(5, 64, length) for length in LENGTHS]
        wide = copy.deepcopy(model).double()
        judged, narrow = [last_hidden(wide, text) for text in texts], [last_hidden(model, text) for text in texts]
        error = max(np.abs(a - b).max() for a, b in zip(judged, narrow))
        save_file({"ids": np.concatenate(texts).astype(np.int64), "ends": np.cumsum([0, *LENGTHS]).astype(np.int64),
                   "hidden": np.concatenate(judged), "error": np.array([error])}, ROOT / f"{name}.safetensors")
        write_gguf(name, model, ROOT / f"{name}.gguf")
        print(name, error)


main()
