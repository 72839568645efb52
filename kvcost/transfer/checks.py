"""Checks that the specs and functions of this layer share."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from kvcost.errors import InvalidValueError

__all__ = ["amounts", "bounded"]


def bounded(value: Any, *, field: str, low: float, high: float, remedy: str) -> float:
    """Return a finite number within its bounds.

    Raises
    ------
    InvalidValueError
        If it is none.
    """
    number = isinstance(value, int | float) and not isinstance(value, bool)
    if not number or not math.isfinite(value) or not low <= value <= high:
        raise InvalidValueError(
            field=field,
            value=value,
            bound=f"must be a number from {low:g} to {high:g}",
            remedy=remedy,
        )
    return float(value)


def amounts(value: Any, *, field: str, above_zero: bool = False) -> Any:
    """Return a number or an array of numbers that are finite and not negative.

    Raises
    ------
    InvalidValueError
        If one of them is not.
    """
    array = np.asarray(value)
    kind = "above 0" if above_zero else "at least 0"
    good = array.dtype.kind in "fiu" and bool(np.all(np.isfinite(array)))
    if not good or bool(np.any(array <= 0 if above_zero else array < 0)):
        raise InvalidValueError(
            field=field,
            value=value,
            bound=f"must be a number {kind}, or an array of such",
            remedy="give it in base units",
        )
    return array.astype(float) if array.ndim else float(array)
