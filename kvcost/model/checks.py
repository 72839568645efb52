"""Checks of numbers that a user gives."""

from __future__ import annotations

import math
from numbers import Integral
from typing import Any

from kvcost.errors import InvalidValueError

__all__ = ["checked_choice", "checked_number", "checked_whole"]


def checked_whole(value: Any, *, field: str, low: int, high: int, remedy: str) -> int:
    """Return `value` if it is a whole number from `low` to `high`.

    Parameters
    ----------
    value : object
        What was given.
    field : str
        Name of the parameter.
    low, high : int
        Bounds, both allowed.
    remedy : str
        What to do instead.

    Returns
    -------
    int
        The value.

    Raises
    ------
    InvalidValueError
        If it is anything else; ``True`` and ``3.0`` are no whole numbers.

    Examples
    --------
    >>> checked_whole(8, field="tp", low=1, high=64, remedy="give the ranks")
    8
    """
    if isinstance(value, Integral) and not isinstance(value, bool) and low <= int(value) <= high:
        return int(value)
    raise InvalidValueError(
        field=field,
        value=value,
        bound=f"must be a whole number from {low:,} to {high:,}",
        remedy=remedy,
    )


def checked_number(value: Any, *, field: str, low: float, high: float, remedy: str) -> float:
    """Return `value` as a float if it is a finite number from `low` to `high`.

    Parameters
    ----------
    value : object
        What was given.
    field : str
        Name of the parameter.
    low, high : float
        Bounds, both allowed.
    remedy : str
        What to do instead.

    Returns
    -------
    float
        The value.

    Raises
    ------
    InvalidValueError
        If it is anything else.

    Examples
    --------
    >>> checked_number(2, field="group_scale_bytes", low=0, high=64, remedy="give bytes")
    2.0
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if number and math.isfinite(value) and low <= value <= high:
        return float(value)
    raise InvalidValueError(
        field=field,
        value=value,
        bound=f"must be a number from {low:,g} to {high:,g}",
        remedy=remedy,
    )


def checked_choice(value: Any, *, field: str, choices: tuple[str, ...]) -> str:
    """Return `value` if it is one of `choices`.

    Parameters
    ----------
    value : object
        What was given.
    field : str
        Name of the parameter.
    choices : tuple of str
        The words that are allowed.

    Returns
    -------
    str
        The value.

    Raises
    ------
    InvalidValueError
        If it is anything else.

    Examples
    --------
    >>> checked_choice("vllm", field="layout", choices=("logical", "vllm"))
    'vllm'
    """
    if isinstance(value, str) and value in choices:
        return value
    raise InvalidValueError(
        field=field,
        value=value,
        bound=f"must be one of {', '.join(choices)}",
        remedy="use one of these words",
    )
