"""Writes tests/golden/decoders: small random checkpoints of the decoder families, and what transformers computes from them.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch transformers safetensors
    /tmp/golden/bin/python tools/golden/make_decoders.py [NAME ...]       # default: all of them

Each folder has config.json, model.safetensors and golden.safetensors:

    ids, ends         some texts, packed
    hidden.N          what leaves layer N (0: the embeddings) in float64; error.N: how far transformers' own float32 run is from it, at most
                      and in the root of the mean square
    logits            of the last token of each text, float64; logits.error
    prompts, prompt_ends, and what follows them greedily in float32, (prompts, NEW): written.cache, written.no_cache, and written.batch,
                      all prompts at once, padded on the left. Left out where the model does not write, or where transformers' answer
                      depends on what else is in the batch or on when the cache was filled (rotations by the length of the text).

rope has configurations, and the inverse frequencies and attention factors of ROPE_INIT_FUNCTIONS for them, in float64.

transformers computes norms, softmax and rotary angles in float32 whatever the model's type, so the float64 run replaces torch.float32.
"""

import copy
import json
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch
import transformers as hf
from safetensors.numpy import save_file
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

ROOT = Path(__file__).resolve().parents[2] / "tests/golden/decoders"
LENGTHS = [7, 1, 19, 46]
PROMPTS = [3, 9, 1, 14, 6]
NEW = 24
SIZES = dict(hidden_size=24, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, intermediate_size=36, vocab_size=64,
             max_position_embeddings=64, bos_token_id=None, eos_token_id=None, pad_token_id=None)
LLAMA = dict(model_type="llama", **SIZES, head_dim=8, rms_norm_eps=1e-5, rope_theta=100.0, tie_word_embeddings=False)
GEMMA = dict(SIZES, head_dim=8, num_hidden_layers=3, query_pre_attn_scalar=12, sliding_window=6, rms_norm_eps=1e-6)
NEOX = dict(model_type="gpt_neox", **{k: v for k, v in SIZES.items() if k != "num_key_value_heads"}, layer_norm_eps=1e-5)
LONG = dict(short_factor=[1.0, 1.25, 1.5], long_factor=[1.5, 3.0, 6.0])

CASES = {
    "llama": dict(LLAMA, attention_bias=True, mlp_bias=True, num_key_value_heads=1, eos_token_id=[2, 3]),
    "llama-llama3": dict(LLAMA, tie_word_embeddings=True, rope_scaling=dict(
        rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=48)),
    "llama-linear": dict({k: v for k, v in LLAMA.items() if k != "rope_theta"}, rope_parameters=dict(rope_type="linear", factor=2.5, rope_theta=100.0)),
    "llama-dynamic": dict(LLAMA, max_position_embeddings=16, rope_scaling=dict(type="dynamic", factor=4.0)),
    "llama-yarn": dict(LLAMA, rope_scaling=dict(type="yarn", factor=4.0, original_max_position_embeddings=16, beta_fast=4.0, beta_slow=0.5)),
    "mistral": dict(model_type="mistral", **SIZES, head_dim=8, sliding_window=6, rope_theta=1000.0),
    "qwen2": dict(model_type="qwen2", **SIZES, use_sliding_window=True, sliding_window=5, max_window_layers=1, tie_word_embeddings=True,
                  rope_theta=1000.0),
    "qwen2-both-ways": dict(model_type="qwen2", **SIZES, is_causal=False, rope_theta=1000.0),
    "qwen3": dict(model_type="qwen3", **SIZES, head_dim=10, attention_bias=True, use_sliding_window=True, sliding_window=7,
                  layer_types=["sliding_attention", "full_attention"], rope_parameters=dict(rope_type="default", rope_theta=5000.0)),
    "gemma2": dict(model_type="gemma2", **GEMMA, attn_logit_softcapping=5.0, final_logit_softcapping=4.0, rope_theta=1000.0),
    "gemma3": dict(model_type="gemma3_text", **GEMMA, sliding_window_pattern=3, final_logit_softcapping=6.0, rope_theta=5000.0,
                   rope_local_base_freq=50.0, rope_scaling=dict(rope_type="linear", factor=8.0)),
    "gemma3-both-ways": dict(model_type="gemma3_text", **GEMMA, use_bidirectional_attention=True, rope_parameters=dict(
        full_attention=dict(rope_type="default", rope_theta=5000.0), sliding_attention=dict(rope_type="default", rope_theta=50.0)),
        layer_types=["sliding_attention", "full_attention", "sliding_attention"]),
    "phi3": dict(model_type="phi3", **SIZES, sliding_window=9, rope_theta=1000.0, original_max_position_embeddings=64),
    "phi3-long": dict(model_type="phi3", **SIZES, original_max_position_embeddings=20, rope_theta=100.0,
                      rope_scaling=dict(type="su", original_max_position_embeddings=20, short_factor=LONG["short_factor"][:3], long_factor=LONG["long_factor"][:3])),
    "phi3-partial": dict(model_type="phi3", **dict(SIZES, hidden_size=32), partial_rotary_factor=0.75, original_max_position_embeddings=16,
                         rope_scaling=dict(type="longrope", **LONG)),
    "olmo2": dict(model_type="olmo2", **SIZES, rms_norm_eps=1e-5, rope_theta=1000.0),
    "gpt_neox": dict(NEOX, hidden_size=32, rotary_pct=0.25, rotary_emb_base=100),
    "gpt_neox-serial": dict(NEOX, rope_parameters=dict(rope_type="default", rope_theta=100.0, partial_rotary_factor=0.67),
                            use_parallel_residual=False, hidden_act="gelu_new"),
}
BY_LENGTH = {"llama-dynamic", "phi3-long", "phi3-partial"}  # rotations depend on how long a text is
NOT_CAUSAL = {"qwen2-both-ways", "gemma3-both-ways"}


@contextmanager
def float64_everywhere():
    """What transformers says in float32 happens in float64."""
    names = [(torch, "float32"), (torch, "float"), (torch.Tensor, "float")]
    before = [getattr(owner, name) for owner, name in names]
    torch.float32 = torch.float = torch.float64
    torch.Tensor.float = torch.Tensor.double
    torch.set_default_dtype(torch.float64)
    try:
        yield
    finally:
        torch.set_default_dtype(before[0])
        for (owner, name), value in zip(names, before):
            setattr(owner, name, value)


def config_of(case):
    # from_dict takes some parts of what it is given out
    return type(hf.AutoConfig.for_model(case["model_type"])).from_dict(copy.deepcopy(case))


def make(case, causal):
    config = config_of(case)
    kind = hf.AutoModelForCausalLM if causal else hf.AutoModel
    return kind.from_config(config, attn_implementation="eager").eval()


def states(model, text):
    with torch.no_grad():
        out = model(torch.tensor(text)[None], output_hidden_states=True, use_cache=False)
    logits = out.logits[0, -1].numpy() if hasattr(out, "logits") else None
    return [layer[0].numpy() for layer in out.hidden_states], logits


def written(model, prompts, use_cache):
    longest = max(len(prompt) for prompt in prompts)
    ids = torch.tensor([[0] * (longest - len(p)) + list(p) for p in prompts])
    mask = torch.tensor([[0] * (longest - len(p)) + [1] * len(p) for p in prompts])
    with torch.no_grad():
        out = copy.deepcopy(model).generate(ids, attention_mask=mask, do_sample=False, max_new_tokens=NEW, use_cache=use_cache,
                                            eos_token_id=None, pad_token_id=0, output_logits=True, return_dict_in_generate=True)
    best = torch.stack(out.logits).topk(2).values
    return out.sequences[:, longest:].numpy(), (best[..., 0] - best[..., 1]).min().item()


def write_case(name, seed):
    case, causal = CASES[name], name not in NOT_CAUSAL
    rng = np.random.default_rng(seed)
    generator = torch.Generator().manual_seed(seed)
    torch.manual_seed(seed)
    model = make(case, causal)
    for parameter in model.parameters():  # larger than at initialisation, so that every part matters; biases and norms included
        parameter.data += torch.randn(parameter.shape, generator=generator) * 0.2
    tensors = {key: value for key, value in model.state_dict().items() if value.dtype == torch.float32}
    if model.config.tie_word_embeddings:
        tensors = {key: value for key, value in tensors.items() if not key.startswith(("lm_head", "embed_out"))}
    with float64_everywhere():
        wide = make(case, causal)
        wide.load_state_dict({key: value.double() for key, value in model.state_dict().items()})
        wide = wide.double()

    texts = [rng.integers(5, 64, length) for length in LENGTHS]
    golden = {"ids": np.concatenate(texts).astype(np.int64), "ends": np.cumsum([0, *LENGTHS]).astype(np.int64)}
    with float64_everywhere():
        judged = [states(copy.deepcopy(wide), text) for text in texts]
    narrow = [states(copy.deepcopy(model), text) for text in texts]
    assert judged[0][0][0].dtype == np.float64
    for layer in range(len(judged[0][0])):
        golden[f"hidden.{layer}"] = np.concatenate([hidden[layer] for hidden, _ in judged])
        differences = np.concatenate([(a[layer] - b[layer]).ravel() for (a, _), (b, _) in zip(judged, narrow)])
        golden[f"error.{layer}"] = np.array([np.abs(differences).max(), np.sqrt(np.square(differences).mean())])
    if causal:
        golden["logits"] = np.stack([logits for _, logits in judged])
        golden["logits.error"] = np.array([max(np.abs(a - b).max() for (_, a), (_, b) in zip(judged, narrow))])
        prompts = [rng.integers(5, 64, length) for length in PROMPTS]
        golden["prompts"] = np.concatenate(prompts).astype(np.int64)
        golden["prompt_ends"] = np.cumsum([0, *PROMPTS]).astype(np.int64)
        each = [written(model, [prompt], False) for prompt in prompts]
        golden["written.no_cache"] = np.concatenate([ids for ids, _ in each])
        gap = min(gap for _, gap in each)
        if name != "llama-dynamic":
            golden["written.cache"] = np.concatenate([written(model, [prompt], True)[0] for prompt in prompts])
            assert (golden["written.cache"] == golden["written.no_cache"]).all(), name
        if name not in BY_LENGTH:
            golden["written.batch"] = written(model, prompts, True)[0]
            assert (golden["written.batch"] == golden["written.no_cache"]).all(), name
        if gap < 1e-4:
            return gap  # a tie, nearly: another seed
        print(f"{name}: gap {gap:.2g}, error {golden['logits.error'][0]:.2g}, different tokens {len(np.unique(golden['written.no_cache']))}")
    folder = ROOT / name
    folder.mkdir(parents=True, exist_ok=True)
    save_file({key: value.numpy() for key, value in tensors.items()}, folder / "model.safetensors", {"format": "pt"})
    save_file({key: np.ascontiguousarray(value) for key, value in golden.items()}, folder / "golden.safetensors")
    config = {**case, "architectures": [type(model).__name__]}
    (folder / "config.json").write_text(json.dumps(config, indent=1, sort_keys=True) + "\n")
    return None


# Of heads of 16 dimensions; max_position_embeddings 128.
ROPES = {
    "linear": dict(rope_type="linear", factor=4.0),
    "dynamic": dict(rope_type="dynamic", factor=2.0),
    "llama3": dict(rope_type="llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=64),
    "yarn": dict(rope_type="yarn", factor=4.0, original_max_position_embeddings=32),
    "yarn-bounds": dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=32, beta_fast=8.0, beta_slow=0.5, truncate=False),
    "yarn-factor": dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=32, attention_factor=1.375),
    "yarn-mscale": dict(rope_type="yarn", factor=8.0, original_max_position_embeddings=32, mscale=1.0, mscale_all_dim=0.5),
    "longrope": dict(rope_type="longrope", original_max_position_embeddings=32, short_factor=[1 + i / 8 for i in range(8)],
                     long_factor=[1 + i for i in range(8)]),
    "longrope-factor": dict(rope_type="longrope", factor=16.0, original_max_position_embeddings=32, short_factor=[1.0] * 8,
                            long_factor=[2.0 + i / 4 for i in range(8)]),
}


def write_ropes():
    golden, folder = {}, ROOT / "rope"
    folder.mkdir(parents=True, exist_ok=True)
    for name, rope in ROPES.items():
        case = dict(LLAMA, hidden_size=64, head_dim=16, max_position_embeddings=128, rope_theta=5000.0, rope_scaling=rope)
        (folder / f"{name}.json").write_text(json.dumps(case, indent=1, sort_keys=True) + "\n")
        with float64_everywhere():
            for length in (16, 32, 33, 128, 129, 300):
                config = config_of(case)
                frequencies, factor = ROPE_INIT_FUNCTIONS[rope["rope_type"]](config, "cpu", seq_len=length)
                golden[f"{name}.{length}"] = frequencies.double().numpy()
            golden[f"{name}.factor"] = np.array([float(factor)])
    save_file(golden, folder / "golden.safetensors")


def main():
    torch.set_num_threads(1)  # models this small are slower with more
    for name in sys.argv[1:] or CASES:
        seed = 0
        while (gap := write_case(name, seed)) is not None:
            print(f"{name}: two tokens are {gap:.2g} apart with the seed {seed}")
            seed += 1
    write_ropes()


if __name__ == "__main__":
    main()
