"""Many texts on a Ray cluster: the jobs of attend.batch, one model for each of Ray's actors.

Imported only when asked for (`import attend.ray`). run() does what attend.batch.run() does, on all machines of a cluster that share a file system.
In a pipeline of Ray Data of your own, Batches is the class for map_batches.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable, Sequence
from typing import Any, Union

try:
    import ray
    import ray.data
except ImportError:
    raise ImportError('attend.ray needs Ray Data, which is not installed (pip install "ray[data]")') from None

from . import _core
from .batch._frames import with_columns
from .batch._jobs import Job
from .batch._parts import Finished, Format, Maker, Plan, Progress, Report, begin
from .batch._texts import Source

__all__ = ["Batches", "run"]


class Batches:
    """For map_batches: ds.map_batches(attend.ray.Batches, fn_constructor_args=(job,), concurrency=2, num_cpus=4).

    Adds the job's columns to each batch, whatever its batch_format. The model is loaded once for each actor, which computes with as many
    threads as it has CPUs.
    """

    def __init__(self, job: Job, column: str = "text", threads: int | None = None) -> None:
        _core.set_threads(threads or _cpus())
        self._job, self._column = job, column
        job([])  # loads the model

    def __call__(self, batch: Any) -> Any:
        return with_columns(self._job, batch, self._column)


class _Parts:
    """An actor that makes parts of a run. What goes wrong is an answer, so that run() can raise it as it was, without Ray trying again."""

    def __init__(self, plan: Plan, threads: int) -> None:
        self._maker: Maker | Exception
        try:
            self._maker = Maker(plan, threads)
        except Exception as error:
            self._maker = error

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"answer": [pickle.dumps(self._make(part)) for part in batch["part"]]}

    def _make(self, part: bytes) -> int | Exception:
        if isinstance(self._maker, Exception):
            return self._maker
        try:
            return self._maker.make(pickle.loads(part))
        except Exception as error:
            return error


def run(
    job: Job,
    source: Source,
    output: Union[str, os.PathLike[str]],
    *,
    workers: int = 1,
    threads: int = 1,
    format: Format = "parquet",
    part_texts: int = 10_000,
    column: str = "text",
    keep: Sequence[str] = (),
    progress: Callable[[Progress], object] | bool | None = None,
) -> Finished:
    """Does a job for every text as attend.batch.run() does, with actors of Ray, each of which takes `threads` CPUs.

    Files and the output folder are read and written by whichever machine an actor runs on, under the same names. An actor that is lost is
    replaced, and the part that it was making is made again; a run that is stopped goes on where it was. All machines compute with the
    instruction set of the one that started the run, so that the bits are the same.
    """
    if workers < 1 or threads < 1:
        raise ValueError(f"workers is {workers} and threads {threads}, expected numbers of at least 1")
    plan, found = begin(job, source, output, format=format, part_texts=part_texts, column=column, keep=keep)
    report = Report(plan, found, progress)
    if report.missing:
        context = ray.data.DataContext.get_current()
        bars, context.enable_progress_bars = context.enable_progress_bars, False
        try:
            parts = [{"part": pickle.dumps(part)} for part in report.missing]
            made = ray.data.from_items(parts, override_num_blocks=len(parts)).map_batches(
                _Parts,
                fn_constructor_args=(plan, threads),
                batch_size=1,
                num_cpus=threads,
                compute=ray.data.ActorPoolStrategy(size=min(workers, len(parts)), max_tasks_in_flight_per_actor=2),
            )
            for row in made.iter_rows():
                answer = pickle.loads(row["answer"])
                if isinstance(answer, Exception):
                    raise answer
                report.made(answer)
        finally:
            context.enable_progress_bars = bars
    return report.finished()


def _cpus() -> int:
    """Those that Ray has given this actor; at least one."""
    return max(1, int(ray.get_runtime_context().get_assigned_resources().get("CPU", 1)))
