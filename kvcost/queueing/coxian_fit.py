"""Phase-type laws of few phases that queue like a given law of service.

What a queue of many servers sees of the law of service is the law Fe of the rest of a running
service: at light load a request waits for the first of c such rests, of mean ``g_c``, the integral
of ``(1 - Fe)^c``; at heavy load only the second moment counts, which is the mean of one rest,
``g_1``. The fit reproduces these, the ``g_k`` between them, and the third moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from kvcost.queueing.service import PhaseType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service import Service

    Array = NDArray[np.float64]

__all__ = ["PhaseFit", "fit_phases", "shortest_rest"]

_ORDERS = (2, 3, 4, 6)
_MOMENT_WEIGHT, _REST_WEIGHT, _THIRD_WEIGHT = 30.0, 3.0, 0.5
_GAP = 1.02
"""Rates of neighbouring phases differ at least by this factor, so that no term cancels."""
_GOOD = 5e-5
_STARTS = ((6.0, 1.5), (3.0, 0.5), (15.0, 3.0), (2.0, -1.5), (3.0, 3.0))
_MOST_CALLS = 150
_BUDGET = 450
_FINE, _COARSE = 0.004, 0.125
_LOWEST, _HIGHEST = 1e-5, 1e5
_NUDGE = 1e-5
_FARTHEST = 25.0


@dataclass(frozen=True)
class PhaseFit:
    """A fitted law.

    Attributes
    ----------
    law : PhaseType
        Of mean 1, as a Coxian law whose rates ascend (every acyclic law has this form).
    cost : float
        Half the sum of squared weighted misses; above 5e-3 the fit is poor.
    """

    law: PhaseType
    cost: float


def shortest_rest(service: Service, count: int) -> float:
    """Return the mean of the shortest of several independent rests of running services.

    Parameters
    ----------
    service : Service
        Law of service times.
    count : int
        How many services run.

    Returns
    -------
    float
        Seconds.

    Notes
    -----
    The integral of ``(1 - Fe(x))^count``; at light load the mean wait of those that wait.

    References
    ----------
    .. [1] D. Y. Burman, D. R. Smith (1983), A light-traffic theorem for multi-server queues,
       https://doi.org/10.1287/moor.8.1.15

    Examples
    --------
    >>> from kvcost.queueing import Exponential
    >>> round(shortest_rest(Exponential(mean=1.0), 4), 6)
    0.25
    """
    x, step = _grid(service.mean, _FINE)
    return float(_rests(service.equilibrium_survival(x), x, step, [count])[0])


@lru_cache(maxsize=256)
def fit_phases(service: Service, *, servers: int, phases: int) -> PhaseFit:
    """Fit a law of few phases to a law of service of mean 1.

    Parameters
    ----------
    service : Service
        Law of service times, of mean 1 and finite third moment.
    servers : int
        Servers of the queue in which it has to serve.
    phases : int
        Phases.

    Returns
    -------
    PhaseFit
        Kept for the next call.

    Notes
    -----
    Least squares on the logarithms of the first two moments (weight 30), of ``g_k`` at k = 2, 3, 4,
    6 and c (weight 3) and of the third moment (weight 0.5): the moments are to hold exactly, the
    rests as well as the phases allow, the third moment breaks ties. Best of up to five starts.

    References
    ----------
    .. [1] A. Cumani (1982), On the canonical representation of homogeneous Markov processes
       modelling failure-time distributions, https://doi.org/10.1016/0026-2714(82)90033-6
    """
    from scipy.optimize import least_squares  # noqa: PLC0415 - loaded when asked

    orders = sorted({*_ORDERS, servers} - {1})
    x, step = _grid(1.0, _FINE)
    goal = _Goal(
        orders=np.array(orders),
        rests=np.log(_rests(service.equilibrium_survival(x), x, step, orders)),
        second=math.log(service.moment(2)),
        third=math.log(service.moment(3)),
        grid=_grid(1.0, _COARSE),
        phases=phases,
    )
    best: Array | None = None
    cost, calls = math.inf, 0
    slowest = 1.0 / max(service.moment(3) / (3.0 * service.moment(2)), 0.3)
    for spread, tilt in _STARTS:
        start = np.concatenate(
            [
                [math.log(slowest)],
                np.full(phases - 1, math.log(spread - _GAP)),
                [-tilt * (phases - 1 - i) for i in range(phases - 1)],
            ]
        )
        found = least_squares(goal.misses, start, goal.slopes, method="lm", max_nfev=_MOST_CALLS)
        if found.cost < cost:
            best, cost = found.x, float(found.cost)
        calls += found.nfev
        if cost < _GOOD or calls > _BUDGET:
            break
    assert best is not None
    rates, start = (part[0] for part in goal.law(best[None, :]))
    rates = rates * float(np.sum(_terms(rates[None, :], start[None, :]) / rates))
    generator = np.diag(-rates) + np.diag(rates[:-1], 1)
    return PhaseFit(law=PhaseType(initial=start, generator=generator), cost=cost)


@dataclass(frozen=True)
class _Goal:
    """What the fit has to reproduce, of a law of mean 1."""

    orders: NDArray[np.int64]
    rests: Array
    second: float
    third: float
    grid: tuple[Array, float]
    phases: int

    def law(self, parameters: Array) -> tuple[Array, Array]:
        """Return rates and initial probabilities of each row of unbounded parameters."""
        n = self.phases
        parameters = np.clip(parameters, -_FARTHEST, _FARTHEST)
        factors = _GAP + np.exp(parameters[:, 1:n])
        slowest = np.exp(parameters[:, :1])
        rates = np.concatenate([slowest, slowest * np.cumprod(factors, axis=1)], axis=1)
        odds = np.concatenate([parameters[:, n:], np.zeros((len(parameters), 1))], axis=1)
        odds = np.exp(odds - odds.max(axis=1, keepdims=True))
        return rates, odds / odds.sum(axis=1, keepdims=True)

    def misses(self, parameters: Array) -> Array:
        """Return the weighted misses."""
        return np.asarray(self._misses(parameters[None, :])[0])

    def slopes(self, parameters: Array) -> Array:
        """Return the derivatives of the misses, by central differences in one go."""
        steps = _NUDGE * np.eye(parameters.size)
        both = self._misses(np.concatenate([parameters + steps, parameters - steps]))
        half = parameters.size
        return np.asarray((both[:half] - both[half:]).T / (2.0 * _NUDGE))

    def _misses(self, parameters: Array) -> Array:
        rates, start = self.law(parameters)
        means = _terms(rates, start) / rates
        first = means.sum(axis=1)
        x, step = self.grid
        tails = np.exp(-rates[:, None, :] * x[None, :, None])
        rest = np.einsum("bxn,bn->bx", tails, means / first[:, None])
        found = _rests(rest, x, step, self.orders)
        second, third = 2.0 * (means / rates).sum(axis=1), 6.0 * (means / rates**2).sum(axis=1)
        logs = np.log(np.maximum(np.column_stack([first, second, third]), 1e-300))
        return np.column_stack(
            [
                _MOMENT_WEIGHT * logs[:, 0],
                _MOMENT_WEIGHT * (logs[:, 1] - self.second),
                _REST_WEIGHT * (np.log(found) - self.rests),
                _THIRD_WEIGHT * (logs[:, 2] - self.third),
            ]
        )


def _grid(mean: float, step: float) -> tuple[Array, float]:
    """Return points whose logarithms are evenly spaced, and their distance."""
    logs = np.arange(math.log(_LOWEST), math.log(_HIGHEST), step)
    return mean * np.exp(logs), step


def _rests(survival: Array, x: Array, step: float, orders: NDArray[np.int64] | list[int]) -> Array:
    """Return the integrals of powers of survivals, by the trapezoidal rule over log x.

    The integrand is smooth and vanishes at the upper end, so that the rule converges fast; what
    lies below the first point, where the survival is 1, is added.
    """
    logs = np.log(np.clip(survival, 1e-300, 1.0))
    powers = np.exp(logs[..., None, :] * np.asarray(orders, dtype=float)[:, None])
    return np.asarray(step * (powers @ x) + x[0] * (1.0 - step / 2.0))


def _terms(rates: Array, start: Array) -> Array:
    """Return the weights of the exponentials that sum to the survival of Coxian laws."""
    # started in phase i, the phases i, i+1, ... follow one another: a hypoexponential time
    n = rates.shape[1]
    difference = rates[:, :, None] - rates[:, None, :] + np.eye(n)
    ratio = rates[:, :, None] / difference  # of k and j: 1 / (1 - rate j / rate k)
    ratio[:, np.arange(n), np.arange(n)] = 1.0
    found = np.zeros_like(rates)
    for i in range(n):
        found[:, i:] += start[:, i : i + 1] * ratio[:, i:, i:].prod(axis=1)
    return found
