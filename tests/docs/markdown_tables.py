"""Reads what the tests of docs/ need of a Markdown file: tables, prose, code spans and console blocks."""

import re
from dataclasses import dataclass, field


@dataclass
class Section:
    """What stands between two headings."""

    title: str
    prose: list[str] = field(default_factory=list)  # lines that are neither table, heading nor fenced block
    tables: list[list[dict[str, str]]] = field(default_factory=list)  # each a list of rows, cells by column name
    blocks: list[list[str]] = field(default_factory=list)  # the lines of each fenced block


def code_spans(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def without_code_spans(text: str) -> str:
    return re.sub(r"`[^`]+`", "", text)


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read_sections(text: str) -> list[Section]:
    sections = [Section("")]
    header: list[str] | None = None
    lines = iter(text.splitlines())
    for line in lines:
        here = sections[-1]
        if line.startswith("```"):
            block = []
            for line in lines:
                if line.startswith("```"):
                    break
                block.append(line)
            here.blocks.append(block)
        elif line.startswith("#"):
            sections.append(Section(line.lstrip("#").strip()))
        elif not line.startswith("|"):
            here.prose.append(line)
        elif header is None:
            header = _cells(line)
            here.tables.append([])
            continue
        elif not re.fullmatch(r"[|:\- ]+", line):
            cells = _cells(line)
            assert len(cells) == len(header), f"{len(header)} columns, but {len(cells)} cells: {line}"
            here.tables[-1].append(dict(zip(header, cells)))
        if not line.startswith("|"):
            header = None
    return sections
