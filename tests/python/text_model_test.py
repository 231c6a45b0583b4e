"""attend.TextModel on a small BERT: the golden checkpoint with a vocabulary of words."""

import json
import warnings

import numpy as np
import pytest

import attend

TEXTS = ["the bank of the river", "", "money is the bank", "w20 w21 w22 nowhere"]


def as_sentence_model(folder, prompts=None):
    names = ("Transformer", "Pooling", "Normalize")
    modules = [{"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "", "type": f"sentence_transformers.models.{name}"} for i, name in enumerate(names)]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text(json.dumps({"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}))
    if prompts:
        (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": prompts}))


def test_a_folder_that_says_nothing_of_pooling_is_told_once(folder):
    model = attend.TextModel.from_pretrained(folder)
    with pytest.warns(UserWarning, match="does not say how to pool, so a text's vector is the mean over its tokens; pooling= chooses another way"):
        model.encode("the bank")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.encode("the bank")
        attend.TextModel.from_pretrained(folder).encode("the bank", pooling="mean")
        as_sentence_model(folder)
        attend.TextModel.from_pretrained(folder).encode("the bank")


def test_objects_say_what_they_are(folder):
    model = attend.TextModel.from_pretrained(folder)
    assert repr(model) == f"<attend.TextModel {folder}, 2 layers, 4 heads, vectors of 32>"
    assert repr(attend.KeyValueCache(2, 3, 8)) == "<attend.KeyValueCache, sequences: 2, rows: 0>"
    assert repr(attend.PackedMatrix(np.zeros((3, 5), np.float32))) == "<attend.PackedMatrix (3, 5)>"
    assert repr(attend.MultiheadAttention(8, 2)) == "<attend.MultiheadAttention, embed_dim 8, 2 heads>"


def test_a_vector_is_what_pooling_makes_of_the_last_layer(folder):
    model = attend.TextModel.from_pretrained(folder)
    assert (model.layers, model.heads, model.hidden_size, model.embedding_size, model.max_tokens) == (2, 4, 32, 32, 40)
    vectors = model.encode(TEXTS)
    assert vectors.shape == (4, 32) and vectors.dtype == np.float32
    for text, vector in zip(TEXTS, vectors):
        states = model.hidden_states(text)
        assert len(states) == 3
        np.testing.assert_allclose(vector, states[-1].mean(axis=0), atol=1e-6)
        np.testing.assert_array_equal(model.encode(text), vector)
        np.testing.assert_allclose(model.encode(text, pooling=["cls", "max"]), np.concatenate([states[-1][0], states[-1].max(axis=0)]))
        np.testing.assert_allclose(model.encode(text, layer=1), states[1].mean(axis=0), atol=1e-6)
        unit = model.encode(text, normalize_embeddings=True)
        np.testing.assert_allclose(unit, vector / np.linalg.norm(vector), atol=1e-6)
    np.testing.assert_array_equal(model.encode(reversed(TEXTS), batch_tokens=3), vectors[::-1])
    np.testing.assert_array_equal(model.encode([text.encode() for text in TEXTS]), vectors)
    assert model.encode([]).shape == (0, 32)


def test_attention_is_that_of_the_forward_pass(folder):
    model = attend.TextModel.from_pretrained(folder)
    tokens = model.tokenize(TEXTS[0])
    assert tokens.ids == [2, 5, 6, 7, 5, 8, 3] and tokens.offsets[2] == (4, 8)
    maps = model.attention(TEXTS[0])
    assert [one.shape for one in maps] == [(4, 7, 7)] * 2
    for one in maps:
        np.testing.assert_allclose(one.sum(axis=-1), 1, atol=1e-6)
    (some,) = model.attention(TEXTS[0], layers=2, heads=[4, 2], rows=[6, 0])
    np.testing.assert_array_equal(some, maps[1][[3, 1]][:, [6, 0]])
    twice = model.attention(TEXTS[0], layers=[2, 1, 2])
    np.testing.assert_array_equal(twice[2], maps[1])
    assert np.isfinite(model.attention(TEXTS[0], stage="scores")[0]).all()
    pair = model.attention("the bank", "money")[0]
    assert pair.shape == (4, 6, 6)


def test_a_sentence_models_folder_is_heard(folder):
    as_sentence_model(folder, {"query": "money of "})
    model = attend.TextModel.from_pretrained(str(folder))
    np.testing.assert_allclose(np.linalg.norm(model.encode(TEXTS), axis=1), 1, atol=1e-6)
    assert model.prompts == {"query": "money of "}
    expected = model.encode("money of the river")
    np.testing.assert_array_equal(model.encode("the river", prompt_name="query"), expected)
    np.testing.assert_array_equal(model.encode("the river", prompt="money of "), expected)


def test_a_name_given_to_the_class_is_told_where_it_goes():
    with pytest.raises(TypeError, match=r"loaded by its name or folder with TextModel.from_pretrained\(\)"):
        attend.TextModel("all-MiniLM-L6-v2")


def test_mistakes(folder):
    model = attend.TextModel.from_pretrained(folder)
    for call, kind, sentence in [
        (lambda: model.encode(3), TypeError, ""),
        (lambda: model.encode([3]), TypeError, "a text is neither str nor bytes"),
        (lambda: model.encode("the", pooling="median"), ValueError, 'pooling is "median"'),
        (lambda: model.encode("the", layer=3), ValueError, "layer is 3"),
        (lambda: model.encode("the", prompt_name="query"), ValueError, 'no prompt "query"; it has none'),
        (lambda: model.encode("the", prompt_name="query", prompt="x"), ValueError, "both given"),
        (lambda: model.encode("the", batch_tokens=0), ValueError, "batch_tokens is 0"),
        (lambda: model.attention("the", layers=0), ValueError, "layer 0 has no attention"),
        (lambda: model.attention("the", heads=0), ValueError, "head is 0, and heads count from 1 to 4"),
        (lambda: model.attention("the", heads=5), ValueError, "head is 5, and heads count from 1 to 4"),
        (lambda: model.attention("the", stage="logits"), ValueError, 'stage is "logits"'),
        (lambda: attend.TextModel.from_pretrained(folder / "nothing"), attend.FileError, "nothing"),
    ]:
        with pytest.raises(kind, match=sentence or None):
            call()
    (folder / "model.safetensors").write_bytes((folder / "model.safetensors").read_bytes()[:-1])
    with pytest.raises(attend.FileError, match="model.safetensors"):
        attend.TextModel.from_pretrained(folder)
    assert issubclass(attend.FileError, ValueError)
