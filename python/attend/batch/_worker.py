"""What runs in a process of run(): takes parts from a connection and answers how many texts they had, or what went wrong."""

from __future__ import annotations

import signal
from multiprocessing.connection import Connection
from typing import Any

from ._parts import Maker


def work(descriptor: int) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who started this process ends it
    connection: Connection[Any, Any] = Connection(descriptor)
    maker = None
    try:
        plan, threads = connection.recv()
        while True:
            part = connection.recv()
            try:
                maker = maker or Maker(plan, threads)
                answer: Any = maker.make(part)
            except Exception as error:
                answer = error
            try:
                connection.send(answer)
            except (TypeError, AttributeError):  # an error that cannot be pickled
                connection.send(RuntimeError(f"{type(answer).__name__}: {answer}"))
    except (EOFError, OSError):  # nobody waits any more
        pass
