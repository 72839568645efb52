"""When a burst of Poisson arrivals is noticed: so many requests for a prefix within a window."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from kvcost.queueing.result import ErrorClass
from kvcost.queueing.validation import positive, whole
from kvcost.routing.replication_formulas import pair_detection_seconds

__all__ = ["Detection", "poisson_detection"]

_MEAN = 40.0
_LONG = 30.0
_DOUBLE = 1e-4


@dataclass(frozen=True, kw_only=True)
class Detection:
    """Mean time until a stream of requests is taken for a burst.

    Attributes
    ----------
    seconds : float
        Mean, from the first arrival on [s]; infinite where it is beyond all numbers.
    method : str
        How it was found.
    error : ErrorClass
        How far to trust it.
    """

    seconds: float
    method: str
    error: ErrorClass


def poisson_detection(*, arrival_rate: float, repeats: int, detection_window: float) -> Detection:
    """Return the mean time to the first `repeats` arrivals within a window.

    Parameters
    ----------
    arrival_rate : float
        Poisson arrivals per second.
    repeats : int
        Arrivals that make a burst.
    detection_window : float
        Time within which they have to come [s].

    Returns
    -------
    Detection
        From the first arrival on, for endless arrivals.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.

    Notes
    -----
    One arrival: at once. Two: the formula `pair_detection_seconds`. Three: the mean number of gaps
    left after a gap y obeys ``f(y) = 1 + int_{Z - y}^inf rate exp(-rate x) f(x) dx``, constant from
    the window Z on, which two derivatives turn into a linear equation: exact. More: Naus'
    approximation of the scan statistic, from the exact laws of two and three windows.

    References
    ----------
    .. [1] J. I. Naus (1982), Approximations for distributions of scan statistics,
       https://doi.org/10.1080/01621459.1982.10477783

    Examples
    --------
    >>> for repeats in 2, 3, 4:
    ...     found = poisson_detection(arrival_rate=8.0, repeats=repeats, detection_window=1.0)
    ...     print(repeats, round(found.seconds, 3), found.error.kind)
    2 0.125 exact
    3 0.25 exact
    4 0.378 approximation
    """
    rate = positive("arrival_rate", arrival_rate, unit="1/s")
    window = positive("detection_window", detection_window, unit="s")
    count = whole("repeats", repeats)
    exact = ErrorClass(kind="exact", relative=1e-9, text="exact to 1e-09")
    if count == 1:
        return Detection(seconds=0.0, method="the first arrival", error=exact)
    if count == 2:
        found = pair_detection_seconds(arrival_rate=rate, detection_window=window)
        return Detection(seconds=float(found), method="mean gap over its chance", error=exact)
    if count == 3:
        return Detection(
            seconds=_gaps_of_three(rate * window) / rate,
            method="closed solution of the integral equation over the last gap",
            error=exact,
        )
    return Detection(
        seconds=_by_naus(rate * window, count) / rate,
        method="scan statistic by Naus' approximation",
        error=ErrorClass(
            kind="approximation", relative=0.02, text="within 2% of simulation, 4 to 10 repeats"
        ),
    )


@lru_cache(maxsize=256)
def _gaps_of_three(window: float) -> float:
    """Return the mean time to three arrivals, in mean gaps.

    The equation reads ``f(y) = 1 + e^-Z f(Z) + int_{Z-y}^Z e^-x f(x) dx``, so
    ``f'(y) = e^(y-Z) f(Z-y)`` and ``f'' = f' - e^-Z f``: two exponentials, or an oscillation.
    """
    if window > _LONG:
        return 2.0
    rare = math.exp(-window)
    root = np.sqrt(complex(1 - 4 * rare))
    if abs(root) < _DOUBLE:
        aside = (_gaps_of_three(window * factor) for factor in (1 - _DOUBLE, 1 + _DOUBLE))
        return sum(aside) / 2
    fast = (1 + root) / 2
    slow = rare / fast
    # f = a e^(fast y) + b e^(slow y), with f'(0) = e^-Z f(Z) and f(0) = 1 + e^-Z f(Z)
    lost = np.expm1(np.array([-slow, -fast]) * window)
    rows = np.array([[-slow - lost[0], slow - 1 - lost[1]], -lost])
    a, b = np.linalg.solve(rows, np.array([0.0, 1.0], dtype=complex))
    # the first gap is one draw more: 1 + E f(first gap), and f(y) = f(Z) beyond Z
    total = 1 + a * (1 + lost[0]) + b * (1 + lost[1]) - a * lost[0] / slow - b * lost[1] / fast
    return float(total.real)


@lru_cache(maxsize=256)
def _by_naus(window: float, count: int) -> float:
    """Return the mean time to `count` arrivals, in mean gaps."""
    k, psi = count, window
    if psi > _MEAN * k:
        return float(k - 1)

    def mass(n: int) -> float:
        return math.exp(n * math.log(psi) - psi - math.lgamma(n + 1)) if n >= 0 else 0.0

    total = np.cumsum([mass(n) for n in range(k + 1)])

    def upto(n: int) -> float:
        return float(total[n]) if n >= 0 else 0.0

    one = upto(k - 1)
    two = one**2 - (k - 1) * mass(k) * mass(k - 2) - (k - 1 - psi) * mass(k) * upto(k - 3)
    first = 2 * mass(k) * one * ((k - 1) * upto(k - 2) - psi * upto(k - 3))
    second = 0.5 * mass(k) ** 2
    second *= (
        (k - 1) * (k - 2) * upto(k - 3) - 2 * (k - 2) * psi * upto(k - 4) + psi**2 * upto(k - 5)
    )
    third = sum(mass(2 * k - r) * upto(r - 1) ** 2 for r in range(1, k))
    fourth = sum(
        mass(2 * k - r) * mass(r) * ((r - 1) * upto(r - 2) - psi * upto(r - 3)) for r in range(2, k)
    )
    three = one**3 - first + second + third - fourth
    # mean of the time from a start without memory: the first window exactly, then geometrically
    from scipy.special import gammainc  # noqa: PLC0415 - loaded when asked

    # int_0^psi P(N(t) <= k - 1) dt = sum over n < k of P(n + 1, psi)
    mean = float(gammainc(np.arange(1, k + 1), psi).sum())
    mean += psi * _between(one, two)
    if two > 0 < three < two:
        mean += psi * two / math.log(two / three)
    elif two > 0 and three >= two:
        return math.inf
    return max(mean - 1, float(k - 1))


def _between(left: float, right: float) -> float:
    """Return the mean over a window of a probability that falls geometrically."""
    if right <= 0:
        return left / 2
    if abs(left - right) < 1e-12 * left:
        return left
    return (left - right) / math.log(left / right)
