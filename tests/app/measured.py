"""Runs the program and measures what it costs: peak memory, processor time.

A process's peak begins with that of whoever started it, and the tests' own Python takes hundreds of megabytes. So this file, run as a
program by a Python that has just begun, starts the program: MEASURED_FD is where it writes the cost, then come the limits.
"""

import os
import resource
import subprocess
import sys
import threading
from typing import NamedTuple

if __name__ != "__main__":
    from program import PROGRAM, environment

    SANITIZED = "asan" in PROGRAM or "tsan" in PROGRAM  # a sanitizer's memory is not the program's


class Cost(NamedTuple):
    code: int
    out: str
    err: str
    peak: int  # bytes
    seconds: float  # of the processor

    @property
    def megabytes(self) -> int:
        return self.peak >> 20


def measured(*args, stdin=subprocess.DEVNULL, address_space=None, data=None, timeout=60) -> Cost:
    """With its memory limited to this many bytes, if given; `stdin` is a file or bytes."""
    if SANITIZED:
        address_space = data = None
    reading, writing = os.pipe()
    given = stdin if isinstance(stdin, bytes) else None
    command = [sys.executable, "-I", "-S", __file__, str(writing), str(address_space or 0), str(data or 0), PROGRAM, *map(str, args)]
    process = subprocess.Popen(command, stdin=stdin if given is None else subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=environment(), pass_fds=[writing], start_new_session=True)
    os.close(writing)
    killer = threading.Timer(timeout, lambda: os.killpg(process.pid, 9))
    killer.start()
    try:
        out, err = process.communicate(given)
    finally:
        killer.cancel()
    with open(reading) as pipe:
        code, kilobytes, seconds = pipe.read().split()
    return Cost(int(code), out.decode(errors="replace"), err.decode(errors="replace"), 1024 * int(kilobytes), float(seconds))


def start_and_report(report: int, address_space: int, data: int, program: list[str]) -> None:
    child = os.fork()
    if child == 0:
        os.close(report)
        for kind, most in ((resource.RLIMIT_AS, address_space), (resource.RLIMIT_DATA, data)):
            if most:
                resource.setrlimit(kind, (most, most))
        os.execv(program[0], program)
    _, status, usage = os.wait4(child, 0)
    os.write(report, f"{os.waitstatus_to_exitcode(status)} {usage.ru_maxrss} {usage.ru_utime + usage.ru_stime}".encode())


if __name__ == "__main__":
    start_and_report(*map(int, sys.argv[1:4]), sys.argv[4:])
