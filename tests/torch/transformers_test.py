"""Models of Hugging Face transformers on attend against the same models on their own eager attention."""

import models
import pytest
import torch
import transformers
from transformers.masking_utils import AttentionMaskInterface, eager_mask

import attend.torch
from attend.torch import _transformers

attend.torch.install()
ALL = {**models.ENCODERS, **models.DECODERS, **models.BOTH}


def arguments(name, mask=None):
    given = {"input_ids": models.tokens(2, 13)}
    if mask is not None:
        given["attention_mask"] = mask
    if name in models.BOTH:
        given["decoder_input_ids"] = models.tokens(2, 7, seed=1)
    return given


def on(model, implementation, **given):
    model.set_attn_implementation(implementation)
    return model(**given)


def gradients(model, implementation, kept, given):
    """The output, and the gradient of every parameter along a fixed direction of it, all in double and named."""
    model.zero_grad()
    out = on(model, implementation, **given)[0][kept]
    (out * torch.randn(out.shape, generator=torch.Generator().manual_seed(7))).sum().backward()
    named = {name: p.grad.double() for name, p in model.named_parameters() if p.grad is not None}
    return {"output": out.detach().double(), **named}


def largest_error(got, truth):
    """Of any tensor, relative to its largest number."""
    assert got.keys() == truth.keys()
    return max((got[name] - truth[name]).abs().max().item() / max(1.0, truth[name].abs().max().item()) for name in truth)


@pytest.fixture
def finite_masks(monkeypatch):
    """Eager masks with the lowest number of f32 in f64 too, where its own becomes -inf in the softmax, and a row of them NaN."""

    def mask(**given):
        return eager_mask(**{**given, "dtype": torch.float32})

    monkeypatch.setitem(AttentionMaskInterface._global_mapping, "eager", mask)


@pytest.mark.parametrize("mask", ["none", "right", "left"])
@pytest.mark.parametrize("name", ALL)
def test_forward_and_backward_are_as_exact_as_eager(name, mask, finite_masks):
    padding = None if mask == "none" else models.padding([13, 9], 13, mask)
    # What stands in padding is nobody's business: eager spreads a row without keys over all of them, attend gives 0.
    kept = slice(None) if padding is None or name in models.BOTH else padding.bool()
    model = ALL[name]()
    given = arguments(name, padding)
    eager = gradients(model, "eager", kept, given)
    with attend.torch.collect(entropy=True) as seen:
        ours = gradients(model, "attend", kept, given)
    assert len(seen) == {"bart": 6, "t5": 6}.get(name, 3)  # it did run on attend
    truth = gradients(model.double(), "eager", kept, given)
    error, bound = largest_error(ours, truth), largest_error(eager, truth)
    assert bound < 1e-4 and error <= 2 * bound + 1e-6, f"attend is wrong by {error:.2g}, eager by {bound:.2g}"


@pytest.mark.parametrize("cache", ["dynamic", "static"])
@pytest.mark.parametrize("name", models.DECODERS)
def test_generation_with_a_cache_equals_eager(name, cache):
    model = models.DECODERS[name]()
    given = {"input_ids": models.tokens(2, 6), "attention_mask": models.padding([6, 4], 6, "left"), "max_new_tokens": 12,
             "do_sample": False, "return_dict_in_generate": True, "output_scores": True, "disable_compile": True, "pad_token_id": 0}
    if cache == "static":
        given["cache_implementation"] = "static"
    model.set_attn_implementation("eager")
    expected = model.generate(**given)
    model.set_attn_implementation("attend")
    with attend.torch.collect(top_k=1) as seen:
        got = model.generate(**given)
    assert len(seen) == 3 * 12
    assert torch.equal(got.sequences, expected.sequences)
    for ours, theirs in zip(got.scores, expected.scores, strict=True):
        torch.testing.assert_close(ours, theirs, atol=2e-5, rtol=1e-5)


def test_generation_of_an_encoder_and_a_decoder_equals_eager():
    torch.manual_seed(1)
    model = transformers.BartForConditionalGeneration(models.bart().config).eval()
    given = {"input_ids": models.tokens(2, 9), "attention_mask": models.padding([9, 5], 9), "max_new_tokens": 8, "num_beams": 3}
    model.set_attn_implementation("eager")
    expected = model.generate(**given)
    model.set_attn_implementation("attend")
    assert torch.equal(model.generate(**given), expected)


def test_a_prompt_in_pieces_equals_eager():
    model = models.mistral()
    x = models.tokens(1, 14)
    whole = on(model, "eager", input_ids=x).logits
    model.set_attn_implementation("attend")
    cache, pieces = transformers.DynamicCache(config=model.config), []
    for part in (x[:, :6], x[:, 6:9], x[:, 9:10], x[:, 10:]):
        pieces.append(model(input_ids=part, past_key_values=cache).logits)
    torch.testing.assert_close(torch.cat(pieces, dim=1), whole, atol=2e-5, rtol=1e-5)


def test_packed_sequences_by_their_positions_equal_eager():
    model = models.llama()
    positions = torch.tensor([[0, 1, 2, 3, 0, 1, 2, 3, 4, 5, 6]])
    given = {"input_ids": models.tokens(1, 11), "position_ids": positions, "use_cache": False}
    torch.testing.assert_close(on(model, "attend", **given).logits, on(model, "eager", **given).logits, atol=2e-5, rtol=1e-5)


@pytest.mark.parametrize("kind", ["boolean", "additive"])
def test_a_mask_of_four_axes_is_taken_as_it_is(kind):
    model = models.llama()
    mask = (torch.rand(2, 1, 13, 13, generator=torch.Generator().manual_seed(3)) > 0.4) | torch.eye(13, dtype=torch.bool)
    added = torch.where(mask, 0.0, torch.finfo(torch.float32).min)
    random = torch.randn(2, 1, 13, 13, generator=torch.Generator().manual_seed(4))
    ours, theirs = (mask, added) if kind == "boolean" else (added + random, added + random)
    x = models.tokens(2, 13)
    expected = on(model, "eager", input_ids=x, attention_mask=theirs).logits
    torch.testing.assert_close(on(model, "attend", input_ids=x, attention_mask=ours).logits, expected, atol=2e-5, rtol=1e-5)


def test_is_causal_false_turns_a_decoder_into_an_encoder():
    model = models.llama()
    x, full = models.tokens(2, 13), torch.zeros(2, 1, 13, 13)
    expected = on(model, "eager", input_ids=x, attention_mask=full).logits
    torch.testing.assert_close(on(model, "attend", input_ids=x, is_causal=False).logits, expected, atol=2e-5, rtol=1e-5)


def test_padding_alone_takes_no_square_mask():
    seen = []
    interface = transformers.AttentionInterface()
    forward = interface["attend"]
    model = models.bert()

    def spy(module, query, key, value, attention_mask, **others):
        seen.append(attention_mask)
        return forward(module, query, key, value, attention_mask, **others)

    transformers.AttentionInterface.register("attend", spy)
    try:
        on(model, "attend", input_ids=models.tokens(2, 13), attention_mask=models.padding([13, 9], 13))
    finally:
        transformers.AttentionInterface.register("attend", forward)
    assert len(seen) == 3 and all(mask.shape == (2, 1, 13, 13) and mask.stride(2) == 0 for mask in seen)


@pytest.mark.parametrize("side", ["right", "left"])
def test_padding_on_the_right_is_a_length(side, monkeypatch):
    asked = []
    run = _transformers.run
    monkeypatch.setattr(_transformers, "run", lambda *a, **o: asked.append(a[4]) or run(*a, **o))
    on(models.bert(), "attend", input_ids=models.tokens(2, 13), attention_mask=models.padding([13, 9], 13, side))
    expected = ([13, 9], False) if side == "right" else (None, True)
    assert [(options.get("key_lengths"), "mask" in options) for options in asked] == [expected] * 3


def test_dropout_trains_and_follows_the_generator():
    model = models.gpt2().train()
    x = models.tokens(2, 13)

    def run(implementation, seed):
        torch.manual_seed(seed)
        return on(model, implementation, input_ids=x).logits

    assert torch.equal(run("attend", 1), run("attend", 1)) and not torch.equal(run("attend", 1), run("attend", 2))
    model.eval()
    torch.testing.assert_close(run("attend", 1), run("eager", 1), atol=2e-5, rtol=1e-5)


def test_checkpointing_repeats_the_dropout():
    model = models.llama().train()
    for layer in model.model.layers:
        layer.self_attn.attention_dropout = 0.3
    x = models.tokens(2, 13)

    def run():
        torch.manual_seed(5)
        model.zero_grad()
        on(model, "attend", input_ids=x, use_cache=False).logits.square().sum().backward()
        return [p.grad.clone() for p in model.parameters()]

    expected = run()
    model.gradient_checkpointing_enable()
    for got, wanted in zip(run(), expected, strict=True):
        torch.testing.assert_close(got, wanted)


@pytest.mark.parametrize("dtype, bound", [(torch.bfloat16, 0.05), (torch.float16, 0.005)])
def test_16_bit_models_are_as_near_to_f32_as_eager(dtype, bound):
    model = models.llama()
    x = models.tokens(2, 13)
    expected = on(model, "eager", input_ids=x).logits
    model.to(dtype)
    eager, ours = ((on(model, name, input_ids=x).logits.float() - expected).abs().max() for name in ("eager", "attend"))
    assert ours < bound and ours < 1.5 * eager


def test_autocast():
    model = models.llama()
    x = models.tokens(2, 13)
    with torch.autocast("cpu", torch.bfloat16):
        ours, theirs = on(model, "attend", input_ids=x).logits, on(model, "eager", input_ids=x).logits
    torch.testing.assert_close(ours, theirs, atol=0.05, rtol=0)


def test_what_is_not_supported_is_refused_by_name():
    bert, llama = models.bert(), models.llama()
    x = models.tokens(1, 5)
    with pytest.raises(ValueError, match=r"BertSelfAttention passes output_attentions .* attend.torch.collect\(weights=True\)"):
        on(bert, "attend", input_ids=x, output_attentions=True)
    with pytest.raises(ValueError, match="LlamaAttention passes cu_seq_lens_q .* position_ids"):
        on(llama, "attend", input_ids=x, cu_seq_lens_q=torch.tensor([0, 5], dtype=torch.int32))
    with pytest.raises(ValueError, match="LlamaAttention passes bananas to its attention, which is not supported by attend"):
        on(llama, "attend", input_ids=x, bananas=3)
    with pytest.raises(TypeError, match="attention_mask is torch.int64"):
        on(llama, "attend", input_ids=x, attention_mask=torch.ones(1, 1, 5, 5, dtype=torch.int64))


def test_install_takes_a_name_that_is_free():
    attend.torch.install()  # again: nothing changes
    attend.torch.install("attend_too")
    model = models.bert()
    model.set_attn_implementation("attend_too")
    for name in ("eager", "sdpa", "flash_attention_2", "paged|attend", "someone/kernel"):
        with pytest.raises(ValueError, match="would mean something else"):
            attend.torch.install(name)
    transformers.AttentionInterface.register("theirs", print)
    with pytest.raises(ValueError, match='another attention implementation "theirs" already'):
        attend.torch.install("theirs")


def test_attn_implementation_where_a_model_is_made():
    config = models.bert().config
    model = transformers.AutoModel.from_config(config, attn_implementation="attend").eval()
    with attend.torch.collect(entropy=True) as seen:
        model(input_ids=models.tokens(1, 5))
    assert len(seen) == 3
