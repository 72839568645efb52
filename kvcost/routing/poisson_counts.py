"""Laws of how many events a while brings, and sums by bins."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.compiled import inlined

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array

__all__ = ["deposit", "more", "some", "spread", "terms"]

_TAIL = 1e-9
_FEW, _POINTS = 1e-4, 6


@inlined
def deposit(total: float, mass: float, width: float, bins: Array, sums: Array) -> None:
    """Add requests whose waits add up to `total` to the bin of their mean.

    Half of the bins are below `width`; the others are ever wider.
    """
    if mass > 1e-200:
        value = total / mass
        k = min(int(value / (value + width) * bins.size), bins.size - 1)
        bins[k] += mass
        sums[k] += total


@inlined
def spread(  # noqa: PLR0917 # pragma: no cover - for numba
    total: float, mass: float, least: float, length: float, width: float, bins: Array, sums: Array
) -> None:  # fmt: skip
    """Add requests that wait evenly around their mean, from `least` on, over at most a length."""
    if mass < _FEW:
        deposit(total, mass, width, bins, sums)
        return
    mean = total / mass
    half = min(mean - least, least + length - mean)
    for i in range(_POINTS):
        value = mean + half * ((2 * i + 1.0) / _POINTS - 1.0)
        deposit(value * mass / _POINTS, mass / _POINTS, width, bins, sums)


@inlined
def terms(mean: float, pmf: Array) -> int:
    """Fill in a Poisson law as far as it matters; return the largest number."""
    pmf[0] = math.exp(-mean)
    left, k = 1.0 - pmf[0], 0
    while k + 1 < pmf.size and (left > _TAIL or k < mean):
        k += 1
        pmf[k] = pmf[k - 1] * mean / k
        left -= pmf[k]
    return k


@inlined
def more(  # noqa: PLR0917 # pragma: no cover - for numba
    law: Array, then: Array, low: int, high: int, last: int, pmf: Array, count: int
) -> int:  # fmt: skip
    """Fill in the law of the number of events after a while; what passes `last` stays there."""
    top = min(high + count, last)
    for n in range(low, top + 1):
        then[n] = 0.0
    for i in range(count + 1):
        chance = pmf[i]
        end = min(high, last - i)
        for n in range(low, end + 1):
            then[n + i] += law[n] * chance
    if high + count > last:
        kept = total = 0.0
        for n in range(low, high + 1):
            total += law[n]
        for n in range(low, top):
            kept += then[n]
        then[top] = max(total - kept, 0.0)
    return top


@inlined
def some(  # noqa: PLR0917 # pragma: no cover - for numba
    law: Array, then: Array, low: int, high: int, last: int, cap: float, share: float
) -> int:  # fmt: skip
    """As `more`, where each event that has not come yet comes with the chance `share`."""
    top = low
    for n in range(low, last + 1):
        then[n] = 0.0
    if share >= 1.0 - 1e-12:
        for n in range(low, high + 1):
            then[last] += law[n]
        return last
    odds, base = share / (1.0 - share), math.log1p(-share)
    for n in range(low, high + 1):
        mass = law[n]
        if mass <= 0:
            continue
        free = cap - n
        value = math.exp(free * base)
        left, i = 1.0 - value, 0
        then[min(n, last)] += mass * value
        while n + i < last and left > _TAIL and i < free:
            value *= odds * (free - i) / (i + 1)
            i += 1
            left -= value
            then[n + i] += mass * value
        if left > 0 and n + i >= last:
            then[last] += mass * left
        top = max(top, min(n + i, last))
    return top
