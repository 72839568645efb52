"""Seeded simulation of a dispatcher in front of single-server queues, to check the closed forms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.validation import load_of, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from kvcost.queueing.service import Service

__all__ = ["DispatchRun", "Policy", "simulate_dispatch"]

Policy: TypeAlias = Literal[
    "random", "round_robin", "shortest_queue", "power_of_d", "least_work", "sticky"
]

_CODES: dict[str, int] = {name: code for code, name in enumerate(get_args(Policy))}
_BATCHES = 30
_T95, _T99 = 2.045, 2.756  # Student's t with 29 degrees of freedom


@dataclass(frozen=True, kw_only=True)
class DispatchRun:
    """What a simulated dispatcher gave.

    Attributes
    ----------
    mean : float
        Mean wait [s].
    half_width_95, half_width_99 : float
        Half-widths of the intervals of the mean, from 30 batch means [s].
    probability_of_wait : float
        Share of the requests that waited.
    p50, p95, p99 : float
        Percentiles of the wait [s].
    overflow : float
        Share of the requests that did not go to their home (sticky only).
    requests : int
        Requests counted.
    """

    mean: float
    half_width_95: float
    half_width_99: float
    probability_of_wait: float
    p50: float
    p95: float
    p99: float
    overflow: float
    requests: int


def _advance(  # noqa: PLR0912, PLR0915, PLR0917 # pragma: no cover - one loop for numba
    policy: int,
    gaps: NDArray[np.float64],
    services: NDArray[np.float64],
    homes: NDArray[np.int64],
    servers: int,
    choices: int,
    threshold: int,
    seed: int,
    waits: NDArray[np.float64],
) -> int:
    """Fill in the waits; return the overflowing requests, or -1 where a queue is too long."""
    np.random.seed(seed)  # noqa: NPY002
    room = 1024
    ends = np.zeros((servers, room))
    first = np.zeros(servers, np.int64)
    last = np.zeros(servers, np.int64)
    free = np.zeros(servers)
    order = np.arange(servers)
    now = 0.0
    turn = 0
    overflow = 0
    for i in range(gaps.size):
        now += gaps[i]
        looked = servers
        if policy == 0:
            chosen = np.random.randint(servers)  # noqa: NPY002
            looked = 0
        elif policy == 1:
            chosen = turn
            turn = turn + 1 if turn + 1 < servers else 0
            looked = 0
        elif policy == 3:
            looked = choices
            for j in range(choices):
                k = np.random.randint(j, servers)  # noqa: NPY002
                order[j], order[k] = order[k], order[j]
            chosen = order[0]
        elif policy == 5:
            chosen = homes[i]
            while first[chosen] < last[chosen] and ends[chosen, first[chosen] % room] <= now:
                first[chosen] += 1
            if last[chosen] - first[chosen] < threshold:
                looked = 0
            else:
                overflow += 1
        else:
            chosen = 0
        if looked:
            best = 1e300
            ties = 0
            for j in range(looked):
                k = order[j]
                while first[k] < last[k] and ends[k, first[k] % room] <= now:
                    first[k] += 1
                length = max(free[k] - now, 0.0) if policy == 4 else float(last[k] - first[k])
                if length < best:
                    best = length
                    ties = 1
                    chosen = k
                elif length == best:
                    ties += 1
                    if np.random.random() * ties < 1.0:  # noqa: NPY002
                        chosen = k
        start = max(now, free[chosen])
        waits[i] = start - now
        free[chosen] = start + services[i]
        if policy >= 2 and policy != 4:
            if last[chosen] - first[chosen] >= room:
                return -1
            ends[chosen, last[chosen] % room] = free[chosen]
            last[chosen] += 1
    return overflow


@cache
def _kernel() -> Callable[..., Any]:
    """Return the compiled loop, or the plain one where numba cannot be had."""
    try:
        import numba  # noqa: PLC0415 - slow to load
    except ImportError:
        return _advance
    compiled: Callable[..., Any] = numba.njit(_advance)
    return compiled


def simulate_dispatch(
    policy: Policy,
    *,
    servers: int,
    service: Service,
    arrival_rate: float | None = None,
    utilization: float | None = None,
    requests: int = 1_000_000,
    seed: int,
    choices: int = 2,
    threshold: int = 1,
    home_shares: Sequence[float] | None = None,
) -> DispatchRun:
    """Simulate Poisson arrivals that a policy sends to servers with queues of their own.

    Parameters
    ----------
    policy : str
        Which law chooses the server.
    servers : int
        Servers.
    service : Service
        Law of service times.
    arrival_rate, utilization : float, optional
        Requests per second, or share of the time that a server is busy; give one.
    requests : int
        Requests to simulate after a warm-up of a tenth as many.
    seed : int
        Of all random numbers.
    choices : int
        Servers that ``power_of_d`` looks at, drawn without replacement.
    threshold : int
        Requests at home (in service included) from which ``sticky`` goes to the least loaded.
    home_shares : sequence of float, optional
        Share of the requests whose home each server is; equal if not given.

    Returns
    -------
    DispatchRun
        Mean wait with its interval, percentiles, overflow.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, there are more choices than servers, or a queue outgrows
        1,024 requests.
    UnstableError
        If more work arrives than the servers can do.

    Notes
    -----
    Poisson arrivals; ties are broken at random. Without numba the same code runs as plain Python,
    about a hundred times slower.

    References
    ----------
    .. [1] B. Schmeiser (1982), Batch size effects in the analysis of simulation output,
       https://doi.org/10.1287/opre.30.3.556

    Examples
    --------
    >>> from kvcost.queueing.service import Exponential
    >>> run = simulate_dispatch(
    ...     "least_work", servers=2, service=Exponential(mean=1.0), utilization=0.5,
    ...     requests=200_000, seed=1,
    ... )
    >>> abs(run.mean - 1 / 3) < 2 * run.half_width_99
    True
    """
    if policy not in _CODES:
        raise InvalidValueError(
            field="policy",
            value=policy,
            bound="is no dispatch law",
            remedy=f"choose one of {', '.join(_CODES)}",
        )
    load = load_of(
        servers=servers,
        mean_service=service.mean,
        arrival_rate=arrival_rate,
        utilization=utilization,
        whole_servers=True,
    )
    count = whole("servers", servers)
    size = whole("requests", requests, least=_BATCHES)
    rng = np.random.default_rng(seed)
    warm_up = size // 10
    total = warm_up + size
    gaps = rng.exponential(1 / load.arrival_rate, total)
    services = np.asarray(service.sample(rng, total), dtype=float)
    homes = np.zeros(0, dtype=np.int64)
    if policy == "sticky":
        shares = None if home_shares is None else np.asarray(home_shares) / np.sum(home_shares)
        homes = rng.choice(count, size=total, p=shares).astype(np.int64)
    waits = np.empty(total)
    looked, limit = whole("choices", choices), whole("threshold", threshold)
    if policy == "power_of_d" and looked > count:
        raise InvalidValueError(
            field="choices",
            value=choices,
            bound=f"must not exceed the {count} servers",
            remedy="use fewer choices",
        )
    before = np.random.get_state()  # noqa: NPY002 - the loop draws as compiled code can
    overflow = _kernel()(
        _CODES[policy], gaps, services, homes, count, looked, limit, seed % 2**32, waits
    )
    np.random.set_state(before)  # noqa: NPY002
    if overflow < 0:
        raise InvalidValueError(
            field="utilization",
            value=load.utilization,
            bound="makes a queue outgrow the simulation's 1024 places",
            remedy="simulate a lower load or fewer requests",
        )
    counted = waits[warm_up:]
    means = counted[: size // _BATCHES * _BATCHES].reshape(_BATCHES, -1).mean(axis=1)
    spread = float(means.std(ddof=1) / np.sqrt(_BATCHES))
    p50, p95, p99 = np.quantile(counted, [0.5, 0.95, 0.99])
    return DispatchRun(
        mean=float(counted.mean()),
        half_width_95=_T95 * spread,
        half_width_99=_T99 * spread,
        probability_of_wait=float(np.mean(counted > 0)),
        p50=float(p50),
        p95=float(p95),
        p99=float(p99),
        overflow=overflow / total,
        requests=size,
    )
