"""attend serve under abuse: refused at once, nothing else hurt, memory flat; and how it ends."""

import json
import resource
import signal
import socket
import subprocess
import threading
import time

import pytest

from explore_abuse_test import FLAT, answer_to
from program import PROGRAM, environment
from server import Server


def request(path: str, body: bytes, more: bytes = b"") -> bytes:
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n".encode() + more + b"\r\n" + body


def eventually(condition, seconds: float = 20) -> bool:
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def gauge(server: Server, name: str) -> float:
    lines = server.ask("/metrics")[2].decode().splitlines()
    return next(float(line.split()[-1]) for line in lines if line.startswith(name + " "))


# Takes the computing thread long enough for others to queue behind it.
LONG = json.dumps({"input": ["w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 " * 5] * 2048, "truncate": True}).encode()


@pytest.fixture(scope="module")
def server(small_bert):
    with Server("-m", small_bert, "--idle-seconds", "2", "--max-connections", "300") as running:
        running.get("/embed", {"inputs": "the bank"})
        before = running.memory()
        yield running
        assert running.get("/embed", {"inputs": "the bank"})
        assert running.memory() < before + 3 * FLAT


@pytest.mark.parametrize("data, status", [
    (request("/embed", b"x" * 2_000_001), 413), (b"POST /embed HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999999999\r\n\r\n", 413),
    (b"POST /embed HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", 431), (b"nonsense\r\n\r\n", 400),
    (request("/embed", b'{"inputs":' + b"[" * 50_000), 400), (request("/embed", b'{"inputs": "' + b"x" * 1_900_000 + b'"}', b"Connection: close\r\n"), 200),
], ids=["body", "claimed body", "header", "not http", "deep json", "one long text"])
def test_large_and_broken_requests(server, data, status):
    connection = server.connect()
    try:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR) if status == 400 else None
    except OSError:
        pass
    answer = answer_to(connection)
    assert answer.startswith(f"HTTP/1.1 {status} ".encode()) or (status == 400 and answer == b"")


def test_slow_clients_are_closed(server):
    slow = [server.connect(request("/embed", b"x" * 1000)[:-500]) for _ in range(50)]
    start = time.monotonic()
    server.get("/embed", {"inputs": "the bank"})
    assert time.monotonic() - start < 2
    assert all(answer_to(connection) == b"" for connection in slow)
    assert time.monotonic() - start < 15


def test_more_connections_than_there_may_be(server):
    before = server.memory()
    many = []
    for _ in range(600):
        try:
            many.append(server.connect(b"POST /embed HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1000000\r\n\r\nxxx"))
        except OSError:
            pass

    def answered():
        try:
            return server.ask("/embed", {"inputs": "the"})[0] == 200
        except OSError:
            return False

    assert eventually(answered)
    assert server.memory() < before + FLAT
    for connection in many:
        connection.close()


def test_clients_that_do_not_wait(server):
    for _ in range(50):
        server.connect(request("/v1/embeddings", LONG)).close()
        server.connect(request("/embed", b'{"inputs": "the"}')[:-3]).close()
    assert server.get("/embed", {"inputs": "the bank"})
    assert eventually(lambda: gauge(server, "attend_requests_in_progress") == 0)


def test_overload_is_refused_at_once(small_bert):
    with Server("-m", small_bert, "--max-concurrent-requests", "2") as server:
        waiting = [server.connect(request("/v1/embeddings", LONG, b"Connection: close\r\n")) for _ in range(2)]
        assert eventually(lambda: gauge(server, "attend_requests_in_progress") == 2)
        start = time.monotonic()
        status, headers, data = server.ask("/embed", {"inputs": "the"})
        assert (status, json.loads(data)["error_type"], headers["Retry-After"]) == (429, "Overloaded", "1") and time.monotonic() - start < 1
        status, error = server.refused("/v1/embeddings", {"input": "the"})
        assert (status, error["error"]["code"]) == (429, "rate_limit_exceeded")
        assert server.ask("/health")[0] == 200
        waiting[1].close()  # frees its place, though it is not its turn
        assert eventually(lambda: server.ask("/embed", {"inputs": "the"})[0] == 200, 60)
        assert answer_to(waiting[0]).startswith(b"HTTP/1.1 200 ")


def test_sigterm_drains(small_bert):
    with Server("-m", small_bert, "--grace-seconds", "1") as server:
        waiting = server.connect(request("/v1/embeddings", LONG))
        assert eventually(lambda: gauge(server, "attend_requests_in_progress") == 1)
        server.process.send_signal(signal.SIGTERM)
        assert eventually(lambda: server.ask("/health")[0] == 503)
        assert server.ask("/ping")[0] == 200 and server.get("/embed", {"inputs": "the"})  # still served
        assert answer_to(waiting).startswith(b"HTTP/1.1 200 ")
        assert server.process.wait(timeout=60) == 0


def test_what_is_not_finished_in_time_is_dropped(small_bert):
    # No time at all: a fast machine does the whole of it in a second.
    with Server("-m", small_bert, "--grace-seconds", "0", "--drain-seconds", "0") as server:
        texts = ["w20 w21 w22 w23 w24 w25 w26 w27 w28 w29 " * 5] * 2048
        body = json.dumps({"input": texts, "truncate": True}).encode()
        waiting = [server.connect(request("/v1/embeddings", body)) for _ in range(40)]
        assert eventually(lambda: gauge(server, "attend_requests_in_progress") > 20)
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(timeout=60) == 0
        assert time.monotonic() - start < 8
        assert any(answer_to(connection) == b"" for connection in waiting)


def test_no_path_of_this_machine_is_told(folder):
    with Server("-m", folder) as server:
        assert server.get("/embed", {"inputs": "the bank"})
        weights = folder / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:-4] + b"1234")
        for path, body in (("/embed", {"inputs": "the"}), ("/v1/embeddings", {"input": "the"}), ("/embed_all", {"inputs": "the"})):
            status, _, data = server.ask(path, body)
            assert status == 500 and b"its log says why" in data and b"/" not in data, data
        assert server.stop() == 0
        server.reader.join(60)
        errors = [line.partition(" error=")[2] for line in server.log if " status=500 " in line]
        assert len(errors) == 3 and all(str(folder) in json.loads(error) for error in errors)


def test_ten_thousand_connections(small_bert):
    """Held open at once by this process, idle, with half a header or with half a body; others are answered in the meantime."""
    count = 10_000
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < count + 200:
        pytest.skip(f"a process may have no more than {hard} descriptors here")
    resource.setrlimit(resource.RLIMIT_NOFILE, (count + 200, hard))
    many = []
    try:
        with Server("-m", small_bert, "--max-connections", str(count + 100), "--idle-seconds", "60") as server:
            server.get("/embed", {"inputs": "the bank"})
            before = server.memory()
            for number in range(count):
                many.append(server.connect([b"", b"POST /embed HT", request("/embed", b'{"inputs": "the"}')[:-3]][number % 3]))
            start = time.monotonic()
            assert server.get("/embed", {"inputs": "the bank"}) and time.monotonic() - start < 2
            assert server.memory() < before + (count * 24 / 1024 if "asan" not in PROGRAM else 4000)  # 24 KB each
            many[2].sendall(b'e"}')  # one of them goes on
            assert many[2].recv(100).startswith(b"HTTP/1.1 200 ")
            for connection in many:
                connection.close()
            assert eventually(lambda: server.ask("/embed", {"inputs": "the"})[0] == 200)
    finally:
        for connection in many:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_giant_request_lets_others_pass(server):
    waiting = server.connect(request("/v1/embeddings", LONG, b"Connection: close\r\n"))
    assert eventually(lambda: gauge(server, "attend_requests_in_progress") == 1)
    answered = 0
    while gauge(server, "attend_requests_in_progress") and answered < 3:
        assert server.get("/embed", {"inputs": "the bank"})
        answered += 1
    assert answered == 3
    assert answer_to(waiting).startswith(b"HTTP/1.1 200 ")


def test_a_storm(server):
    """Good requests keep their answers while bad ones rain."""
    good, stop = [], threading.Event()

    def client():
        while not stop.is_set():
            good.append(server.ask("/embed", {"inputs": "the bank"})[0])

    thread = threading.Thread(target=client)
    thread.start()
    for body in (b"{", b'{"inputs": 1}', b'{"inputs": [9999999]}', b'{"inputs": "\xff"}', b"[" * 1000) * 20:
        connection = server.connect(request("/embed", body, b"Connection: close\r\n"))
        assert answer_to(connection).startswith(b"HTTP/1.1 4")
        server.connect(request("/embed", body)[:40]).close()
    stop.set()
    thread.join()
    assert good and set(good) == {200}


def test_a_log_that_nobody_reads_any_more(small_bert):
    process = subprocess.Popen([PROGRAM, "serve", "-m", str(small_bert), "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
    try:
        port = int(process.stdout.readline().decode().strip().rstrip("/").rpartition(":")[2])
        process.stderr.close()
        for _ in range(3):
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            connection.sendall(request("/embed", b'{"inputs": "the"}', b"Connection: close\r\n"))
            assert answer_to(connection).startswith(b"HTTP/1.1 200 ")
    finally:
        process.kill()
        process.wait()
