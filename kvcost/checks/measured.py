"""Values out of measurement files: JSON by a dotted path, CSV by a column and a row."""

from __future__ import annotations

import csv
import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from kvcost.errors import ConfigError, InvalidValueError, MissingFactError, nearest_names

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

__all__ = ["Files"]

_MOST_BYTES = 64 << 20
_KEYS = {".json": {"file", "field", "unit"}, ".csv": {"file", "column", "where", "unit"}}


@dataclass(kw_only=True)
class Files:
    """The measurement files of one run, each read once.

    Parameters
    ----------
    folder : pathlib.Path
        Where relative paths begin.
    """

    folder: Path
    _read: dict[str, Any] = field(default_factory=dict, repr=False)

    def value(self, asked: Mapping[str, Any], *, key: str) -> str:
        """Return a value of a file as text with its unit.

        Parameters
        ----------
        asked : mapping
            ``file`` with ``field`` (JSON: a path with dots, or a list of names), or with ``column``
            and ``where`` (CSV: the columns and values of the one row); and ``unit``, unless the
            file holds text with a unit.
        key : str
            Key of the budget, for messages.

        Returns
        -------
        str
            Number and unit.

        Raises
        ------
        ConfigError
            If the file cannot be read.
        InvalidValueError
            If an entry is unknown or wrong, or the file holds no number there.
        MissingFactError
            If an entry is missing, or the file has no such field, column or row.
        """
        name = asked.get("file")
        suffix = "" if not isinstance(name, str) else name[name.rfind(".") :].lower()
        if not isinstance(name, str) or suffix not in _KEYS:
            raise InvalidValueError(
                field=f"{key}.file",
                value=name,
                bound="must be the path of a .json or .csv file",
                remedy='write e.g. {file = "bench.json", field = "results.p99", unit = "ms"}',
            )
        for unknown in sorted(set(asked) - _KEYS[suffix]):
            raise InvalidValueError(
                field=f"{key}.{unknown}",
                value=asked[unknown],
                bound=f"is no entry for a {suffix} file",
                remedy=f"the nearest are {', '.join(nearest_names(unknown, _KEYS[suffix]))}",
            )
        if name not in self._read:
            self._read[name] = _load(self.folder / name, name, suffix)
        found = _json if suffix == ".json" else _csv
        value = found(self._read[name], asked, key=key)
        return _with_unit(value, asked, key=key)


def _load(path: Path, name: str, suffix: str) -> Any:
    def refuse(problem: str) -> NoReturn:
        remedy = "give the file that the benchmark wrote; the path begins at the budgets' folder"
        raise ConfigError(path=name, problem=problem, remedy=remedy) from None

    try:
        if path.stat().st_size > _MOST_BYTES:
            refuse("is larger than 64 MiB")
        text = path.read_text(encoding="utf-8-sig")
        if suffix == ".json":
            return json.loads(text)
        rows = list(csv.reader(text.splitlines(keepends=True), strict=True))
    except OSError as error:
        refuse(error.strerror or "cannot be read")
    except (ValueError, RecursionError, csv.Error) as error:
        refuse(f"is not {suffix[1:].upper()} ({' '.join(str(error).split())[:120]})")
    rows = [row for row in rows if row]
    if len(rows) < 2:
        refuse("holds no rows")
    header = [cell.strip() for cell in rows[0]]
    if len(set(header)) < len(header):
        refuse("has two columns of one name")
    if any(len(row) != len(header) for row in rows):
        refuse("has rows longer or shorter than its header")
    return [dict(zip(header, map(str.strip, row), strict=True)) for row in rows[1:]]


def _json(content: Any, asked: Mapping[str, Any], *, key: str) -> Any:
    path = asked.get("field")
    names = path.split(".") if isinstance(path, str) else path
    whole = isinstance(names, list) and all(isinstance(name, str) and name for name in names)
    if not whole or not names:
        raise InvalidValueError(
            field=f"{key}.field",
            value=path,
            bound="must be a path in the JSON file",
            remedy='write e.g. "results.p99", or ["results", "p.99"] where a name has a dot',
        )
    here = content
    for depth, name in enumerate(names):
        known = list(here) if isinstance(here, dict) else []
        if isinstance(here, list):
            known = [str(place) for place in range(len(here))]
        if name not in known:
            near = ", ".join(nearest_names(name, known)) or "nothing: it is no object or list"
            raise MissingFactError(
                fact=f"{key}: field {'.'.join(names[: depth + 1])}",
                subject=str(asked["file"]),
                remedy=f"the nearest there are {near}",
            )
        here = here[int(name)] if isinstance(here, list) else here[name]
    return here


def _csv(rows: list[dict[str, str]], asked: Mapping[str, Any], *, key: str) -> str:
    where = asked.get("where", {})
    if not isinstance(where, dict):
        raise InvalidValueError(
            field=f"{key}.where",
            value=where,
            bound="must be columns and values",
            remedy='write e.g. {policy = "jsq"}',
        )
    for column in (asked.get("column"), *where):
        if column not in rows[0]:
            near = ", ".join(nearest_names(str(column or ""), rows[0]))
            raise MissingFactError(
                fact=f"{key}: column {column or 'to read'}",
                subject=str(asked["file"]),
                remedy=f"the nearest are {near}",
            )
    found = [row for row in rows if all(_same(row[name], want) for name, want in where.items())]
    if len(found) != 1:
        wanted = ", ".join(f"{name} = {want}" for name, want in where.items()) or "anything"
        raise MissingFactError(
            fact=f"{key}: the one row with {wanted}",
            subject=str(asked["file"]),
            remedy=f"{len(found)} rows match: change where until one does",
        )
    return found[0][asked["column"]]


def _same(cell: str, wanted: Any) -> bool:
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        try:
            return float(cell) == wanted
        except ValueError:
            return False
    return cell == str(wanted).strip()


def _with_unit(value: Any, asked: Mapping[str, Any], *, key: str) -> str:
    unit = asked.get("unit", "")
    if not isinstance(unit, str):
        raise InvalidValueError(
            field=f"{key}.unit", value=unit, bound="must be a text", remedy='write e.g. "ms"'
        )
    usable = isinstance(value, (int, float)) and not isinstance(value, bool)
    if isinstance(value, str) and value.strip():
        usable = True
    if not usable or (isinstance(value, float) and not math.isfinite(value)):
        raise InvalidValueError(
            field=f"{key} of {asked['file']}",
            value=value,
            bound="is no finite number",
            remedy="name the field or column that holds the measured number",
        )
    text = value.strip() if isinstance(value, str) else repr(value)
    return f"{text} {unit}".strip()
