"""Every number that a function takes, given what it is not: one sentence of the right kind, before any memory is taken."""

import resource

import numpy as np
import pytest

import attend
import attend.lens
import attend.train
from attend import draw

X = np.ones((1, 2, 4, 8), np.float32)
TABLE = np.ones((32, 2), np.float32)
W = np.ones((8, 8), np.float32)
FIGURE = draw.bars([1, 2], ["a", "b"])
OTHERS = {
    "a fraction": 1.5,
    "a number that is none": float("nan"),
    "text": "3",
    "None": None,
    "a list": [[1]],
    "an array": np.ones(3),
}
TOO_LARGE = (2**63, 2**64, -(2**63) - 1, 2**5000)


@pytest.fixture(autouse=True)
def little_memory():
    """Sizes that are accepted ask for more than this, and get a MemoryError."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 30), before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def multi_head(heads, function=attend.multi_head_attention, more=()):
    return function(W, W, W, W, *more, heads=heads)


def cached(capacity=None, length=None):
    cache = attend.KeyValueCache(1, 2, 8)
    cache.append(X, X)
    cache.reserve(capacity) if length is None else cache.truncate(length)


def model(**sizes):
    return attend.train.Model(**{"vocabulary": 5, "length": 4, "batch": 2, "hidden": 8, "heads": 2, "layers": 1, **sizes})


def restored(count):
    try:
        attend.set_threads(count)
    finally:
        attend.set_threads(0)


# name: (what is called with one of the arguments, the arguments). "?": None is an answer, too. "*": several numbers may be given.
# "~": all 64 bits, with or without a sign.
CALLS = {
    "set_threads": (restored, ["count"]),
    "attention": (
        lambda **a: attend.attention(X, X, X, **a),
        ["query_offset?*", "dropout_seed?~", "key_lengths?*", "cumulative_query_lengths?*"],
    ),
    "window": (lambda left=0, right=0: attend.attention(X, X, X, window=(left, right)), ["left?", "right?"]),
    "weights": (lambda **a: attend.weights(X, X, **a), ["rows?*", "heads?*", "sequences?*"]),
    "summarize_weights": (lambda **a: attend.summarize_weights(X, X, **a), ["top_k", "map_shape?*"]),
    "top_k": (lambda count: attend.top_k(X, X, count), ["count"]),
    "attention_map": (lambda rows=2, columns=2: attend.attention_map(X, X, rows, columns), ["rows", "columns"]),
    "KeyValueCache": (
        lambda **a: attend.KeyValueCache(**{"batch": 1, "heads": 2, "d": 4, **a}),
        ["batch", "heads", "d", "dv?", "capacity"],
    ),
    "cache": (cached, ["capacity", "length*"]),
    "multi_head": (multi_head, ["heads"]),
    "multi_head_backward": (lambda heads: multi_head(heads, attend.multi_head_attention_backward, (W,)), ["heads"]),
    "MultiheadAttention": (
        lambda **a: attend.MultiheadAttention(**{"embed_dim": 8, "num_heads": 2, **a}),
        ["embed_dim", "num_heads"],
    ),
    "dropout": (lambda **a: attend.dropout(X, 0.5, **a), ["seed~", "stream~"]),
    "sinusoidal": (lambda **a: attend.sinusoidal_positions(**{"length": 3, "d": 4, **a}), ["length", "d", "start"]),
    "sinusoidal, no rows": (lambda d: attend.sinusoidal_positions(0, d), ["d"]),
    "rotary": (lambda **a: attend.apply_rotary(X, **{"positions": range(4), **a}), ["dimensions", "positions*"]),
    "learned positions": (lambda positions: attend.add_learned_positions(W, W, positions), ["positions*"]),
    "alibi_slopes": (attend.alibi_slopes, ["heads"]),
    "relative_bucket": (
        lambda **a: attend.relative_bucket(**{"key_minus_query": 3, **a}),
        ["key_minus_query", "buckets", "max_distance"],
    ),
    "relative_bias": (
        lambda **a: attend.relative_bias(TABLE, **{"queries": 3, "keys": 4, **a}),
        ["queries", "keys", "query_offset", "max_distance"],
    ),
    "relative_bias_backward": (
        lambda **a: attend.relative_bias_backward(X[0], **{"buckets": 32, **a}),
        ["buckets", "query_offset", "max_distance"],
    ),
    "embedding_backward": (lambda rows: attend.embedding_backward([1], W[:1], rows), ["rows"]),
    "json": (lambda digits: FIGURE.json(digits=digits), ["digits"]),
    "text": (lambda width: FIGURE.text(width=width), ["width"]),
    "heatmap": (lambda focus_row: draw.heatmap([[1, 2]], focus_row=focus_row), ["focus_row?"]),
    "head_view": (lambda **a: draw.head_view([[0.5, 0.5]], ["a"], ["b", "c"], **a), ["focus?", "strongest"]),
    "bars": (lambda emphasised: draw.bars([1, 2], ["a", "b"], emphasised=[emphasised]), ["emphasised"]),
    "Model": (lambda **a: model(**a).size, ["vocabulary", "length", "batch", "seed~"]),
    "logits": (lambda row: model().logits([1, 2], row), ["row"]),
    "lengths": (lambda lengths: model().loss([[1, 2], [3, 4]], lengths=lengths), ["lengths?*"]),
    "Schedule": (lambda steps=10, warmup=2, step=3: attend.train.Schedule(0.1, steps, warmup)(step), ["steps", "warmup", "step"]),
}
OF_MODELS = {
    "encode": (lambda model, **a: model.encode(["the bank"], **a), ["layer?", "max_tokens?", "batch_tokens"]),
    "model.attention": (
        lambda model, **a: model.attention("the bank", **a),
        ["layers?*", "heads?*", "rows?*", "max_tokens?"],
    ),
    "hidden_states": (lambda model, **a: model.hidden_states("the bank", **a), ["max_tokens?"]),
    "tokenize": (lambda model, **a: model.tokenize("the bank", **a), ["max_tokens?"]),
    "tokenizer": (lambda model, **a: model.tokenizer.encode("the bank", **a), ["max_length?"]),
    "token": (lambda model, **a: model.tokenizer.token(**a), ["id"]),
    "decode": (lambda model, ids: model.tokenizer.decode(ids), ["ids*"]),
    "read": (lambda model, **a: attend.lens.read(model, "the bank", **a), ["max_tokens?", "only_layer?"]),
    "map": (lambda model, **a: attend.lens.read(model, "the bank").map(**a), ["layer?"]),
    "head": (lambda model, **a: attend.lens.read(model, "the bank").map(layer=1, **a), ["head?"]),
    "received": (lambda model, **a: attend.lens.read(model, "the bank").received(**a), ["layer?"]),
    "hidden": (lambda model, **a: attend.lens.read(model, "the bank").hidden(**a), ["layer"]),
    "q": (lambda model, **a: attend.lens.read(model, "the bank").q(**a), ["layer"]),
    "word_vector": (lambda model, **a: attend.lens.read(model, "the bank").word_vector("bank", **a), ["layer?"]),
    "guesses": (lambda model, **a: attend.lens.read(model, "the [MASK]").guesses(**a), ["top", "place?"]),
    "towards": (lambda model, **a: attend.lens.read(model, "the bank").gradients_towards_word("bank", **a), ["place?"]),
    "figure": (lambda model, **a: attend.lens.read(model, "the bank").figure(focus="bank", **a), ["layer?", "top"]),
    "ablate": (
        lambda model, **a: attend.lens.read(model, "the bank").ablate(attend.lens.HeadEdit(**{"layer": 1, **a})),
        ["layer", "head?"],
    ),
}
OF_GENERATORS = {
    "generate": (
        lambda generator, **a: generator.generate("a b", on_token=lambda *_: False, **a),
        ["max_tokens?", "top_k?", "seed~", "stop_tokens?*"],
    ),
    "generator.read": (lambda generator, ids: generator.read(ids), ["ids*"]),
}

# ValueErrors: another text, another edit or more of a sequence would do.
NAMED = {("attention", "query_offset", "text"), ("ablate", "layer", "None"), ("lengths", "lengths", "text")}


def refusal(call, argument, value):
    """What it says, or None: it must be one sentence, of a kind that says whose mistake it is."""
    try:
        call(**{argument: value})
        return None
    except (TypeError, ValueError, MemoryError) as told:
        sentence = str(told)
        assert sentence and "\n" not in sentence and len(sentence) < 400, sentence
        assert not any(part in sentence for part in ("std::", "incompatible", "vector::", "basic_string", "_M_")), sentence
        return told


def sweep(calls, *first):
    for name, (function, arguments) in calls.items():
        for marked in arguments:
            argument = marked.rstrip("?*~")

            def call(**given):
                return function(*first, **given)

            for value in (-1, 2**31, 2**63 - 1, -(2**63)):
                told = refusal(call, argument, value)
                assert not isinstance(told, TypeError) or "*" in marked, (name, argument, value, told)
            for value in TOO_LARGE:
                if "~" in marked and value == 2**63:
                    continue
                values = [value] if "*" in marked else value
                told = refusal(call, argument, values)
                assert isinstance(told, (ValueError, TypeError)), (name, argument, value, told)
                if "*" not in marked:
                    assert isinstance(told, ValueError), (name, argument, value, told)
            for what, value in OTHERS.items():
                if value is None and "?" in marked or "*" in marked and what in ("a list", "an array"):
                    continue
                told = refusal(call, argument, value)
                assert told is not None, (name, argument, what)
                assert isinstance(told, TypeError) or (name, argument, what) in NAMED, (name, argument, what, told)


def test_whole_numbers():
    sweep(CALLS)


def test_whole_numbers_of_models(guessing_bert):
    sweep(OF_MODELS, attend.TextModel.from_pretrained(guessing_bert))


def test_whole_numbers_of_generators(tmp_path):
    model().save(tmp_path, list("abcde"))
    sweep(OF_GENERATORS, attend.Generator(tmp_path))


SENTENCES = {
    "threads": (
        ValueError,
        r"\[threads\] expected 0 \(the default\) or a number from 1 to 1024, got 2147483648",
        lambda: attend.set_threads(2**31),
    ),
    "threads beyond 64 bits": (
        ValueError,
        "count is 18446744073709551616, which does not fit 64 bits",
        lambda: attend.set_threads(2**64),
    ),
    "reserve": (
        ValueError,
        r"\[KeyValueCache::reserve\] capacity is -1, expected 0 or more",
        lambda: attend.KeyValueCache(1, 1, 4).reserve(-1),
    ),
    "seed": (
        ValueError,
        "dropout_seed is 18446744073709551616, which does not fit 64 bits",
        lambda: attend.attention(X, X, X, dropout_seed=2**64),
    ),
    "heads": (ValueError, "wq has 8 columns, which do not divide into 1099511627776 heads", lambda: multi_head(2**40)),
    "heads backward": (ValueError, "wq has 8 columns", lambda: multi_head(2**40, attend.multi_head_attention_backward, (W,))),
    "a list": (TypeError, "query must be an array .* not list", lambda: attend.scaled_dot_product_attention([[1.0]], X, X)),
    "a list of keys": (TypeError, "key must be an array .* not list", lambda: attend.scaled_dot_product_attention(X, [[1.0]], X)),
    "a mask's list": (
        TypeError,
        "attn_mask must be an array .* not list",
        lambda: attend.scaled_dot_product_attention(X, X, X, [[True]]),
    ),
    "offset": (
        ValueError,
        r"query_offset is 9223372036854775807, expected -2\^48 to 2\^48",
        lambda: attend.attention(X, X, X, query_offset=2**63 - 1),
    ),
    "top_k": (ValueError, "top_k is 1099511627776, expected 0 to 2147483647", lambda: attend.top_k(X, X, 2**40)),
    "columns and rows": (
        ValueError,
        r"matmul: a has shape \(1048576, 8\), which does not go with w of 9 rows",
        lambda: attend.matmul(np.broadcast_to(W[0], (2**20, 8)), np.broadcast_to(np.float32(1), (9, 2**20))),
    ),
    "linear": (
        ValueError,
        r"linear: x has shape \(1048576, 8\), which does not go with w of shape \(9, 1048576\)",
        lambda: attend.linear(np.broadcast_to(W[0], (2**20, 8)), np.broadcast_to(np.float32(1), (9, 2**20))),
    ),
    "flag": (TypeError, "return_state must be True or False, not str", lambda: attend.attention(X, X, X, return_state="yes")),
    "name": (TypeError, "approximate must be a str, not int", lambda: attend.gelu(X, 3)),
    "epsilon": (TypeError, "epsilon must be a number, not str", lambda: attend.layer_norm(X, epsilon="small")),
    "epsilon too large": (
        ValueError,
        "epsilon is a whole number beyond what a float holds",
        lambda: attend.layer_norm(X, epsilon=10**400),
    ),
    "complex": (TypeError, "values holds complex numbers", lambda: draw.bars([1j], ["a"])),
    "no memory": (
        MemoryError,
        r"\[tensor\] no memory for shape \(1, 1, 70368744177664, 4\) of f32",
        lambda: attend.KeyValueCache(1, 1, 4, capacity=2**46),
    ),
    "tokens together": (ValueError, "would take .*B to learn in batches of 16777216", lambda: model(batch=2**24, length=2**24)),
    "lengths": (ValueError, "lengths has 3 entries for 1 sequences", lambda: model().loss([1, 2], lengths=[1, 2, 2])),
}


@pytest.mark.parametrize("name", SENTENCES)
def test_sentences(name):
    kind, sentence, mistake = SENTENCES[name]
    with pytest.raises(kind, match=sentence) as told:
        mistake()
    assert type(told.value) is kind and "\n" not in str(told.value)


def test_a_window_beyond_every_distance_is_none():
    q, k, v = (np.random.default_rng(i).normal(size=(1, 2, 5, 8)).astype(np.float32) for i in range(3))
    for sides in ((2**63 - 1, 2**63 - 1), (2**63 - 1, None)):
        np.testing.assert_array_equal(attend.attention(q, k, v, window=sides), attend.attention(q, k, v))
    np.testing.assert_array_equal(attend.attention(q, k, v, window=(2**63 - 1, 0)), attend.attention(q, k, v, causal=True))


def test_numbers_of_numpy_are_numbers():
    assert attend.alibi_slopes(np.int32(2)).shape == attend.alibi_slopes(np.uint64(2)).shape == (2,)
    np.testing.assert_array_equal(attend.dropout(X, np.float32(0.5), np.int64(-1)), attend.dropout(X, 0.5, 2**64 - 1))
    assert (
        attend.train.Model(vocabulary=5, length=2, layers=1, hidden=8, heads=2).loss([[1, 2], [3, 4]], lengths=np.array([1, 2])) > 0
    )
