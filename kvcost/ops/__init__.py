"""Operations that formulas are written in.

Each works on a float, on numpy arrays (by broadcasting) and on sympy expressions, so that one plain
Python function gives numbers and can also be traced into an equation. sympy is imported only
while tracing.
"""

from __future__ import annotations

import math
from functools import reduce
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from kvcost.ops import poisson, tracing

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "SNAP",
    "Num",
    "absolute",
    "all_of",
    "any_of",
    "ceil",
    "constant",
    "equal",
    "exp",
    "expm1",
    "floor",
    "inf",
    "is_symbolic",
    "log",
    "log1p",
    "maximum",
    "minimum",
    "nan",
    "poisson_cdf",
    "poisson_pmf",
    "sqrt",
    "where",
]

Num: TypeAlias = Any
"""A float, a numpy array of floats, or (while tracing) a sympy expression."""

SNAP = 1e-9
"""`ceil` and `floor` take a value within this distance of an integer for that integer.

Spreadsheets snap near-integers by rules of their own; with a stated tolerance, wider than theirs,
Python and every sheet agree.
"""

inf = math.inf
nan = math.nan


def is_symbolic(value: object) -> bool:
    """Tell whether `value` is a sympy expression or condition.

    Parameters
    ----------
    value : object
        Anything.

    Returns
    -------
    bool
        True while a formula is being traced.
    """
    return hasattr(value, "free_symbols")


def _symbolic(name: str) -> Callable[..., Any]:
    from kvcost.ops import symbolic  # noqa: PLC0415 - sympy is loaded only while tracing

    function: Callable[..., Any] = getattr(symbolic, name)
    return function


def _is_scalar(value: object) -> bool:
    return isinstance(value, (float, int, np.bool_))


def constant(value: float, unit: str) -> Num:
    """Return a number that carries a unit into the unit check.

    Parameters
    ----------
    value : float
        The number, in base units.
    unit : str
        Its unit, such as ``token`` or ``FLOP/token``.

    Returns
    -------
    float
        `value`; while tracing, a symbol-like constant that prints as the number.

    Notes
    -----
    Adding a bare number to a dimensioned quantity fails the unit check; a constant says what is
    added.
    """
    if tracing.active:
        return _symbolic("make_constant")(value, unit)
    return float(value)


def where(condition: Any, chosen: Num, otherwise: Num) -> Num:
    """Return `chosen` where the condition holds, else `otherwise`.

    Parameters
    ----------
    condition : bool or array of bool
        A comparison, or comparisons joined by `&` and `|`.
    chosen, otherwise : float or array
        The two values; both are evaluated.

    Returns
    -------
    float or array
        The chosen values.

    Examples
    --------
    >>> where(2.0 > 1.0, 5.0, nan)
    5.0
    """
    if isinstance(condition, (bool, np.bool_)):
        return chosen if condition else otherwise
    if is_symbolic(condition) or is_symbolic(chosen) or is_symbolic(otherwise):
        return _symbolic("where")(condition, chosen, otherwise)
    return np.where(condition, chosen, otherwise)


def _joined(
    symbolic_name: str, join: Callable[[Any, Any], Any], conditions: tuple[Any, ...]
) -> Any:
    if any(is_symbolic(condition) for condition in conditions):
        return _symbolic(symbolic_name)(*conditions)
    return reduce(join, conditions)


def all_of(*conditions: Any) -> Any:
    """Return the condition that holds where all the given ones hold.

    Parameters
    ----------
    *conditions : bool or array of bool
        Comparisons.

    Returns
    -------
    bool or array of bool
        Their conjunction.
    """
    return _joined("all_of", lambda a, b: a & b, conditions)


def any_of(*conditions: Any) -> Any:
    """Return the condition that holds where any of the given ones holds.

    Parameters
    ----------
    *conditions : bool or array of bool
        Comparisons.

    Returns
    -------
    bool or array of bool
        Their disjunction.
    """
    return _joined("any_of", lambda a, b: a | b, conditions)


def equal(left: Num, right: Num) -> Any:
    """Return the condition that two values are equal (`==` would compare expressions).

    Parameters
    ----------
    left, right : float or array
        The values.

    Returns
    -------
    bool or array of bool
        Whether they are equal.
    """
    if is_symbolic(left) or is_symbolic(right):
        return _symbolic("equal")(left, right)
    return left == right


def _extreme(name: str, array: Callable[..., Any], values: tuple[Num, ...]) -> Num:
    if all(_is_scalar(value) for value in values):
        if any(math.isnan(value) for value in values):
            return nan
        return min(values) if name == "minimum" else max(values)
    if any(is_symbolic(value) for value in values):
        return _symbolic(name)(*values)
    return reduce(array, values)


def minimum(*values: Num) -> Num:
    """Return the smallest of the values, elementwise; nan where any is nan.

    Parameters
    ----------
    *values : float or array
        One value or more.

    Returns
    -------
    float or array
        The smallest.
    """
    return _extreme("minimum", np.minimum, values)


def maximum(*values: Num) -> Num:
    """Return the largest of the values, elementwise; nan where any is nan.

    Parameters
    ----------
    *values : float or array
        One value or more.

    Returns
    -------
    float or array
        The largest.
    """
    return _extreme("maximum", np.maximum, values)


def _unary(
    name: str, scalar: Callable[[float], float], array: Callable[..., Any]
) -> Callable[[Num], Num]:
    def apply(value: Num) -> Num:
        if _is_scalar(value):
            # a numpy float stays one: dividing by it follows IEEE where Python raises
            return (
                np.float64(scalar(float(value)))
                if isinstance(value, np.floating)
                else scalar(value)
            )
        if is_symbolic(value):
            return _symbolic(name)(value)
        return array(value)

    return apply


def _exp(value: float) -> float:
    try:
        return math.exp(value)
    except OverflowError:
        return inf


def _expm1(value: float) -> float:
    try:
        return math.expm1(value)
    except OverflowError:
        return inf


def _log(value: float) -> float:
    if value > 0:
        return math.log(value)
    return -inf if value == 0 else nan


def _log1p(value: float) -> float:
    if value > -1:
        return math.log1p(value)
    return -inf if value == -1 else nan


def _sqrt(value: float) -> float:
    return math.sqrt(value) if value >= 0 else nan


def _floor(value: float) -> float:
    return float(math.floor(value + SNAP)) if math.isfinite(value) else value


def _ceil(value: float) -> float:
    return -float(math.floor(SNAP - value)) if math.isfinite(value) else value


_apply_exp = _unary("exp", _exp, np.exp)
_apply_expm1 = _unary("expm1", _expm1, np.expm1)
_apply_log = _unary("log", _log, np.log)
_apply_log1p = _unary("log1p", _log1p, np.log1p)
_apply_sqrt = _unary("sqrt", _sqrt, np.sqrt)
_apply_absolute = _unary("absolute", abs, np.abs)
_apply_floor = _unary("floor", _floor, lambda value: np.floor(value + SNAP))
_apply_ceil = _unary("ceil", _ceil, lambda value: -np.floor(SNAP - value))


def exp(value: Num) -> Num:
    """Return e to the power `value`; inf on overflow."""
    return _apply_exp(value)


def expm1(value: Num) -> Num:
    """Return ``exp(value) - 1`` without losing digits near zero."""
    return _apply_expm1(value)


def log(value: Num) -> Num:
    """Return the natural logarithm; -inf at zero and nan below."""
    return _apply_log(value)


def log1p(value: Num) -> Num:
    """Return ``log(1 + value)`` without losing digits near zero."""
    return _apply_log1p(value)


def sqrt(value: Num) -> Num:
    """Return the square root; nan below zero."""
    return _apply_sqrt(value)


def absolute(value: Num) -> Num:
    """Return the absolute value."""
    return _apply_absolute(value)


def floor(value: Num) -> Num:
    """Return the largest integer not above `value`; within `SNAP` of an integer, that integer.

    Examples
    --------
    >>> floor(2.7), floor(3 - 1e-12)
    (2.0, 3.0)
    """
    return _apply_floor(value)


def ceil(value: Num) -> Num:
    """Return the smallest integer not below `value`; within `SNAP` of an integer, that integer.

    Examples
    --------
    >>> ceil(2.1), ceil(3 + 1e-12)
    (3.0, 3.0)
    """
    return _apply_ceil(value)


def poisson_pmf(count: Num, mean: Num) -> Num:
    """Return the Poisson probability of exactly `count`, without overflow.

    Parameters
    ----------
    count : float or array
        Whole in sheets; Python continues it between whole numbers. 0 below 0.
    mean : float or array
        Mean, 0 or more; nan below.

    Returns
    -------
    float or array
        Probability.

    Examples
    --------
    >>> round(poisson_pmf(2.0, 1.0), 12)
    0.183939720586
    """
    if is_symbolic(count) or is_symbolic(mean):
        return _symbolic("poisson_pmf")(count, mean)
    return poisson.pmf(_plain(count), _plain(mean))


def poisson_cdf(count: Num, mean: Num) -> Num:
    """Return the Poisson probability of at most `count`.

    Parameters
    ----------
    count : float or array
        Whole in sheets; Python continues it between whole numbers. 0 below 0.
    mean : float or array
        Mean, 0 or more; nan below.

    Returns
    -------
    float or array
        Probability.

    Examples
    --------
    >>> round(poisson_cdf(2.0, 1.0), 12)
    0.919698602929
    """
    if is_symbolic(count) or is_symbolic(mean):
        return _symbolic("poisson_cdf")(count, mean)
    return poisson.cdf(_plain(count), _plain(mean))


def _plain(value: Num) -> Num:
    return float(value) if isinstance(value, (float, int)) else value
