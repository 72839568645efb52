"""The shipped planner: questions for it, edits inside the file, and all its values."""

from __future__ import annotations

import re
import warnings
import zipfile
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING
from xml.sax.saxutils import escape

import openpyxl

from kvcost.cli.sheet import read_question
from kvcost.sheet.scenario import scenario_question
from kvcost.transfer import TransferPath

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kvcost.sheet import Planner, Question

EXAMPLE = "glm-5.3-8xb300"
BURST, STEADY = SCENARIOS = ("bullet-70b-burst", "steady-70b")


def example() -> Question:
    """Return the question that ships."""
    return read_question(EXAMPLE)


def other(**changes) -> Question:
    """Return a question with chunks, shards, coding and every fixed time."""
    path = TransferPath(
        lookup_seconds=0.002,
        overhead_seconds=0.03,
        store_bandwidth=1.71e9,
        link_bandwidth=5e10,
        client_bandwidth=4e9,
        shards=8,
        shard_efficiency=0.79,
        ranks=8,
        rank_balance=0.9,
        active_engines=2,
        copies=2,
        chunk_tokens=256,
        keys_per_chunk=2,
        per_key_seconds=1e-5,
        descriptors_per_token=0.25,
        per_descriptor_seconds=1e-6,
        compression_ratio=2.0,
        decode_rate=2e10,
        encode_rate=9e10,
    )
    return replace(example(), **{"path": path, "last_token": True, "tokens": 40_000, **changes})


@cache
def routed(name: str) -> Question:
    """Return the question of a scenario."""
    return scenario_question(name)


def _member(book: zipfile.ZipFile, sheet: str) -> str:
    names = re.findall(r'<sheet name="([^"]*)"', book.read("xl/workbook.xml").decode())
    return f"xl/worksheets/sheet{names.index(sheet) + 1}.xml"


def edited(
    source: Path, target: Path, cells: Mapping[tuple[str, str], float | str], *, formulas=()
) -> Path:
    """Write a copy of a workbook with other values in cells, and nothing else touched.

    `formulas` names cells whose text is changed: sheet, cell and a function of the text.
    """
    with zipfile.ZipFile(source) as book, zipfile.ZipFile(target, "w") as out:
        changed = {}
        for (sheet, cell), value in cells.items():
            member = _member(book, sheet)
            text = changed.get(member) or book.read(member).decode()
            pattern = rf'<c r="{cell}"( s="\d+")?[^>]*?(?:/>|>.*?</c>)'
            if isinstance(value, str):
                inner = f' t="inlineStr"><is><t>{escape(value)}</t></is></c>'
            else:
                inner = f"><v>{value!r}</v></c>"
            text, count = re.subn(
                pattern, lambda m, c=cell, i=inner: f'<c r="{c}"{m[1] or ""}{i}', text
            )
            assert count == 1, (sheet, cell, count)
            changed[member] = text
        for sheet, cell, change in formulas:
            member = _member(book, sheet)
            text = changed.get(member) or book.read(member).decode()
            pattern = rf'(<c r="{cell}"[^>]*><f>)(.*?)(</f>)'
            text, count = re.subn(pattern, lambda m, c=change: m[1] + c(m[2]) + m[3], text)
            assert count == 1, (sheet, cell, count)
            changed[member] = text
        for item in book.infolist():
            out.writestr(item, changed.get(item.filename, book.read(item.filename)))
    return target


def yours(made: Planner, changes: Mapping[str, float | str]) -> dict[tuple[str, str], float | str]:
    """Return the cells in which a user writes inputs."""
    rows = {item.key: item.cell.strip("ABCDEFGH") for item in made.inputs}
    return {("Inputs", f"C{rows[key]}"): value for key, value in changes.items()}


def values_of(path: Path) -> dict[tuple[str, str], object]:
    """Return every value of a workbook, by sheet and cell."""
    with warnings.catch_warnings():
        # Gnumeric writes no default style, which openpyxl remarks on, and both drop extensions
        warnings.simplefilter("ignore")
        book = openpyxl.load_workbook(path, data_only=True)
    found = {
        (sheet.title, cell.coordinate): cell.value
        for sheet in book.worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.value is not None
    }
    book.close()
    return found
