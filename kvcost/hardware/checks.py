"""Checks that the specs of this layer share."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from kvcost.errors import InvalidValueError

__all__ = ["MAX_BANDWIDTH", "MAX_BYTES", "MAX_FLOPS", "MAX_SECONDS", "text", "whole"]

MAX_BANDWIDTH = 1e17
"""Bytes a second above which a bandwidth is a slip of units."""

MAX_BYTES = 1e18
"""Bytes above which a capacity is a slip of units."""

MAX_FLOPS = 1e19
"""FLOP a second above which one accelerator's peak is a slip of units."""

MAX_SECONDS = 86_400.0
"""Seconds above which a fixed time is a slip of units."""


def whole(value: object, *, field: str, low: int = 1, high: int = 1_000_000) -> int:
    """Return a whole number within its bounds.

    Parameters
    ----------
    value : object
        What was given; a float counts if it is whole.
    field : str
        Name for the message.
    low, high : int
        Bounds, included.

    Returns
    -------
    int
        The number.

    Raises
    ------
    InvalidValueError
        If it is no whole number, or out of bounds.
    """
    number: int | None = None
    if isinstance(value, float) and value == value // 1:
        number = int(value)
    if isinstance(value, Integral) and not isinstance(value, bool):
        number = int(value)
    if number is None or not low <= number <= high:
        raise InvalidValueError(
            field=field,
            value=value,
            bound=f"must be a whole number from {low} to {high}",
            remedy=f"write a count such as {max(low, 1)}",
        )
    return number


def text(value: Any, *, field: str) -> str:
    """Return a text that is not empty.

    Raises
    ------
    InvalidValueError
        If it is none, or empty.
    """
    if not isinstance(value, str) or not value.strip():
        raise InvalidValueError(
            field=field,
            value=value,
            bound="must be a text that is not empty",
            remedy="write a name",
        )
    return value
