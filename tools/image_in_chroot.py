#!/usr/bin/env python3
"""Takes the steps of build/image/Dockerfile in plain folders, as root and without docker, and tries what comes of them.

    tools/image.sh && sudo tools/image_in_chroot.py [FOLDER]

Reads the Dockerfile itself, so the two cannot differ. Needs mmdebstrap and the network. Steps that were done are not repeated, as with docker:
what a stage holds is known by the text of its steps so far. Then it starts the server as the image's user would find it, with the model in
MODEL_FOLDER (default: all-MiniLM-L6-v2 of this machine), and asks for health, a vector, and the HEALTHCHECK; SIGTERM has to end it with 0.
"""

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONTEXT = ROOT / "build/image"
BASES = {"debian:bookworm-slim": "bookworm"}
LEFT_OUT = ("Dockerfile", ".dockerignore")  # as .dockerignore says
PORT = 8080


def instructions(text: str) -> list[tuple[str, str]]:
    lines = re.sub(r"\\\n", " ", "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#")))
    return [(name, rest) for name, _, rest in (line.strip().partition(" ") for line in lines.splitlines() if line.strip())]


class OtherSteps(Exception):
    """The folder holds what other steps made of it."""


class Stage:
    def __init__(self, root: Path, base: str):
        self.root, self.done = root, root.with_suffix(".done")
        self.environment = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"}
        self.folder, self.user = "/", "0"
        self.entry: list[str] = []
        self.health: list[str] = []
        self.steps = hashlib.sha256(base.encode())
        if not self.known():
            if root.exists():
                subprocess.run(["rm", "-rf", "--one-file-system", root], check=True)
            subprocess.run(["mmdebstrap", "--quiet", "--variant=minbase", BASES[base], root], check=True)
            self.finished()

    def known(self) -> bool:
        return self.steps.hexdigest() in self.history()

    def history(self) -> list[str]:
        return self.done.read_text().split() if self.done.exists() else []

    def forget(self):
        self.done.unlink()

    def finished(self):
        with self.done.open("a") as file:
            file.write(self.steps.hexdigest() + "\n")

    def inside(self, path: str) -> Path:
        return self.root / os.path.join(self.folder, path).lstrip("/")

    def command(self, words: list[str]) -> list[str]:
        prefix = ["chroot", f"--userspec={self.user}:{self.user}", str(self.root)] if self.user != "0" else ["chroot", str(self.root)]
        return prefix + ["/usr/bin/env", "-i", "-C", self.folder, *(f"{name}={value}" for name, value in self.environment.items()), *words]

    def take(self, name: str, rest: str, stages: dict[str, "Stage"]):
        before = self.steps.hexdigest()
        self.steps.update(f"{name} {rest}\n".encode())
        if name == "COPY":
            origin = re.match(r"--from=(\S+)", rest)
            self.steps.update((stages[origin[1]].steps.hexdigest() if origin else fingerprint(CONTEXT)).encode())
        known = self.known()
        if not known and self.history()[-1] != before:
            raise OtherSteps
        if name == "RUN" and not known:
            print(f"{self.root.name}: {rest}", flush=True)
            subprocess.run(self.command(["/bin/sh", "-c", rest]), check=True)
        elif name == "COPY" and not known:
            self.copy(rest.split(), stages)
        elif name == "WORKDIR":
            self.folder = rest
            self.inside("").mkdir(parents=True, exist_ok=True)
        elif name == "USER":
            self.user = rest
        elif name == "ARG":
            self.environment.setdefault(*rest.partition("=")[::2])
        elif name == "ENV":
            self.environment |= dict(pair.split("=", 1) for pair in rest.split())
        elif name == "ENTRYPOINT":
            self.entry = json.loads(rest)
        elif name == "HEALTHCHECK":
            self.health = json.loads(rest[rest.index("CMD") + 3:])
        elif name not in ("RUN", "COPY", "VOLUME", "EXPOSE"):
            sys.exit(f"image_in_chroot: {name} is not understood here")
        if not known:
            self.finished()

    def copy(self, words: list[str], stages: dict[str, "Stage"]):
        source = CONTEXT
        if words[0].startswith("--from="):
            source = stages[words.pop(0)[7:]].root
        origin, target = source / words[0].lstrip("/"), self.inside(words[1])
        if origin.is_dir():
            shutil.copytree(origin, target, dirs_exist_ok=True, symlinks=True, ignore=shutil.ignore_patterns(*LEFT_OUT))
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(origin, target)


def fingerprint(folder: Path) -> str:
    digest = hashlib.sha256()
    for file in sorted(path for path in folder.rglob("*") if path.is_file() and path.name not in LEFT_OUT):
        digest.update(f"{file.relative_to(folder)}\n".encode() + file.read_bytes())
    return digest.hexdigest()


def build(work: Path) -> Stage:
    stages: dict[str, Stage] = {}
    for alias, base, steps in stages_of((CONTEXT / "Dockerfile").read_text()):
        stages[alias] = Stage(work / alias, base)
        try:
            take_all(stages[alias], steps, stages)
        except OtherSteps:  # begin again from the base
            stages[alias].forget()
            stages[alias] = Stage(work / alias, base)
            take_all(stages[alias], steps, stages)
    return stages[alias]


def stages_of(dockerfile: str) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """The name of each, what it starts from, and its steps."""
    stages: list[tuple[str, str, list[tuple[str, str]]]] = []
    for name, rest in instructions(dockerfile):
        if name == "FROM":
            base, _, alias = rest.partition(" AS ")
            stages.append((alias or "last", base, []))
        else:
            stages[-1][2].append((name, rest))
    return stages


def take_all(stage: Stage, steps: list[tuple[str, str]], stages: dict[str, Stage]):
    for name, rest in steps:
        stage.take(name, rest, stages)


def put_model(image: Stage):
    """What a volume would bring."""
    given = os.environ.get("MODEL_FOLDER", Path.home() / ".cache/attend/models/sentence-transformers/all-MiniLM-L6-v2")
    target = image.root / "models/attend/models/sentence-transformers/all-MiniLM-L6-v2"
    shutil.copytree(given, target, dirs_exist_ok=True)


def try_server(image: Stage):
    for device in ("null", "urandom"):  # as docker makes them
        place = image.root / "dev" / device
        if not place.exists():
            subprocess.run(["mknod", "-m", "666", place, "c", "1", {"null": "3", "urandom": "9"}[device]], check=True)
    server = subprocess.Popen(image.command(image.entry), stdout=subprocess.PIPE, text=True)
    try:
        print("server:", server.stdout.readline().strip(), flush=True)
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=5) as answer:
            assert answer.status == 200
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}/embed", json.dumps({"inputs": "The bank of the river"}).encode())
        with urllib.request.urlopen(request, timeout=30) as answer:
            print("a vector of", len(json.load(answer)[0]), "numbers", flush=True)
        uid = next(line for line in Path(f"/proc/{server.pid}/status").read_text().splitlines() if line.startswith("Uid")).split()[1]
        assert uid == image.user != "0", uid
        assert subprocess.run(image.command(image.health)).returncode == 0, "HEALTHCHECK"
        server.send_signal(signal.SIGTERM)
        time.sleep(0.5)
        assert subprocess.run(image.command(image.health)).returncode != 0, "HEALTHCHECK after SIGTERM"
        assert server.wait(timeout=40) == 0
    finally:
        server.kill()
    assert subprocess.run(image.command(image.health), stderr=subprocess.DEVNULL).returncode != 0, "HEALTHCHECK without a server"
    print("image: built, served as user", image.user, "and ended on SIGTERM")


def main():
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None:
        sys.exit("image_in_chroot: it takes root and mmdebstrap")
    work = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "build/image-roots").resolve()
    work.mkdir(parents=True, exist_ok=True)
    image = build(work)
    put_model(image)
    try_server(image)


if __name__ == "__main__":
    main()
