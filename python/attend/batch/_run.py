"""A run on one machine: processes that make parts, each with a model of its own. One that dies is replaced."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection, Pipe, wait
from typing import Any, Union

from .. import _core
from ._jobs import Job
from ._parts import Finished, Format, Plan, Progress, Report, begin
from ._texts import Part, Source


def run(
    job: Job,
    source: Source,
    output: Union[str, os.PathLike[str]],
    *,
    workers: int = 1,
    threads: int | None = None,
    format: Format = "parquet",
    part_texts: int = 10_000,
    column: str = "text",
    keep: Sequence[str] = (),
    progress: Callable[[Progress], object] | bool | None = None,
) -> Finished:
    """Does a job for every text, and leaves a folder of numbered parts, `part_texts` texts in each.

    source: a list of texts; a file of lines, or .jsonl or .parquet with the texts in `column`; or a list of paths. output: the folder. Where it
    holds parts of the same run, they are kept, and the others are made; parts of a run with another model, input or options are refused.
    workers: processes, with `threads` each (default: all together as many as attend.threads()). keep: columns of the input to copy.
    progress: is told how far it is; default: a line on a terminal.
    """
    if workers < 1:
        raise ValueError(f"workers is {workers}, expected at least 1")
    plan, found = begin(job, source, output, format=format, part_texts=part_texts, column=column, keep=keep)
    report = Report(plan, found, progress)
    _make(plan, report.missing, workers, threads or max(1, _core.threads() // workers), report.made)
    return report.finished()


class _Worker:
    """A process that makes parts, and the one it is at."""

    def __init__(self, plan: Plan, threads: int) -> None:
        self.part: Part | None = None
        self.connection: Connection[Any, Any]
        self.connection, theirs = Pipe()
        code = f"import sys; sys.path[:] = {sys.path!r}; from attend.batch._worker import work; work(int(sys.argv[1]))"
        self.process = subprocess.Popen([sys.executable, "-c", code, str(theirs.fileno())], pass_fds=[theirs.fileno()])
        theirs.close()
        self.connection.send((plan, threads))

    def give(self, part: Part) -> None:
        self.part = part
        try:
            self.connection.send(part)
        except OSError:  # it has just ended, which the next wait() finds
            pass

    def answer(self) -> Any:
        """A number of texts, or what went wrong; None when the process has ended."""
        try:
            return self.connection.recv()
        except (EOFError, OSError):
            return None

    def end(self) -> int:
        self.connection.close()
        self.process.kill()
        return self.process.wait()


def _make(plan: Plan, parts: list[Part], count: int, threads: int, made: Callable[[int], None]) -> None:
    waiting = list(reversed(parts))
    workers: list[_Worker] = []
    deaths: Counter[int] = Counter()
    try:
        while waiting or workers:
            while waiting and len(workers) < count:
                workers.append(_Worker(plan, threads))
                workers[-1].give(waiting.pop())
            ready = wait([worker.connection for worker in workers])
            for worker in [worker for worker in workers if worker.connection in ready]:
                answer, part = worker.answer(), worker.part
                assert part is not None
                if isinstance(answer, BaseException):
                    raise answer
                if answer is not None:
                    made(answer)
                    if waiting:
                        worker.give(waiting.pop())
                        continue
                workers.remove(worker)
                code = worker.end()
                if answer is None:
                    deaths[part.number] += 1
                    if deaths[part.number] == 3:
                        how = f"signal {-code}" if code < 0 else f"exit code {code}"
                        raise RuntimeError(f"three processes ended ({how}) while they made part {part.number}; finished parts are kept")
                    waiting.append(part)
    finally:
        for worker in workers:
            worker.end()
