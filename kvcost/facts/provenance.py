"""How well a number is known, and the weakest of several."""

from __future__ import annotations

import datetime
import enum
import functools
import math
from dataclasses import dataclass
from typing import Protocol

from kvcost.errors import InvalidValueError

__all__ = ["Fact", "HasProvenance", "Provenance", "weakest"]


@functools.total_ordering
class Provenance(enum.Enum):
    """How a number came to be known; weaker compares lower.

    Notes
    -----
    A result carries the weakest provenance of its inputs, so a computed number has no grade of its
    own. A model's published ``config.json`` is its maker's statement and counts as a data sheet;
    the same geometry confirmed by an engine's log counts as measured.

    Examples
    --------
    >>> Provenance.ASSUMED < Provenance.DATA_SHEET < Provenance.MEASURED
    True
    >>> str(Provenance("data sheet"))
    'data sheet'
    """

    ASSUMED = "assumed"
    DATA_SHEET = "data sheet"
    MEASURED = "measured"

    def __lt__(self, other: object) -> bool:
        if not isinstance(other, Provenance):
            return NotImplemented
        order = list(Provenance)
        return order.index(self) < order.index(other)

    def __str__(self) -> str:
        return self.value


class HasProvenance(Protocol):
    """Anything with a ``provenance`` attribute: a fact, a spec, a result."""

    @property
    def provenance(self) -> Provenance:
        """How well it is known."""
        ...


def weakest(*items: Provenance | HasProvenance) -> Provenance:
    """Return the weakest provenance among grades, facts, specs and results.

    Parameters
    ----------
    *items : Provenance or object with a ``provenance`` attribute
        The inputs of a result; at least one.

    Returns
    -------
    Provenance
        The lowest grade.

    Raises
    ------
    InvalidValueError
        If there is no item.

    Examples
    --------
    >>> weakest(Provenance.MEASURED, Provenance.ASSUMED, Provenance.DATA_SHEET).value
    'assumed'
    """
    if not items:
        raise InvalidValueError(
            field="items",
            value=items,
            bound="must hold at least one input",
            remedy="pass the inputs that the result was computed from",
        )
    return min(item if isinstance(item, Provenance) else item.provenance for item in items)


@dataclass(frozen=True, kw_only=True)
class Fact:
    """A number with its unit, where it stands, when it was read there, and how it is known.

    Parameters
    ----------
    value : float
        The number, in `unit`.
    unit : str
        Base unit: ``byte``, ``byte/s``, ``FLOP/s``, ``s``, ``W``, ``ratio``, ``count``.
    source : str
        Public name or address of the source.
    date : datetime.date
        Day on which the source, or a named copy of it, was read.
    provenance : Provenance
        How the source knows it.
    note : str
        What a reader must know to use it; empty if nothing.

    Raises
    ------
    InvalidValueError
        If the value is not a finite number, or unit or source are empty.
    """

    value: float
    unit: str
    source: str
    date: datetime.date
    provenance: Provenance
    note: str = ""

    def __post_init__(self) -> None:
        bad_number = isinstance(self.value, bool) or not isinstance(self.value, int | float)
        if bad_number or not math.isfinite(self.value):
            raise InvalidValueError(
                field="value",
                value=self.value,
                bound="must be a finite number",
                remedy="state the number in base units",
            )
        for field in ("unit", "source"):
            text = getattr(self, field)
            if not isinstance(text, str) or not text.strip():
                raise InvalidValueError(
                    field=field,
                    value=text,
                    bound="must be a text that is not empty",
                    remedy=f"state the {field} of the fact",
                )
        if not isinstance(self.date, datetime.date):
            raise InvalidValueError(
                field="date",
                value=self.date,
                bound="must be a date",
                remedy="state the day on which the source was read",
            )
        object.__setattr__(self, "value", float(self.value))
        object.__setattr__(self, "provenance", Provenance(self.provenance))
