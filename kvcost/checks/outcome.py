"""A budget, what became of it, and what is wrong with a bad one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kvcost.errors import KvcostError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Budget", "BudgetError", "Outcome", "require"]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Whether a budget is met, and why.

    Attributes
    ----------
    met : bool
        Whether it is.
    text : str
        What was found against what is allowed, and where it is missed what would help.
    value : float or None
        What was found, in `unit`; None where there is no such number.
    limit : float or None
        What is allowed, in `unit`; None where nothing would do.
    unit : str
        Base unit of both.
    notes : tuple of str
        What was assumed or left out.
    """

    met: bool
    text: str
    value: float | None
    limit: float | None
    unit: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Budget:
    """One budget of a file, read and validated.

    Attributes
    ----------
    name : str
        Its name, which no other budget of the file has.
    kind : str
        What it limits, such as ``bandwidth``.
    number : int
        Its place in the file, from 1 on.
    line : int
        Line of its table.
    judge : callable
        Returns the `Outcome`.
    note : str
        What its author says of it.
    """

    name: str
    kind: str
    number: int
    line: int
    judge: Callable[[], Outcome] = field(repr=False, compare=False)
    note: str = ""


class BudgetError(KvcostError, ValueError):
    """A budget that cannot be judged: a key that is unknown, missing or wrong.

    Attributes
    ----------
    path : str
        The file.
    line : int
        Line of the budget's table.
    number : int
        Place of the budget in the file, from 1 on.
    name : str
        Its name, as far as it has one.
    problem : str
        The key, its value, the bound and the remedy.
    """

    path: str
    line: int
    number: int
    name: str
    problem: str

    def __init__(self, *, path: str, line: int, number: int, name: str, problem: str) -> None:
        super().__init__(path=path, line=line, number=number, name=name, problem=problem)

    def message(self) -> str:
        """Return the one-line text of the error."""
        named = f" ({self.name})" if self.name else ""
        return f"{self.path}:{self.line}: budget {self.number}{named}: {self.problem}"


def require(outcome: Outcome) -> None:
    """Raise `AssertionError` with the text of a budget that is missed.

    Parameters
    ----------
    outcome : Outcome
        What was found.

    Raises
    ------
    AssertionError
        If the budget is missed.
    """
    __tracebackhide__ = True
    if not outcome.met:
        raise AssertionError(outcome.text)
