"""attend.sklearn on a small BERT: what scikit-learn does with an estimator works with this one."""

import pickle
import shutil
import subprocess
import sys

import numpy as np
import pandas
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.utils import estimator_checks

import attend
from attend.sklearn import SentenceEncoder

TEXTS = ["the bank of the river", "", "money is the bank", "w20 w21 w22 nowhere"]


@pytest.mark.parametrize(
    "container",
    [list, tuple, np.array, lambda t: np.array(t, object), pandas.Series, lambda t: pandas.Series(t, dtype="string"), iter,
     lambda t: np.array(t)[:, None], lambda t: pandas.DataFrame({"text": t}), lambda t: [text.encode() for text in t]],
    ids="list tuple array objects series strings iterator column frame bytes".split(),
)
def test_texts_of_any_kind_become_the_models_vectors(folder, container):
    expected = attend.TextModel.from_pretrained(folder).encode(TEXTS)
    for encoder in (SentenceEncoder(folder), SentenceEncoder(str(folder)).fit(container(TEXTS))):
        vectors = encoder.transform(container(TEXTS))
        assert vectors.dtype == np.float32
        np.testing.assert_array_equal(vectors, expected)
    np.testing.assert_array_equal(SentenceEncoder(folder).fit_transform(container(TEXTS)), expected)


def test_parameters_reach_the_model(folder):
    model = attend.TextModel.from_pretrained(folder)
    given = dict(pooling=["cls", "max"], normalize=True, layer=1, prompt="money of ", max_tokens=5, batch_tokens=3)
    expected = model.encode(TEXTS, pooling=["cls", "max"], normalize_embeddings=True, layer=1, prompt="money of ", max_tokens=5)
    encoder = SentenceEncoder(folder, **given).fit(TEXTS)
    np.testing.assert_array_equal(encoder.transform(TEXTS), expected)
    assert encoder.get_params() == {"model": folder, "prompt_name": None, **given}
    assert list(encoder.get_feature_names_out()[[0, -1]]) == ["sentenceencoder0", "sentenceencoder63"]
    np.testing.assert_array_equal(encoder.set_params(layer=2, pooling="mean").transform(TEXTS[:1]).shape, (1, 32))
    assert encoder.transform([]).shape == (0, 32)


def test_another_model_is_loaded_when_it_is_named(folder, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    shutil.copytree(folder, other, dirs_exist_ok=True)
    words = (other / "vocab.txt").read_text().replace("bank", "shore").replace("river", "bank")
    (other / "vocab.txt").write_text(words)
    encoder = SentenceEncoder(folder).fit(TEXTS)
    first = encoder.transform(TEXTS)
    second = encoder.set_params(model=other).transform(TEXTS)
    np.testing.assert_array_equal(second, attend.TextModel.from_pretrained(other).encode(TEXTS))
    assert not np.array_equal(first, second)


def test_estimators_share_a_model_while_one_lives(folder):
    one, other = SentenceEncoder(folder), SentenceEncoder(str(folder), layer=1)
    assert one.model_ is other.model_


def test_clones_and_pickles_hold_a_name_and_no_weights(folder):
    encoder = SentenceEncoder(folder, layer=1).fit(TEXTS)
    expected = encoder.transform(TEXTS)
    stored = pickle.dumps(encoder)
    assert len(stored) < 1000
    for copy in (clone(encoder), pickle.loads(stored)):
        assert copy.get_params() == encoder.get_params()
        assert "_loaded" not in vars(copy)
        np.testing.assert_array_equal(copy.transform(TEXTS), expected)


def test_pandas_output_keeps_the_rows_names(folder):
    series = pandas.Series(TEXTS, index=list("abcd"))
    encoder = SentenceEncoder(folder).set_output(transform="pandas")
    frame = encoder.fit_transform(pandas.DataFrame({"text": series}))
    assert list(frame.index) == list("abcd") and list(frame.columns) == [f"sentenceencoder{i}" for i in range(32)]
    np.testing.assert_array_equal(frame.to_numpy(), SentenceEncoder(folder).transform(series))
    assert list(encoder.fit_transform(series).index) == list("abcd")


def test_in_pipelines_and_searches(folder):
    texts = [f"the {word} w{i} w{i + 1}" for i in range(11, 35) for word in ("bank", "river")]
    kinds = np.array(["bank", "river"] * 24)
    pipeline = make_pipeline(SentenceEncoder(folder), LogisticRegression(max_iter=1000))
    choices = {"sentenceencoder__layer": [0, 1, 2], "sentenceencoder__pooling": ["mean", "max"]}
    search = GridSearchCV(pipeline, choices, cv=3).fit(texts, kinds)
    assert len(search.cv_results_["params"]) == 6 and search.best_score_ == 1.0
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(texts), search.predict(texts))

    union = FeatureUnion([(f"layer{i}", SentenceEncoder(folder, layer=i)) for i in (0, 2)])
    assert union.fit_transform(texts).shape == (48, 64) and union.get_feature_names_out()[32] == "layer2__sentenceencoder0"
    table = pandas.DataFrame({"text": texts, "length": range(48)})
    columns = ColumnTransformer([("text", SentenceEncoder(folder), "text")], remainder="passthrough")
    assert Pipeline([("columns", columns)]).fit_transform(table).shape == (48, 33)


# check_estimator has nothing to say about estimators of texts: all its data are numbers. These are the checks that need none.
@pytest.mark.parametrize(
    "check",
    """estimator_cloneable estimator_tags_renamed estimator_repr parameters_default_constructible valid_tag_types mixin_order
    no_attributes_set_in_init get_params_invariance set_params do_not_raise_errors_in_init_or_set_params""".split(),
)
def test_scikit_learns_own_checks(check):
    getattr(estimator_checks, f"check_{check}")("SentenceEncoder", SentenceEncoder())


def test_mistakes(folder):
    encoder = SentenceEncoder(folder)
    for call, kind, sentence in [
        (lambda: encoder.transform("the bank"), ValueError, "X is one text"),
        (lambda: encoder.fit("the bank"), ValueError, "X is one text"),
        (lambda: encoder.transform(["the", None]), TypeError, "text 1 is a NoneType"),
        (lambda: encoder.transform(pandas.Series(["the", float("nan")], dtype=object)), TypeError, "text 1 is a float"),
        (lambda: encoder.transform(np.array([["the", "bank"]])), ValueError, r"shape \(1, 2\)"),
        (lambda: encoder.transform(pandas.DataFrame({"a": TEXTS, "b": TEXTS})), ValueError, r"shape \(4, 2\)"),
        (lambda: encoder.transform(np.array("the")), ValueError, r"shape \(\)"),
        (lambda: SentenceEncoder(folder, layer=3).fit(TEXTS), ValueError, "layer is 3"),
        (lambda: SentenceEncoder(folder, pooling="median").fit(TEXTS), ValueError, 'pooling is "median"'),
        (lambda: SentenceEncoder(folder, prompt_name="query").fit(TEXTS), ValueError, 'no prompt "query"'),
        (lambda: SentenceEncoder(folder / "nothing").fit(TEXTS), attend.FileError, "nothing"),
    ]:
        with pytest.raises(kind, match=sentence):
            call()


def test_without_scikit_learn_one_sentence_says_so():
    code = "import sys; sys.modules['sklearn'] = None\ntry: import attend.sklearn\nexcept ImportError as error: print(error)"
    printed = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert printed == "attend.sklearn needs scikit-learn, which is not installed (pip install scikit-learn)\n"


def test_attend_alone_does_not_import_it():
    code = "import sys, attend; print('sklearn' in sys.modules, 'attend.sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "False False\n"
