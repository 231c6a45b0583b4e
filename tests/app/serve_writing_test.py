"""attend serve for models that write: completions and chats are those of `attend generate`, whole and as they come."""

import json
import shutil
import threading
import time

import pytest

from program import ROOT, run_json
from server import Server

TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"


@pytest.fixture(scope="module")
def writer(sinking_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("writer") / "writer"
    shutil.copytree(sinking_model, folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-"


@pytest.fixture(scope="module")
def long_writer(tmp_path_factory):
    """A small Llama with 2000 positions, whose tokens are letters."""
    folder = tmp_path_factory.mktemp("long") / "llama"
    folder.mkdir()
    golden = ROOT / "tests/golden/decoders/llama"
    shutil.copyfile(golden / "model.safetensors", folder / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(json.loads((golden / "config.json").read_text()) | {"max_position_embeddings": 2000}))
    (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": [], "normalizer": None, "pre_tokenizer": None, "post_processor": None, "decoder": None,
                                                       "model": {"type": "BPE", "vocab": {letter: i for i, letter in enumerate(LETTERS)}, "merges": []}}))
    (folder / "chat_template.jinja").write_text("{% for message in messages %}{{ message.content }}{% endfor %}")
    return folder


@pytest.fixture(scope="module")
def long_server(long_writer):
    with Server("-m", long_writer) as running:
        yield running


@pytest.fixture(scope="module")
def server(writer):
    with Server("-m", writer) as running:
        yield running


def wait_until(true, seconds=30):
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.01)


def events(server, path, body):
    status, headers, data = server.ask(path, body | {"stream": True})
    assert status == 200 and headers["Content-Type"] == "text/event-stream"
    lines = data.decode().split("\n\n")
    assert lines[-2:] == ["data: [DONE]", ""] and all(line.startswith("data: ") for line in lines[:-1])
    return [json.loads(line[6:]) for line in lines[:-2]]


def generated(writer, prompt, *options, tokens=12):
    return run_json("generate", prompt, "-m", str(writer), f"--max-tokens={tokens}", *options)


def test_completions_are_those_of_generate(server, writer):
    for options, body in ((["--temperature=0"], {"temperature": 0}), (["--temperature=1", "--seed=5"], {"temperature": 1, "seed": 5})):
        expected = generated(writer, "the bank", *options)
        body = {"prompt": "the bank", "max_tokens": 12} | body
        answer = server.get("/v1/completions", body)
        assert (answer["object"], answer["model"]) == ("text_completion", "writer")
        assert answer["choices"][0]["text"] == expected["text"]
        assert answer["choices"][0]["finish_reason"] == ("length" if expected["reason"] == "length" else "stop")
        count = len(expected["tokens"])
        assert answer["usage"] == {"prompt_tokens": expected["prompt_tokens"], "completion_tokens": count, "total_tokens": expected["prompt_tokens"] + count,
                                   "prompt_tokens_details": {"cached_tokens": 0}}
        pieces = events(server, "/v1/completions", body | {"stream_options": {"include_usage": True}})
        assert "".join(piece["choices"][0]["text"] for piece in pieces if piece["choices"]) == expected["text"]
        assert [piece["choices"][0]["finish_reason"] for piece in pieces if piece["choices"]][-1] == answer["choices"][0]["finish_reason"]
        assert pieces[-1]["choices"] == [] and pieces[-1]["usage"] == answer["usage"]


def test_several_prompts_and_choices(server, writer):
    body = {"prompt": ["the bank", "of"], "n": 2, "seed": 3, "temperature": 1, "max_tokens": 6}
    choices = server.get("/v1/completions", body)["choices"]
    expected = [generated(writer, prompt, "--temperature=1", f"--seed={3 + i}", tokens=6)["text"] for i, prompt in enumerate(["the bank"] * 2 + ["of"] * 2)]
    assert [choice["index"] for choice in choices] == [0, 1, 2, 3] and [choice["text"] for choice in choices] == expected
    ids = [token["id"] for token in server.get("/tokenize", {"inputs": "the bank"})[0]]
    again = server.get("/v1/completions", body | {"prompt": ids, "n": 1})["choices"]
    assert again[0]["text"] == expected[0]


def test_chats_are_those_of_generate(server, writer):
    expected = generated(writer, "the bank", "--chat", "--temperature=0")["text"]
    body = {"messages": [{"role": "user", "content": "the bank"}], "max_completion_tokens": 12, "temperature": 0}
    answer = server.get("/v1/chat/completions", body)
    assert answer["object"] == "chat.completion" and answer["choices"][0]["message"] == {"role": "assistant", "content": expected}
    pieces = events(server, "/v1/chat/completions", body)
    assert pieces[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""} and pieces[0]["object"] == "chat.completion.chunk"
    assert "".join(piece["choices"][0]["delta"].get("content", "") for piece in pieces) == expected
    assert [piece["choices"][0]["finish_reason"] for piece in pieces[:-1]] == [None] * (len(pieces) - 1)


def test_refusals(server, small_bert):
    for body in ({}, {"prompt": []}, {"prompt": "a", "logprobs": 6}, {"prompt": "a", "logprobs": True}, {"prompt": "a", "echo": True}, {"prompt": "a", "temperature": 9}, {"prompt": [10**6]}, {"prompt": "a", "max_tokens": 0}):
        assert server.refused("/v1/completions", body)[0] == 400
    status, error = server.refused("/v1/completions", {"prompt": "the " * 20_000, "stream": True})
    assert (status, error["error"]["code"]) == (400, "context_length_exceeded")
    with Server("-m", small_bert) as encoder:
        assert encoder.refused("/v1/completions", {"prompt": "a"})[1]["error"]["code"] == "wrong_model_kind"


def test_many_write_at_once_each_as_alone(long_server, long_writer):
    server, writer = long_server, long_writer
    prompts = ["theBank", "o", "TheRiverIsTheBankOfTheMoney" * 40, "Money", "TheMoneyIs" * 30, "b"]
    bodies = [{"prompt": prompt, "seed": i, "temperature": 1, "max_tokens": 10 + 7 * (i % 3), "logprobs": 0} for i, prompt in enumerate(prompts * 4)]
    alone = {}
    for i, body in enumerate(bodies):
        if i % 5 == 0:  # a few by the program itself, which gives numbers too
            expected = generated(writer, body["prompt"], "--temperature=1", f"--seed={body['seed']}", tokens=body["max_tokens"])
            alone[i] = expected["text"], [token["log_probability"] for token in expected["tokens"]]
    texts, failures = {}, []

    def ask(i):
        try:
            if i % 3 == 0:
                pieces = events(server, "/v1/completions", bodies[i])
                texts[i] = "".join(piece["choices"][0]["text"] for piece in pieces), [p for piece in pieces if piece["choices"][0]["logprobs"]
                                                                                      for p in piece["choices"][0]["logprobs"]["token_logprobs"]]
            else:
                choice = server.get("/v1/completions", bodies[i])["choices"][0]
                texts[i] = choice["text"], choice["logprobs"]["token_logprobs"]
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(len(bodies))]
    for thread in threads:
        thread.start()
    assert server.get("/v1/embeddings", {"input": "theBank"})["data"]
    for thread in threads:
        thread.join()
    assert not failures
    assert {i: texts[i] for i in alone} == alone  # the same numbers, to the last bit
    for i, body in enumerate(bodies):
        choice = server.get("/v1/completions", body)["choices"][0]
        assert texts[i] == (choice["text"], choice["logprobs"]["token_logprobs"])
    shared = [line for line in server.get_text("/metrics").splitlines() if line.startswith("attend_step_texts_bucket")]
    assert int(shared[0].split()[-1]) < int(shared[-1].split()[-1])  # some steps wrote more than one text


def test_log_probabilities_in_both_forms(server, writer):
    expected = generated(writer, "the bank", "--temperature=0", tokens=6)
    own = [token["log_probability"] for token in expected["tokens"]]
    form = server.get("/v1/completions", {"prompt": "the bank", "max_tokens": 6, "temperature": 0, "logprobs": 3})["choices"][0]["logprobs"]
    assert form["token_logprobs"] == own and form["tokens"][0] in expected["text"]
    for token, probability, top in zip(form["tokens"], own, form["top_logprobs"]):
        assert top[token] == probability == max(top.values()) and 1 <= len(top) <= 3
    assert form["text_offset"] == [len("".join(form["tokens"][:i])) for i in range(6)]
    bare = server.get("/v1/completions", {"prompt": "the bank", "max_tokens": 6, "temperature": 0, "logprobs": 0})["choices"][0]["logprobs"]
    assert bare["token_logprobs"] == own and bare["top_logprobs"] == [None] * 6

    chat = {"messages": [{"role": "user", "content": "the bank"}], "max_completion_tokens": 6, "temperature": 0}
    expected = generated(writer, "the bank", "--chat", "--temperature=0", tokens=6)
    content = server.get("/v1/chat/completions", chat | {"logprobs": True, "top_logprobs": 2})["choices"][0]["logprobs"]["content"]
    assert [entry["logprob"] for entry in content] == [token["log_probability"] for token in expected["tokens"]]
    for entry in content:
        assert bytes(entry["bytes"]).decode() == entry["token"] and len(entry["top_logprobs"]) == 2
        assert entry["top_logprobs"][0] == {name: entry[name] for name in ("token", "logprob", "bytes")}
    pieces = events(server, "/v1/chat/completions", chat | {"logprobs": True, "top_logprobs": 2})
    assert [entry for piece in pieces for entry in ((piece["choices"][0].get("logprobs") or {}).get("content") or [])] == content
    assert server.get("/v1/chat/completions", chat)["choices"][0]["logprobs"] is None
    assert server.refused("/v1/chat/completions", chat | {"top_logprobs": 2})[0] == 400


def test_a_conversation_is_not_read_again(long_server, long_writer):
    server, writer = long_server, long_writer
    messages = [{"role": "user", "content": "TheBankOfTheRiver" * 12}]
    body = {"max_completion_tokens": 4, "temperature": 0, "logprobs": True}
    first = server.get("/v1/chat/completions", body | {"messages": messages})
    messages += [first["choices"][0]["message"], {"role": "user", "content": "IsTheRiverTheBank"}]
    second = server.get("/v1/chat/completions", body | {"messages": messages})
    assert first["usage"]["prompt_tokens_details"]["cached_tokens"] == 0
    assert 64 <= second["usage"]["prompt_tokens_details"]["cached_tokens"] <= first["usage"]["prompt_tokens"]
    with Server("-m", writer) as fresh:
        again = fresh.get("/v1/chat/completions", body | {"messages": messages})
    assert again["usage"]["prompt_tokens_details"]["cached_tokens"] == 0 and again["choices"] == second["choices"]


def test_deadlines(server, writer):
    body = {"prompt": "the bank", "max_tokens": 1_000_000}
    status, error = server.refused("/v1/completions", body, headers={"X-Envoy-Expected-Rq-Timeout-Ms": "150"})
    assert (status, error["error"]["code"]) == (504, "timeout") and "150 ms" in error["error"]["message"]
    status, _, data = server.ask("/v1/completions", body | {"stream": True}, headers={"X-Envoy-Expected-Rq-Timeout-Ms": "150"})
    assert status == 200 and json.loads(data.decode().split("\n\n")[-2][6:])["error"]["code"] == "timeout"
    for wrong in ("0", "-1", "soon", "1e3", "99999999999999999999"):
        assert server.refused("/v1/completions", body, headers={"X-Envoy-Expected-Rq-Timeout-Ms": wrong})[0] == 400
    with Server("-m", writer, "--request-timeout", "1") as hasty:
        assert hasty.refused("/v1/completions", body, headers={"X-Envoy-Expected-Rq-Timeout-Ms": "60000"})[0] == 504
        assert hasty.get("/v1/completions", {"prompt": "the bank", "max_tokens": 2})["choices"]
    assert any(" status=504 " in line for line in hasty.log)


def test_a_client_that_goes_away_ends_its_text(server):
    body = json.dumps({"prompt": "the bank", "max_tokens": 1_000_000, "stream": True}).encode()
    connection = server.connect(f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    assert b"data: " in connection.recv(1 << 16) + connection.recv(1 << 16)
    connection.close()
    assert server.get("/v1/completions", {"prompt": "of", "max_tokens": 1})["usage"]["completion_tokens"] <= 1
    wait_until(lambda: any(" status=499 " in line for line in server.log) and "\nattend_writing_texts 0\n" in server.get_text("/metrics"))


def test_who_asks_for_much_leaves_room(writer):
    with Server("-m", writer, "--max-num-seqs", "2") as narrow:
        body = json.dumps({"prompt": ["the bank", "of", "the river"] * 4, "max_tokens": 100_000, "stream": True}).encode()
        connection = narrow.connect(f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
        wait_until(lambda: "\nattend_writing_texts 2\n" in narrow.get_text("/metrics"))
        assert "attend_waiting_requests 0" in narrow.get_text("/metrics")
        connection.close()
        wait_until(lambda: "\nattend_writing_texts 0\n" in narrow.get_text("/metrics"))
