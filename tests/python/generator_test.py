"""attend.Generator on small models: a decoder that was trained to count, the golden GPT-2, and an encoder-decoder that copies."""

import json
import os
import shutil
import signal
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import attend
from attend import train
from learning import learned
from numpy_bert import read_safetensors

GOLDEN = Path(__file__).resolve().parents[1] / "golden/models/gpt2"
WORDS = [f"w{number}" for number in range(9)] + ["[UNK]"]
LENGTH = 24


@pytest.fixture(scope="module")
def copying(tmp_path_factory):
    """An encoder-decoder that repeats its source."""
    rng = np.random.default_rng(0)
    words = ["a", "b", "c", "d", "<", "[UNK]"]

    def batch():
        source = rng.integers(0, 4, (32, 4))
        return {"source": source, "ids": np.insert(source[:, :-1], 0, 4, axis=1), "targets": source}

    model = train.Model("encoder_decoder", vocabulary=6, length=8, batch=32, layers=1, hidden=32, heads=2)
    learned(model, (batch() for _ in range(150)))
    assert model.evaluate(**batch()).accuracy > 0.9
    folder = tmp_path_factory.mktemp("copying")
    model.save(folder, words, start="<")
    return folder, model


@pytest.fixture
def generator(counting):
    return attend.Generator(counting)


def log_softmax(logits):
    logits = logits.astype(np.float64)
    return logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())


def test_a_cache_of_a_small_type_is_near(counting):
    exact = attend.Generator(counting).read([3, 4, 5])
    for cache_type, bound in [("f32", 0), ("f16", 1e-2), ("bf16", 0.1), ("int8", 0.1)]:
        found = attend.Generator(counting, cache_type=cache_type)
        found.read([3])
        found.read([4])
        assert np.abs(found.read([5]) - exact).max() <= bound + 1e-4, cache_type
    with pytest.raises(ValueError, match='cache_type is "f64", expected "f32", "f16", "bf16" or "int8"'):
        attend.Generator(counting, cache_type="f64")


def test_greedy_is_the_argmax_of_read(generator):
    written = generator.generate([3, 4], max_tokens=12, temperature=0)
    assert written.reason == "length" and len(written.tokens) == 12 and written.log_probabilities is None
    generator.clear()
    assert generator.length == 0
    logits = generator.read([3, 4])
    assert logits.shape == (10,) and logits.dtype == np.float32
    for number, token in enumerate(written.tokens):
        assert token == logits.argmax()
        logits = generator.read([token])
        assert generator.length == 3 + number
    assert written.text == " ".join(WORDS[token] for token in written.tokens)
    assert generator.generate("w3 w4", max_tokens=12, temperature=0) == written
    assert generator.generate(b"w3 w4", max_tokens=12, temperature=0, top_k=0, seed=9) == written


def test_golden_gpt2(tmp_path):
    """Logits of the hidden states that transformers computed, one token at a time and all at once."""
    model = train.Model(vocabulary=64, length=8, batch=1, layers=1, hidden=8, heads=1)
    model.save(tmp_path, [f"t{number}" for number in range(64)])  # for its tokenizer
    for name in ("config.json", "model.safetensors"):
        shutil.copy(GOLDEN / name, tmp_path)
    golden = read_safetensors(GOLDEN / "golden.safetensors")
    words = read_safetensors(GOLDEN / "model.safetensors")["wte.weight"]
    generator = attend.Generator(tmp_path)
    for begin, end in zip(golden["ends"], golden["ends"][1:]):
        ids, logits = golden["ids"][begin:end], golden["hidden.2"][begin:end] @ words.T
        generator.clear()
        np.testing.assert_allclose(generator.read(ids), logits[-1], atol=1e-4)
        generator.clear()
        for row, token in enumerate(ids):
            np.testing.assert_allclose(generator.read([token]), logits[row], atol=1e-4)


def test_the_same_seed_gives_the_same_text(generator, counting):
    def write(seed, **rest):
        return generator.generate("w1", max_tokens=20, temperature=2, seed=seed, **rest).tokens

    first = write(1)
    assert write(1) == first == attend.Generator(attend.TextModel.from_pretrained(counting)).generate("w1", max_tokens=20, temperature=2).tokens
    assert len({tuple(write(seed)) for seed in range(-3, 4)}) > 3
    assert write(1, top_k=1) == write(2, top_k=1) == generator.generate("w1", max_tokens=20, temperature=0).tokens


def test_log_probabilities_are_those_of_the_model(generator):
    written = generator.generate("w5", max_tokens=15, temperature=3, top_k=4, seed=5, log_probabilities=True)
    generator.clear()
    expected, before = [], 5
    for token in written.tokens:
        expected.append(log_softmax(generator.read([before]))[token])
        before = token
    np.testing.assert_allclose(written.log_probabilities, expected, atol=1e-5)
    assert written.log_probabilities.dtype == np.float64


def test_stops(generator):
    whole = generator.generate("w1", max_tokens=8, temperature=0)
    assert whole.text.startswith("w2 w3 w4 w5")
    token = generator.generate("w1", temperature=0, stop_tokens=[5, 4])
    assert (token.text, token.tokens, token.reason) == ("w2 w3", [2, 3], "stop")
    assert generator.generate("w1", temperature=0, stop_tokens=4) == token
    text = generator.generate("w1", temperature=0, stop=["nowhere", "3 w4"])
    assert (text.text, text.tokens, text.reason) == ("w2 w", [2, 3, 4], "stop")
    assert generator.generate("w1", temperature=0, stop="3 w4") == text
    none = generator.generate("w1", max_tokens=0)
    assert (none.text, none.tokens, none.reason) == ("", [], "length")


def test_on_token_hears_of_each_in_turn(generator):
    heard = []
    written = generator.generate("w1", max_tokens=6, temperature=0, log_probabilities=True, on_token=lambda *token: heard.append(token))
    assert [token for token, _, _ in heard] == written.tokens
    assert "".join(text for _, text, _ in heard) == written.text
    np.testing.assert_array_equal([value for _, _, value in heard], written.log_probabilities)
    heard.clear()
    ended = generator.generate("w1", temperature=0, on_token=lambda *token: heard.append(token) or len(heard) < 3)
    assert ended.reason == "callback" and ended.tokens == [token for token, _, _ in heard] == [2, 3, 4]
    assert heard[0] == (2, "w2", None)
    assert generator.generate("w1", max_tokens=4, temperature=0, on_token=lambda *_: 0).reason == "length"  # only False ends it


def test_what_on_token_raises_is_raised(generator):
    calls = []

    def fail(token, text, _):
        calls.append(token)
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        generator.generate("w1", temperature=0, on_token=fail)
    assert calls == [2] and generator.generate("w1", max_tokens=2, temperature=0).tokens == [2, 3]


def test_what_on_token_cannot_do_it_is_told(generator):
    lengths = []

    def look(*_):
        lengths.append(generator.length)
        attend.softmax(np.ones(3))
        generator.clear()

    with pytest.raises(RuntimeError, match="still at work in the call that this signal handler or callback interrupts"):
        generator.generate("w1 w2", on_token=look)
    assert lengths == [2]


def test_pieces_of_text_are_whole_characters(tmp_path):
    """Bytes as tokens: a character is shown when its last byte is there."""
    text = "aäb€😀 "
    (tmp_path / "text.txt").write_text(text * 60)
    train.start({"task": "text", "data": {"file": tmp_path / "text.txt", "length": 32}, "model": {"layers": 1, "hidden": 32, "heads": 2, "inner": 64},
                 "training": {"steps": 100, "rate": 1e-2, "batch": 8}}, tmp_path / "run").fit()
    heard = []
    written = attend.Generator(tmp_path / "run").generate(text, max_tokens=24, temperature=0, on_token=lambda token, piece, _: heard.append(piece))
    assert written.text == text * 2
    assert "".join(heard) == written.text and heard[:13] == ["a", "", "ä", "b", "", "", "€", "", "", "", "😀", " ", "a"]


def test_more_tokens_than_positions(generator):
    written = generator.generate("w0 " * 100, max_tokens=3 * LENGTH, temperature=0)
    assert len(written.tokens) == 3 * LENGTH and generator.length <= LENGTH
    with pytest.raises(ValueError, match="25 tokens are more than the 24 positions of the model"):
        generator.clear()
        generator.read([1] * (LENGTH + 1))
    assert generator.length == 0


def test_an_encoder_decoder_answers(copying):
    folder, model = copying
    generator = attend.Generator(folder)
    written = generator.generate("a c b d", log_probabilities=True)
    assert written.tokens == [0, 2, 1, 3] and written.text == "a c b d" and written.reason == "length"
    source = [0, 2, 1, 3]
    generator.read_source(source)
    logits = generator.read([4])
    np.testing.assert_allclose(logits, model.logits([4], source=source), atol=1e-4)
    assert written.log_probabilities[0] == pytest.approx(log_softmax(logits)[0], abs=1e-6)
    np.testing.assert_allclose(generator.read([0, 2]), model.logits([4, 0, 2], source=source), atol=1e-4)
    generator.clear()
    np.testing.assert_array_equal(generator.read([4]), logits)  # the source is still there
    generator.read_source([1])
    assert generator.length == 0
    with pytest.raises(ValueError, match="the source has not been read yet"):
        attend.Generator(folder).read([4])


TEMPLATE = "{% for m in messages %}{{ m.content }} {% endfor %}{% if add_generation_prompt %}w4{% endif %}"


@pytest.fixture
def talking(counting, tmp_path):
    """The counting model with a chat template and defaults of its own."""
    folder = tmp_path / "talking"
    shutil.copytree(counting, folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": [7], "max_new_tokens": 12}))
    return attend.Generator(folder)


def test_the_models_own_defaults(talking, generator):
    written = talking.generate("w1")
    assert (written.tokens, written.reason) == ([2, 3, 4, 5, 6], "end")  # greedy, and to its end
    assert (written.prompt_tokens, written.dropped, written.reused, written.rereads) == (1, 0, 0, 0)
    going_on = talking.generate("w1", ignore_end=True)
    assert going_on.tokens == generator.generate("w1", max_tokens=12, temperature=0).tokens
    cut = talking.generate("w0 " * 100, max_tokens=50, ignore_end=True)
    assert cut.dropped == 100 - LENGTH and cut.rereads >= 2
    wild = {"temperature": 5, "top_k": 0, "max_tokens": 30, "ignore_end": True}
    assert talking.generate("w1", top_p=0.0, **wild).tokens == talking.generate("w1", max_tokens=30, ignore_end=True).tokens
    assert talking.generate("w1", min_p=1.0, **wild).tokens == talking.generate("w1", max_tokens=30, ignore_end=True).tokens
    assert len(set(talking.generate("w1", max_tokens=8, ignore_end=True, presence_penalty=2, frequency_penalty=2, repetition_penalty=100.0).tokens)) == 8


def test_a_conversation(talking, generator):
    messages = [{"role": "user", "content": "w1 w2"}, {"role": "assistant", "content": "w3"}]
    assert talking.chat_prompt(messages) == [1, 2, 3, 4]
    heard = []
    answer = talking.chat(messages, on_token=lambda _, text, __: heard.append(text))
    assert (answer.tokens, answer.reason, answer.reused) == ([5, 6], "end", 0) and "".join(heard) == answer.text == "w5 w6"
    assert talking.chat(messages).reused == 3
    for wrong, kind, sentence in (([{"role": "user"}], ValueError, "a message has no content"), ([1], TypeError, "a message is not a dict"),
                                  ([{"role": "user", "content": "x", "name": "y"}], ValueError, 'a message has the key "name"'),
                                  ([{"role": "user", "content": 5}], TypeError, "the content of a message is neither str nor bytes"),
                                  (5, TypeError, "messages"), ([{"role": "user", "content": "w1 " * 50}], ValueError, "the model can read 24 with its answer")):
        with pytest.raises(kind, match=sentence):
            talking.chat(wrong)
    with pytest.raises(attend.FileError, match="has no chat template"):
        generator.chat(messages)


def test_many_at_once_are_those_of_one_at_a_time(talking, generator, copying):
    prompts = ["w1", [3, 4, 5], b"w7 w8", "w0 " * 40, np.array([2]), "w5"]
    options = {"temperature": 1.5, "seed": 7, "max_tokens": 30, "ignore_end": True, "log_probabilities": True}
    alone = [generator.generate(prompt, **options) for prompt in prompts]
    generator.clear()
    generator.read([1, 2])
    for at_once in (1, 4, 16):
        for one, other in zip(generator.generate_many(prompts, at_once=at_once, **options), alone, strict=True):
            assert one._replace(log_probabilities=None) == other._replace(log_probabilities=None)
            assert (one.log_probabilities == other.log_probabilities).all()
    assert generator.length == 2  # what it had read
    assert generator.generate_many([]) == []

    conversations = [[{"role": "user", "content": text}] for text in ("w1 w2", "w0", "w3 w3 w3")]
    for one, conversation in zip(talking.chat_many(conversations), conversations, strict=True):
        talking.clear()
        assert one == talking.chat(conversation)
    with pytest.raises(ValueError, match="the model can read 24 with its answer"):
        talking.chat_many([[{"role": "user", "content": "w1 " * 50}]])

    writer = attend.Generator(copying[0])
    sources = ["a b c d", "d d a b", "c"]
    assert writer.generate_many(sources, max_tokens=4, temperature=0) == [writer.generate(source, max_tokens=4, temperature=0) for source in sources]


REFUSED = {
    "an empty prompt of many": (ValueError, "the prompt is empty, and the model has no token that begins a text", lambda g: g.generate_many(["w1", ""])),
    "prompts": (TypeError, "prompts", lambda g: g.generate_many(5)),
    "none at once": (ValueError, "at_once is 0", lambda g: g.generate_many(["w1"], at_once=0)),
    "an empty prompt": (ValueError, "the prompt is empty", lambda g: g.generate("")),
    "no ids": (ValueError, "the prompt is empty", lambda g: g.generate([])),
    "a prompt of floats": (TypeError, "the ids of the prompt must be whole numbers, not float64", lambda g: g.generate([1.5])),
    "no prompt": (TypeError, "the ids of the prompt must be whole numbers", lambda g: g.generate(None)),
    "a prompt of axes": (ValueError, "the ids of the prompt have 2 axes, expected one", lambda g: g.generate([[1]])),
    "an id": (ValueError, "id 10 ", lambda g: g.generate([10])),
    "max_tokens": (ValueError, "max_tokens is -1", lambda g: g.generate("w1", max_tokens=-1)),
    "max_tokens of a text": (TypeError, "max_tokens must be a whole number, not str", lambda g: g.generate("w1", max_tokens="5")),
    "temperature": (ValueError, "temperature is -0.5, expected at least 0", lambda g: g.generate("w1", temperature=-0.5)),
    "nan": (ValueError, "temperature is nan", lambda g: g.generate("w1", temperature=float("nan"))),
    "temperature of a text": (TypeError, "temperature must be a number, not str", lambda g: g.generate("w1", temperature="hot")),
    "top_k": (ValueError, "top_k is -1", lambda g: g.generate("w1", top_k=-1)),
    "top_p": (ValueError, "top_p is 1.5, expected a number from 0 to 1", lambda g: g.generate("w1", top_p=1.5)),
    "min_p": (TypeError, "min_p must be a number, not str", lambda g: g.generate("w1", min_p="x")),
    "repetition_penalty": (ValueError, "repetition_penalty is 0", lambda g: g.generate("w1", repetition_penalty=0)),
    "presence_penalty": (TypeError, "presence_penalty", lambda g: g.generate("w1", presence_penalty=None)),
    "ignore_end": (TypeError, "ignore_end must be True or False", lambda g: g.generate("w1", ignore_end=1.5)),
    "seed": (TypeError, "seed must be a whole number, not float", lambda g: g.generate("w1", seed=1.5)),
    "stop": (TypeError, "stop", lambda g: g.generate("w1", stop=5)),
    "stop of numbers": (TypeError, "a text of stop is neither str nor bytes", lambda g: g.generate("w1", stop=[5])),
    "an empty stop": (ValueError, "stop holds an empty text", lambda g: g.generate("w1", stop=["w2", ""])),
    "stop_tokens": (TypeError, "stop_tokens must be whole numbers", lambda g: g.generate("w1", stop_tokens="w2")),
    "stop_tokens of axes": (ValueError, "stop_tokens have 2 axes", lambda g: g.generate("w1", stop_tokens=[[1]])),
    "on_token": (TypeError, "on_token cannot be called", lambda g: g.generate("w1", on_token=5)),
    "log_probabilities": (TypeError, "log_probabilities must be True or False, not str", lambda g: g.generate("w1", log_probabilities="yes")),
    "a text to read": (TypeError, "ids must be whole numbers", lambda g: g.read("w1")),
    "one id": (ValueError, "ids have 0 axes, expected one", lambda g: g.read(1)),
    "nothing to read": (ValueError, "there are no tokens to read", lambda g: g.read([])),
    "a source": (ValueError, "the model has no encoder to read a source", lambda g: g.read_source([1])),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name, generator):
    kind, sentence, call = REFUSED[name]
    with pytest.raises(kind, match=sentence) as caught:
        call(generator)
    assert "\n" not in str(caught.value)
    assert generator.generate("w1", max_tokens=2, temperature=0).tokens == [2, 3]


def test_models_that_do_not_write(small_bert):
    with pytest.raises(attend.FileError, match="is an encoder, which cannot write"):
        attend.Generator(small_bert)
    with pytest.raises(attend.FileError):
        attend.Generator("nowhere/at-all")
    with pytest.raises(TypeError):
        attend.Generator(5)


def test_threads_share_a_generator(generator):
    expected = generator.generate("w1", max_tokens=40, seed=3).tokens
    found = []
    threads = [threading.Thread(target=lambda: found.append(generator.generate("w1", max_tokens=40, seed=3).tokens)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


class Rang(Exception):
    pass


@contextmanager
def alarm(after):
    def ring(*_):
        raise Rang

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, after)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_ctrl_c(generator):
    heard = []

    def press(token, *_):
        heard.append(token)
        if len(heard) == 3:
            signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        generator.generate("w1", temperature=0, on_token=press)
    assert heard == [2, 3, 4]
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        generator.generate("w1", max_tokens=10**9)
    assert generator.generate("w1", max_tokens=2, temperature=0).tokens == [2, 3]


def test_signals_end_it(tmp_path):
    model = train.Model(vocabulary=10, length=16_384, batch=1, layers=6, hidden=128, heads=4)
    model.save(tmp_path, WORDS)
    generator = attend.Generator(tmp_path)
    generator.read([1, 2])
    expected = generator.read([3])
    for after in (0.05, 0.1, 0.15):  # in the middle of one read, which is undone
        generator.clear()
        generator.read([1, 2])
        with alarm(after), pytest.raises(Rang):
            generator.read([4] * 16_000)
        assert generator.length == 2
        np.testing.assert_array_equal(generator.read([3]), expected)
    start = time.monotonic()
    with alarm(0.2), pytest.raises(Rang):
        generator.generate("w1", max_tokens=10**9)
    assert time.monotonic() - start < 3, "it went on after the alarm"
    generator.clear()
    generator.read([1, 2])
    np.testing.assert_array_equal(generator.read([3]), expected)
