"""Runs `attend explore` and talks to it."""

import json
import signal
import subprocess
from typing import Any

import numpy as np

from local_server import LocalServer
from program import PROGRAM, environment


class Explorer(LocalServer):
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
