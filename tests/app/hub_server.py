"""A hub on this machine: the routes that a download uses, with the failures that it may meet.

Small files come from the hub itself, after a redirection within it; large ones (as in git LFS) from another host, as the
real ones do. Every request is recorded.
"""

import hashlib
import http.server
import json
import re
import threading
from typing import NamedTuple

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Request(NamedTuple):
    host: str  # "hub" or "cdn"
    method: str
    path: str
    range: str | None
    token: str | None


def git_hash(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


class Hub:
    """One repository. `files` maps names to contents; those in `large` have a SHA-256 and are served by the other host."""

    def __init__(self, files: dict[str, bytes], large: set[str] = frozenset(), repository: str = "org/tiny"):
        self.files = files
        self.large = large
        self.repository = repository
        self.requests: list[Request] = []
        self.token: str | None = None  # if set, the only token that is accepted
        self.cuts: dict[str, list[int]] = {}  # a file's next transfers end after this many bytes
        self.served: dict[str, bytes] = {}  # contents that differ from what was announced
        self.ranges = True  # whether the other host supports them
        self.failures = 0  # this many requests are first answered with 503
        self.error_code: str | None = None
        self.status: int | None = None  # for everything
        self._servers = [self._serve("hub"), self._serve("cdn")]

    def __enter__(self) -> "Hub":
        return self

    def __exit__(self, *_) -> None:
        for server in self._servers:
            server.shutdown()
            server.server_close()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self._servers[0].server_port}"

    @property
    def cdn(self) -> str:
        return f"http://localhost:{self._servers[1].server_port}"

    def etag(self, name: str) -> str:
        content = self.files[name]
        return hashlib.sha256(content).hexdigest() if name in self.large else git_hash(content)

    def downloads(self, name: str) -> list[Request]:
        return [r for r in self.requests if r.method == "GET" and r.path.endswith("/" + name)]

    def _serve(self, host: str) -> http.server.ThreadingHTTPServer:
        hub = self

        class Handler(_Handler):
            def route(self) -> None:
                hub._answer(self, host)

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return server

    def _answer(self, handler: "_Handler", host: str) -> None:
        token = handler.headers.get("Authorization")
        self.requests.append(Request(host, handler.command, handler.path, handler.headers.get("Range"), token))
        if self.failures > 0:
            self.failures -= 1
            return handler.answer(503)
        if self.status is not None:
            return handler.answer(self.status, {"X-Error-Code": self.error_code} if self.error_code else {})
        if host == "cdn":
            return self._content(handler, handler.path.removeprefix("/blobs/"))
        if self.token is not None and token != f"Bearer {self.token}":
            return handler.answer(401, {"X-Error-Code": "RepoNotFound"})
        if handler.path == f"/api/models/{self.repository}/revision/main" or handler.path.endswith("/revision/v1"):
            siblings = [{"rfilename": name, "size": 1} for name in self.files]
            body = json.dumps({"id": self.repository, "sha": COMMIT, "siblings": siblings, "tags": [{"a": [None]}]})
            return handler.answer(200, {"Content-Type": "application/json"}, body.encode())
        if match := re.fullmatch(rf"/{self.repository}/resolve/{COMMIT}/(.+)", handler.path):
            name = match[1]
            if name not in self.files:
                return handler.answer(404, {"X-Error-Code": "EntryNotFound"})
            if name in self.large:
                return handler.answer(302, {"Location": f"{self.cdn}/blobs/{name}", "X-Repo-Commit": COMMIT,
                                            "X-Linked-Etag": f'"{self.etag(name)}"',
                                            "X-Linked-Size": str(len(self.files[name]))})
            return handler.answer(307, {"Location": f"/api/resolve-cache/{name}"})
        if handler.path.startswith("/api/resolve-cache/"):
            return self._content(handler, handler.path.removeprefix("/api/resolve-cache/"))
        return handler.answer(404, {"X-Error-Code": "RepoNotFound"})

    def _content(self, handler: "_Handler", name: str) -> None:
        content = self.served.get(name, self.files[name])
        headers = {"ETag": f'W/"{self.etag(name)}"'}
        first = 0
        status = 200
        if (wanted := handler.headers.get("Range")) and self.ranges:
            first = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
            if first >= len(content):
                return handler.answer(416, {"Content-Range": f"bytes */{len(content)}"})
            status = 206
            headers["Content-Range"] = f"bytes {first}-{len(content) - 1}/{len(content)}"
        if handler.command == "HEAD":
            return handler.answer(200, headers | {"Content-Length": str(len(self.files[name]))})
        cuts = self.cuts.get(name, [])
        handler.answer(status, headers, content[first:], cut=cuts.pop(0) if cuts else None)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def route(self) -> None:
        raise NotImplementedError

    def do_GET(self) -> None:  # noqa: N802, the name is the standard library's
        self.route()

    def do_HEAD(self) -> None:  # noqa: N802
        self.route()

    def log_message(self, *_) -> None:
        pass

    def answer(self, status: int, headers: dict[str, str] | None = None, body: bytes = b"", cut: int | None = None) -> None:
        self.send_response(status)
        for name, value in ({"Content-Length": str(len(body))} | (headers or {})).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        self.wfile.write(body if cut is None else body[:cut])
        if cut is not None:
            self.wfile.flush()
            self.close_connection = True
