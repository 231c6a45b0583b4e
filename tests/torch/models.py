"""Small models of transformers with random weights, made from their configuration, and their inputs."""

import torch
import transformers

VOCABULARY = 97


def _model(kind, config, **changes):
    torch.manual_seed(1)
    model = kind(config(vocab_size=VOCABULARY, **changes)).eval()
    for parameter in model.parameters():  # larger than at initialisation, so that attention has something to choose
        if parameter.ndim > 1:
            parameter.data.mul_(3)
    return model


SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 3, "num_attention_heads": 4}


def bert():
    return _model(transformers.BertModel, transformers.BertConfig, max_position_embeddings=64, **SIZES)


def gpt2():
    return _model(transformers.GPT2LMHeadModel, transformers.GPT2Config, n_positions=64, n_embd=32, n_layer=3, n_head=4,
                  bos_token_id=0, eos_token_id=None)


def llama():
    return _model(transformers.LlamaForCausalLM, transformers.LlamaConfig, num_key_value_heads=2, eos_token_id=None, **SIZES)


def mistral():
    return _model(transformers.MistralForCausalLM, transformers.MistralConfig, num_key_value_heads=2, sliding_window=5, head_dim=8,
                  eos_token_id=None, **SIZES)


def gemma2():
    return _model(transformers.Gemma2ForCausalLM, transformers.Gemma2Config, num_key_value_heads=2, head_dim=8, sliding_window=5,
                  attn_logit_softcapping=2.0, query_pre_attn_scalar=8, eos_token_id=None, pad_token_id=0, **SIZES)


def gpt_oss():
    return _model(transformers.GptOssForCausalLM, transformers.GptOssConfig, num_key_value_heads=2, head_dim=8, sliding_window=5,
                  num_local_experts=4, num_experts_per_tok=2, experts_implementation="eager", eos_token_id=None,
                  pad_token_id=0, **SIZES)


def t5():
    return _model(transformers.T5Model, transformers.T5Config, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4)


def bart():
    return _model(transformers.BartModel, transformers.BartConfig, d_model=32, encoder_layers=2, decoder_layers=2, pad_token_id=0,
                  encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, eos_token_id=1,
                  bos_token_id=2, decoder_start_token_id=1, forced_eos_token_id=None)


def modernbert():
    return _model(transformers.ModernBertModel, transformers.ModernBertConfig, local_attention=6, pad_token_id=0, bos_token_id=1,
                  eos_token_id=2, cls_token_id=1, sep_token_id=2, **SIZES)


ENCODERS = {"bert": bert, "modernbert": modernbert}
DECODERS = {"gpt2": gpt2, "llama": llama, "mistral": mistral, "gemma2": gemma2, "gpt_oss": gpt_oss}
BOTH = {"bart": bart, "t5": t5}


def tokens(batch, length, seed=0):
    return torch.randint(3, VOCABULARY, (batch, length), generator=torch.Generator().manual_seed(seed))


def padding(lengths, length, side="right"):
    """(batch, length), 1 for a token."""
    mask = (torch.arange(length) < torch.tensor(lengths)[:, None]).long()
    return mask if side == "right" else mask.flip(-1)
