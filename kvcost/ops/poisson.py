"""Poisson probabilities to full precision, for real counts and means up to 1e9.

The point probability is written with the deviance ``k log(k/m) - k + m`` and Stirling's
remainder, so nothing overflows and nothing cancels [1]_.

References
----------
.. [1] C. Loader (2000), Fast and accurate computation of binomial probabilities,
   https://lists.gnu.org/archive/html/octave-maintainers/2011-09/pdfK0uKOST642.pdf
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["cdf", "deviance", "log_pmf", "pmf", "stirling_remainder"]

_HALF_LOG_2PI = 0.9189385332046727
_STIRLING_FROM = 16.0
_SERIES_WITHIN = 0.3
_SERIES = tuple(2.0 / (2 * j + 3) for j in range(11))


def deviance(relative: Any) -> Any:
    """Return ``d - log(1 + d)`` without cancellation near zero.

    Parameters
    ----------
    relative : float or array
        ``d``, above -1.

    Returns
    -------
    float or array
        Not negative; inf at -1.
    """
    if isinstance(relative, float):
        return _deviance_scalar(relative)
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.abs(relative) < _SERIES_WITHIN
        d = relative if near.all() else np.where(near, relative, 0.0)
        v = d / (2.0 + d)
        square = v * v
        series = np.full_like(v, _SERIES[-1])
        for coefficient in _SERIES[-2::-1]:
            series *= square
            series += coefficient
        close = v * (d - square * series)
        return close if d is relative else np.where(near, close, relative - np.log1p(relative))


def _deviance_scalar(d: float) -> float:
    if d <= -1.0:
        return math.inf if d == -1.0 else math.nan
    if abs(d) < _SERIES_WITHIN:
        v = d / (2.0 + d)
        square = v * v
        if square < 1e-4:
            tail = 2 / 3 + square * (0.4 + square * (2 / 7 + square * (2 / 9)))
        else:
            tail = 0.0
            for coefficient in reversed(_SERIES):
                tail = tail * square + coefficient
        return v * (d - square * tail)
    return d - math.log1p(d)


def _stirling_series(k: Any) -> Any:
    inverse = 1.0 / k
    s = inverse * inverse
    return inverse * (
        1 / 12 - s * (1 / 360 - s * (1 / 1260 - s * (1 / 1680 - s * (1 / 1188 - s * 691 / 360360))))
    )


def stirling_remainder(k: Any) -> Any:
    """Return ``log k! - (k + 1/2) log k + k - log(2 pi) / 2`` for k above 0.

    Parameters
    ----------
    k : float or array
        Count, not necessarily whole.

    Returns
    -------
    float or array
        About ``1 / (12 k)``.
    """
    if isinstance(k, float):
        if k >= _STIRLING_FROM:
            return _stirling_series(k)
        return math.lgamma(k + 1) - (k + 0.5) * math.log(k) + k - _HALF_LOG_2PI
    small = k < _STIRLING_FROM
    if not small.any():
        return _stirling_series(k)
    from scipy.special import gammaln  # noqa: PLC0415 - loaded when asked

    value = _stirling_series(np.where(small, _STIRLING_FROM, k))
    few = k[small]
    value[small] = gammaln(few + 1) - (few + 0.5) * np.log(few) + few - _HALF_LOG_2PI
    return value


def log_pmf(k: Any, relative: Any) -> Any:
    """Return the log of the Poisson probability of `k` at mean ``k (1 + relative)``.

    Parameters
    ----------
    k : float or array
        Count above 0, not necessarily whole.
    relative : float or array
        ``mean / k - 1``, above -1; the caller may know it more exactly than the mean.

    Returns
    -------
    float or array
        Natural logarithm.
    """
    log = math.log if isinstance(k, float) else np.log
    return -k * deviance(relative) - stirling_remainder(k) - 0.5 * log(k) - _HALF_LOG_2PI


def _scalar_upper() -> Callable[[float, float], float]:
    from scipy.special import cython_special  # noqa: PLC0415 - loaded when asked

    function: Callable[[float, float], float] = cython_special.gammaincc
    return function


_upper: Callable[[float, float], float] | None = None


def cdf_scalar(k: float, mean: float) -> float:
    """Return the Poisson probability of at most `k`; for floats, without checks."""
    global _upper  # noqa: PLW0603 - bound once, on first use
    if _upper is None:
        _upper = _scalar_upper()
    return _upper(k + 1.0, mean)


def pmf(k: Any, mean: Any) -> Any:
    """Return the Poisson probability of exactly `k`.

    Parameters
    ----------
    k : float or array
        Count; 0 below 0, and smooth between whole numbers.
    mean : float or array
        Mean, 0 or more; nan below.

    Returns
    -------
    float or array
        Probability.
    """
    if isinstance(k, float) and isinstance(mean, float):
        if not (mean >= 0 and math.isfinite(mean) and math.isfinite(k)):
            return math.nan
        if k <= 0 or mean == 0:
            return math.exp(-mean) if k == 0 else 0.0
        return math.exp(log_pmf(k, (mean - k) / k))
    k, mean = _pair(k, mean)
    with np.errstate(all="ignore"):
        inside = (k > 0) & (mean > 0) & np.isfinite(k)
        count = np.where(inside, k, 1.0)
        value = np.exp(log_pmf(count, (np.where(inside, mean, 1.0) - count) / count))
        value = np.where(inside, value, np.where(k == 0, np.exp(-mean), 0.0))
        return np.where(_defined(k, mean), value, np.nan)


def cdf(k: Any, mean: Any) -> Any:
    """Return the Poisson probability of at most `k`.

    Parameters
    ----------
    k : float or array
        Count; 0 below 0, and smooth between whole numbers.
    mean : float or array
        Mean, 0 or more; nan below.

    Returns
    -------
    float or array
        Probability.
    """
    if isinstance(k, float) and isinstance(mean, float):
        if not (mean >= 0 and math.isfinite(mean) and math.isfinite(k)):
            return math.nan
        return cdf_scalar(k, mean) if k >= 0 else 0.0
    from scipy.special import gammaincc  # noqa: PLC0415 - loaded when asked

    k, mean = _pair(k, mean)
    value = np.where(k >= 0, gammaincc(np.maximum(k, 0.0) + 1.0, np.maximum(mean, 0.0)), 0.0)
    return np.where(_defined(k, mean), value, np.nan)


def _pair(k: Any, mean: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.broadcast_arrays(np.asarray(k, dtype=float), np.asarray(mean, dtype=float))
    return first, second


def _defined(k: Any, mean: Any) -> Any:
    return (mean >= 0) & np.isfinite(mean) & np.isfinite(k)
