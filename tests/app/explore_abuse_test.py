"""attend explore under abuse: 4xx or refused, memory flat, keeps serving, clean exit."""

import json
import socket
import threading
import time

import pytest

from explorer import Explorer
from program import PROGRAM

FLAT = 24 if "asan" not in PROGRAM else 400  # MB; the sanitizer keeps freed memory for a while


@pytest.fixture(scope="module")
def explorer(small_bert):
    with Explorer(small_bert) as server:
        server.get("/api/read", {"text": "the bank of the river"})
        before = server.memory()
        yield server
        assert server.get("/api/read", {"text": "the bank of the river"})["facts"]["layers"] == 2
        assert server.memory() < before + FLAT


def answer_to(connection: socket.socket) -> bytes:
    """What arrives until the other side closes; a reset counts as an answer."""
    data = b""
    try:
        while piece := connection.recv(1 << 16):
            data += piece
    except (ConnectionError, TimeoutError):
        pass
    connection.close()
    return data


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Host": "127.0.0.1.evil.example"}, {"Host": "127.0.0.1:80@evil.example"}, {"Host": ""},
                                     {"Origin": "http://evil.example"}, {"Origin": "null"}, {"Origin": "http://127.0.0.1:1"}, {"Origin": "https://127.0.0.1"}])
def test_requests_of_others(explorer, headers):
    for path, body in (("/", None), ("/api/models", None), ("/api/read", {"text": "the bank"})):
        status, answer, data = explorer.ask(path, body, headers=headers)
        assert status == 403 and "error" in json.loads(data) and "Access-Control-Allow-Origin" not in answer


def test_own_pages_are_answered(explorer):
    for host in (f"127.0.0.1:{explorer.port}", f"localhost:{explorer.port}", "localhost"):
        assert explorer.ask("/api/models", headers={"Host": host, "Origin": f"http://{host}"})[0] == 200


MALFORMED = [
    b"\r\n\r\n\r\n", b"nonsense\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nHost: localhost\r\n\r\n", b"GET /\x00 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00",
    b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n", b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: x\r\n\r\n",
    b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", b"\xff" * 4000 + b"\r\n\r\n",
]


@pytest.mark.parametrize("data", MALFORMED)
def test_malformed_requests(explorer, data):
    connection = explorer.connect(data)
    connection.shutdown(socket.SHUT_WR)
    answer = answer_to(connection)
    assert answer == b"" or answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("data, status", [
    (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431), (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\n\r\n", 431),
    (b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999999999\r\n\r\n", 413),
    (b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3000000\r\n\r\n" + b"x" * 3_000_000, 413),
    (b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"80000\r\n" + b"x" * 0x80000 + b"\r\n" + b"fffff\r\n" + b"x" * 0xFFFFF, 413),
])
def test_requests_that_are_too_large(explorer, data, status):
    connection = explorer.connect()
    try:
        connection.sendall(data)
    except ConnectionError:
        pass
    assert answer_to(connection).startswith(f"HTTP/1.1 {status} ".encode())


def test_two_hundred_slow_connections(explorer):
    before = explorer.memory()
    slow = [explorer.connect(b"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 500000\r\n\r\n" + b"x" * 1000) for _ in range(200)]
    deadline = time.monotonic() + 10
    while True:  # the longest idle connections are dropped after a second
        try:
            if explorer.ask("/api/models")[0] == 200:
                break
        except ConnectionError:
            pass
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert explorer.memory() < before + FLAT
    for connection in slow:
        connection.close()


def test_clients_that_do_not_wait(explorer):
    body = json.dumps({"text": "the bank " * 50_000}).encode()
    head = f"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    for _ in range(30):
        explorer.connect(head + body).close()
        explorer.connect(head + body[:1000]).close()
        explorer.connect(b"GET / HTTP/1.1\r\n").close()
    assert explorer.ask("/api/models")[0] == 200


def test_two_at_once(explorer):
    answers = []

    def read(text):
        id = explorer.get("/api/read", {"text": text})["id"]
        answers.append((text, len(explorer.get(f"/api/{id}/row?row=0&special=0"))))

    threads = [threading.Thread(target=read, args=("the bank" + " of" * i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(answers) == [("the bank" + " of" * i, 8 * (2 + i)) for i in range(4)]


def test_one_connection_serves_many_requests(explorer):
    connection = explorer.connect(b"GET /api/models HTTP/1.1\r\nHost: localhost\r\n\r\n" * 3 + b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
    assert answer_to(connection).count(b"HTTP/1.1 200 ") == 4


def test_sigterm_during_a_request(small_bert):
    explorer = Explorer(small_bert)
    idle = explorer.connect()
    body = json.dumps({"text": "the bank " * 100_000}).encode()
    busy = explorer.connect(f"POST /api/read HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    assert explorer.ask("/")[0] == 200  # it comes after the others, so they have been seen
    assert explorer.stop() == 0
    assert answer_to(busy).startswith((b"HTTP/1.1 200 ", b"HTTP/1.1 503 ")) and answer_to(idle) == b""
    with pytest.raises(ConnectionError):
        explorer.connect()


def test_sigterm_does_not_wait_for_half_a_request(small_bert):
    explorer = Explorer(small_bert)
    half = explorer.connect(b"GET / HTTP/1.1\r\nHo")
    assert explorer.ask("/")[0] == 200
    start = time.monotonic()
    assert explorer.stop() == 0 and time.monotonic() - start < 10
    assert answer_to(half) == b""
