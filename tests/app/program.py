"""Runs the program under test: build/release/attend, or the one that the environment variable ATTEND names."""

import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import termios
import time
import unicodedata
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = str(ROOT / os.environ.get("ATTEND", "build/release/attend"))
EXAMPLES = ["love", "it", "it-trained", "heads", "causal", "cross", "positions", "scale"]

# What the environment says about the terminal must come from the test alone.
_TERMINAL_VARIABLES = ("COLUMNS", "LINES", "TERM", "COLORTERM", "NO_COLOR")


class Result(NamedTuple):
    code: int
    out: str
    err: str


def environment(changes: dict[str, str] | None = None) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _TERMINAL_VARIABLES}
    return kept | (changes or {})


def run(*args: str, stdin: str | bytes = b"", env: dict[str, str] | None = None) -> Result:
    """The program with its output in pipes."""
    text = stdin.encode() if isinstance(stdin, str) else stdin
    done = subprocess.run([PROGRAM, *args], input=text, capture_output=True, env=environment(env), timeout=60)
    return Result(done.returncode, done.stdout.decode(), done.stderr.decode())


def run_json(*args: str, stdin: str = "") -> dict:
    result = run(*args, "--json", stdin=stdin)
    assert (result.code, result.err) == (0, "")
    return json.loads(result.out)


def run_lesson(lesson: dict, *args: str, env: dict[str, str] | None = None) -> Result:
    """attend steps on a file with this content, through standard input."""
    return run("steps", "-", *args, stdin=json.dumps(lesson), env=env)


def interrupt(*args: str, stdin: bytes = b"", after: float = 0) -> Result:
    """The program, interrupted as by Ctrl-C. A background job of a shell ignores that signal, and its children inherit this."""
    process = subprocess.Popen([PROGRAM, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment(), preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
    process.stdin.write(stdin)
    process.stdin.flush()
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    try:
        process.wait(timeout=60)
    finally:
        process.kill()
    return Result(process.returncode, process.stdout.read().decode(), process.stderr.read().decode())


def run_on_terminal(*args: str, columns: int, rows: int = 50, env: dict[str, str] | None = None, errors_too: bool = False) -> Result:
    """The program with its output, and optionally its standard error, on a pseudo-terminal of this size."""
    code, shown, errors = _on_terminal(args, columns, rows, env, errors_too)
    return Result(code, shown.decode().replace("\r\n", "\n"), errors.decode())


def run_bytes_on_terminal(*args, cwd, env: dict | None = None) -> tuple[int, bytes]:
    """The same with names that need not be text, everything on the terminal, and the output as received."""
    code, shown, _ = _on_terminal(args, 100, 50, env, True, cwd)
    return code, shown


def run_bytes(*args, stdin: bytes = b"") -> tuple[int, bytes, bytes]:
    """The program with its output in pipes, and names that need not be text."""
    done = subprocess.run([PROGRAM, *args], input=stdin, capture_output=True, env=environment(), timeout=60)
    return done.returncode, done.stdout, done.stderr


def _on_terminal(args, columns: int, rows: int, env: dict | None, errors_too: bool, cwd=None) -> tuple[int, bytes, bytes]:
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    variables = environment({"TERM": "xterm-256color"} | (env or {}))
    process = subprocess.Popen([PROGRAM, *args], stdin=subprocess.DEVNULL, stdout=slave, cwd=cwd,
                               stderr=slave if errors_too else subprocess.PIPE, env=variables)
    os.close(slave)
    shown = bytearray()
    while True:
        try:
            chunk = os.read(master, 1 << 16)
        except OSError:  # Linux's way of saying that the other end is closed
            break
        if not chunk:
            break
        shown += chunk
    os.close(master)
    errors = process.communicate(timeout=60)[1] or b""
    return process.returncode, bytes(shown), errors


def without_colors(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def width(line: str) -> int:
    """Columns on a terminal, for text without joined emoji."""
    columns = 0
    for character in line:
        if unicodedata.category(character) in ("Mn", "Me", "Cf"):
            continue
        columns += 2 if unicodedata.east_asian_width(character) in "WF" else 1
    return columns
