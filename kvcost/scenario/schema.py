"""One schema for Python and TOML: tables are dataclasses whose entries know how they are read."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any, Self

from kvcost.errors import InvalidValueError, MissingFactError, UnknownNameError, nearest_names
from kvcost.units import parse_bytes, parse_rate, parse_ratio, parse_seconds, parse_tokens

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Part",
    "bandwidth",
    "choice",
    "count",
    "flag",
    "number",
    "ratio",
    "seconds",
    "size",
    "text",
    "tokens",
]

_MISSING: Any = dataclasses.MISSING
_MOST = 10**12


def _entry(read: Callable[[Any, str], Any], default: Any, doc: str) -> Any:
    metadata = {"read": read, "doc": doc}
    if default is _MISSING:
        return dataclasses.field(metadata=metadata)
    return dataclasses.field(default=default, metadata=metadata)


def tokens(doc: str, default: Any = _MISSING, *, zero: bool = False) -> Any:
    """Return an entry that counts tokens."""

    def read(value: Any, field: str) -> int:
        none = zero and isinstance(value, int | float) and not isinstance(value, bool)
        return 0 if none and value == 0 else int(parse_tokens(value, field=field))

    return _entry(read, default, doc)


def seconds(doc: str, default: Any = _MISSING, *, zero: bool = True) -> Any:
    """Return an entry that is a time; a bare number is in seconds."""

    def read(value: Any, field: str) -> float:
        return float(parse_seconds(value, field=field, allow_zero=zero))

    return _entry(read, default, doc)


def bandwidth(doc: str, default: Any = _MISSING) -> Any:
    """Return an entry that is a rate of bytes."""
    return _entry(lambda value, field: float(parse_rate(value, field=field)), default, doc)


def size(doc: str, default: Any = _MISSING) -> Any:
    """Return an entry that is an amount of memory; ``inf`` stands for no limit."""

    def read(value: Any, field: str) -> float:
        if isinstance(value, str | float) and value in {"inf", math.inf}:
            return math.inf
        return float(parse_bytes(value, field=field, allow_zero=True))

    return _entry(read, default, doc)


def ratio(doc: str, default: Any = _MISSING) -> Any:
    """Return an entry that is a share above 0 and up to 1."""
    return _entry(lambda value, field: float(parse_ratio(value, field=field)), default, doc)


def count(doc: str, default: Any = _MISSING, *, low: int = 1, high: int = _MOST) -> Any:
    """Return an entry that counts something."""

    def read(value: Any, field: str) -> int:
        whole = isinstance(value, int | float) and not isinstance(value, bool)
        if not whole or value != value // 1 or not low <= value <= high:
            raise InvalidValueError(
                field=field,
                value=value,
                bound=f"must be a whole number from {low:,} to {high:,}",
                remedy=f"use e.g. {max(low, 1)}",
            )
        return int(value)

    return _entry(read, default, doc)


def number(
    doc: str,
    default: Any = _MISSING,
    *,
    above: float = 0.0,
    below: float = math.inf,
    zero: bool = False,
) -> Any:
    """Return an entry that is a finite number between bounds, or at the lower where `zero` says."""

    def read(value: Any, field: str) -> float:
        real = isinstance(value, int | float) and not isinstance(value, bool)
        low = real and (value > above or (zero and value == above))
        if not low or not value < below:
            least = "at least" if zero else "above"
            most = f" and below {below:g}" if math.isfinite(below) else ""
            raise InvalidValueError(
                field=field,
                value=value,
                bound=f"must be a finite number {least} {above:g}{most}",
                remedy="write it without a unit",
            )
        return float(value)

    return _entry(read, default, doc)


def text(doc: str, default: Any = _MISSING) -> Any:
    """Return an entry that is a text."""

    def read(value: Any, field: str) -> str:
        if not isinstance(value, str) or len(value) > 10_000:
            raise InvalidValueError(
                field=field, value=value, bound="must be a text", remedy="write it in quotes"
            )
        return value

    return _entry(read, default, doc)


def flag(doc: str, default: Any = _MISSING) -> Any:
    """Return an entry that is true or false."""

    def read(value: Any, field: str) -> bool:
        if not isinstance(value, bool):
            raise InvalidValueError(
                field=field,
                value=value,
                bound="must be true or false",
                remedy="write true or false",
            )
        return value

    return _entry(read, default, doc)


def choice(doc: str, known: tuple[str, ...], default: Any = _MISSING) -> Any:
    """Return an entry that is one of some words."""

    def read(value: Any, field: str) -> str:
        if value not in known:
            raise InvalidValueError(
                field=field,
                value=value,
                bound="is no choice",
                remedy=f"use one of {', '.join(known)}",
            )
        return str(value)

    return _entry(read, default, doc)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Part:
    """A table of a scenario; entries are read in the same way from Python and from TOML."""

    def __post_init__(self) -> None:
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            read = entry.metadata.get("read")
            if read is not None and value is not None:
                object.__setattr__(self, entry.name, read(value, entry.name))

    @classmethod
    def from_table(cls, table: Any, *, where: str) -> Self:
        """Return the part that a TOML table describes.

        Parameters
        ----------
        table : mapping
            The table.
        where : str
            Its name, for messages.

        Returns
        -------
        Part
            Of this class.

        Raises
        ------
        UnknownNameError
            If a key is no entry of the part.
        MissingFactError
            If an entry without a default is missing.
        InvalidValueError
            If an entry is of the wrong kind or out of range.
        """
        rows: Mapping[str, Any] = _mapping(table, where)
        known = {entry.name: entry for entry in dataclasses.fields(cls)}
        for key in rows:
            if key not in known:
                raise UnknownNameError(
                    kind=f"key of [{where}]",
                    name=key,
                    nearest=nearest_names(key, known),
                    remedy=f"its keys are {', '.join(known)}",
                )
        for name, entry in known.items():
            needed = entry.default is _MISSING and entry.default_factory is _MISSING
            if needed and name not in rows:
                raise MissingFactError(
                    fact=f"{name} ({entry.metadata['doc']})",
                    subject=f"[{where}]",
                    remedy=f"add {name} to [{where}]",
                )
        read = {
            key: known[key].metadata["read"](value, f"{where}.{key}") for key, value in rows.items()
        }
        return cls(**read)

    def to_table(self) -> dict[str, Any]:
        """Return the entries that differ from their defaults, in base units."""
        table = {}
        for entry in dataclasses.fields(self):
            value = getattr(self, entry.name)
            if value is not None and value != entry.default:
                table[entry.name] = value
        return table


def _mapping(table: Any, where: str) -> Mapping[str, Any]:
    if isinstance(table, dict):
        return table
    raise InvalidValueError(
        field=where, value=table, bound="must be a table", remedy=f"write [{where}] and its keys"
    )
