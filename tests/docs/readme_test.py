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


def test_the_readme_says_how_to_call_the_program_before_it_does():
    text = (ROOT / "README.md").read_text()
    line = re.search(r"^    (export PATH=\S+)", text, re.MULTILINE)
    assert line.start() < re.search(r"^(?:    |\$ )attend ", text, re.MULTILINE).start()
    done = subprocess.run(
        ["bash", "-c", f"{line[1]}; command -v attend; attend --version"], cwd=ROOT, env={"PATH": "/usr/bin:/bin"}, capture_output=True, text=True
    )
    assert done.stdout.startswith(f"{ROOT}/build/release/attend\nattend "), done.stderr


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", document.read_text()):
        if not target.startswith(("http:", "https:")):
            assert (document.parent / target).exists(), f"{target} does not exist"
