"""What `attend explore` and `attend serve` have in common for their tests: a process with a port of this machine."""

import http.client
import json
import socket
import subprocess
from typing import Any


class LocalServer:
    process: subprocess.Popen[str]
    port: int

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

    def connect(self, data: bytes = b"") -> socket.socket:
        connection = socket.create_connection(("127.0.0.1", self.port), timeout=60)
        connection.sendall(data)
        return connection

    def memory(self) -> float:
        """Resident, in MB."""
        with open(f"/proc/{self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS")) / 1024
