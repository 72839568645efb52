"""Simulated waits of many servers behind one queue, by the recursion of Kiefer and Wolfowitz.

A customer takes the server that is free first. The times at which the servers become free are kept
in order, so that a customer costs some 100 ns. Under Poisson arrivals a single server that works c
times as fast runs along on the same customers: its mean wait is known exactly, and what chance did
to it corrects what chance did to the queue (a control variate).
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.result import ErrorClass, Wait
from kvcost.queueing.service import require_finite_variance
from kvcost.queueing.validation import load_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from kvcost.queueing.service import Service

    Array = NDArray[np.float64]

__all__ = ["Gaps", "SampledLaw", "simulate_queue"]

_BATCHES = 100
_BLOCK = 1 << 15
_STORED = 1 << 21
_LINEAR_UP_TO = 40
_T95 = 1.984
"""Student's t with 98 degrees of freedom: 100 batches less mean and slope."""


class Gaps(Protocol):
    """Times between arrivals: independent (any `Service`) or a stream with memory."""

    @property
    def mean(self) -> float:
        """Mean time between arrivals [s]."""
        ...

    def sample(self, rng: np.random.Generator, n: int) -> Array:
        """Return the next `n` times between arrivals [s]."""
        ...


class SampledLaw:
    """The law of simulated waits.

    Parameters
    ----------
    waits : array
        Waits [s].
    """

    def __init__(self, waits: Array) -> None:
        self.waits = np.sort(waits)

    def survival(self, t: float) -> float:
        """Return the share of the waits above `t` seconds."""
        beyond = self.waits.size - np.searchsorted(self.waits, t, side="right")
        return float(beyond / self.waits.size)

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` does not exceed [s]."""
        return float(np.quantile(self.waits, p, method="inverted_cdf"))


def _advance(  # pragma: no cover - compiled where numba is there
    free: Array, state: Array, gaps: Array, services: Array, waits: Array
) -> tuple[float, float, int]:
    """Let a block of customers through; `free` is relative to the last arrival, sorted or a heap.

    ``state[0]`` is the work before the fast single server. Returns the sums of the waits of both
    queues and how many customers waited.
    """
    c = free.size
    total, fast_total, waited = 0.0, 0.0, 0
    fast = state[0]
    origin = 0.0  # `free` is kept relative to an origin, moved once a block
    now = 0.0
    for i in range(gaps.size):
        now += gaps[i]
        fast -= gaps[i]
        fast = max(fast, 0.0)
        fast_total += fast
        fast += services[i] / c
        begin = free[0]
        if begin > now:
            waits[i] = begin - now
            total += begin - now
            waited += 1
        else:
            waits[i] = 0.0
            begin = now
        end = begin + services[i]
        k = 0
        if c <= _LINEAR_UP_TO:
            while k + 1 < c and free[k + 1] < end:
                free[k] = free[k + 1]
                k += 1
        else:
            child = 1
            while child < c:
                if child + 1 < c and free[child + 1] < free[child]:
                    child += 1
                if free[child] >= end:
                    break
                free[k] = free[child]
                k = child
                child = 2 * k + 1
        free[k] = end
    origin += now
    for k in range(c):
        free[k] -= origin
    state[0] = fast
    return total, fast_total, waited


@cache
def _kernel() -> Callable[..., Any]:
    """Return the compiled recursion, or the plain one where numba cannot be had."""
    try:
        import numba  # noqa: PLC0415 - slow to load
    except ImportError:
        return _advance
    compiled: Callable[..., Any] = numba.njit(_advance)
    return compiled


def simulate_queue(
    *,
    servers: int,
    service: Service,
    arrival_rate: float | None = None,
    utilization: float | None = None,
    gaps: Gaps | None = None,
    customers: int = 1_000_000,
    seed: int,
) -> Wait:
    """Simulate one queue before many servers, first come first served.

    Parameters
    ----------
    servers : int
        Servers.
    service : Service
        Law of service times.
    arrival_rate : float, optional
        Poisson requests per second; this, `utilization` or `gaps`.
    utilization : float, optional
        Poisson load over servers, below 1.
    gaps : Gaps, optional
        Times between arrivals of any other stream.
    customers : int
        Customers counted, 1,000 or more, after a warm-up of a tenth as many.
    seed : int
        Of all random numbers.

    Returns
    -------
    Wait
        With a 95% interval; its law is that of the simulated waits (at most about two million of
        them, evenly taken).

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    The interval comes from the means of 100 batches. Under Poisson arrivals these are regressed on
    the waits of a single server c times as fast with the same customers, whose mean is
    ``lambda E(S^2) / (2 c^2 (1 - rho))``; this leaves the expectation as it is and shortens the
    interval, most where load or variability is high. Valid for runs much longer than the queue's
    memory, some ``(1 + scv) / (c (1 - rho)^2)`` services. Without numba the same code runs as plain
    Python, some hundred times slower.

    References
    ----------
    .. [1] J. Kiefer, J. Wolfowitz (1955), On the theory of queues with many servers,
       https://doi.org/10.1090/S0002-9947-1955-0066587-3
    .. [2] S. S. Lavenberg, P. D. Welch (1981), A perspective on the use of control variables to
       increase the efficiency of Monte Carlo simulations, https://doi.org/10.1287/mnsc.27.3.322

    Examples
    --------
    >>> from kvcost.queueing import Exponential
    >>> wait = simulate_queue(
    ...     servers=2, service=Exponential(mean=1.0), utilization=0.5, customers=200_000, seed=1
    ... )
    >>> wait.error.kind, abs(wait.mean - 1 / 3) < wait.mean_high - wait.mean_low
    ('simulated', True)
    """
    require_finite_variance(service)
    if gaps is not None and (arrival_rate is not None or utilization is not None):
        raise InvalidValueError(
            field="gaps",
            value=gaps,
            bound="and arrival_rate or utilization say the same thing",
            remedy="give exactly one of the three",
        )
    load = load_of(
        servers=servers,
        mean_service=service.mean,
        arrival_rate=1.0 / gaps.mean if gaps is not None else arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    count = int(load.servers)
    size = whole("customers", customers, least=10 * _BATCHES)
    per_batch = size // _BATCHES
    rng = np.random.default_rng(seed)
    run = _Run(count, service, gaps, load.arrival_rate, rng)
    run.through(per_batch * _BATCHES // 10)
    every = max(1, per_batch * _BATCHES // _STORED)
    run.store(every)
    found = np.array([run.through(per_batch) for _ in range(_BATCHES)])
    means, fast, waited = found.T
    mean, half = float(means.mean()), float(means.std(ddof=1)) / math.sqrt(_BATCHES)
    poisson = gaps is None
    if poisson and float(fast.std()) > 0:
        known = load.arrival_rate * service.moment(2) / (count**2 * 2.0 * (1.0 - load.utilization))
        mean, half = _regressed(means, fast, known)
    half *= _T95
    relative = half / mean if mean > 0 else None
    return Wait(
        mean=mean,
        mean_low=max(0.0, mean - half),
        mean_high=mean + half,
        probability_of_wait=float(waited.mean()),
        method=f"{'M' if poisson else 'G'}/G/c simulated, {per_batch * _BATCHES} customers",
        error=ErrorClass(
            kind="simulated",
            relative=relative,
            text=f"simulated, 95% interval +-{half:.3g} s, seed {seed}",
        ),
        law=SampledLaw(run.stored()),
    )


class _Run:
    """Servers, queue and random numbers on their way through a simulation."""

    def __init__(
        self,
        servers: int,
        service: Service,
        gaps: Gaps | None,
        arrival_rate: float,
        rng: np.random.Generator,
    ) -> None:
        self._service, self._gaps, self._rng = service, gaps, rng
        self._mean_gap = 1.0 / arrival_rate
        self._free = np.zeros(servers)
        self._state = np.zeros(1)
        self._every = 0
        self._kept: list[Array] = []

    def store(self, every: int) -> None:
        """Keep one wait in so many from now on."""
        self._every = every

    def stored(self) -> Array:
        """Return the waits kept."""
        return np.concatenate(self._kept)

    def through(self, customers: int) -> tuple[float, float, float]:
        """Let customers through; return both queues' mean waits and the share that waited."""
        total = fast = 0.0
        waited = 0
        left = customers
        while left:
            n = min(left, _BLOCK)
            left -= n
            if self._gaps is None:
                gaps = self._rng.standard_exponential(n)
                gaps *= self._mean_gap
            else:
                gaps = np.asarray(self._gaps.sample(self._rng, n), dtype=float)
            services = np.asarray(self._service.sample(self._rng, n), dtype=float)
            waits = np.empty(n)
            one, two, three = _kernel()(self._free, self._state, gaps, services, waits)
            total, fast, waited = total + one, fast + two, waited + three
            if self._every:
                self._kept.append(waits[:: self._every].copy())
        return total / customers, fast / customers, waited / customers


def _regressed(means: Array, control: Array, known: float) -> tuple[float, float]:
    """Return the mean and its standard error, corrected by a control of known mean."""
    off = control - control.mean()
    spread = float(off @ off)
    slope = float(off @ means) / spread
    drift = float(control.mean()) - known
    residual = means - means.mean() - slope * off
    variance = float(residual @ residual) / (means.size - 2)
    error = math.sqrt(variance * (1.0 / means.size + drift**2 / spread))
    return float(means.mean()) - slope * drift, error
