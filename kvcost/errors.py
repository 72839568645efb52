"""What can go wrong, as types with fields.

Every failure that a user can cause is a `KvcostError`. Its message is one line that names the
field, the value, the bound that was missed and the remedy; the same facts stand in attributes, so
that a caller need not read the text.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "CapacityError",
    "ConfigError",
    "FormulaError",
    "InvalidValueError",
    "KvcostError",
    "MissingFactError",
    "NotExpressibleError",
    "UnitError",
    "UnknownNameError",
    "UnstableError",
    "UnsupportedModelError",
    "nearest_names",
]

_SHOWN_VALUE_LENGTH = 80


class KvcostError(Exception):
    """Base of every error that kvcost raises on purpose.

    Subclasses take keyword fields, keep them as attributes, and build the message from them.
    """

    def __init__(self, **fields: Any) -> None:
        self._fields = fields
        for name, value in fields.items():
            setattr(self, name, value)
        super().__init__(self.message())

    def message(self) -> str:
        """Return the one-line text of the error."""
        raise TypeError(f"{type(self).__name__} must define message()")

    def __reduce__(self) -> tuple[Any, ...]:
        return (_rebuild, (type(self), self._fields))


def _rebuild(kind: type[KvcostError], fields: dict[str, Any]) -> KvcostError:
    return kind(**fields)


def _shown(value: object) -> str:
    text = value if isinstance(value, str) and value.strip() else repr(value)
    text = " ".join(text.split())
    return text if len(text) <= _SHOWN_VALUE_LENGTH else text[: _SHOWN_VALUE_LENGTH - 3] + "..."


class InvalidValueError(KvcostError, ValueError):
    """A value outside what its field allows.

    Attributes
    ----------
    field : str
        Name of the parameter, flag or entry.
    value : object
        What was given.
    bound : str
        What is allowed, as the rest of a sentence: ``must be above 0 tokens``.
    remedy : str
        What to do instead.
    """

    field: str
    value: object
    bound: str
    remedy: str

    def __init__(self, *, field: str, value: object, bound: str, remedy: str) -> None:
        super().__init__(field=field, value=value, bound=bound, remedy=remedy)

    def message(self) -> str:
        """Return the one-line text of the error."""
        return f"{self.field} {_shown(self.value)} {self.bound}: {self.remedy}"


class UnitError(InvalidValueError):
    """A quantity whose unit is missing, unknown or of another dimension."""


class UnknownNameError(KvcostError, LookupError):
    """A name that a catalogue does not hold; the nearest known names are listed.

    Attributes
    ----------
    kind : str
        What was looked up: ``model``, ``accelerator``, ``link``.
    name : str
        The name asked for.
    nearest : tuple of str
        At most three known names, best first.
    remedy : str
        How to see the names that exist.
    """

    kind: str
    name: str
    nearest: tuple[str, ...]
    remedy: str

    def __init__(self, *, kind: str, name: str, nearest: Iterable[str], remedy: str) -> None:
        super().__init__(kind=kind, name=name, nearest=tuple(nearest), remedy=remedy)

    def message(self) -> str:
        """Return the one-line text of the error."""
        near = f"the nearest are {', '.join(self.nearest)}" if self.nearest else "nothing is near"
        return f"{self.kind} {_shown(self.name)!r} is not known; {near}: {self.remedy}"


class MissingFactError(KvcostError):
    """A fact that the answer needs and nobody has stated.

    Attributes
    ----------
    fact : str
        The fact that is missing.
    subject : str
        What it is a fact of.
    remedy : str
        How to supply it.
    """

    fact: str
    subject: str
    remedy: str

    def __init__(self, *, fact: str, subject: str, remedy: str) -> None:
        super().__init__(fact=fact, subject=subject, remedy=remedy)

    def message(self) -> str:
        """Return the one-line text of the error."""
        return f"{self.fact} of {self.subject} is not known: {self.remedy}"


class ConfigError(KvcostError, ValueError):
    """A file that cannot be read as what it should be (missing, empty, malformed, too large).

    Attributes
    ----------
    path : str
        The file.
    problem : str
        What is wrong with it.
    remedy : str
        What to do instead.
    """

    path: str
    problem: str
    remedy: str

    def __init__(self, *, path: str, problem: str, remedy: str) -> None:
        super().__init__(path=path, problem=problem, remedy=remedy)

    def message(self) -> str:
        """Return the one-line text of the error."""
        return f"{self.path}: {self.problem}: {self.remedy}"


class UnsupportedModelError(KvcostError):
    """A model configuration whose KV geometry was not understood.

    Attributes
    ----------
    architecture : str
        The ``model_type`` or architecture name of the configuration.
    fields : tuple of str
        The configuration fields that were not understood.
    remedy : str
        What to do instead.
    """

    architecture: str
    fields: tuple[str, ...]
    remedy: str

    def __init__(self, *, architecture: str, fields: Iterable[str], remedy: str) -> None:
        super().__init__(architecture=architecture, fields=tuple(fields), remedy=remedy)

    def message(self) -> str:
        """Return the one-line text of the error."""
        shown = ", ".join(self.fields) if self.fields else "the architecture itself"
        return (
            f"model architecture {_shown(self.architecture)!r} is not understood "
            f"(not understood: {shown}): {self.remedy}"
        )


class CapacityError(KvcostError):
    """Something that does not fit where it should go.

    Attributes
    ----------
    what : str
        What has to fit, with its size.
    limit : str
        What there is, with its size.
    remedy : str
        What would make it fit.
    """

    what: str
    limit: str
    remedy: str

    def __init__(self, *, what: str, limit: str, remedy: str) -> None:
        super().__init__(what=what, limit=limit, remedy=remedy)

    def message(self) -> str:
        """Return the one-line text of the error."""
        return f"{self.what} exceed {self.limit}: {self.remedy}"


class UnstableError(KvcostError, ValueError):
    """More work arrives than the servers can do, so the queue grows without end.

    Attributes
    ----------
    servers : float
        Servers there are.
    offered_load : float
        Work that arrives, in servers kept busy.
    servers_needed : int
        Smallest whole number of servers that keeps up.
    short_by : float
        Servers that are missing before the queue would only stand still; 0 at exactly full load.
    """

    servers: float
    offered_load: float
    servers_needed: int

    def __init__(self, *, servers: float, offered_load: float, servers_needed: int) -> None:
        super().__init__(servers=servers, offered_load=offered_load, servers_needed=servers_needed)

    @property
    def short_by(self) -> float:
        """Servers that are missing before the queue would only stand still."""
        return max(0.0, self.offered_load - self.servers)

    def message(self) -> str:
        """Return the one-line text of the error."""
        short = f"falls short by {self.short_by:.6g} servers" if self.short_by else "is all used up"
        return (
            f"offered load {self.offered_load:.6g} on {self.servers:.6g} servers "
            f"(utilization {self.offered_load / self.servers:.6g}) must stay below their number, "
            f"capacity {short}: "
            f"use at least {self.servers_needed} servers or send less"
        )


class FormulaError(KvcostError):
    """A formula that breaks the rules of the registry (unknown symbol, units, untraceable).

    Attributes
    ----------
    formula : str
        Name of the formula.
    problem : str
        What is wrong with it.
    """

    formula: str
    problem: str

    def __init__(self, *, formula: str, problem: str) -> None:
        super().__init__(formula=formula, problem=problem)

    def message(self) -> str:
        """Return the one-line text of the error."""
        return f"formula {self.formula}: {self.problem}"


class NotExpressibleError(FormulaError):
    """A formula that the target language (sheet, Vega) has no words for."""


def nearest_names(name: str, known: Iterable[str], *, count: int = 3) -> tuple[str, ...]:
    """Return the known names most like `name`, best first.

    Parameters
    ----------
    name : str
        What was asked for; case does not matter.
    known : iterable of str
        The names that exist.
    count : int
        At most so many are returned.

    Returns
    -------
    tuple of str
        The nearest names; may be empty only if `known` is.

    Examples
    --------
    >>> nearest_names("h10", ["a100", "h100", "h200"], count=2)
    ('h100', 'h200')
    """
    lowered: dict[str, str] = {}
    for candidate in known:
        lowered.setdefault(candidate.lower(), candidate)
    matches = get_close_matches(name.lower(), lowered, n=count, cutoff=0.0)
    return tuple(lowered[match] for match in matches)
