"""Passes of models that attend does not know, collected and recorded: their maps against the attentions that eager returns."""

import models
import numpy as np
import pytest
import tokenizers
import torch
import transformers

import attend
import attend.torch

attend.torch.install()
TEXT = "the animal didn't cross the street because it was too tired"
SIZES = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}

# What attend.TextModel refuses as unknown; each runs on attend's attention.
UNKNOWN = {
    "opt": lambda: models._model(
        transformers.OPTForCausalLM, transformers.OPTConfig, hidden_size=32, ffn_dim=48, num_hidden_layers=2, num_attention_heads=4,
        word_embed_proj_dim=32, max_position_embeddings=64, pad_token_id=0,
    ),
    "granite": lambda: models._model(
        transformers.GraniteForCausalLM, transformers.GraniteConfig, num_key_value_heads=2, attention_multiplier=0.3, pad_token_id=0, **SIZES
    ),
    "starcoder2": lambda: models._model(
        transformers.Starcoder2ForCausalLM, transformers.Starcoder2Config, num_key_value_heads=2, sliding_window=4, pad_token_id=0, **SIZES
    ),
    "gpt_oss": models.gpt_oss,
    "bert": models.bert,
}


@pytest.fixture(scope="module")
def tokenizer():
    words = ["[PAD]", "[CLS]", "[UNK]", *dict.fromkeys(TEXT.split())]
    inner = tokenizers.Tokenizer(tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    inner.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    inner.post_processor = tokenizers.processors.TemplateProcessing("[CLS] $A", special_tokens=[("[CLS]", 1)])
    return transformers.PreTrainedTokenizerFast(tokenizer_object=inner, pad_token="[PAD]", cls_token="[CLS]", unk_token="[UNK]")


def eager(model, inputs):
    model.set_attn_implementation("eager")
    with torch.no_grad():
        return model(**inputs, output_attentions=True).attentions


def collected(model, inputs):
    model.set_attn_implementation("attend")
    with torch.no_grad(), attend.torch.collect(qkv=True, model=model) as seen:
        model(**inputs)
    return seen


def shares(matrix):
    """Without what goes to a sink, as the lens shows it."""
    return matrix / matrix.sum(-1, keepdims=True)


def inputs_of(tokenizer, *texts, **options):
    return tokenizer(list(texts), return_tensors="pt", return_token_type_ids=False, **options)


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_recorded_pass_says_what_eager_says(name, tokenizer, tmp_path):
    model, inputs = UNKNOWN[name](), inputs_of(tokenizer, TEXT)
    matrices = eager(model, inputs)
    seen = collected(model, inputs)
    seen.save(tmp_path / "run.attn", inputs, text=TEXT)
    for reading in (seen.reading(inputs, text=TEXT), attend.lens.load(tmp_path / "run.attn")):
        assert reading.layers == len(matrices) and reading.heads == 4 and reading.text == TEXT
        assert [word.text for word in reading.words] == ["[CLS]", *TEXT.split()]
        for layer, matrix in enumerate(matrices, 1):
            for head in (1, 4):
                shown = reading.map("raw", layer, head, tokens=True)
                np.testing.assert_allclose(shown, shares(matrix[0, head - 1].numpy()), atol=2e-6)
        assert reading.row("it", "rollout").shape == (12,) and len(reading.profile_heads()) == 4 * len(matrices)


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("name", ["opt", "starcoder2", "bert"])
def test_padding_is_left_out(name, side, tokenizer):
    model = UNKNOWN[name]()
    tokenizer.padding_side = side
    inputs = inputs_of(tokenizer, "it was tired", TEXT, padding=True)
    seen = collected(model, inputs)
    alone = inputs_of(tokenizer, "it was tired")
    reading = seen.reading(inputs, text="it was tired", sequence=0)
    assert reading.tokens == ["[CLS]", "it", "was", "tired"]
    if name == "bert" and side == "left":
        return  # its positions count the padding
    expected = collected(model, alone).reading(alone)
    for layer in (1, 2):
        np.testing.assert_allclose(reading.map("raw", layer, tokens=True), expected.map("raw", layer, tokens=True), atol=2e-6)
    assert len(seen.reading(inputs, sequence=1).tokens) == 12


def test_attentions_of_a_model_that_runs_on_nothing_but_its_own_code(tokenizer, tmp_path):
    """Bloom has attention of its own: what it returns is enough."""
    config = {"hidden_size": 32, "n_layer": 2, "n_head": 4}
    model = models._model(transformers.BloomForCausalLM, transformers.BloomConfig, **config)
    inputs = inputs_of(tokenizer, TEXT)
    with torch.no_grad():
        matrices = model(**inputs, output_attentions=True).attentions
    tokens = inputs.tokens(0)
    recording = attend.lens.Recording(matrices, tokens, model="bloom", family="bloom")
    recording.save(tmp_path / "run.attn")
    reading = attend.lens.load(tmp_path / "run.attn")
    for layer, matrix in enumerate(matrices, 1):
        np.testing.assert_allclose(reading.map("raw", layer, 2, tokens=True), matrix[0, 1].numpy(), atol=2e-6)


def test_weights_that_were_collected_serve_as_well(tokenizer):
    model, inputs = UNKNOWN["granite"](), inputs_of(tokenizer, TEXT)
    model.set_attn_implementation("attend")
    with torch.no_grad(), attend.torch.collect(weights=True) as seen:
        model(**inputs)
    np.testing.assert_allclose(seen.reading(inputs).map(), collected(model, inputs).reading(inputs).map(), atol=2e-6)


def test_an_encoder_by_its_calls(tokenizer):
    model, inputs = models.t5(), inputs_of(tokenizer, TEXT)
    model.set_attn_implementation("attend")
    with torch.no_grad(), attend.torch.collect(qkv=True, model=model) as seen:
        model(**inputs, decoder_input_ids=torch.tensor([[0, 3, 4]]))
    with pytest.raises(ValueError, match=r"has 3 queries and 3 keys, expected the 12 tokens of inputs for both"):
        seen.recording(inputs)
    layers = [call for call, one in enumerate(seen) if one.q.shape[-2] == one.k.shape[-2] == 12]
    reading = seen.reading(inputs, calls=layers)
    matrices = eager(model.encoder, inputs)
    for layer, matrix in enumerate(matrices, 1):  # with its bias by distance
        np.testing.assert_allclose(reading.map("raw", layer, 3, tokens=True), matrix[0, 2].numpy(), atol=2e-6)


def test_what_cannot_be_recorded(tokenizer):
    model, inputs = UNKNOWN["opt"](), inputs_of(tokenizer, TEXT)
    seen = collected(model, inputs)
    with pytest.raises(ValueError, match="pass the tokenizer, or the tokens as strings"):
        seen.recording({"input_ids": inputs["input_ids"]})
    by_tokenizer = seen.recording({"input_ids": inputs["input_ids"]}, tokenizer=tokenizer)
    assert by_tokenizer.tokens == inputs.tokens(0) and by_tokenizer.special[0] and by_tokenizer.family == "opt"
    assert seen.recording(inputs.tokens(0)).tokens == inputs.tokens(0)
    with pytest.raises(TypeError, match="neither what a tokenizer returns nor a list of tokens"):
        seen.recording(TEXT)
    with torch.no_grad(), attend.torch.collect(received=True) as summaries:
        model(**inputs)
    with pytest.raises(ValueError, match=r"ask for collect\(qkv=True\)"):
        summaries.recording(inputs)
    with pytest.raises(ValueError, match="leave one of them out"), attend.torch.collect(qkv=True, heads=[1]):
        pass
    with torch.no_grad(), attend.torch.collect(qkv=True) as steps:
        model.generate(**inputs, max_new_tokens=3, do_sample=False, eos_token_id=None)
    with pytest.raises(ValueError, match="has 1 queries and 13 keys"):
        steps.recording(inputs)
    assert steps.reading(inputs, calls=range(2)).layers == 2  # the pass over the prompt
