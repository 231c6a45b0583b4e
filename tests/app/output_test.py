"""Where the output goes: pipes that close, disks that are full, help and version."""

import os
import signal
import subprocess

import pytest

from program import EXAMPLES, PROGRAM, environment, interrupt, run

COMMANDS = [["steps"], ["steps", "--json"], ["--help"], ["steps", "--help"], ["bench", "--help"], ["--version"]]


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
def test_a_full_disk(args):
    with open("/dev/full", "w") as full:
        done = subprocess.run([PROGRAM, *args], stdout=full, stderr=subprocess.PIPE, env=environment(), timeout=60)
    assert done.returncode == 1
    message = done.stderr.decode()
    assert message.count("\n") == 1
    assert message.endswith(": cannot write to standard output: No space left on device\n")


@pytest.mark.parametrize("args", [["steps"], ["--help"]], ids=" ".join)
def test_a_closed_standard_output(args):
    done = subprocess.run([PROGRAM, *args], stderr=subprocess.PIPE, env=environment(), timeout=60,
                          preexec_fn=lambda: os.close(1))
    assert done.returncode == 1
    assert done.stderr.decode().endswith(": cannot write to standard output: Bad file descriptor\n")


def test_a_closed_standard_input():
    done = subprocess.run([PROGRAM, "steps", "-"], capture_output=True, env=environment(), timeout=60,
                          preexec_fn=lambda: os.close(0))
    assert (done.returncode, done.stdout) == (1, b"")
    assert done.stderr == b"attend steps: standard input: cannot be read: Bad file descriptor\n"


@pytest.mark.parametrize("args", COMMANDS, ids=" ".join)
@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN], ids=["default", "ignored"])
def test_a_reader_that_went_away(args, handler):
    reading, writing = os.pipe()
    os.close(reading)
    done = subprocess.run([PROGRAM, *args], stdout=writing, stderr=subprocess.PIPE, env=environment(), timeout=60,
                          restore_signals=False, preexec_fn=lambda: signal.signal(signal.SIGPIPE, handler))
    os.close(writing)
    assert done.stderr == b""
    assert done.returncode == (-signal.SIGPIPE if handler == signal.SIG_DFL else 0)


def test_an_interruption():
    assert interrupt("steps", "-", stdin=b"{") == (-signal.SIGINT, "", "")


def test_help():
    general, steps = run("--help"), run("steps", "--help")
    assert (general.code, general.err) == (0, "") and (steps.code, steps.err) == (0, "")
    assert "steps" in general.out and "--color" in general.out
    for word in [*EXAMPLES, "--focus", "--json", "--color", "vectors.json", '"wq"', '"heads"']:
        assert word in steps.out
    assert run("steps", "-h").out == steps.out


def test_version():
    result = run("--version")
    assert (result.code, result.err) == (0, "")
    assert result.out.startswith("attend ") and result.out.count("\n") == 1
