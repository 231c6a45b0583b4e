"""Runs `attend serve` and talks to it."""

import json
import signal
import subprocess
import threading
from typing import Any

from local_server import LocalServer
from program import PROGRAM, environment


class Server(LocalServer):
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

    def get(self, path: str, body: Any = None) -> Any:
        status, _, data = self.ask(path, body)
        assert status == 200, (path, status, data)
        return json.loads(data)

    def get_text(self, path: str) -> str:
        return self.ask(path)[2].decode()

    def refused(self, path: str, body: Any = None, **arguments) -> tuple[int, dict]:
        status, _, data = self.ask(path, body, **arguments)
        return status, json.loads(data)
