"""Seeded simulation of a dispatcher in front of single-server queues, to check the closed forms."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from kvcost.errors import InvalidValueError, KvcostError
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


@cache
def _kernel() -> Callable[..., Any]:
    try:
        import numba  # noqa: PLC0415 - slow to load
    except ImportError as error:
        raise MissingNumbaError() from error

    @numba.njit  # type: ignore[untyped-decorator]
    def run(  # pragma: no cover - compiled
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
        np.random.seed(seed)
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
                chosen = np.random.randint(servers)
                looked = 0
            elif policy == 1:
                chosen = turn
                turn = turn + 1 if turn + 1 < servers else 0
                looked = 0
            elif policy == 3:
                looked = choices
                for j in range(choices):
                    k = np.random.randint(j, servers)
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
                        if np.random.random() * ties < 1.0:
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

    return run


class MissingNumbaError(KvcostError):
    """The simulation was asked for where numba cannot be loaded."""

    def message(self) -> str:
        """Return the one-line text of the error."""
        return "simulate_dispatch needs numba, which is not installed: pip install numba"


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
    """Simulate Poisson arrivals that a policy sends to single-server queues, first come first served.

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
        If a value is out of its domain, or a queue outgrows 1,024 requests.
    UnstableError
        If more work arrives than the servers can do.

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
    overflow = _kernel()(
        _CODES[policy], gaps, services, homes, count,
        whole("choices", choices), whole("threshold", threshold), seed % 2**32, waits,
    )  # fmt: skip
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
