"""Warm replicas under least load: the steady law of one replica among others like it."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.compiled import compiled, inlined
from kvcost.routing.even_replica import EACH, FIXED, HIT, SLOTS
from kvcost.routing.poisson_counts import spread

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array

__all__ = ["Crowd", "crowd"]

_ROUNDS, _STEPS, _PARTS, _CLOSE, _SETTLED = 8, 25, 4, 3e-5, 1e-3
_BINS = 1024
_WAIT, _DECODE, _ARRIVED, _SOURCE, _LOAD = range(5)


class Crowd(NamedTuple):
    """Warm replicas at work.

    Attributes
    ----------
    wait, decode : float
        Mean wait of a request that they take, and the part of it behind decode steps [s].
    away : float
        Share of the requests that go to the frozen replica.
    load : float
        Mean load of a replica.
    values, weights : array
        Waits, and their probabilities.
    state : tuple of array
        Rates and law, from which a similar case can start.
    """

    wait: float
    decode: float
    away: float
    load: float
    values: Array
    weights: Array
    state: tuple[Array, Array]


@inlined
def _grow(  # noqa: PLR0917 # pragma: no cover - for numba
    start: int, time: float, rates: Array, law: Array, spent: Array, left: Array
) -> None:  # fmt: skip
    """Fill in the law of a load that only grows, the time at each load, and that time left."""
    top = rates.size - 1
    law[:] = 0.0
    spent[:] = 0.0
    left[:] = 0.0
    law[start] = 1.0
    parts = _PARTS
    while rates[start] * time / parts > 0.25 and parts < 256:
        parts *= 2
    step = time / parts
    high = start
    for piece in range(parts):
        rest = time - (piece + 0.5) * step
        high = min(high + 4, top)
        # trapezoids between small steps
        for n in range(start, high + 1):
            spent[n] += 0.5 * step * law[n]
            left[n] += 0.5 * step * (rest + step / 6) * law[n]
        _taylor(start, high, step, rates, law)
        for n in range(start, high + 1):
            spent[n] += 0.5 * step * law[n]
            left[n] += 0.5 * step * (rest - step / 6) * law[n]


@inlined
def _taylor(start: int, high: int, step: float, rates: Array, law: Array) -> None:
    """Move a law of a growing load by one step: exact to the fourth order."""
    for n in range(high, start - 1, -1):
        value = 0.0
        for m in range(max(start, n - 4), n + 1):
            a = law[m]
            if a == 0.0:
                continue
            # (step Q)^j / j! from m to n
            flow = 1.0
            for j in range(m, n):
                flow *= rates[j] * step / (j - m + 1)
            mean = 0.0
            for j in range(m, n + 1):
                mean += rates[j]
            value += a * flow * np.exp(-mean / (n - m + 1) * step)
        law[n] = value


@inlined
def _choice(servers: int, source: int, gap: float, law: Array, rates: Array) -> float:
    """Fill in how often requests come to a replica by its load; return the frozen one's share."""
    above, away = 0.0, 0.0
    for n in range(law.size - 1, -1, -1):
        here, reached = law[n], above + law[n]
        if source > 0 and n > source:
            rate = 0.0
        elif n == source and source > 0:
            if here > 1e-12:
                away = (reached ** (servers + 1) - above ** (servers + 1)) / ((servers + 1) * here)
                rate = (reached**servers - away) / (servers * here)
            else:
                away = above**servers
                rate = above ** (servers - 1) / 2
        elif here > 1e-12:
            rate = (reached**servers - above**servers) / (servers * here)
        else:
            rate = above ** (servers - 1)
        fresh = rate / gap if n < law.size - 1 else 0.0
        rates[n] = 0.5 * (rates[n] + fresh)
        above = reached
    return away


@partial(compiled, uses=("kvcost.routing.even_replica", "kvcost.routing.poisson_counts"))
def _settle(  # noqa: PLR0912, PLR0915, PLR0917 # pragma: no cover - for numba
    gap: float, servers: int, source: int, costs: Array, rates: Array, loads: Array,
    starts: Array, then: Array, grown: Array, spent: Array, left: Array, width: float,
    bins: Array, sums: Array, out: Array,
) -> None:  # fmt: skip
    """Find the steady law of one replica by repeated substitution.

    The first rows of `grown`, `spent` and `left` are prefills that start at each load, the others
    decode steps: of each batch behind which nobody waits, then of a full batch by those who wait.
    """
    top, slots, hit = rates.size - 1, int(costs[SLOTS]), costs[HIT]
    full = costs[FIXED] + costs[EACH] * slots
    most = min(slots, top)
    whole = 2 * top + 2  # row of a full batch behind which nobody waits
    for rounds in range(_ROUNDS):
        for n in range(top + 1):
            _grow(n, hit, rates, grown[n], spent[n], left[n])
        for k in range(1, most + 1):
            step = costs[FIXED] + costs[EACH] * k
            _grow(0, step, rates, grown[top + k], spent[top + k], left[top + k])
        if slots <= top:
            for n in range(top + 1 - slots):
                _grow(n, full, rates, grown[whole + n], spent[whole + n], left[whole + n])
        idle = 0.0
        for _ in range(_STEPS):
            then[:, :] = 0.0
            idle = 0.0
            for k in range(1, most + 1):
                for q in range(top + 1 - k):
                    mass = starts[q, k]
                    if mass < 1e-9:
                        continue
                    for n in range(q + k, top + 1):
                        part = mass * grown[q + k, n]
                        waiting = n - k
                        if waiting > 0 and k < slots:
                            then[waiting - 1, k + 1] += part
                        else:
                            row = top + k if waiting == 0 else whole + waiting
                            for later in range(waiting, top + 1):
                                flow = part * grown[row, later]
                                if later == 0:
                                    idle += flow
                                    then[0, 1] += flow
                                else:
                                    then[later - 1, 1] += flow
            change = total = 0.0
            for k in range(1, most + 1):
                for q in range(top + 1 - k):
                    total += then[q, k]
            for k in range(1, most + 1):
                for q in range(top + 1 - k):
                    fresh = then[q, k] / total
                    change += abs(fresh - starts[q, k])
                    starts[q, k] = fresh
            if change < _CLOSE:
                break
        loads[:] = 0.0
        loads[0] = idle / rates[0]
        for k in range(1, most + 1):
            for q in range(top + 1 - k):
                mass = starts[q, k]
                if mass < 1e-9:
                    continue
                for n in range(q + k, top + 1):
                    loads[n] += mass * spent[q + k, n]
                    waiting = n - k
                    if waiting == 0 or k == slots:
                        row = top + k if waiting == 0 else whole + waiting
                        part = mass * grown[q + k, n]
                        for later in range(waiting, top + 1):
                            loads[later] += part * spent[row, later]
        total = loads.sum()
        load = 0.0
        for n in range(top + 1):
            loads[n] /= total
            load += n * loads[n]
        change = abs(load - out[_LOAD])
        out[_LOAD] = load
        if rounds == _ROUNDS - 1 or (rounds > 3 and change < _SETTLED * load):
            break
        out[_SOURCE] = _choice(servers, source, gap, loads, rates)
    out[_ARRIVED] = idle
    bins[0] += idle
    for k in range(1, most + 1):
        for q in range(top + 1 - k):
            mass = starts[q, k]
            if mass < 1e-9:
                continue
            for n in range(q + k, top + 1):
                waiting = n - k
                turns = n // slots
                _arrive(
                    mass * rates[n] * spent[q + k, n], mass * rates[n] * left[q + k, n],
                    waiting * hit, turns * full, hit, False, width, bins, sums, out,
                )  # fmt: skip
                if waiting == 0 or k == slots:
                    row = top + k if waiting == 0 else whole + waiting
                    part = mass * grown[q + k, n]
                    for later in range(waiting, top + 1):
                        _arrive(
                            part * rates[later] * spent[row, later],
                            part * rates[later] * left[row, later], later * hit,
                            later // slots * full, costs[FIXED] + costs[EACH] * k, True, width,
                            bins, sums, out,
                        )  # fmt: skip


@inlined
def _arrive(  # noqa: PLR0917 # pragma: no cover - for numba
    mass: float, rest: float, behind: float, steps: float, length: float, decoding: bool,
    width: float, bins: Array, sums: Array, out: Array,
) -> None:  # fmt: skip
    """Count those who come while the replica does one thing, waiting evenly around their mean."""
    if mass < 1e-9:
        return
    out[_WAIT] += rest + mass * (behind + steps)
    out[_DECODE] += mass * steps + (rest if decoding else 0.0)
    out[_ARRIVED] += mass
    spread(rest + mass * (behind + steps), mass, behind + steps, length, width, bins, sums)


def crowd(
    *, gap: float, servers: int, source: int, costs: Array, top: int,
    begin: tuple[Array, Array] | None = None,
) -> Crowd:  # fmt: skip
    """Find the steady law of warm replicas under least load, ties at random.

    Parameters
    ----------
    gap : float
        Mean time between two requests of all replicas [s].
    servers : int
        Warm replicas that work.
    source : int
        Load of one more replica that is frozen and takes requests as well, 0 without one.
    costs : array
        Costs of a replica.
    top : int
        Largest load that is followed.
    begin : tuple of array, optional
        Where a similar case ended, with a smaller largest load.

    Returns
    -------
    Crowd
        Means over the requests that the warm replicas take.

    Notes
    -----
    One replica is followed exactly, with requests that come at a rate that depends on its load; the
    others are taken as independent of it and alike [1]_. That is an approximation, but for one
    server.

    References
    ----------
    .. [1] Mitzenmacher, M. (2001). The power of two choices in randomized load balancing. IEEE
       Transactions on Parallel and Distributed Systems 12(10), 1094-1104. doi:10.1109/71.963420
    """
    hit, slots = float(costs[HIT]), int(costs[SLOTS])
    full = float(costs[FIXED] + costs[EACH] * slots)
    rows = 3 * top + 4
    grown, spent, left = np.zeros((3, rows, top + 1))
    starts, then = np.zeros((2, top + 2, top + 2))
    rates, loads, out = np.full(top + 1, 1 / (gap * servers)), np.zeros(top + 1), np.zeros(5)
    rates[top] = 0.0
    starts[0, 1] = 1.0
    if begin is not None:
        rates[:-1], starts[:, :] = begin[0][-2], 0.0
        rates[: begin[0].size - 1] = begin[0][:-1]
        starts[: begin[1].shape[0], : begin[1].shape[1]] = begin[1]
    width = 4 * hit + full
    bins, sums = np.zeros(_BINS), np.zeros(_BINS)
    _settle(
        gap, servers, source, costs, rates, loads, starts, then, grown, spent, left, width, bins,
        sums, out,
    )  # fmt: skip
    used = bins > 0
    total = float(out[_ARRIVED])
    return Crowd(
        float(out[_WAIT]) / total, float(out[_DECODE]) / total, float(out[_SOURCE]),
        float(out[_LOAD]), sums[used] / bins[used], bins[used] / total,
        (rates, starts),
    )  # fmt: skip
