"""Checks of what a caller gives to a workload."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["choice", "column", "number", "source", "whole"]

_MOST = 2**62


def whole(field: str, value: object, *, low: int = 0, high: int = _MOST) -> int:
    """Return a whole number from `low` to `high`; a float counts if it is whole.

    Raises
    ------
    InvalidValueError
        If it is no whole number, or out of bounds.
    """
    count = isinstance(value, Integral) or (isinstance(value, float) and value.is_integer())
    found: int | None = int(value) if count else None  # type: ignore[call-overload]
    if isinstance(value, bool) or found is None or not low <= found <= high:
        most = f" and at most {high:,}" if high < _MOST else ""
        raise InvalidValueError(
            field=field,
            value=value,
            bound=f"must be a whole number of at least {low}{most}",
            remedy="give a count",
        )
    return found


def number(field: str, value: object, *, unit: str, above: float | None = None) -> float:
    """Return a finite number; at least 0, or above `above` where that is given.

    Raises
    ------
    InvalidValueError
        If it is no finite number, or out of bounds.
    """
    real = isinstance(value, Real) and not isinstance(value, bool)
    found = float(value) if real else math.nan  # type: ignore[arg-type]
    fine = math.isfinite(found) and (found >= 0 if above is None else found > above)
    if not fine:
        bound = "must not be below 0" if above is None else f"must be above {above:g}"
        raise InvalidValueError(
            field=field, value=value, bound=f"{bound} {unit}", remedy="give a finite number"
        )
    return found


def choice(field: str, value: object, known: tuple[str, ...]) -> str:
    """Return a text that must be one of `known`.

    Raises
    ------
    InvalidValueError
        If it is none of them.
    """
    if isinstance(value, str) and value in known:
        return value
    raise InvalidValueError(
        field=field,
        value=value,
        bound=f"must be one of {', '.join(known)}",
        remedy=f"write {known[0]}",
    )


def source(rng: np.random.Generator | int) -> np.random.Generator:
    """Return a generator of random numbers: the one given, or one with this seed.

    Raises
    ------
    InvalidValueError
        If it is neither a generator nor a seed.
    """
    if isinstance(rng, np.random.Generator):
        return rng
    return np.random.default_rng(whole("rng", rng))


def column(field: str, values: Any, *, kind: type, size: int | None = None) -> NDArray[Any]:
    """Return a read-only array of one dimension.

    Raises
    ------
    InvalidValueError
        If it has another shape or size, or holds no numbers that the kind can hold exactly.
    """
    array = np.asarray(values)
    if array.ndim != 1 or (size is not None and array.size != size):
        wanted = "one row" if size is None else f"one row of {size}"
        raise InvalidValueError(
            field=field,
            value=f"array of shape {array.shape}",
            bound=f"must be {wanted}",
            remedy="give one entry a request",
        )
    if array.dtype != kind:
        if array.size == 0:
            array = array.astype(kind)
        exact = array.dtype.kind in "iu" or (array.dtype.kind == "f" and _exact(array, kind))
        if not exact:
            raise InvalidValueError(
                field=field,
                value=f"array of {array.dtype}",
                bound="must hold whole numbers" if kind is np.int64 else "must hold numbers",
                remedy=f"convert it to {np.dtype(kind)}",
            )
        array = array.astype(kind)
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def _exact(array: NDArray[Any], kind: type) -> bool:
    return kind is np.float64 or bool(np.all(array == np.floor(array)))
