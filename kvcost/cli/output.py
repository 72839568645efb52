"""Results on the terminal: a table for people, JSON and CSV for programs."""

from __future__ import annotations

import csv
import io
import json
import math
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping, Sequence

__all__ = ["Report", "plain", "show", "table_text"]

_WIDTH = 100


@dataclass(frozen=True, kw_only=True)
class Report:
    """What a command answers.

    Attributes
    ----------
    title : str
        First line of the table.
    header : sequence of str
        Column names for people; empty for a list of name and value.
    rows : sequence of sequence of str
        Texts with units.
    notes : sequence of str
        Sentences below the table.
    data : mapping or list
        The same answer in base units, for JSON.
    records : sequence of mapping
        The same answer as flat rows, for CSV.
    """

    title: str
    header: Sequence[str]
    rows: Sequence[Sequence[str]]
    notes: Sequence[str]
    data: Any
    records: Sequence[Mapping[str, Any]]


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: tuples as lists, nan and infinity as null."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(inner) for inner in value]
    if value is None or isinstance(value, (str, int, bool)):
        return value
    return str(value)


def table_text(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return aligned columns; the first to the left, the others to the right.

    Examples
    --------
    >>> print(table_text(["tier", "time"], [["HBM", "1 ms"], ["NVMe", "374 ms"]]))
    tier    time
    HBM     1 ms
    NVMe  374 ms
    """
    lines = [list(header), *map(list, rows)] if header else [list(row) for row in rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    shown = []
    for line in lines:
        first, *rest = zip(line, widths, strict=True)
        cells = [first[0].ljust(first[1])]
        # a list of names and values reads better with its values at the left
        cells += [text.rjust(width) if header else text for text, width in rest]
        shown.append("  ".join(cells).rstrip())
    return "\n".join(shown)


def show(report: Report, args: argparse.Namespace) -> None:
    """Print a report as the flags ask."""
    if args.json:
        print(json.dumps(plain(report.data), indent=2, allow_nan=False))
    elif args.csv:
        print(_csv(report.records), end="")
    else:
        print(report.title)
        if report.rows:
            print(textwrap.indent(table_text(report.header, report.rows), "  "))
        for note in report.notes:
            print(textwrap.fill(note, _WIDTH))


def _csv(records: Sequence[Mapping[str, Any]]) -> str:
    text = io.StringIO()
    if records:
        writer = csv.DictWriter(text, fieldnames=list(records[0]), lineterminator="\n")
        writer.writeheader()
        for record in records:
            row = {name: plain(value) for name, value in record.items()}
            writer.writerow(
                {
                    name: json.dumps(value) if isinstance(value, (list, dict)) else value
                    for name, value in row.items()
                }
            )
    return text.getvalue()
