"""The kinds of budgets: one module of this package each, found by its name.

A kind is a module with ``SUMMARY`` (one line), ``KEYS`` (the keys that its budgets may have) and
``read(table)``, which validates a budget and returns the function that judges it.
"""

from __future__ import annotations

import pkgutil
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from kvcost.errors import UnknownNameError, nearest_names

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.checks.outcome import Outcome
    from kvcost.checks.table import Table

__all__ = ["Kind", "kind", "kinds"]


class Kind(Protocol):
    """What a module of this package holds."""

    SUMMARY: str
    KEYS: frozenset[str]

    def read(self, table: Table) -> Callable[[], Outcome]:
        """Return the function that judges the budget of a table.

        Raises
        ------
        KvcostError
            If a key is missing or wrong.
        """
        ...


@cache
def kinds() -> tuple[str, ...]:
    """Return the names of the kinds of budgets.

    Examples
    --------
    >>> "bandwidth" in kinds()
    True
    """
    return tuple(sorted(module.name for module in pkgutil.iter_modules(__path__)))


def kind(name: str) -> Kind:
    """Return a kind of budgets.

    Parameters
    ----------
    name : str
        One of `kinds`.

    Returns
    -------
    Kind
        Its module.

    Raises
    ------
    UnknownNameError
        If there is none of the name; the nearest are listed.
    """
    if name not in kinds():
        raise UnknownNameError(
            kind="kind",
            name=name,
            nearest=nearest_names(name, kinds()),
            remedy=f"use one of {', '.join(kinds())}",
        )
    return cast("Kind", import_module(f"{__name__}.{name}"))
