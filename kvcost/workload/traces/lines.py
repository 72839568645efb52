"""Lines of a trace file, plain or gzip, with errors that name the line."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import zlib
from itertools import islice
from typing import TYPE_CHECKING, Any

from kvcost.errors import ConfigError, nearest_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

__all__ = ["bad_line", "count", "csv_rows", "first_line", "json_rows", "moment"]

_MOST = 2**53


def bad_line(path: Path, line: int, *, field: str, value: object, bound: str) -> ConfigError:
    """Return the error for one entry of one line."""
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:57] + "..."
    return ConfigError(
        path=str(path),
        problem=f"line {line}: {field} {shown} {bound}",
        remedy="correct the line, or check that the format is the one stated",
    )


def _text(path: Path) -> Iterator[str]:
    remedy = "give a text file with one request a line, plain or gzip"
    try:
        with path.open("rb") as raw:
            zipped = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            stream: Any = gzip.GzipFile(fileobj=raw) if zipped else raw
            with io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
                yield from text
    except OSError as error:
        problem = error.strerror or "cannot be unpacked"
        raise ConfigError(path=str(path), problem=problem, remedy=remedy) from None
    except (EOFError, zlib.error):
        raise ConfigError(
            path=str(path), problem="ends in the middle of its gzip data", remedy=remedy
        ) from None
    except UnicodeDecodeError as error:
        raise ConfigError(
            path=str(path), problem=f"is not UTF-8 text ({error.reason})", remedy=remedy
        ) from None


def first_line(path: Path) -> str:
    """Return the first line that is not empty.

    Raises
    ------
    ConfigError
        If there is none, or the file cannot be read.
    """
    for line in _text(path):
        if line.strip():
            return line.strip()
    raise ConfigError(path=str(path), problem="is empty", remedy="give a file with requests")


def json_rows(path: Path, *, limit: int | None) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number and object of each line that is not empty."""
    lines = ((number, line) for number, line in enumerate(_text(path), 1) if line.strip())
    for number, line in islice(lines, limit):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        if not isinstance(row, dict):
            raise bad_line(
                path, number, field="text", value=line.strip(), bound="is no JSON object"
            )
        yield number, row


def csv_rows(
    path: Path, columns: Sequence[str], *, optional: Sequence[str] = (), limit: int | None
) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and the wanted columns of each row; "" where an optional one is missing."""
    rows = csv.reader(_text(path))
    try:
        yield from _wanted(path, rows, columns, optional=optional, limit=limit)
    except csv.Error as error:
        raise bad_line(
            path, rows.line_num, field="row", value="of the file", bound=f"is no CSV ({error})"
        ) from None


def _wanted(
    path: Path, rows: Any, columns: Sequence[str], *, optional: Sequence[str], limit: int | None
) -> Iterator[tuple[int, list[str]]]:
    header = [name.strip() for name in next(rows, [])]
    for name in columns:
        if name not in header:
            near = ", ".join(nearest_names(name, header)) or "none"
            raise ConfigError(
                path=str(path),
                problem=f"line 1: has no column {name!r} (the nearest are {near})",
                remedy=f"give a file with the columns {', '.join(columns)}",
            )
    places = [header.index(name) if name in header else -1 for name in (*columns, *optional)]
    full = len(header)
    for row in islice((row for row in rows if row), limit):
        if len(row) != full:
            raise bad_line(
                path,
                rows.line_num,
                field="row",
                value=",".join(row),
                bound=f"must have {full} columns",
            )
        yield rows.line_num, [row[place].strip() if place >= 0 else "" for place in places]


def count(path: Path, line: int, field: str, value: Any) -> int:
    """Return a whole number that is not negative, from a number or its text."""
    number = value
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = None
    real = isinstance(number, int | float) and not isinstance(number, bool)
    if not real or not 0 <= number < _MOST or number != int(number):
        raise bad_line(
            path, line, field=field, value=value, bound="must be a whole number of at least 0"
        )
    return int(number)


def moment(path: Path, line: int, field: str, value: Any) -> float:
    """Return a finite time, from a number or its text."""
    number = value
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = None
    real = isinstance(number, int | float) and not isinstance(number, bool)
    if not real or not math.isfinite(number):
        raise bad_line(path, line, field=field, value=value, bound="must be a finite time")
    return float(number)
