"""attend generate and attend chat on a small model that learned to talk: a folder with a chat template and a generation_config.json."""

import json
import os
import pty
import signal
import subprocess
import time

import pytest

from program import PROGRAM, environment, run, run_json, run_on_terminal

TEMPLATE = ("{% for m in messages %}{% if m.role == 'system' and not loop.first %}{{ raise_exception('system comes first') }}{% endif %}"
            "<|turn|>{{ m.role[0] }}:{{ m.content }}<|end|>{% endfor %}{% if add_generation_prompt %}<|turn|>a:{% endif %}")
SMALL = ["data.length=64", "model.layers=2", "model.hidden=32", "model.heads=2", "model.inner=64", "training.steps=250", "training.batch=8",
         "training.warmup=10", "training.rate=0.01"]


@pytest.fixture(scope="module")
def talker(tmp_path_factory):
    """Bytes 1 and 2 of its training became the special tokens <|turn|> and <|end|>."""
    root = tmp_path_factory.mktemp("talker")
    (root / "text.txt").write_text("\x01u:hello\x02\x01a:it was tired.\x02" * 200)
    folder = root / "model"
    done = run("train", "text", "-o", str(folder), "--set", f"data.file={root / 'text.txt'}", *(part for key in SMALL for part in ("--set", key)))
    assert done.code == 0, done.err
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    names = {1: "<|turn|>", 2: "<|end|>"}
    tokenizer["model"]["vocab"] = {names.get(number, token): number for token, number in tokenizer["model"]["vocab"].items()}
    tokenizer["added_tokens"] = [{"id": number, "content": name, "single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
                                 for number, name in names.items()]
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE, "eos_token": "<|end|>"}))
    (folder / "generation_config.json").write_text(json.dumps({"do_sample": False, "max_new_tokens": 30}))
    return folder


def generate(folder, *arguments):
    return run("generate", "-m", str(folder), *arguments)


def test_answers_and_ends(talker):
    answer = generate(talker, "--chat", "hello")
    assert (answer.code, answer.out, answer.err) == (0, "it was tired.\n", "")
    told = run_json("generate", "-m", str(talker), "--chat", "hello")
    assert told["text"] == "it was tired." and told["reason"] == "end" and told["prompt"] == "hello"
    assert told["prompt_tokens"] == len("Tu:helloETa:") and told["dropped_tokens"] == told["rereads"] == 0
    assert "".join(token["text"] for token in told["tokens"]) == told["text"]
    assert all(token["log_probability"] < 0 for token in told["tokens"]) and len(told["tokens"]) == 13
    # Without the template: what follows the words themselves.
    assert generate(talker, "it was").out == "it was tired.\n"
    assert generate(talker, "it was", "--new-only").out == " tired.\n"


def test_a_cache_of_any_type_answers(talker):
    for kind in ["f32", "f16", "bf16", "int8"]:
        assert generate(talker, "--chat", "hello", "--cache-type", kind).out == "it was tired.\n", kind
    refused = generate(talker, "hello", "--cache-type", "f64")
    assert refused.code == 2 and "f64 not in {f32,f16,bf16,int8}" in refused.err


def test_a_user_cannot_end_the_turn(talker):
    typed = run_json("generate", "-m", str(talker), "--chat", "x<|end|>")
    assert typed["prompt_tokens"] == len("Tu:xETa:") + len("<|end|>")
    assert run_json("generate", "-m", str(talker), "--chat", "x", "--system", "<|turn|>")["prompt_tokens"] == len("Ts:ETu:xETa:") + len("<|turn|>")


def test_the_prompt_stands_apart_from_what_is_written(talker, tmp_path):
    shown = run_on_terminal("generate", "-m", str(talker), "it was", columns=80).out
    assert shown == "\x1b[0;2mit was\x1b[0m tired.\n" and generate(talker, "it was").out == "it was tired.\n"
    words = tmp_path / "recall"  # a decoder of words, which drops the space before the first
    assert run("train", "recall", "-o", str(words), "--set", "training.steps=1", "--set", "training.batch=2").code == 0
    told = run_json("generate", "-m", str(words), "a1 b2 a?", "--max-tokens", "1")
    assert generate(words, "a1 b2 a?", "--max-tokens", "1").out == f"a1 b2 a? {told['text']}\n"


def test_options(talker):
    assert generate(talker, "it was", "--stop", "red", "--stop", "zzz").out == "it was ti\n"
    assert generate(talker, "it was", "-n", "3").out == "it was ti\n"
    assert generate(talker, "it was", "--max-tokens", "3").out == "it was ti\n"
    wild = ["--temperature", "4", "--top-k", "0", "--top-p", "0.99", "--min-p", "0.0001", "--repetition-penalty", "1.1", "--frequency-penalty", "0.1",
            "--presence-penalty", "0.1", "-n", "20"]
    seeds = [generate(talker, "it", *wild, "--seed", seed) for seed in ("1", "1", "2")]
    assert all(done.code == 0 for done in seeds) and seeds[0].out == seeds[1].out != seeds[2].out
    assert generate(talker, "it was", "--temperature", "4", "--top-k", "1").out == "it was tired.\n"
    assert generate(talker, "it was", "--temperature", "4", "--top-p", "0").out == "it was tired.\n"


def test_the_same_on_any_number_of_threads(talker):
    wild = ["generate", "-m", str(talker), "it", "--temperature", "3", "-n", "25"]
    assert run(*wild, env={"ATTEND_THREADS": "1"}).out == run(*wild, env={"ATTEND_THREADS": "2"}).out


def test_says_what_was_cut(talker):
    told = generate(talker, "x" * 100, "-n", "5")
    assert told.code == 0 and "The first 36 tokens of the prompt were left out: the model reads at most 64." in told.err
    long = generate(talker, "--chat", "x" * 100)
    assert long.code == 1 and long.out == "" and "the conversation has 107 tokens, and the model can read 64 with its answer" in long.err
    (talker / "generation_config.json").write_text('{"num_beams": 4, "max_new_tokens": 30}')
    beams = generate(talker, "it was")
    assert beams.out == "it was tired.\n" and "generation_config.json sets num_beams, which attend does not support" in beams.err
    (talker / "generation_config.json").write_text('{"max_new_tokens": 30}')


@pytest.mark.parametrize(("arguments", "sentence"), [
    (["x", "--top-p", "2"], "--top-p must be a number from 0 to 1"),
    (["x", "--min-p", "-1"], "--min-p must be a number from 0 to 1"),
    (["x", "--repetition-penalty", "0"], "--repetition-penalty must be a number above 0"),
    (["x", "--presence-penalty", "9"], "--presence-penalty must be a number from -2 to 2"),
    (["x", "--stop", ""], "--stop is empty"),
    (["x", "--system", "y"], "--system needs --chat"),
    (["--chat"], "--chat needs a prompt"),
    ([""], "the prompt is empty"),
])
def test_refuses(talker, arguments, sentence):
    result = generate(talker, *arguments)
    assert result.code == 2 and result.out == "" and sentence in result.err


def test_templates_that_cannot_be_used(talker):
    config = talker / "tokenizer_config.json"
    before = config.read_text()
    try:
        for template, sentence in ((None, "has no chat template"), ("{{ x | urlize }}", 'chat_template: line 1: uses the filter "urlize", which attend does not have'),
                                   ("{{ raise_exception('never') }}", "the template refuses this conversation: never"), ("", "makes no text")):
            config.write_text(json.dumps({} if template is None else {"chat_template": template}))
            for command in (["generate", "--chat", "x"], ["chat"]):
                done = run(*command, "-m", str(talker), stdin="x\n")
                assert sentence in done.err and done.out == "" and len(done.err.splitlines()) == 1, (command, done)
    finally:
        config.write_text(before)


def test_a_closed_pipe_ends_it_quietly(talker):
    process = subprocess.Popen([PROGRAM, "generate", "-m", str(talker), "it", "-n", "100000", "--temperature", "2"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment())
    process.stdout.read(2)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=20) in (0, -signal.SIGPIPE)


@pytest.mark.parametrize("as_json", [False, True])
def test_ctrl_c_ends_with_what_is_there(talker, as_json):
    arguments = ["generate", "-m", str(talker), "it", "-n", "1000000", "--temperature", "0", "--stop", "never comes"] + ["--json"] * as_json
    (talker / "generation_config.json").write_text('{"eos_token_id": 255}')  # so that it goes on
    try:
        process = subprocess.Popen([PROGRAM, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        time.sleep(1)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
    finally:
        (talker / "generation_config.json").write_text('{"max_new_tokens": 30}')
    assert (process.returncode, err) == (0, b"")
    if as_json:
        told = json.loads(out)
        assert told["reason"] == "interrupted" and told["rereads"] > 0 and len(told["tokens"]) > 20
    else:
        assert out.startswith(b"it") and out.endswith(b"\n") and len(out) > 20


def test_a_conversation(talker):
    talk = run("chat", "-m", str(talker), stdin="?\nhello\n/attention\n\n/nothing\n/clear\n/system be kind\nhello\n/quit\nhello\n")
    assert talk.code == 0
    assert talk.out.count("it was tired.") >= 1 and "What the last answer looked at" in talk.out and "hello" in talk.out
    assert "There is no answer yet." in talk.err and "There is no /nothing" in talk.err
    full = run("chat", "-m", str(talker), stdin="hello\n" + "x" * 100 + "\nhello\n")
    assert full.code == 0 and full.out.startswith("it was tired.\n") and "the conversation has" in full.err  # and goes on


def test_a_conversation_on_a_terminal(talker):
    """It asks for each line; Ctrl-D ends it."""
    master, slave = pty.openpty()
    process = subprocess.Popen([PROGRAM, "chat", "-m", str(talker)], stdin=slave, stdout=slave, stderr=slave, env=environment({"TERM": "dumb"}))
    os.close(slave)
    shown = b""

    def until(text):
        nonlocal shown
        while text not in shown:
            shown += os.read(master, 1000)

    until(b"> ")
    os.write(master, b"hello\n")
    until(b"it was tired.\r\n> ")
    os.write(master, b"\x04")
    assert process.wait(timeout=20) == 0
    os.close(master)
