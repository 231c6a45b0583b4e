"""The commands of docs/serve.md, as written, against a running server: they print what the page says."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "app"))
from program import PROGRAM, ROOT  # noqa: E402
from server import Server  # noqa: E402

PAGE = (ROOT / "docs/serve.md").read_text()
EXAMPLES = [(command, re.sub("^    ", "", printed, flags=re.M)) for command, printed in re.findall(r"^    \$ (.*)\n((?:    (?!\$ ).*\n)*)", PAGE, re.M)]
CROSS = ("/rerank", "/predict")  # of the small cross-encoder of the tests


@pytest.fixture(scope="module")
def ports():
    found = subprocess.run([PROGRAM, "models"], capture_output=True, text=True, check=True).stdout
    if "all-MiniLM-L6-v2" not in found:
        (pytest.fail if os.environ.get("ATTEND_NO_GAPS") else pytest.skip)("all-MiniLM-L6-v2 is not on this machine")
    if shutil.which("curl") is None:
        pytest.skip("there is no curl")
    with Server() as model, Server("-m", ROOT / "tests/golden/heads/cross-encoder") as cross:
        yield model.port, cross.port


def test_examples_print_what_the_page_says(ports, tmp_path):
    assert len(EXAMPLES) >= 12
    for command, printed in EXAMPLES:
        port = ports[any(f"8080{way}{path}" in command for path in CROSS for way in ("", "/v2"))]
        ran = subprocess.run(command.replace("localhost:8080", f"localhost:{port}"), shell=True, cwd=tmp_path, capture_output=True, text=True,
                             env={**os.environ, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"})
        expected = re.escape(printed.strip()).replace(r"\.\.\.", ".*")
        assert re.fullmatch(expected, ran.stdout.strip(), re.S), (command, ran.stdout, ran.stderr)


def test_the_page_names_every_limit_with_its_default():
    given = subprocess.run([PROGRAM, "serve", "--help"], capture_output=True, text=True, check=True).stdout
    options = re.split(r"^ +(?:-\w, )?(?=--)", given, flags=re.M)
    defaults = dict(match.groups() for option in options if (match := re.match(r"(--[a-z-]+) N\s.*\(default:\s+(\d+)\)", option, re.S)))
    limits = PAGE[PAGE.index("## Limits"):PAGE.index("## Errors")]
    assert len(defaults) >= 10
    for option, value in defaults.items():
        if option in ("--port", "--threads"):
            continue
        row = next((line for line in limits.splitlines() if line.startswith(f"| `{option}`")), "")
        assert f"{int(value):,}" in row, (option, value, row)
