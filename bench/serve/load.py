"""Sends requests to a server on this machine, and says how many it answered and how long that took.

    python3 bench/serve/load.py http://127.0.0.1:8080/ --clients 64            each sends its next request when it has its answer
    python3 bench/serve/load.py http://127.0.0.1:8080/ --rate 60               60 a second, at random times, whatever comes back
    python3 bench/serve/load.py http://127.0.0.1:8080/ --clients 1             one at a time

With --rate, a request counts from the moment at which it was due: a client that waits for answers before it asks again would hide how long
others wait. One thread, sockets that never block, requests put together beforehand: what it uses itself of one core is part of the report.
"""

import argparse
import heapq
import json
import random
import resource
import selectors
import socket
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from texts import made_up_texts

PATIENCE = 30.0  # seconds to wait for the last answers


@dataclass
class Report:
    seconds: float
    served: list[float] = field(default_factory=list)   # how long each answer with 200 took, in seconds
    refused: list[float] = field(default_factory=list)  # and each other one
    answers: Counter = field(default_factory=Counter)   # by status; 0: the connection ended without one
    processor: float = 0.0                              # of ours, in seconds

    def summary(self) -> dict:
        return {
            "rate": round(len(self.served) / self.seconds, 2),
            "answers": dict(sorted(self.answers.items())),
            **{f"{name}_ms": round(quantile(self.served, part) * 1e3, 1) for name, part in (("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1.0))},
            **({"refused_p99_ms": round(quantile(self.refused, 0.99) * 1e3, 1)} if self.refused else {}),
            "client_core": round(self.processor / self.seconds, 3),
        }


def quantile(values: list[float], part: float) -> float:
    """The smallest value that `part` of all do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, -int(-part * len(ordered) // 1) - 1)] if ordered else float("nan")


class Connection:
    def __init__(self, place: tuple[str, int]):
        self.socket = socket.create_connection(place)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.unsent = b""
        self.got = bytearray()
        self.since = 0.0  # when the request was due

    def send(self) -> bool:
        """False: there is more to send."""
        try:
            self.unsent = self.unsent[self.socket.send(self.unsent):]
        except BlockingIOError:
            pass
        return not self.unsent

    def status(self) -> int | None:
        """Of the answer, once it is whole; 0 where the other side has closed."""
        try:
            piece = self.socket.recv(1 << 18)
        except BlockingIOError:
            return None
        except OSError:
            return 0
        if not piece:
            return 0
        self.got += piece
        end = self.got.find(b"\r\n\r\n")
        if end < 0:
            return None
        head = bytes(self.got[:end]).lower()
        mark = head.find(b"content-length:")
        if mark < 0:
            raise SystemExit("load: an answer has no Content-Length")
        if len(self.got) < end + 4 + int(head[mark + 15:].split(b"\r\n", 1)[0]):
            return None
        self.got.clear()
        return int(head[9:12])


class Load:
    """`clients`: in a circle. `rate`: as many a second, by as many connections as that takes."""

    def __init__(self, address: str, path: str, bodies: list[bytes], clients: int = 0, rate: float = 0, most: int = 4000):
        parts = urlsplit(address)
        self.place = (parts.hostname, parts.port or 80)
        head = f"POST {path} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Type: application/json\r\nContent-Length: "
        self.requests = [f"{head}{len(body)}\r\n\r\n".encode() + body for body in bodies]
        self.clients, self.rate, self.most = clients, rate, most
        self.next = 0
        self.selector = selectors.EpollSelector()
        self.idle: list[Connection] = []
        self.open = 0

    def run(self, seconds: float, warmup: float = 1.0, seed: int = 1) -> Report:
        draw = random.Random(seed)
        start = time.monotonic()
        begin, end = start + warmup, start + warmup + seconds
        report = Report(seconds)
        due = [start + draw.expovariate(self.rate)] if self.rate else [start] * self.clients
        waiting: deque[float] = deque()  # for a connection
        used = processor_time()
        while True:
            now = time.monotonic()
            while due and due[0] <= now:
                at = heapq.heappop(due)
                waiting.append(at)
                if self.rate and at < end:
                    heapq.heappush(due, at + draw.expovariate(self.rate))
            while waiting and (connection := self._connection()):
                self._ask(connection, waiting.popleft())
            busy = self.open - len(self.idle)
            if now >= end and (not busy or now >= end + PATIENCE):
                break
            if now >= end:
                due.clear()
            for key, events in self.selector.select(max(0.0, min(due[0] - now if due else 1.0, 1.0))):
                status = self._continue(key.data, events)
                if status is None:
                    continue
                now = time.monotonic()
                if begin <= now < end if not self.rate else begin <= key.data.since < end:
                    report.answers[status] += 1
                    (report.served if status == 200 else report.refused).append(now - key.data.since)
                if not self.rate and now < end:
                    heapq.heappush(due, now)
        report.processor = (processor_time() - used) * seconds / (time.monotonic() - start)
        self._close()
        return report

    def _connection(self) -> Connection | None:
        if self.idle:
            return self.idle.pop()
        if self.open >= (self.most if self.rate else self.clients):
            return None
        connection = Connection(self.place)
        self.open += 1
        self.selector.register(connection.socket, selectors.EVENT_READ, connection)
        return connection

    def _ask(self, connection: Connection, at: float):
        connection.since = at
        connection.unsent = self.requests[self.next % len(self.requests)]
        self.next += 1
        if not connection.send():
            self.selector.modify(connection.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, connection)

    def _continue(self, connection: Connection, events: int) -> int | None:
        if events & selectors.EVENT_WRITE and connection.send():
            self.selector.modify(connection.socket, selectors.EVENT_READ, connection)
        if not events & selectors.EVENT_READ:
            return None
        status = connection.status()
        if status == 0:
            self.selector.unregister(connection.socket)
            connection.socket.close()
            self.open -= 1
            if connection in self.idle:  # closed between two requests
                self.idle.remove(connection)
                return None
        elif status is not None:
            self.idle.append(connection)
        return status

    def _close(self):
        for key in list(self.selector.get_map().values()):
            key.data.socket.close()
        self.selector.close()


def processor_time() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def tei_body(text: str) -> bytes:
    return json.dumps({"inputs": text}).encode()


def openai_body(text: str, model: str = "all-MiniLM-L6-v2") -> bytes:
    return json.dumps({"input": text, "model": model, "encoding_format": "base64"}).encode()


FORMS = {"/embed": tei_body, "/v1/embeddings": openai_body, "/embeddings": openai_body}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("address", help="such as http://127.0.0.1:8080/")
    how = parser.add_mutually_exclusive_group(required=True)
    how.add_argument("--clients", type=int, help="that wait for their answers before they ask again")
    how.add_argument("--rate", type=float, help="requests a second, at random times")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--warmup", type=float, default=1, help="seconds before that which do not count")
    parser.add_argument("--path", choices=sorted(FORMS), default="/embed")
    parser.add_argument("--texts", help="a file with one text a line (default: 512 texts of 16 to 128 tokens)")
    arguments = parser.parse_args()
    if arguments.seconds > 600 or (arguments.clients or 1) > 10_000:
        parser.error("at most 600 seconds and 10000 clients")
    texts = open(arguments.texts).read().splitlines() if arguments.texts else made_up_texts(512)
    bodies = [FORMS[arguments.path](text) for text in texts]
    load = Load(arguments.address, arguments.path, bodies, arguments.clients or 0, arguments.rate or 0)
    print(json.dumps(load.run(arguments.seconds, arguments.warmup).summary()))


if __name__ == "__main__":
    main()
