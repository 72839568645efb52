"""Budgets out of a TOML file: every one is validated before any is judged."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kvcost.checks.kinds import kind, kinds
from kvcost.checks.measured import Files
from kvcost.checks.outcome import Budget, BudgetError
from kvcost.checks.table import Table
from kvcost.errors import ConfigError, InvalidValueError, KvcostError, nearest_names

__all__ = ["BudgetFile", "read_budgets"]

PYPROJECT = "pyproject.toml"

_MOST_BYTES = 4 << 20
_LONGEST_NAME = 120
_COMMON = frozenset({"name", "kind", "note"})
_HEADER = re.compile(r"^\s*\[\[\s*(?:tool\s*\.\s*kvcost\s*\.\s*)?budget\s*\]\]", re.MULTILINE)
_REMEDY = "write [[budget]] tables, in pyproject.toml [[tool.kvcost.budget]]"
_LIBRARY_WORDS = {
    "active_engines": "engines",
    "chunk_tokens": "chunk",
    "overhead_seconds": "overhead",
    "per_key_seconds": "per_key",
    "store_bandwidth": "bandwidth",
}
"""What the library's arguments are called in a budget."""


@dataclass(frozen=True, kw_only=True)
class BudgetFile:
    """The budgets of a file.

    Attributes
    ----------
    path : str
        The file, as it was named.
    budgets : tuple of Budget
        Those that can be judged.
    errors : tuple of BudgetError
        What is wrong with the others.
    """

    path: str
    budgets: tuple[Budget, ...]
    errors: tuple[BudgetError, ...]


def read_budgets(path: str | Path, *, shown: str | None = None) -> BudgetFile:
    """Return the budgets of a file, each validated with the files that it names.

    Parameters
    ----------
    path : str or pathlib.Path
        A TOML file with ``[[budget]]`` tables, or a ``pyproject.toml`` with
        ``[[tool.kvcost.budget]]``.
    shown : str, optional
        What messages call the file; `path` if not given.

    Returns
    -------
    BudgetFile
        The budgets, and what is wrong with those that cannot be judged.

    Raises
    ------
    ConfigError
        If the file cannot be read, or has no budgets.

    Examples
    --------
    >>> from kvcost.facts import data_path
    >>> found = read_budgets(data_path("examples", "budgets.toml"))
    >>> found.errors, found.budgets[0].judge().met
    ((), True)
    """
    file = Path(path)
    name = str(path) if shown is None else shown
    text = _text(file, name)
    tables = _tables(file, name, text)
    if not tables:
        raise ConfigError(path=name, problem="holds no budget", remedy=_REMEDY)
    lines = _lines(text, len(tables))
    files = Files(folder=file.parent)
    budgets: list[Budget] = []
    errors: list[BudgetError] = []
    taken: dict[str, int] = {}
    for number, (table, line) in enumerate(zip(tables, lines, strict=True), start=1):
        called = table.get("name") if isinstance(table, dict) else None
        named = str(called) if _is_name(called) else ""
        first = taken.setdefault(named, number) if named else number
        try:
            if first != number:
                raise InvalidValueError(
                    field="name",
                    value=named,
                    bound=f"is that of budget {first} too",
                    remedy="give each budget a name of its own",
                )
            budget = _budget(table, number=number, line=line, files=files)
            budgets.append(budget)
        except KvcostError as error:
            errors.append(
                BudgetError(
                    path=name,
                    line=line,
                    number=number,
                    name=named,
                    problem=_in_keys(str(error)),
                )
            )
    return BudgetFile(path=name, budgets=tuple(budgets), errors=tuple(errors))


def _in_keys(text: str) -> str:
    for word, key in _LIBRARY_WORDS.items():
        text = re.sub(rf"(?<!\w){word}(?!\w)", key, text)
    return " ".join(text.split())


def _text(file: Path, name: str) -> str:
    try:
        if file.stat().st_size > _MOST_BYTES:
            raise ConfigError(path=name, problem="is larger than 4 MiB", remedy="split it")
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        problem = error.strerror or "cannot be read"
        raise ConfigError(path=name, problem=problem, remedy="name a budgets file") from None
    except UnicodeDecodeError:
        raise ConfigError(path=name, problem="is not UTF-8 text", remedy=_REMEDY) from None


def _tables(file: Path, name: str, text: str) -> list[Any]:
    try:
        content: Any = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        problem = f"is not TOML ({' '.join(str(error).split())[:120]})"
        raise ConfigError(path=name, problem=problem, remedy=_REMEDY) from None
    if file.name == PYPROJECT:
        tool = content.get("tool", {})
        content = tool.get("kvcost", {}) if isinstance(tool, dict) else {}
    known = ("budget", "title")
    unknown = [key for key in content if key not in known] if isinstance(content, dict) else ["?"]
    if unknown:
        near = nearest_names(unknown[0], known, count=1)[0]
        raise ConfigError(
            path=name, problem=f"unknown key {unknown[0]!r}", remedy=f"the nearest is {near}"
        )
    tables = content.get("budget", [])
    if not isinstance(tables, list):
        raise ConfigError(path=name, problem="budget is no list of tables", remedy=_REMEDY)
    return tables


def _lines(text: str, count: int) -> list[int]:
    """Return the line of each table, or 1 where the tables are written another way."""
    starts = [found.end() for found in _HEADER.finditer(text)]
    if len(starts) != count:
        return [1] * count
    return [text.count("\n", 0, start) + 1 for start in starts]


def _is_name(name: Any) -> bool:
    return (
        isinstance(name, str)
        and name.isprintable()
        and name == name.strip() != ""
        and len(name) <= _LONGEST_NAME
        and "::" not in name
    )


def _budget(values: Any, *, number: int, line: int, files: Files) -> Budget:
    if not isinstance(values, dict):
        raise InvalidValueError(field="budget", value=values, bound="is no table", remedy=_REMEDY)
    table = Table(values, files=files)
    table.need("name", example='"store-bandwidth"')
    table.need("kind", example=f'"bandwidth"; the kinds are {", ".join(kinds())}')
    name = values["name"]
    if not _is_name(name):
        raise InvalidValueError(
            field="name",
            value=name,
            bound=f"must be a text of at most {_LONGEST_NAME} printable characters without ::",
            remedy='write e.g. name = "store-bandwidth"',
        )
    called = str(table.text("kind"))
    found = kind(called)
    table.use(_COMMON)
    table.refuse_unknown(_COMMON | found.KEYS)
    note = table.text("note") or ""
    judge = found.read(table)
    table.refuse_unused()
    return Budget(name=name, kind=called, number=number, line=line, judge=judge, note=note)
