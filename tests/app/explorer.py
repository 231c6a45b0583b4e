"""Runs `attend explore` and talks to it."""

import http.client
import json
import signal
import socket
import subprocess
from typing import Any

import numpy as np

from program import PROGRAM, environment


class Explorer:
    """A server that lives as long as the `with` block, and must end cleanly."""

    def __init__(self, model: str | None, *arguments: str):
        model_option = [] if model is None else ["-m", str(model)]
        self.process = subprocess.Popen([PROGRAM, "explore", *model_option, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, env=environment())
        self.address = self.process.stdout.readline().strip()
        if not self.address:
            raise RuntimeError(self.process.communicate(timeout=60)[1])
        self.port = int(self.address.rstrip("/").rpartition(":")[2])

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            code = self.stop() if self.process.poll() is None else self.process.returncode
            assert kind is not None or (code, self.process.stderr.read()) == (0, "")
        finally:
            self.process.kill()

    def stop(self) -> int:
        self.process.send_signal(signal.SIGTERM)
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
        status, headers, data = self.ask(path, body)
        assert status == 200, (path, data)
        return json.loads(data) if headers["Content-Type"] == "application/json" else data

    def numbers(self, path: str) -> np.ndarray:
        return np.frombuffer(self.get(path), "<f8")

    def tile(self, path: str) -> tuple[np.ndarray, float]:
        """The values of a tile, and the largest possible error of one."""
        status, headers, data = self.ask(path)
        assert status == 200, data
        rows, columns = int(headers["X-Rows"]), int(headers["X-Cols"])
        low, high = float(headers["X-Low"]), float(headers["X-High"])
        cells = np.frombuffer(data, np.uint8).reshape(rows, columns).astype(float)
        return low + (high - low) * (cells / 255) ** 2, (high - low) / 255 + 1e-6

    def connect(self, data: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(data)
        return connection

    def memory(self) -> float:
        """Resident, in MB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
