"""Join the shortest queue with exponential service, as a chain on sorted queues.

A state is the longest queue ``l`` and how far the others fall short of it. An arrival lengthens
the longest queue only where all are alike, so level ``l + 1`` is entered from one state of level
``l`` and in one state: the levels above `spread` are alike up to a constant factor ``eta`` each,
and the levels below follow one by one from the cuts between them. The number of states is made
finite in two ways, where a server would fall more than `spread` behind the longest queue:

* jockeying: the longest queue loses a request in its place (the total is too short, and
  ``eta = rho^c`` holds exactly);
* blocking: the server pauses (the total is too long).

By Little's law the two totals bound the mean wait.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from scipy.sparse import csc_array

    Array = NDArray[np.float64]

__all__ = ["ShortestQueue", "chain_states", "shortest_queue_chain"]

_NEGLIGIBLE = 1e-18
_UNSTABLE = 1 - 1e-7
_SETTLED = 1e-15
_MOST_DIRECT = 4000
_MOST_ITERATIONS = 20_000


@dataclass(frozen=True, kw_only=True)
class ShortestQueue:
    """Stationary law of a truncated chain, in services of mean 1.

    Attributes
    ----------
    tails : array
        Probability that the shortest queue holds more than 0, 1, 2, ... requests.
    total : float
        Mean number of requests in the system.
    ratio : float
        Factor from one level to the next, far up; 1 where the blocked chain has no stationary law.
    """

    tails: Array
    total: float
    ratio: float


@dataclass(frozen=True)
class _Level:
    """States and rates of one level: how many servers fall short by 0, 1, 2, ... ."""

    states: Array
    index: dict[tuple[int, ...], int]
    inside: csc_array
    falls: list[tuple[tuple[int, ...], int, float]]

    @property
    def shortest(self) -> NDArray[np.intp]:
        """By how much the shortest queue of each state falls short."""
        depth = self.states.shape[1]
        return np.asarray(depth - 1 - np.argmax(self.states[:, ::-1] > 0, axis=1))

    def down(self, below: _Level) -> csc_array:
        """Rates to the states of the level below."""
        from scipy.sparse import csc_array  # noqa: PLC0415 - loaded when asked

        width = below.states.shape[1]
        rows, columns, rates = [], [], []
        for state, i, rate in self.falls:
            target = (*state[1:], *(0 for _ in range(width)))[:width]
            rows.append(i)
            columns.append(below.index[target])
            rates.append(rate)
        return csc_array(
            (rates, (rows, columns)), shape=(len(self.index), len(below.index)), dtype=float
        )


def chain_states(*, servers: int, spread: int) -> int:
    """Return the number of states of a level.

    Parameters
    ----------
    servers : int
        Servers.
    spread : int
        Largest difference of two queues.

    Returns
    -------
    int
        States.

    Examples
    --------
    >>> chain_states(servers=8, spread=7)
    3432
    """
    return math.comb(servers - 1 + spread, spread)


def _states(servers: int, depth: int) -> Array:
    """Return how many servers fall short by 0..depth, at least one by 0, sorted by their sum."""
    rows = np.arange(servers, 0, -1)[:, None]
    for k in range(1, depth + 1):
        left = servers - rows.sum(axis=1)
        if k == depth:
            rows = np.column_stack([rows, left])
        else:
            counts = np.concatenate([np.arange(n + 1) for n in left])
            rows = np.column_stack([np.repeat(rows, left + 1, axis=0), counts])
    rows = rows[rows.sum(axis=1) == servers]
    order = np.argsort(rows @ np.arange(depth + 1), kind="stable")
    return np.asarray(rows[order])


@lru_cache(maxsize=64)
def _level(servers: int, arrival_rate: float, spread: int, height: int, jockeying: bool) -> _Level:
    from scipy.sparse import csc_array  # noqa: PLC0415 - loaded when asked

    depth = min(spread, height)
    states = _states(servers, depth)
    listed = [tuple(row) for row in states.tolist()]
    index = {state: i for i, state in enumerate(listed)}
    rows, columns, rates = [], [], []
    falls = []
    for i, state in enumerate(listed):
        leaving = arrival_rate
        shortest = max(k for k, n in enumerate(state) if n)
        if shortest:
            rows.append(i)
            columns.append(index[_moved(state, shortest, -1)])
            rates.append(arrival_rate)
        departures = list(state)
        if height <= spread:
            departures[-1] = 0  # these servers are idle
        elif jockeying:
            departures[0] += departures[-1]
            departures[-1] = 0
        else:
            departures[-1] = 0
        for k in range(depth):
            if not departures[k]:
                continue
            leaving += departures[k]
            target = _moved(state, k, 1)
            if target[0]:
                rows.append(i)
                columns.append(index[target])
                rates.append(float(departures[k]))
            else:
                falls.append((target, i, float(departures[k])))
        rows.append(i)
        columns.append(i)
        rates.append(-leaving)
    inside = csc_array((rates, (rows, columns)), shape=(len(listed), len(listed)), dtype=float)
    return _Level(states, index, inside, falls)


def _moved(state: tuple[int, ...], k: int, by: int) -> tuple[int, ...]:
    """Move one server from falling short by k to k + by."""
    moved = list(state)
    moved[k] -= 1
    moved[k + by] += 1
    return tuple(moved)


def shortest_queue_chain(
    *,
    servers: int,
    utilization: float,
    spread: int,
    truncation: Literal["jockeying", "blocking"] = "jockeying",
) -> ShortestQueue:
    """Return the stationary law of join-the-shortest-queue, queues at most `spread` apart.

    Parameters
    ----------
    servers : int
        Servers, 2 or more.
    utilization : float
        Arrival rate over the rate of all servers, inside (0, 1).
    spread : int
        Largest difference of two queues.
    truncation : str
        What happens where a server would fall further behind: ``jockeying`` or ``blocking``.

    Returns
    -------
    ShortestQueue
        Law of the shortest queue, and the mean total.

    References
    ----------
    .. [1] I. J. B. F. Adan, J. Wessels, W. H. M. Zijm (1991), Analysis of the asymmetric shortest
       queue problem with threshold jockeying, https://doi.org/10.1080/15326349108807209
    .. [2] I. J. B. F. Adan, G. J. van Houtum, J. van der Wal (1994), Upper and lower bounds for
       the waiting time in the symmetric shortest queue system, Annals of Operations Research 48,
       197-217.

    Examples
    --------
    >>> law = shortest_queue_chain(servers=2, utilization=0.5, spread=12)
    >>> round(float(law.tails.sum()), 9), round(law.ratio, 9)
    (0.426320751, 0.25)
    """
    jockeying = truncation == "jockeying"
    rate = servers * utilization

    def at(height: int) -> _Level:
        return _level(servers, rate, spread, height, jockeying)

    height = spread + 1
    top = at(height)
    ratio, mass = _top(top, _full(servers, spread), _start(servers, spread), rate, utilization,
                       jockeying=jockeying)  # fmt: skip
    if ratio >= _UNSTABLE:
        return ShortestQueue(tails=np.ones(1), total=math.inf, ratio=1.0)
    short = top.states @ np.arange(spread + 1)
    levels = math.ceil(math.log(_NEGLIGIBLE) / math.log(ratio)) + 1
    pmf = np.zeros(height + levels)
    by_depth = np.bincount(top.shortest, weights=mass, minlength=spread + 1)
    powers = ratio ** np.arange(levels)
    for k, weight in enumerate(by_depth):
        pmf[height - k : height - k + levels] += weight * powers
    above = mass.sum() / (1 - ratio)
    total = (servers * height * mass.sum() - short @ mass) / (1 - ratio)
    total += servers * mass.sum() * ratio / (1 - ratio) ** 2
    whole = above
    upper, upper_mass, full_mass = top, mass, 1 / rate
    while height > 0:
        height -= 1
        level = at(height)
        depth = min(spread, height)
        mass, entering = _below(
            level, upper.down(level).T @ upper_mass, full_mass,
            full=level.index[_full(servers, depth)],
            start=level.index[_start(servers, depth)] if depth else None,
        )  # fmt: skip
        pmf[: height + 1] += np.bincount(
            height - level.shortest, weights=mass, minlength=height + 1
        )
        total += servers * height * mass.sum() - (level.states @ np.arange(depth + 1)) @ mass
        whole += mass.sum()
        upper, upper_mass, full_mass = level, mass, entering / rate
    tails = np.cumsum(pmf[:0:-1])[::-1] / whole
    return ShortestQueue(tails=tails, total=float(total / whole), ratio=ratio)


def _full(servers: int, depth: int) -> tuple[int, ...]:
    return (servers,) + (0,) * depth


def _start(servers: int, depth: int) -> tuple[int, ...]:
    return (1, servers - 1) + (0,) * (depth - 1)


def _top(
    top: _Level, full: tuple[int, ...], start: tuple[int, ...], rate: float, utilization: float,
    *, jockeying: bool,
) -> tuple[float, Array]:  # fmt: skip
    """Return eta and the masses of the lowest of the alike levels, entered at unit rate."""
    from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded when asked

    entry = np.zeros(len(top.index))
    entry[top.index[start]] = -1
    down = top.down(top)
    eta = float(utilization ** top.states[0].sum())
    if len(top.index) > _MOST_DIRECT:
        return _top_by_iteration(top, entry, top.index[full], rate, eta, fixed=jockeying)

    def masses(eta: float) -> Array:
        return np.asarray(splu((top.inside + eta * down).T.tocsc()).solve(entry))

    mass = masses(eta)
    if jockeying:
        return eta, mass
    # the returned eta is convex in the assumed one: secants from below never pass the root
    last, last_miss = eta, rate * mass[top.index[full]] - eta
    eta += last_miss
    for _ in range(100):
        if eta >= _UNSTABLE:
            break
        mass = masses(eta)
        miss = rate * mass[top.index[full]] - eta
        if abs(miss) <= _SETTLED or miss == last_miss:
            break
        step = -miss * (eta - last) / (miss - last_miss)
        last, last_miss = eta, miss
        eta += step
    return eta, mass


def _top_by_iteration(
    top: _Level, entry: Array, full: int, rate: float, eta: float, *, fixed: bool
) -> tuple[float, Array]:
    """Do the same with the band matrix of the level alone, where the whole one fills up."""
    from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded when asked

    solved = splu(top.inside.T.tocsc())
    back = top.down(top).T.tocsr()
    mass = np.asarray(solved.solve(entry))
    for _ in range(_MOST_ITERATIONS):
        if not fixed:
            eta = float(rate * mass[full])
        last, mass = mass, np.asarray(solved.solve(entry - eta * (back @ mass)))
        if np.max(np.abs(mass - last)) <= _SETTLED * np.max(mass):
            break
    return eta, mass


def _below(
    level: _Level, inflow: Array, full_mass: float, *, full: int, start: int | None
) -> tuple[Array, float]:
    """Return a level's masses and the rate that enters it from below."""
    from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded when asked

    solved = splu(level.inside.T.tocsc())
    fallen = np.asarray(solved.solve(-inflow))
    if start is None:
        return fallen, 0.0
    entry = np.zeros(len(level.index))
    entry[start] = -1
    unit = np.asarray(solved.solve(entry))
    entering = (full_mass - fallen[full]) / unit[full]
    return fallen + entering * unit, float(entering)
