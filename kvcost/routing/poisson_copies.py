"""Copies on a burst with random arrivals: a frozen source, and warm replicas beside it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.compiled import compiled
from kvcost.routing.even_replica import COLD, COPY, EACH, FIXED, HIT, SLOTS
from kvcost.routing.poisson_crowd import crowd
from kvcost.routing.poisson_sums import Sums, still_coming, top_load

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array
    from kvcost.routing.poisson_crowd import Crowd
    from kvcost.routing.poisson_sums import Followed

__all__ = ["copied_at_admission"]

_CELLS, _MOST_CELLS, _TAKEN, _LOADS = 200, 1200, 8, 100
_RARE, _LOST = 1e-9, 1e-7
_LEVELS = (2, 3, 4, 6, 8, 11, 15, 20)


def _cells(gap: float, low: float, high: float, step: float, count: int) -> Array:
    """Return the law of an exponential gap between two bounds on a lattice; its mean is kept."""
    edges = np.clip(np.arange(count + 1) * step, low, high)
    tails = np.exp(-edges / gap)
    mass = tails[:-1] - tails[1:]
    first = (edges[:-1] + gap) * tails[:-1] - (edges[1:] + gap) * tails[1:]
    later = np.clip(first / step - np.arange(count) * mass, 0.0, mass)
    law: Array = mass - later
    law[1:] += later[:-1]
    return law


@compiled
def _births(  # noqa: PLR0917 # pragma: no cover - for numba
    entering: Array, step: float, gap: float, flow: Array, shares: Array, slow: Array,
    law: Array, born: Array, ahead: Array, taken: Array,
) -> None:  # fmt: skip
    """Follow the frozen replica's load in time: it only grows."""
    top = law.size - 1
    for i in range(flow.size):
        for n in range(top + 1):
            law[n] += entering[i, n]
        for n in range(top, 1, -1):
            mass = law[n]
            if mass <= 0:
                continue
            came = flow[i] * step / gap * mass
            gone = came * shares[n] / slow[n]
            gone = min(gone, mass)
            taken[n] += came - gone
            born[i] += gone
            ahead[i] += gone * (n - 1)
            if n < top:
                law[n] -= gone
                law[n + 1] += gone


def _levels(
    gap: float, servers: int, costs: Array, lowest: int, span: float
) -> tuple[Array, Array, Array, dict[int, Crowd]]:
    """Return by the source's load: its share, what its growth is slowed by, and the crowds."""
    each = float(costs[HIT] + costs[FIXED] / costs[SLOTS] + costs[EACH])
    shares, loads, slow = np.zeros(_LOADS + 1), np.zeros(_LOADS + 1), np.ones(_LOADS + 1)
    found: dict[int, Crowd] = {}
    spent, last = 0.0, 0
    for n in _LEVELS:
        if found and spent > 4 * span:
            break
        if n < lowest and n != _LEVELS[-1] and _LEVELS[_LEVELS.index(n) + 1] <= lowest:
            continue
        begin = found[last].state if last else None
        found[n] = crowd(gap=gap, servers=servers, source=n, costs=costs, top=n + 1, begin=begin)
        spent += (n - last if last else 1) * gap / max(found[n].away, 1e-30)
        last = n
    known = list(found)
    at = np.arange(2, _LOADS + 1)
    logs = np.log([max(found[n].away, 1e-30) for n in known])
    loads[2:] = np.interp(at, known, [found[n].load for n in known])
    shares[2:] = np.exp(np.interp(at, known, logs))
    after = at > known[-1]
    if len(known) > 1 and after.any():
        further = known[-1] - known[-2]
        slope = (logs[-1] - logs[-2]) / further
        shares[2:][after] = np.exp(logs[-1] + slope * (at[after] - known[-1]))
        slope = (found[known[-1]].load - found[known[-2]].load) / further
        loads[2:][after] = found[known[-1]].load + slope * (at[after] - known[-1])
    # where work comes faster than the others do it, the rest of it comes to the source
    shares[2:] = np.maximum(shares[2:], 1 - servers * gap / each)
    slow[2:] = 1 + servers * np.clip(np.gradient(loads[2:]), 0.0, 1.0)
    return shares, loads, slow, found


class _Start(NamedTuple):
    """How a copied burst begins: the lattice of times until its head is computed."""

    step: float
    times: Array
    entering: Array  # by time and load of the source: probability that the copies are ready


def _activate(
    *, requests: int, gap: float, repeats: int, window: float, costs: Array, sums: Sums
) -> _Start:
    """Count the requests until the copies are ready; all of them are at the source."""
    cold, hit, copy = float(costs[COLD]), float(costs[HIT]), float(costs[COPY])
    slots = int(costs[SLOTS])
    full = float(costs[FIXED] + costs[EACH] * slots)
    count = int(min(max(_CELLS, cold / gap), _MOST_CELLS))
    step = cold / count
    times: Array = np.arange(0.0, count) * step
    rest: Array = cold - times
    # of a longer run of repeats, all gaps but the last are taken as their mean
    first = max(repeats - 1, 1)
    near = window - (first - 1) * gap if repeats > 1 else math.inf
    far = 50.0 * max(gap, cold)
    close = _cells(gap, 0.0, near, step, count)
    apart = _cells(gap, min(near, far), far, step, count)
    entering, law = np.zeros((count, _LOADS + 1)), np.zeros(count)
    law[0] = 1.0
    for index in range(1, min(requests, _LOADS)):
        steps = index // slots * full
        behind = (index - 1) * hit + steps
        if index < first:
            law = np.convolve(law, _cells(gap, 0.0, far, step, count))[:count]
            _together(sums, rest, law, behind, steps)
            continue
        start = np.convolve(law, close)[:count]
        _together(sums, rest, start, behind, steps)
        lasts = min(copy, (requests - 1 - index) * gap)
        _while_copying(sums, rest, start, index=index, lasts=lasts, gap=gap, costs=costs)
        _enter(entering, start, times + copy, step=step, load=index + 1, held=copy / gap)
        law = np.convolve(law, apart)[:count]
        _together(sums, rest, law, behind, steps)
        if law.sum() < _LOST:
            break
    return _Start(step, times, entering)


def _together(sums: Sums, rest: Array, law: Array, behind: float, steps: float) -> None:
    used = law > _RARE
    head = float((rest[used] * law[used]).sum())
    sums.add(rest[used] + behind, law[used], head, steps * float(law[used].sum()))


def _while_copying(
    sums: Sums, rest: Array, start: Array, *, index: int, lasts: float, gap: float, costs: Array
) -> None:
    """Count those who come while the copies are on their way: they queue at the source."""
    used = np.flatnonzero(start > _RARE)
    if lasts <= 0 or used.size == 0:
        return
    step = float(costs[FIXED] / costs[SLOTS] + costs[EACH])
    late = (np.arange(_TAKEN) + 0.5)[:, None] / _TAKEN * lasts
    ahead = index + late / gap - 1
    head = rest[used] - late
    waits = np.maximum(head + ahead * (float(costs[HIT]) + step), 0.0)
    mass = np.broadcast_to(start[used] * lasts / gap / _TAKEN, waits.shape)
    decode = np.minimum(waits - np.minimum(np.maximum(head, 0.0), waits), ahead * step)
    behind = np.minimum(np.maximum(head, 0.0), waits)
    sums.add(
        waits.ravel(), mass.ravel(), float((behind * mass).sum()), float((decode * mass).sum())
    )


def _enter(
    entering: Array, start: Array, ready: Array, *, step: float, load: int, held: float
) -> None:
    """Put those bursts whose copies are ready where they are in time and load."""
    numbers = np.arange(_LOADS)
    logs = numbers * math.log(max(held, 1e-300)) - held
    poisson = np.exp(logs - np.array([math.lgamma(k + 1.0) for k in range(_LOADS)]))
    place = ready / step
    cell = place.astype(int)
    part = place - cell
    for j, share in ((cell, 1 - part), (cell + 1, part)):
        inside = j < entering.shape[0]
        coming = np.zeros(entering.shape[0])
        np.add.at(coming, j[inside], (start * share)[inside])
        for k in np.flatnonzero(poisson > _RARE):
            entering[:, min(load + int(k), _LOADS)] += coming * poisson[k]


def _beside(
    start: _Start, *, requests: int, gap: float, warm: int, costs: Array, even: bool, sums: Sums
) -> float:
    """Count those who come while the source is frozen; return what waits they leave behind."""
    cold, hit, slots = float(costs[COLD]), float(costs[HIT]), int(costs[SLOTS])
    full = float(costs[FIXED] + costs[EACH] * slots)
    each = hit + full / slots
    present = np.flatnonzero(start.entering.sum(axis=0) > _RARE)
    if present.size == 0:
        return 0.0
    middle = start.times + 0.5 * start.step
    flow = still_coming(middle, gap, requests - 1, even=even)
    span = float((flow * start.step).sum())
    shares, loads, slow, found = _levels(gap, warm - 1, costs, int(present[0]), span)
    last, taken = np.zeros(_LOADS + 1), np.zeros(_LOADS + 1)
    born, ahead = np.zeros(middle.size), np.zeros(middle.size)
    _births(start.entering, start.step, gap, flow, shares, slow, last, born, ahead, taken)
    some = born > 0
    ahead = ahead[some] / born[some]
    rest, born = cold - middle[some], born[some]
    steps = np.floor((ahead + 1) / slots) * full
    sums.add(
        rest + ahead * hit + steps, born, float((rest * born).sum()), float((steps * born).sum())
    )
    known = sorted(found)
    numbers = np.arange(_LOADS + 1)
    further = np.where(numbers > known[-1], np.maximum(loads - loads[known[-1]], 0.0), 0.0) * each
    for n in np.flatnonzero(taken > 0):
        nearest = known[int(np.argmin(np.abs(np.array(known) - n)))]
        sums.add_crowd(found[nearest], float(taken[n]), float(further[n]))
    # what is left to do when the source joins: the others' work, and the source's own so far as
    # they are as full as it is
    work = np.interp(numbers, known, [found[n].wait for n in known]) + further
    filled = np.minimum(loads / np.maximum(numbers, 1), 1.0)
    work += filled * np.maximum((numbers - 1) * each - work, 0.0) / warm
    drift = 1 - each / (gap * warm)
    end = np.minimum(work / max(drift, 1e-9), max(requests - 1 - sums.count, 0.0) * gap)
    return float((last * end / gap * (work - 0.5 * drift * end)).sum())


def copied_at_admission(
    *, requests: int, gap: float, warm: int, repeats: int, window: float, costs: Array, even: bool
) -> Followed:
    """Follow a burst whose prefix is copied as soon as its first request is admitted.

    Parameters
    ----------
    requests : int
        Requests of the burst.
    gap : float
        Mean time between two of them [s].
    warm : int
        Replicas that the prefix will be on, at least 2.
    repeats, window : int, float
        From how many requests in how many seconds it is copied.
    costs : array
        Costs of a replica.
    even : bool
        Whether the burst ends at a known time.

    Returns
    -------
    Followed
        Sums over the requests behind the head.

    Notes
    -----
    The source is frozen until its head is computed. Its load only grows: by those who come before
    the copies are ready, then by those who find all other replicas as loaded as it is. How often
    they do is taken from the steady law of the others at that load; where the others fill up with
    the source, it grows more slowly, by what they take in.
    """
    sums = Sums()
    start = _activate(
        requests=requests, gap=gap, repeats=repeats, window=window, costs=costs, sums=sums
    )
    extra = _beside(start, requests=requests, gap=gap, warm=warm, costs=costs, even=even, sums=sums)
    rest = max(requests - 1 - sums.count, 0.0)
    found = crowd(gap=gap, servers=warm, source=0, costs=costs, top=top_load(gap, warm, costs))
    sums.add_crowd(found, rest, extra / max(rest, 1.0))
    return sums.done()
