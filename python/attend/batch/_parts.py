"""The output of a run: a folder of numbered parts, each written under another name and renamed when it is whole, and what made them."""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, Union

import numpy as np

from .. import _core
from ._frames import arrow, arrow_column
from ._jobs import Embed, Job
from ._texts import Input, Part, Source, Texts, cut

Format = Literal["parquet", "npy", "jsonl"]
MANIFEST = "_manifest.json"  # readers of folders of Parquet leave names with _ and . alone


class Progress(NamedTuple):
    """How far a run has come."""

    texts: int  # that are done, those of an earlier run included
    all_texts: int
    parts: int
    all_parts: int
    seconds: float


class Finished(NamedTuple):
    """What a run has left."""

    folder: Path
    files: list[Path]  # one for each part, in the order of the texts
    texts: int
    kept_parts: int  # that an earlier run had finished
    seconds: float


@dataclass(frozen=True)
class Plan:
    """What a process has to know to make any part."""

    job: Job
    model: str  # the digest of its files
    isa: str
    folder: str
    format: Format
    keep: tuple[str, ...]

    def file(self, number: int) -> Path:
        return Path(self.folder, f"part-{number:05}.{self.format}")


class Maker:
    """Makes parts, in one process. The model is loaded here, and must be the one that the run began with."""

    def __init__(self, plan: Plan, threads: int) -> None:
        self._plan = plan
        if plan.isa not in _core.available_isas():
            raise RuntimeError(
                f"the run computes with {plan.isa}, which this machine does not have; with ATTEND_ISA={_core.available_isas()[0]} where it is started,"
                " all machines give the same bits"
            )
        _core.set_isa(plan.isa)
        _core.set_threads(threads)
        model = plan.job.load()
        if digest_of_model(plan.job.model, model.folder) != plan.model:
            raise RuntimeError(f"{model.folder} does not hold the model that the run began with")
        self._job = plan.job._opened(model)

    def make(self, part: Part) -> int:
        """Returns the number of texts."""
        file = self._plan.file(part.number)
        if not file.exists():
            given = part.piece.read(self._plan.keep)
            _write_whole(file, lambda temporary: _write(self._plan, temporary, part.first, given, self._job(given.texts)))
        return part.count


class Report:
    """Counts the parts that are made, and tells how far that is: a function, or a line on a terminal."""

    def __init__(self, plan: Plan, found: Input, progress: Union[Callable[[Progress], object], bool, None]) -> None:
        self._plan, self._found, self._start = plan, found, time.monotonic()
        there = [part for part in found.parts if plan.file(part.number).exists()]
        self.missing = [part for part in found.parts if not plan.file(part.number).exists()]
        self._kept, self._parts, self._texts = len(there), len(there), sum(part.count for part in there)
        self._tell = _on_terminal if progress is True or (progress is None and sys.stderr.isatty()) else progress or None
        self._report()

    def made(self, texts: int) -> None:
        self._parts, self._texts = self._parts + 1, self._texts + texts
        self._report()

    def _report(self) -> None:
        if self._tell is not None:
            self._tell(Progress(self._texts, self._found.texts, self._parts, len(self._found.parts), time.monotonic() - self._start))

    def finished(self) -> Finished:
        files = [self._plan.file(part.number) for part in self._found.parts]
        lost = [file.name for file in files if not file.exists()]
        if lost:
            raise RuntimeError(f"{self._plan.folder}: {lost[0]} is missing, though all parts were made")
        for left in Path(self._plan.folder).glob(".part-*"):  # of processes that were killed
            left.unlink(missing_ok=True)
        return Finished(Path(self._plan.folder), files, self._found.texts, self._kept, time.monotonic() - self._start)


def _on_terminal(done: Progress) -> None:
    rate = f"  {done.texts / done.seconds:.0f} texts/s" if done.seconds > 0.5 else ""
    end = "\n" if done.parts == done.all_parts else ""
    sys.stderr.write(f"\r\x1b[K{done.texts} of {done.all_texts} texts, {done.parts} of {done.all_parts} parts{rate}{end}")
    sys.stderr.flush()


def begin(
    job: Job, source: Source, output: Union[str, os.PathLike[str]], *, format: Format, part_texts: int, column: str, keep: Sequence[str]
) -> tuple[Plan, Input]:
    """Cuts the input, and writes the manifest of the output, or compares it with the one that is there."""
    if format not in ("parquet", "npy", "jsonl"):
        raise ValueError(f'format is "{format}", expected parquet, npy or jsonl')
    if format == "npy" and not isinstance(job, Embed):
        raise ValueError("a .npy file holds one array, and only Embed makes just one; expected parquet or jsonl")
    if format == "parquet":
        arrow()
    model = job.load()
    columns = job._opened(model)(["attend"])  # options that make no sense are refused here, once
    plan = Plan(job, digest_of_model(job.model, model.folder), _core.isa(), os.path.abspath(output), format, tuple(keep))
    del model
    found = cut(source, part_texts, column)
    if keep and (format == "npy" or found.kinds != {format}):
        raise ValueError("keep is for columns of Parquet in Parquet, and of .jsonl in .jsonl")
    for name in keep:
        if name in ("index", "text", *columns):
            raise ValueError(f'keep names "{name}", which is a column of the output already')
    manifest = {
        "attend": _core.__version__,
        "options": job.options(),
        "model_digest": plan.model,
        "isa": plan.isa,
        "input_digest": found.digest,
        "texts": found.texts,
        "part_texts": part_texts,
        "parts": len(found.parts),
        "format": format,
        "keep": list(keep),
    }
    _require_same(Path(plan.folder), json.loads(json.dumps(manifest)))
    return plan, found


def _require_same(folder: Path, manifest: dict[str, Any]) -> None:
    file = folder / MANIFEST
    if not file.exists():
        if folder.exists() and any(folder.iterdir()):
            raise FileExistsError(f"{folder} is not empty, and has no {MANIFEST} of a run that could be resumed")
        folder.mkdir(parents=True, exist_ok=True)
        _write_whole(file, lambda temporary: temporary.write_text(json.dumps(manifest, indent=1) + "\n"))
        return
    try:
        there = json.loads(file.read_bytes())
    except ValueError:
        raise _core.FileError(f"{file}: is not JSON") from None
    different = [name for name in manifest if not isinstance(there, dict) or there.get(name) != manifest[name]]
    if different:
        name = different[0]
        was = there.get(name) if isinstance(there, dict) else None
        raise ValueError(f"{folder} holds parts of another run, whose {name} is {was}, not {manifest[name]}; choose another folder, or remove it")


def digest_of_model(name: str, folder: Path) -> str:
    """Of the files that say what a model computes: all of its folder's, or the one that is the whole model."""
    if os.path.isfile(name):
        files = [Path(name)]
    else:
        root = folder.parent if not (folder / "modules.json").exists() and (folder.parent / "modules.json").exists() else folder
        kinds = {".json", ".txt", ".safetensors", ".gguf", ".jinja", ".model"}
        beside = [path for path in root.iterdir() if path.is_dir() and path.name[:1].isdigit()]  # 1_Pooling and its like
        files = sorted(path for place in (root, *beside) for path in place.iterdir() if path.suffix in kinds and path.is_file())
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name}:{path.stat().st_size}\n".encode())
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()


def _write_whole(file: Path, write: Callable[[Path], object]) -> None:
    temporary = file.with_name(f".{file.name}.{os.uname().nodename}.{os.getpid()}")
    try:
        write(temporary)
        with open(temporary, "rb") as written:
            os.fsync(written.fileno())
        os.replace(temporary, file)
    finally:
        temporary.unlink(missing_ok=True)


def _write(plan: Plan, file: Path, first: int, given: Texts, columns: dict[str, Any]) -> None:
    if plan.format == "npy":
        with open(file, "wb") as out:
            np.save(out, columns["embedding"])
    elif plan.format == "jsonl":
        kept = given.kept or {}
        names = [*kept, *columns]
        rows = zip(*kept.values(), *(_plain(values) for values in columns.values()))
        with open(file, "w", encoding="utf-8") as out:
            for number, (text, values) in enumerate(zip(given.texts, rows), first):
                entry = {"index": number, "text": text} | dict(zip(names, values))
                out.write(json.dumps(entry, ensure_ascii=False, separators=(",", ":")) + "\n")
    else:
        pa = arrow()
        count = len(given.texts)
        arrays = {"index": pa.array(np.arange(first, first + count)), "text": pa.array(given.texts, pa.string())}
        if given.kept is not None:
            arrays |= {name: given.kept.column(name) for name in given.kept.column_names}
        arrays |= {name: arrow_column(name, values) for name, values in columns.items()}
        pa.parquet.write_table(pa.table(arrays), file, use_dictionary=False)


def _plain(values: Any) -> Any:
    """For JSON: each float32 by as many digits as it takes, as `attend embed` writes it; null for what is not finite."""
    if not isinstance(values, np.ndarray):
        return values
    digits = [[float(digits) for digits in row] for row in values.astype("U").tolist()]
    return [[value if value - value == 0 else None for value in row] for row in digits]
