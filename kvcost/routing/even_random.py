"""Random choice on an even burst: the law of one replica's work, slot by slot."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kvcost.compiled import compiled, inlined
from kvcost.routing.even_replica import COLD, EACH, FIXED, HIT, SLOTS
from kvcost.routing.even_turns import Followed
from kvcost.routing.even_work import SEEDS, Work, move, new_work

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service.base import Array

__all__ = ["split_at_random"]

_SUM, _AT_HIT, _OWN_HEAD, _DECODE, _LONGEST = range(5)
_BINS = 8192
_TINY, _RARE, _SEEN, _STEADY = 1e-13, 1e-10, 1e-6, 6
_GOLDEN = 0.6180339887498949
_USES = ("kvcost.routing.even_replica", "kvcost.routing.even_work")


@inlined
def _count(value: float, mass: float, width: float, bins: Array, sums: Array) -> None:
    k = min(int(value / width), bins.size - 1)
    bins[k] += mass
    sums[k] += mass * value


@inlined
def _count_work(  # noqa: PLR0917 # pragma: no cover - for numba
    work: Work, side: int, count: int, weight: float, hit: float, width: float,
    bins: Array, sums: Array, out: Array,
) -> float:  # fmt: skip
    """Count arrivals that meet the law behind the first busy period; return its mean work."""
    mean = decode = 0.0
    for k in range(count):
        left, mass = work.left[side, k], work.mass[side, k]
        mean += mass * left
        decode += mass * max(left - work.batch[side, k] * hit, 0.0)
        _count(left, mass * weight, width, bins, sums)
    out[_SUM] += weight * mean
    out[_DECODE] += weight * decode
    return mean


@inlined
def _longest(mixed: Array, mixed_peak: Array, cold: float, replicas: int) -> float:
    """Return the mean of the largest of independent peaks, one a replica."""
    below = 1.0
    for mass in mixed:
        below -= mass
    below = max(below, 0.0)
    highest, mean = cold, below**replicas * cold
    for n in range(mixed.size):
        if mixed[n] > 0.0:
            reached = min(below + mixed[n], 1.0)
            highest = max(highest, mixed_peak[n] / mixed[n])
            mean += (reached**replicas - below**replicas) * highest
            below = reached
    return mean + (1 - below**replicas) * highest


@inlined
def _admit(  # noqa: PLR0917 # pragma: no cover - for numba
    law: Array, peak: Array, low: int, high: int, chance: float, behind: float, costs: Array
) -> tuple[int, int]:
    """Give each count of hits its arrival of the last slot; return the range of counts in use."""
    slots, hit = int(costs[SLOTS]), costs[HIT]
    full = costs[FIXED] + costs[EACH] * slots
    law[high + 1] = peak[high + 1] = 0.0
    for n in range(high, low - 1, -1):
        work = costs[COLD] + n * hit + (n + 1) // slots * full - behind
        moved, stayed = law[n] * chance, law[n + 1]
        if moved + stayed > 0:
            top = max(peak[n], work + hit)
            peak[n + 1] = (moved * top + stayed * peak[n + 1]) / (moved + stayed)
        law[n + 1] += moved
        law[n] *= 1 - chance
    high += 1
    while high > low and law[high] < _TINY:
        high -= 1
    while high > low and law[low] < _TINY:
        low += 1
    return low, high


@partial(compiled, uses=_USES)
def _busy(  # noqa: PLR0912, PLR0915, PLR0917 # pragma: no cover - one loop for numba
    requests: int, gap: float, replicas: int, costs: Array, work: Work, law: Array,
    peak: Array, ends: NDArray[np.float64], width: float, bins: Array, sums: Array, out: Array,
) -> None:  # fmt: skip
    """Sum over the slots behind the cold head of one replica."""
    cold, hit, slots = costs[COLD], costs[HIT], int(costs[SLOTS])
    full = costs[FIXED] + costs[EACH] * slots
    near = 1e-6 * max(hit, 1e-6 * cold)
    chance = 1.0 / replicas
    law[0], peak[0] = 1.0, cold
    low, high, side, count, steady = 0, 0, 0, 0, 0
    mixed, mixed_peak = ends[0], ends[1]
    idle, last = 0.0, -1.0
    for m in range(1, requests + 1):
        weight = chance * (1 - (1 - chance) ** (requests - m))
        time = m * gap
        if m > 1:
            if gap > 0 and (count > 0 or idle > 0):
                offset = (m * _GOLDEN) % 1.0
                count, idle = move(work, side, count, idle, gap, chance, costs, near, offset)
                side = 1 - side
            if low <= high:
                low, high = _admit(law, peak, low, high, chance, time - gap, costs)
        share = chance * (1 - chance) ** (requests - m)  # of a head that sees m - 1 slots
        if share > _SEEN:
            for n in range(low, high + 1):
                mixed[n] += share * law[n]
                mixed_peak[n] += share * law[n] * peak[n]
        while low <= high:
            left = cold + low * hit + (low + 1) // slots * full - time
            if left >= 0:
                break
            batch = (low + 1) % slots
            if batch > 0:
                left += costs[FIXED] + costs[EACH] * batch
            if left <= 0 or law[low] < _RARE or count == SEEDS:
                idle += law[low]
            else:
                work.left[side, count], work.batch[side, count] = left, 0
                work.mass[side, count] = law[low]
                count += 1
            law[low] = 0.0
            low += 1
        head = max(cold - time, 0.0)
        for n in range(low, high + 1):
            mass = law[n] * weight
            left = cold + n * hit + (n + 1) // slots * full - time
            out[_SUM] += mass * left
            _count(left, mass, width, bins, sums)
            rest = left - head - (n + 1) % slots * hit
            if n + 1 >= slots and rest > 0:
                turns = math.floor(rest / (slots * hit + full))
                rest -= turns * (slots * hit + full)
                out[_DECODE] += mass * (turns * full + min(full, rest))
        mean = _count_work(work, side, count, weight, hit, width, bins, sums, out)
        out[_AT_HIT] += weight * idle
        out[_OWN_HEAD] += weight * head
        if low > high:
            steady = steady + 1 if abs(mean - last) < 1e-6 * hit else 0
            last = mean
            if steady >= _STEADY:
                rest = 0.0
                for later in range(m + 1, requests):
                    rest += chance * (1 - (1 - chance) ** (requests - later))
                _count_work(work, side, count, rest, hit, width, bins, sums, out)
                out[_AT_HIT] += rest * idle
                break
    out[_LONGEST] = _longest(mixed, mixed_peak, cold, replicas)


def split_at_random(*, requests: int, gap: float, replicas: int, costs: Array) -> Followed:
    """Follow an even burst whose requests each choose a replica at random.

    Parameters
    ----------
    requests : int
        Requests of the burst.
    gap : float
        Time between two of them [s].
    replicas : int
        Replicas.
    costs : array
        Cold prefill, hit, copy, slots, fixed and growing part of a decode step.

    Returns
    -------
    Followed
        Times as bins of 1/8192 of the longest, with the mean of each; hits that do not wait and
        cold prefills stand apart.

    Notes
    -----
    Slots behind its cold head, a replica has ``c + n h + floor((n + 1)/K) V(K) - m g`` seconds of
    work, where n, of m - 1 slots, is binomial until the work ends: exact. Behind this first busy
    period the work and the batch are a law on at most 48 states, thinned by a comb where more are
    possible, with the decode step that starts whenever nothing waits; it is followed until it is
    steady. The law is the same from every head, so one recursion serves all. The longest time
    takes replicas as independent.
    """
    hit, cold = float(costs[HIT]), float(costs[COLD])
    full = float(costs[FIXED] + costs[EACH] * costs[SLOTS])
    chance = 1.0 / replicas
    most = requests * chance + 8 * math.sqrt(requests * chance * (1 - chance)) + 8
    spread = min(most, requests) * (hit + full / costs[SLOTS]) + full
    width = (cold + spread) / _BINS
    bins, sums, out = np.zeros(_BINS), np.zeros(_BINS), np.zeros(5)
    law, peak, ends = np.zeros(requests + 2), np.zeros(requests + 2), np.zeros((2, requests + 2))
    _busy(requests, gap, replicas, costs, new_work(), law, peak, ends, width, bins, sums, out)
    used = bins > 0
    heads = replicas * (1 - (1 - chance) ** requests)
    values = np.append(hit + sums[used] / bins[used], (hit, cold))
    weights = np.append(replicas * bins[used], (replicas * out[_AT_HIT], heads))
    work, head, decode = (replicas * float(out[k]) for k in (_SUM, _OWN_HEAD, _DECODE))
    own = heads * cold + (requests - heads) * hit
    parts = np.array([head, work - head - decode, 0.0, decode, own])
    return Followed(values, weights, parts, heads, max(float(out[_LONGEST]), cold))
