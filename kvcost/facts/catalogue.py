"""The catalogue of facts, and beside it the calibrations: looked up by kind and name.

Facts (``data/catalogue``) are what makers and standards state. Calibrations (``data/calibration``)
are what was measured, or what a study assumes in place of a measurement. They have types of their
own, and no function here puts one where the other was asked for.
"""

from __future__ import annotations

import functools
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kvcost.errors import ConfigError, MissingFactError, UnknownNameError, nearest_names
from kvcost.facts.paths import data_path
from kvcost.facts.provenance import Fact, Provenance, weakest

if TYPE_CHECKING:
    import datetime
    from collections.abc import Mapping

__all__ = ["Calibration", "Entry", "FactRow", "get", "kinds", "names", "rows"]

_FOLDERS = ("catalogue", "calibration")
_RESERVED = frozenset({"title", "aliases", "notes", "source", "provenance"})


@dataclass(frozen=True, kw_only=True)
class Calibration(Fact):
    """A number that was measured, or that a study assumes where none was measured.

    Parameters are those of `Fact`. The type is separate so that a peak is never mistaken for what
    is achieved.
    """


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One named thing of the catalogue or of the calibrations, with its facts.

    Parameters
    ----------
    kind : str
        ``accelerator``, ``link``, ``tier``, ``store``, ``link efficiency`` or ``efficiency``.
    name : str
        The name it is looked up by.
    title : str
        What it is, for people.
    aliases : tuple of str
        Other names that find it.
    facts : mapping of str to Fact
        The numbers, by name; of type `Calibration` where they were not stated by a maker.
    attributes : mapping of str to str or bool
        What is no number: the set a tier belongs to, the line rate an efficiency refers to.
    notes : tuple of str
        Where sources disagree, and what was chosen.
    """

    kind: str
    name: str
    title: str
    aliases: tuple[str, ...] = ()
    facts: Mapping[str, Fact] = field(default_factory=dict)
    attributes: Mapping[str, str | bool] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def provenance(self) -> Provenance:
        """The weakest provenance among its facts."""
        return weakest(*self.facts.values())

    def fact(self, name: str) -> Fact:
        """Return the fact `name`.

        Raises
        ------
        MissingFactError
            If nobody has stated it.
        """
        if name not in self.facts:
            raise MissingFactError(
                fact=name,
                subject=f"{self.kind} {self.name}",
                remedy=f"give it yourself; known are {', '.join(self.facts)}",
            )
        return self.facts[name]

    def value(self, name: str) -> float:
        """Return the number of the fact `name`, in its base unit."""
        return self.fact(name).value


@dataclass(frozen=True, kw_only=True)
class FactRow:
    """One fact with what it is a fact of, as listed by ``kvcost facts``."""

    kind: str
    name: str
    title: str
    fact: str
    value: float
    unit: str
    provenance: Provenance
    source: str
    date: datetime.date
    note: str


def kinds() -> tuple[str, ...]:
    """Return the kinds of things that have facts.

    Examples
    --------
    >>> kinds()
    ('accelerator', 'link', 'tier', 'efficiency', 'link efficiency', 'store')
    """
    return tuple(_catalogue())


def names(kind: str) -> tuple[str, ...]:
    """Return the names of one kind, in catalogue order, without aliases.

    Raises
    ------
    UnknownNameError
        If there is no such kind; the nearest are listed.

    Examples
    --------
    >>> names("accelerator")[:2]
    ('a100-40gb-sxm', 'a100-80gb-sxm')
    """
    return tuple(_of_kind(kind))


def get(kind: str, name: str) -> Entry:
    """Return the entry that `name` or one of its aliases finds; case does not matter.

    Parameters
    ----------
    kind : str
        One of `kinds`.
    name : str
        A name or an alias.

    Returns
    -------
    Entry
        The entry with its facts.

    Raises
    ------
    UnknownNameError
        If there is no such kind or name; the nearest three are listed.

    Examples
    --------
    >>> get("accelerator", "H100").name
    'h100-sxm'
    >>> get("store", "valkey").value("bandwidth")
    1710000000.0
    """
    entries = _of_kind(kind)
    found: dict[str, Entry] = {}
    for entry in entries.values():
        for key in (entry.name, *entry.aliases):
            found[_key(key)] = entry
    if isinstance(name, str) and _key(name) in found:
        return found[_key(name)]
    raise UnknownNameError(
        kind=kind,
        name=str(name),
        nearest=nearest_names(str(name), found),
        remedy=f"see kvcost facts list {kind}" if " " not in kind else "see kvcost facts list",
    )


def rows(kind: str | None = None, name: str | None = None) -> tuple[FactRow, ...]:
    """Return every fact as a row: of all kinds, of one kind, or of one entry.

    Parameters
    ----------
    kind : str, optional
        One of `kinds`; all if not given.
    name : str, optional
        A name of that kind; all if not given. Needs `kind`.

    Returns
    -------
    tuple of FactRow
        In catalogue order.

    Examples
    --------
    >>> [row.fact for row in rows("accelerator", "l40")][:2]
    ['peak_flops_bf16', 'peak_flops_fp8']
    """
    if kind is not None and name is not None:
        entries = [get(kind, name)]
    else:
        wanted = kinds() if kind is None else (kind,)
        entries = [entry for each in wanted for entry in _of_kind(each).values()]
    return tuple(
        FactRow(
            kind=entry.kind,
            name=entry.name,
            title=entry.title,
            fact=label,
            value=fact.value,
            unit=fact.unit,
            provenance=fact.provenance,
            source=fact.source,
            date=fact.date,
            note=fact.note,
        )
        for entry in entries
        for label, fact in entry.facts.items()
    )


def _key(name: str) -> str:
    return name.strip().lower().replace("_", "-").replace(" ", "-")


def _of_kind(kind: str) -> Mapping[str, Entry]:
    catalogue = _catalogue()
    if kind not in catalogue:
        raise UnknownNameError(
            kind="kind of fact",
            name=str(kind),
            nearest=nearest_names(str(kind), catalogue),
            remedy="see kvcost facts list",
        )
    return catalogue[kind]


@functools.cache
def _catalogue() -> Mapping[str, Mapping[str, Entry]]:
    found: dict[str, dict[str, Entry]] = {}
    for folder in _FOLDERS:
        for path in sorted(data_path(folder).glob("*.toml")):
            label = f"data/{folder}/{path.name}"
            try:
                table = tomllib.loads(path.read_text(encoding="utf-8"))
                kind, entries = _read_table(table, fact_type=_fact_type(folder))
            except (tomllib.TOMLDecodeError, KeyError, TypeError, ValueError) as error:
                raise ConfigError(
                    path=label,
                    problem=f"not a catalogue file ({error})",
                    remedy="install kvcost again, or mend the file",
                ) from error
            found.setdefault(kind, {}).update(entries)
    return found


def _fact_type(folder: str) -> type[Fact]:
    return Calibration if folder == "calibration" else Fact


def _read_table(table: dict[str, Any], *, fact_type: type[Fact]) -> tuple[str, dict[str, Entry]]:
    entries = {
        name: _read_entry(table, name=name, raw=raw, fact_type=fact_type)
        for name, raw in table["entries"].items()
    }
    return table["kind"], entries


def _read_entry(
    table: dict[str, Any], *, name: str, raw: dict[str, Any], fact_type: type[Fact]
) -> Entry:
    units, sources = table["units"], table["sources"]
    facts: dict[str, Fact] = {}
    attributes: dict[str, str | bool] = {}
    for label, stated in raw.items():
        if label in _RESERVED:
            continue
        if isinstance(stated, str | bool):
            attributes[label] = stated
            continue
        parts = stated if isinstance(stated, dict) else {"value": stated}
        source = sources[parts.get("source", raw["source"])]
        grade = parts.get("provenance", raw.get("provenance", table["provenance"]))
        facts[label] = fact_type(
            value=parts["value"],
            unit=units[label],
            source=_cite(source),
            date=source["date"],
            provenance=Provenance(grade),
            note=parts.get("note", ""),
        )
    return Entry(
        kind=table["kind"],
        name=name,
        title=raw["title"],
        aliases=tuple(raw.get("aliases", ())),
        facts=facts,
        attributes=attributes,
        notes=tuple(raw.get("notes", ())),
    )


def _cite(source: dict[str, Any]) -> str:
    text = f"{source['name']}, {source['address']}"
    return f"{text} (read at {source['via']})" if "via" in source else text
