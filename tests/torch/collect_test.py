"""What attend.torch.collect() tells against the same taken from eager's matrices."""

import contextvars
import threading

import models
import pytest
import torch

import attend.torch

attend.torch.install()
LENGTH, TOP = 13, 4
MODELS = {name: {**models.ENCODERS, **models.DECODERS}[name] for name in ("bert", "gpt2", "llama", "mistral", "gpt_oss")}


def eager(model, **given):
    model.set_attn_implementation("eager")
    with torch.no_grad():
        matrices = model(**given, output_attentions=True).attentions
    model.set_attn_implementation("attend")
    return matrices


def collected(model, given, **asked):
    with torch.no_grad(), attend.torch.collect(model=model, **asked) as seen:
        model(**given)
    return seen


@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_collected_equals_what_output_attentions_says(name, padded):
    model = MODELS[name]()
    given = {"input_ids": models.tokens(2, LENGTH)}
    if padded:  # on the right: every query has keys, as eager needs it
        given["attention_mask"] = models.padding([LENGTH, 9], LENGTH)
    matrices = eager(model, **given)
    seen = collected(model, given, top_k=TOP, received=True, entropy=True, map_shape=(3, 4), rows=[0, -1], weights=True)
    assert [one.layer for one in seen] == [1, 2, 3] and len(matrices) == 3
    for one, matrix in zip(seen, matrices):
        torch.testing.assert_close(one.weights, matrix, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(one.rows, matrix[:, :, [0, LENGTH - 1]], atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(one.received, matrix.sum(-2), atol=1e-5, rtol=1e-5)
        torch.testing.assert_close(one.entropy, torch.special.entr(matrix).sum(-1), atol=1e-5, rtol=1e-5)
        best = matrix.topk(TOP).values
        torch.testing.assert_close(one.top_weights, best, atol=1e-6, rtol=1e-5)
        there = one.top_keys >= 0  # -1 where fewer keys than TOP take part, whose weight eager has as 0
        assert torch.equal(there.sum(-1), (matrix > 0).sum(-1).clamp(max=TOP))
        at_keys = matrix.gather(-1, one.top_keys.clamp(min=0))
        torch.testing.assert_close(at_keys[there], one.top_weights[there], atol=1e-6, rtol=1e-5)
        bands = [band.tensor_split([3, 6, 9], -1) for band in matrix.tensor_split([4, 8], -2)]
        cells = [torch.stack([cell.mean((-1, -2)) for cell in band], -1) for band in bands]
        torch.testing.assert_close(one.map, torch.stack(cells, -2), atol=1e-6, rtol=1e-5)


def test_only_what_is_asked_for_and_only_these_heads():
    model = models.llama()
    given = {"input_ids": models.tokens(2, LENGTH)}
    everything = collected(model, given, received=True, rows=[3], top_k=2)
    some = collected(model, given, received=True, rows=[3], top_k=2, heads=[3, 1])
    for one, all_heads in zip(some, everything):
        assert one.weights is None and one.entropy is None and one.map is None
        for part in ("received", "rows", "top_keys", "top_weights"):
            assert torch.equal(getattr(one, part), getattr(all_heads, part)[:, [2, 0]])
    with pytest.raises(ValueError, match="nothing is asked for"), attend.torch.collect():
        pass
    with pytest.raises(ValueError, match="heads count from 1"), attend.torch.collect(top_k=2, heads=[0]):
        pass


def test_collecting_changes_no_bit_and_costs_no_gradient():
    model = models.gpt2()
    model.set_attn_implementation("attend")
    x = models.tokens(2, LENGTH)
    expected = model(input_ids=x).logits
    with attend.torch.collect(top_k=2, weights=True) as seen:
        out = model(input_ids=x).logits
    assert torch.equal(out, expected) and out.requires_grad
    assert not any(part.requires_grad for one in seen for part in (one.top_weights, one.weights))


def test_generation_has_one_entry_a_layer_and_step():
    model = models.gpt2()
    model.set_attn_implementation("attend")
    with attend.torch.collect(rows=[-1]) as seen:
        model.generate(models.tokens(1, 5), max_new_tokens=3, do_sample=False, pad_token_id=0)
    assert [one.layer for one in seen] == [1, 2, 3] * 3
    assert [one.rows.shape[-1] for one in seen[::3]] == [5, 6, 7]
    torch.testing.assert_close(seen[-1].rows.sum(-1), torch.ones(1, 4, 1))


def test_names_tell_an_encoder_from_its_decoder():
    model = models.bart()
    model.set_attn_implementation("attend")
    given = {"input_ids": models.tokens(1, 9), "decoder_input_ids": models.tokens(1, 4)}
    seen = collected(model, given, received=True)
    assert [one.name for one in seen] == [
        *(f"encoder.layers.{layer}.self_attn" for layer in range(2)),
        *(f"decoder.layers.{layer}.{part}" for layer in range(2) for part in ("self_attn", "encoder_attn")),
    ]
    assert [one.received.shape[-1] for one in seen] == [9, 9, 4, 9, 4, 9]
    with attend.torch.collect(received=True) as nameless:
        model(**given)
    assert {one.name for one in nameless} == {"BartAttention"}


def test_direct_calls_are_collected_too():
    q, k = torch.randn(2, 4, 5, 8), torch.randn(2, 4, 6, 8)
    with attend.torch.collect(received=True, heads=[1]) as seen:
        attend.torch.attention(q, k, k, dropout=0.5)
        attend.torch.scaled_dot_product_attention(q[0], k[0], k[0])
        attend.torch.attention(q[0], k[0], k[0])
    assert [(one.layer, one.name) for one in seen] == [(None, None)] * 3
    assert [tuple(one.received.shape) for one in seen] == [(2, 1, 6), (1, 1, 6), (1, 6)]
    torch.testing.assert_close(seen[0].received.sum(-1), torch.full((2, 1), 5.0))


def test_nested_each_collects_its_own():
    q = torch.randn(1, 1, 5, 8)
    with attend.torch.collect(received=True) as outer:
        attend.torch.attention(q, q, q)
        with attend.torch.collect(entropy=True) as inner:
            attend.torch.attention(q, q, q)
        attend.torch.attention(q, q, q)
    attend.torch.attention(q, q, q)
    assert len(outer) == 3 and len(inner) == 1
    assert inner[0].entropy is not None and inner[0].received is None and outer[1].entropy is None


def test_it_ends_with_an_exception():
    q = torch.randn(1, 1, 5, 8)
    with pytest.raises(ZeroDivisionError), attend.torch.collect(received=True) as seen:
        1 / 0
    attend.torch.attention(q, q, q)
    assert not seen


def test_threads_do_not_see_each_other():
    q = torch.randn(1, 1, 5, 8)
    counts = {}

    def work(number):
        with attend.torch.collect(received=True) as seen:
            for _ in range(number):
                attend.torch.attention(q, q, q)
        counts[number] = len(seen)

    def bare():
        attend.torch.attention(q, q, q)

    with attend.torch.collect(received=True) as outer:
        threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 9)] + [threading.Thread(target=bare)]
        with_context = threading.Thread(target=contextvars.copy_context().run, args=(bare,))
        for thread in [*threads, with_context]:
            thread.start()
        for thread in [*threads, with_context]:
            thread.join()
    assert counts == {number: number for number in range(1, 9)}
    assert len(outer) == 1  # the one that was given our context
