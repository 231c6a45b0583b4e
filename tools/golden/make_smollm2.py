"""Writes tests/golden/smollm2.json: what transformers writes with SmolLM2-135M-Instruct, greedily, on the weights of the GGUF file.

    build/golden-venv/bin/pip install torch==2.15.0 transformers==5.22.2 tokenizers==0.23.3 gguf==0.19.0
    build/golden-venv/bin/python tools/golden/make_smollm2.py SmolLM2-135M-Instruct.Q4_1.gguf

The `gguf` package decodes the weights, `tokenizers` the prompts: transformers' own reading of this file loses the digit split. For each prompt:
its ids, 64 tokens in float32, the ten best logits of the first of them in float64, and the smallest gap between the best and the second
logit on the way. A gap within float32's noise, some 1e-4, would be a tie that either side may break.
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

PROMPTS = ["The capital of France is", "a  1", "Once upon a time there was a small dog who", "def fibonacci(n):", "Water boils at 100 degrees"]
TOKENS = 64
PARTS = {
    "attn_v": "self_attn.v_proj", "attn_output": "self_attn.o_proj", "ffn_gate": "mlp.gate_proj", "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj", "attn_norm": "input_layernorm", "ffn_norm": "post_attention_layernorm",
}


def transformers_model(file: gguf.GGUFReader) -> LlamaForCausalLM:
    def fact(key: str):
        return file.fields[f"llama.{key}"].contents()

    heads, key_heads, width = fact("attention.head_count"), fact("attention.head_count_kv"), fact("embedding_length")
    weights = {
        tensor.name: torch.tensor(np.array(gguf.dequantize(tensor.data, tensor.tensor_type)).reshape([int(n) for n in reversed(tensor.shape)]))
        for tensor in file.tensors
    }

    def halves(weight: torch.Tensor, count: int) -> torch.Tensor:
        """GGUF has the two numbers that rotate together side by side; transformers has them half a head apart."""
        return weight.reshape(count, width // heads // 2, 2, -1).transpose(1, 2).reshape(weight.shape)

    state = {
        "model.embed_tokens.weight": weights["token_embd.weight"],
        "lm_head.weight": weights["token_embd.weight"],
        "model.norm.weight": weights["output_norm.weight"],
    }
    for layer in range(fact("block_count")):
        theirs, ours = f"blk.{layer}.", f"model.layers.{layer}."
        state[ours + "self_attn.q_proj.weight"] = halves(weights[theirs + "attn_q.weight"], heads)
        state[ours + "self_attn.k_proj.weight"] = halves(weights[theirs + "attn_k.weight"], key_heads)
        for part, name in PARTS.items():
            state[f"{ours}{name}.weight"] = weights[f"{theirs}{part}.weight"]
    config = LlamaConfig(
        vocab_size=len(weights["token_embd.weight"]), hidden_size=width, intermediate_size=fact("feed_forward_length"),
        num_hidden_layers=fact("block_count"), num_attention_heads=heads, num_key_value_heads=key_heads,
        rms_norm_eps=1e-5, rope_theta=fact("rope.freq_base"), max_position_embeddings=8192, tie_word_embeddings=True,
    )
    model = LlamaForCausalLM(config)
    model.load_state_dict(state)
    return model.eval()


def tokenizer_of(file: gguf.GGUFReader) -> Tokenizer:
    words = file.fields["tokenizer.ggml.tokens"].contents()
    merges = [tuple(pair.split(" ")) for pair in file.fields["tokenizer.ggml.merges"].contents()]
    tokenizer = Tokenizer(models.BPE({word: i for i, word in enumerate(words)}, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return tokenizer


@torch.no_grad()
def main() -> None:
    file = gguf.GGUFReader(sys.argv[1])
    tokenizer, single = tokenizer_of(file), transformers_model(file)
    cases = []
    for prompt in PROMPTS:
        ids = tokenizer.encode(prompt).ids
        read, written, gap = list(ids), [], float("inf")
        for _ in range(TOKENS):
            best = single(torch.tensor([read])).logits[0, -1].topk(2)
            gap = min(gap, float(best.values[0] - best.values[1]))
            written.append(int(best.indices[0]))
            read.append(written[-1])
        cases.append({"prompt": prompt, "ids": ids, "written": written, "smallest_gap": round(gap, 4)})
    double = single.double()
    for case in cases:
        best = double(torch.tensor([case["ids"]])).logits[0, -1].topk(10)
        case["best"] = [[int(token), round(float(logit), 7)] for logit, token in zip(best.values, best.indices)]
    lines = ",\n".join(json.dumps(case) for case in cases)
    (Path(__file__).resolve().parents[2] / "tests/golden/smollm2.json").write_text(f"[\n{lines}\n]\n")


main()
