"""Runs the program and says what it cost: peak memory, processor time."""

import os
import resource
import subprocess
import threading
from typing import NamedTuple

from program import PROGRAM, environment

SANITIZED = "asan" in PROGRAM or "tsan" in PROGRAM  # their memory is not the program's


class Cost(NamedTuple):
    code: int
    out: str
    err: str
    megabytes: int
    seconds: float


def measured(*args, stdin=subprocess.DEVNULL, address_space=None, timeout=60) -> Cost:
    """With its memory limited, where that is said; `stdin` is a file or bytes."""

    def limit():
        if address_space is not None and not SANITIZED:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))

    given = stdin if isinstance(stdin, bytes) else None
    process = subprocess.Popen([PROGRAM, *map(str, args)], stdin=stdin if given is None else subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(), preexec_fn=limit)
    results = {}
    readers = [threading.Thread(target=lambda name, pipe: results.update({name: pipe.read()}), args=pair)
               for pair in (("out", process.stdout), ("err", process.stderr))]
    for reader in readers:
        reader.start()
    killer = threading.Timer(timeout, process.kill)
    killer.start()
    try:
        if given is not None:
            try:
                process.stdin.write(given)
                process.stdin.close()
            except BrokenPipeError:  # it may refuse before it has read everything
                pass
        _, status, usage = os.wait4(process.pid, 0)
    finally:
        killer.cancel()
    process.returncode = os.waitstatus_to_exitcode(status)
    for reader in readers:
        reader.join()
    return Cost(process.returncode, results["out"].decode(errors="replace"), results["err"].decode(errors="replace"),
                usage.ru_maxrss >> 10, usage.ru_utime + usage.ru_stime)
