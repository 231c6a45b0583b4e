"""Runs `attend serve` and talks to it."""

import http.client
import json
import signal
import socket
import subprocess
import threading
from typing import Any

from program import PROGRAM, environment


class Server:
    """A server that lives as long as the `with` block, and must end cleanly."""

    def __init__(self, *arguments: str, env: dict[str, str] | None = None):
        self.process = subprocess.Popen([PROGRAM, "serve", "--port", "0", *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env=environment(env))
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError(self.process.communicate(timeout=60)[1])
        self.port = int(self.address.rstrip("/").rpartition(":")[2])
        self.log: list[str] = []
        self.reader = threading.Thread(target=lambda: self.log.extend(line.rstrip("\n") for line in self.process.stderr))
        self.reader.start()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            code = self.stop() if self.process.poll() is None else self.process.returncode
            self.reader.join(60)
            assert kind is not None or code == 0
            assert kind is not None or all(line.startswith("time=") for line in self.log), self.log
        finally:
            self.process.kill()

    def stop(self, how: int = signal.SIGINT) -> int:
        self.process.send_signal(how)
        return self.process.wait(timeout=60)

    def ask(self, path: str, body: Any = None, method: str | None = None, headers: dict[str, str] | None = None):
        """Status, headers and bytes of one answer. A body that is not bytes is sent as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        data = json.dumps(body).encode() if body is not None and not isinstance(body, bytes) else body
        try:
            connection.request(method or ("GET" if data is None else "POST"), path, data, headers or {})
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def get(self, path: str, body: Any = None) -> Any:
        status, _, data = self.ask(path, body)
        assert status == 200, (path, status, data)
        return json.loads(data)

    def refused(self, path: str, body: Any = None, **arguments) -> tuple[int, dict]:
        status, _, data = self.ask(path, body, **arguments)
        return status, json.loads(data)

    def connect(self, data: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(data)
        return connection

    def memory(self) -> float:
        """Resident, in MB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
