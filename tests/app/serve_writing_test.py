"""attend serve for models that write: completions and chats are those of `attend generate`, whole and as they come."""

import json
import shutil
import threading

import pytest

from program import run_json
from server import Server

TEMPLATE = "{% for message in messages %}{{ message.role }}: {{ message.content }}\n{% endfor %}"


@pytest.fixture(scope="module")
def writer(sinking_model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("writer") / "writer"
    shutil.copytree(sinking_model, folder)
    (folder / "chat_template.jinja").write_text(TEMPLATE)
    return folder


@pytest.fixture(scope="module")
def server(writer):
    with Server("-m", writer) as running:
        yield running


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
        assert answer["usage"] == {"prompt_tokens": expected["prompt_tokens"], "completion_tokens": count, "total_tokens": expected["prompt_tokens"] + count}
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
    for body in ({}, {"prompt": []}, {"prompt": "a", "logprobs": 2}, {"prompt": "a", "temperature": 9}, {"prompt": [10**6]}, {"prompt": "a", "max_tokens": 0}):
        assert server.refused("/v1/completions", body)[0] == 400
    status, error = server.refused("/v1/completions", {"prompt": "the " * 20_000, "stream": True})
    assert (status, error["error"]["code"]) == (400, "context_length_exceeded")
    with Server("-m", small_bert) as encoder:
        assert encoder.refused("/v1/completions", {"prompt": "a"})[1]["error"]["code"] == "wrong_model_kind"


def test_writers_take_turns_and_vectors_do_not_wait(server):
    body = {"prompt": "the bank", "seed": 1, "temperature": 1, "max_tokens": 30}
    alone, texts = server.get("/v1/completions", body)["choices"][0]["text"], []
    threads = [threading.Thread(target=lambda: texts.append(server.get("/v1/completions", body)["choices"][0]["text"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert server.get("/v1/embeddings", {"input": "the bank"})["data"]
    for thread in threads:
        thread.join()
    assert texts == [alone] * 8


def test_a_client_that_goes_away_ends_its_text(server):
    body = json.dumps({"prompt": "the bank", "max_tokens": 1_000_000, "stream": True}).encode()
    connection = server.connect(f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    assert b"data: " in connection.recv(1 << 16) + connection.recv(1 << 16)
    connection.close()
    assert server.get("/v1/completions", {"prompt": "of", "max_tokens": 1})["usage"]["completion_tokens"] <= 1
    assert any(" status=499 " in line for line in server.log)
