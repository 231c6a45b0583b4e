"""The README's commands print what it says, and every link between the documents leads somewhere."""

import os
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / os.environ.get("ATTEND", "build/release/attend")
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("tools/**/*.md")])
CONSOLE = re.findall(r"```console\n\$ (.*?)\n(.*?)```", (ROOT / "README.md").read_text(), re.S)


@pytest.mark.parametrize("command, quoted", CONSOLE, ids=[command for command, _ in CONSOLE])
def test_readme_commands_print_what_it_says(command, quoted):
    environment = {**os.environ, "PATH": f"{PROGRAM.parent}:{os.environ['PATH']}"}
    printed = subprocess.run(command, shell=True, env=environment, check=True, capture_output=True, text=True).stdout.splitlines()
    at = 0
    for line in quoted.splitlines():
        if line != "...":
            assert line in printed[at:], f"not printed, or not here: {line}"
            at = printed.index(line, at) + 1


def test_readme_has_commands():
    assert len(CONSOLE) >= 2


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (document.parent / target).exists(), f"{target} does not exist"
