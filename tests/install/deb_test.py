"""The Debian package: what it holds, what it depends on, and that what is unpacked runs."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not shutil.which("dpkg-shlibdeps"), reason="dpkg-dev is not installed")


@pytest.fixture(scope="module")
def package():
    quickly = os.environ | {"DPKG_DEB_COMPRESSOR_TYPE": "none"}
    done = subprocess.run([ROOT / "tools/deb.sh"], capture_output=True, text=True, cwd="/", env=quickly)
    assert done.returncode == 0, done.stdout + done.stderr
    return ROOT / done.stdout.strip()


def field(package, name):
    return subprocess.run(["dpkg-deb", "--field", package, name], capture_output=True, text=True, check=True).stdout.strip()


def test_it_says_what_it_needs(package):
    depends = field(package, "Depends")
    assert re.search(r"\blibc6 \(>= 2", depends) and "libcairo2" in depends and "libhwy1" in depends and re.search(r"libcurl4\w* \(>= 7.85\)", depends), depends
    version = subprocess.run([ROOT / "build/release/attend", "--version"], capture_output=True, text=True).stdout.split()[1]
    assert field(package, "Version") == version and "@" in field(package, "Maintainer")


def test_what_is_in_it_runs_and_is_complete(package, tmp_path):
    subprocess.run(["dpkg-deb", "-x", package, tmp_path], check=True)
    files = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert {
        "usr/bin/attend",
        "usr/share/man/man1/attend.1.gz",
        "usr/share/man/man1/attend-explain.1.gz",
        "usr/share/bash-completion/completions/attend",
        "usr/share/zsh/vendor-completions/_attend",
        "usr/share/fish/vendor_completions.d/attend.fish",
        "usr/share/doc/attend/copyright",
    } <= files
    assert not any("include" in file or file.endswith(".a") for file in files)
    done = subprocess.run(["env", "-i", "usr/bin/attend", "steps", "--color", "never"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and "learning" in done.stdout
    sums = subprocess.run(["dpkg-deb", "--ctrl-tarfile", package], capture_output=True, check=True).stdout
    listed = subprocess.run(["tar", "-xO", "./md5sums"], input=sums, capture_output=True, check=True).stdout.decode()
    assert {line.split("  ")[1] for line in listed.splitlines()} == files
