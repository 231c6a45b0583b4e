"""The input of a run: texts in a list, or in files of lines, of JSON or of Parquet, cut into numbered parts that any process can read."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, Union

from .. import _core
from ._frames import arrow

Source = Union[str, "os.PathLike[str]", Iterable[str], Iterable["os.PathLike[str]"]]
LONGEST = 4 << 20  # bytes of a line, as for `attend embed`: of a longer one the beginning is read


@dataclass(frozen=True)
class Texts:
    """The texts of a part, and the columns that are kept beside them: a list for each, or an Arrow table."""

    texts: list[str]
    kept: Any = None


class Piece(Protocol):
    """Where the texts of a part are. It can be pickled, and read wherever its file is."""

    def read(self, kept: Sequence[str]) -> Texts: ...


@dataclass(frozen=True)
class Part:
    number: int
    first: int  # the number of its first text in the input
    count: int
    piece: Piece


@dataclass(frozen=True)
class Input:
    parts: list[Part]
    texts: int
    digest: str  # of everything that was given, in its order
    kinds: frozenset[str]


def cut(source: Source, part_texts: int, column: str) -> Input:
    """Looks through the input once: how many texts there are, where parts begin, and what it digests to."""
    if part_texts < 1:
        raise ValueError(f"part_texts is {part_texts}, expected at least 1")
    digest = hashlib.sha256()
    pieces: list[tuple[int, Piece]] = []
    kinds: set[str] = set()
    if isinstance(source, (str, os.PathLike)):
        given: list[Any] = [Path(source)]
    else:
        given = list(source)
    if given and isinstance(given[0], os.PathLike):
        for path in map(Path, given):
            kind = {".parquet": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}.get(path.suffix.lower(), "lines")
            kinds.add(kind)
            digest.update(f"{kind}:{column if kind != 'lines' else ''}\n".encode())
            pieces += (_cut_table if kind == "parquet" else _cut_lines)(path, part_texts, column, digest)
    else:
        kinds.add("list")
        for number, text in enumerate(given):
            if not isinstance(text, str):
                raise TypeError(f"text {number} is a {type(text).__name__}, expected a string")
            data = text.encode("utf-8", "surrogatepass")
            digest.update(f"{len(data)}:".encode() + data)
        for begin in range(0, len(given), part_texts):
            some = given[begin : begin + part_texts]
            pieces.append((len(some), Listed(some)))
    parts, first = [], 0
    for number, (count, piece) in enumerate(pieces):
        parts.append(Part(number, first, count, piece))
        first += count
    return Input(parts, first, digest.hexdigest(), frozenset(kinds))


@dataclass(frozen=True)
class Listed:
    texts: list[str]

    def read(self, kept: Sequence[str]) -> Texts:
        return Texts(self.texts)


@dataclass(frozen=True)
class Lines:
    """Lines of a file, from one of its bytes on."""

    path: str
    size: int  # of the file when the run began
    offset: int
    line: int  # the number of the first, from 1
    count: int
    column: Union[str, None]  # of objects; None: a line is a text

    def read(self, kept: Sequence[str]) -> Texts:
        texts: list[str] = []
        columns: dict[str, list[Any]] = {name: [] for name in kept}
        with _opened(self.path, self.size) as file:
            file.seek(self.offset)
            for number in range(self.line, self.line + self.count):
                line = _line(file)
                if number == 1 and line.startswith(b"\xef\xbb\xbf"):
                    line = line[3:]
                if self.column is None:
                    texts.append(line.decode("utf-8", "replace"))
                    continue
                entry = _parsed(line, f"{self.path}: line {number}")
                text = entry if isinstance(entry, str) else entry.get(self.column) if isinstance(entry, dict) else None
                if not isinstance(text, str):
                    raise _core.FileError(f'{self.path}: line {number}: is neither a string nor an object with a string "{self.column}"')
                texts.append(text)
                for name, values in columns.items():
                    values.append(entry.get(name) if isinstance(entry, dict) else None)
        return Texts(texts, columns or None)


def _opened(path: str, size: int) -> Any:
    file = open(path, "rb")
    if os.fstat(file.fileno()).st_size != size:
        file.close()
        raise _core.FileError(f"{path}: has changed since the run began")
    return file


def _line(file: Any) -> bytes:
    line: bytes = file.readline(LONGEST + 1)
    if len(line) > LONGEST and not line.endswith(b"\n"):
        while (rest := file.readline(LONGEST)) and not rest.endswith(b"\n"):
            pass
        line = line[:LONGEST]
        while line[-1] & 0xC0 == 0x80:  # back to the beginning of a character
            line = line[:-1]
        return line[:-1] if line[-1] >= 0xC0 else line
    return line.removesuffix(b"\n").removesuffix(b"\r")


def _parsed(line: bytes, place: str) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise _core.FileError(f"{place}: is not JSON: {error}") from None


def _cut_lines(path: Path, part_texts: int, column: str, digest: Any) -> Iterator[tuple[int, Piece]]:
    name = os.path.abspath(path)
    try:
        file = open(name, "rb", buffering=0)
    except OSError as error:
        raise _core.FileError(f"{path}: cannot be opened: {error.strerror}") from None
    starts, lines, size, last = [0], 0, 0, b"\n"
    with file:
        while block := file.read(1 << 20):
            digest.update(block)
            found, at = block.count(b"\n"), 0
            while lines // part_texts < (lines + found) // part_texts:  # a part ends in here
                for _ in range(part_texts - lines % part_texts):
                    at = block.index(b"\n", at) + 1
                    lines, found = lines + 1, found - 1
                starts.append(size + at)
            lines, size, last = lines + found, size + len(block), block[-1:]
    lines += last != b"\n"
    for number, start in enumerate(starts):
        first = number * part_texts
        count = min(part_texts, lines - first)
        if count > 0:
            yield count, Lines(name, size, start, first + 1, count, None if path.suffix.lower() not in (".jsonl", ".ndjson") else column)


@dataclass(frozen=True)
class Rows:
    """Rows of a Parquet file."""

    path: str
    size: int
    column: str
    first: int
    count: int

    def read(self, kept: Sequence[str]) -> Texts:
        pa = arrow()
        names = list(dict.fromkeys([self.column, *kept]))
        with _opened(self.path, self.size) as file:
            table = pa.parquet.ParquetFile(file)
            missing = [name for name in names if name not in table.schema_arrow.names]
            if missing:
                raise _core.FileError(f'{self.path}: has no column "{missing[0]}"; it has {", ".join(table.schema_arrow.names)}')
            begin, groups, skipped = 0, [], 0
            for number in range(table.num_row_groups):
                rows = table.metadata.row_group(number).num_rows
                if begin + rows <= self.first:
                    skipped = begin + rows
                elif begin < self.first + self.count:
                    groups.append(number)
                begin += rows
            wanted = _row_groups(self.path, self.size, table, tuple(groups), tuple(names)).slice(self.first - skipped, self.count)
        texts = wanted.column(self.column).to_pylist()
        for number, text in enumerate(texts):
            if not isinstance(text, str):
                kind = "empty" if text is None else f"of type {type(text).__name__}"
                raise _core.FileError(f'{self.path}: row {self.first + number}: "{self.column}" is {kind}, expected a string')
        return Texts(texts, wanted.select(list(kept)) if kept else None)


_last_groups: tuple[Any, Any] = (None, None)  # a row group is often larger than a part, and the next part is in the same one


def _row_groups(path: str, size: int, table: Any, groups: tuple[int, ...], names: tuple[str, ...]) -> Any:
    global _last_groups
    if _last_groups[0] != (path, size, groups, names):
        _last_groups = ((path, size, groups, names), table.read_row_groups(list(groups), columns=list(names)))
    return _last_groups[1]


def _cut_table(path: Path, part_texts: int, column: str, digest: Any) -> Iterator[tuple[int, Piece]]:
    pa = arrow()
    name = os.path.abspath(path)
    try:
        with open(name, "rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
            size = file.tell()
            rows = pa.parquet.ParquetFile(file).metadata.num_rows
    except OSError as error:
        raise _core.FileError(f"{path}: cannot be opened: {error.strerror or error}") from None
    except pa.ArrowInvalid as error:
        raise _core.FileError(f"{path}: is not Parquet: {error}") from None
    for first in range(0, rows, part_texts):
        yield min(part_texts, rows - first), Rows(name, size, column, first, min(part_texts, rows - first))
