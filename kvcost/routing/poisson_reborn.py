"""One replica after it first ran out of work: its queue and its batch, request by request."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kvcost.compiled import compiled, inlined
from kvcost.routing.even_replica import EACH, FIXED, HIT, SLOTS
from kvcost.routing.poisson_alive import COUNTED, DECODE, SUM
from kvcost.routing.poisson_counts import spread, terms

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array

__all__ = ["IDLE", "batches", "reborn"]

IDLE = 1  # of what is added up, in place of the head: requests that find no work
_TINY, _RARE, _CLOSE, _STEADY = 2e-8, 1e-6, 1e-5, 5
_APART = 9


def batches(slots: int) -> Array:
    """Return the batches that are told apart: all small ones, then ever fewer, then the full one.

    A batch between two of them is either, so that its mean is right: a step is linear in it.
    """
    kept = list(range(min(slots, _APART)))
    while kept[-1] < slots - 1:
        kept.append(min(kept[-1] + max(1, int(0.3 * kept[-1])), slots - 1))
    return np.array([*kept, slots], float)


@inlined
def _tails(count: int, pmf: Array, tails: Array) -> None:
    """Fill in how likely at least i + 1 events are."""
    above = 0.0
    for i in range(count, 0, -1):
        above += pmf[i]
        tails[i - 1] = above
    tails[count] = 0.0


@inlined
def _run(  # noqa: PLR0917 # pragma: no cover - for numba
    mass: float, excess: int, batch: int, admitted: int, every: int, length: float, left: float,
    decoding: bool, gap: float, costs: Array, full: float, weights: Array, whole: float,
    pmf: Array, tails: Array, count: int, column: int, laws: Array, width: float,
    bins: Array, sums: Array, out: Array,
) -> None:  # fmt: skip
    """Let the replica work for a while; count those who arrive, and put the state where it goes."""
    top = laws.shape[0] - 1
    for i in range(count + 1):
        now = excess + i
        laws[min(now, top), column] += mass * pmf[i]
        if i == 0 or now % every != 0 or tails[i - 1] * mass < _TINY:
            continue
        index = admitted - 1 + now // every
        if index >= weights.size:
            continue
        weight = (weights[index] if whole == 0 else whole) * mass
        chance = tails[i - 1]
        rest = max(length * chance - i * gap * tails[i], 0.0)
        turns = (batch + index - admitted) // int(costs[SLOTS])
        total = rest + chance * (left + (index - admitted) * costs[HIT] + turns * full)
        out[SUM] += weight * total
        out[COUNTED] += weight * chance
        decode = chance * (left + turns * full)
        out[DECODE] += weight * (decode + rest if decoding else decode)
        least = total / chance - rest / chance
        spread(weight * total, weight * chance, least, length, width, bins, sums)


@inlined
def _trip(  # noqa: PLR0917 # pragma: no cover - for numba
    law: Array, every: int, high: int, admitted: int, gap: float, sizes: Array, limit: float,
    trips: Array,
) -> None:  # fmt: skip
    """Take out the states whose load makes the fallback fire."""
    for d in range(high, every - 1, -1):
        waiting = d // every
        for k in range(sizes.size - 2, -1, -1):
            if waiting + sizes[k] <= limit:
                break
            mass = law[d, k]
            if mass > 0:
                index = min(float(admitted + waiting), trips[3])
                trips[0] += mass * index * gap * every
                trips[1] += mass * index
                trips[2] += mass
                law[d, k] = 0.0


@partial(
    compiled,
    uses=(
        "kvcost.routing.even_replica",
        "kvcost.routing.poisson_counts",
        "kvcost.routing.poisson_alive",
    ),
)
def reborn(  # noqa: PLR0912, PLR0915, PLR0917 # pragma: no cover - one loop for numba
    gap: float, every: int, weights: Array, costs: Array, ends: Array, law: Array, then: Array,
    pmfs: Array, sizes: Array, limit: float, trips: Array, width: float, bins: Array, sums: Array,
    out: Array,
) -> None:  # fmt: skip
    """Follow the law of the queue and the batch from where the replica ran out of work."""
    slots, most, hit = int(costs[SLOTS]), weights.size, costs[HIT]
    full = costs[FIXED] + costs[EACH] * slots
    kinds, top = law.shape[1] - 1, law.shape[0] - 1
    pending = 0.0
    for a in range(ends.shape[0]):
        for e in range(every):
            pending += ends[a, e]
    prefill, step, tails = pmfs[0], pmfs[1], pmfs[2]
    more_tails, whole_step, whole_tails = pmfs[3], pmfs[4], pmfs[5]
    many = terms(hit / gap, prefill)
    _tails(many, prefill, tails)
    many_full = terms(full / gap, whole_step)
    _tails(many_full, whole_step, whole_tails)
    law[:, :] = 0.0
    high, last_mean, steady, whole = every, -1.0, 0, 0.0
    started = 0.0
    for admitted in range(1, most):
        for e in range(every):
            put = ends[admitted, e]
            if put > 0:
                k = 0
                while sizes[k + 1] <= admitted % slots:
                    k += 1
                part = (admitted % slots - sizes[k]) / (sizes[k + 1] - sizes[k])
                if k + 1 < kinds:
                    law[e, k + 1] += put * part
                    put *= 1 - part
                law[e, k] += put
                put = ends[admitted, e]
                pending -= put
                started += put
        if started < _RARE:
            continue
        # nothing waits: a decode step if there is a batch, then perhaps nothing to do
        for k in range(1, kinds):
            present = 0.0
            for e in range(every):
                present += law[e, k]
            if present < _TINY:
                continue
            length = costs[FIXED] + costs[EACH] * sizes[k]
            count = terms(length / gap, step)
            _tails(count, step, more_tails)
            for e in range(every):
                mass = law[e, k]
                law[e, k] = 0.0
                if mass > 0:
                    _run(
                        mass, e, 0, admitted, every, length, 0.0, True, gap, costs, full, weights,
                        whole, step, more_tails, count, 0, law, width, bins, sums, out,
                    )  # fmt: skip
                    high = max(high, min(e + count, top))
        for e in range(every):
            mass = law[e, 0]
            law[e, 0] = 0.0
            law[every, 0] += mass
            out[IDLE] += mass * (weights[admitted] + whole)
        # the next request is admitted
        then[: min(high + many + many_full + 2, top + 1), :] = 0.0
        mean = 0.0
        for d in range(every, high + 1):
            for k in range(kinds):
                mass = law[d, k]
                if mass < _TINY:
                    continue
                law[d, k] = 0.0
                mean += mass * d
                grows = 1.0 / (sizes[k + 1] - sizes[k])
                if grows < 1.0:
                    _run(
                        mass * (1 - grows), d - every, int(sizes[k]), admitted + 1, every, hit,
                        0.0, False, gap, costs, full, weights, whole, prefill, tails, many, k,
                        then, width, bins, sums, out,
                    )  # fmt: skip
                # once the batch is full, those who come wait for its step as well
                filled = k + 1 == kinds
                _run(
                    mass * grows, d - every, 0 if filled else int(sizes[k + 1]), admitted + 1,
                    every, hit, full if filled else 0.0, False, gap, costs, full, weights, whole,
                    prefill, tails, many, k + 1, then, width, bins, sums, out,
                )  # fmt: skip
        reach = min(high - every + many, top)
        for d in range(reach, -1, -1):
            mass = then[d, kinds]
            then[d, kinds] = 0.0
            if mass > 0:
                _run(
                    mass, d, 0, admitted + 1, every, full, 0.0, True, gap, costs, full, weights,
                    whole, whole_step, whole_tails, many_full, 0, then, width, bins, sums,
                    out,
                )  # fmt: skip
        law, then = then, law
        high = min(reach + many_full, top)
        if whole == 0.0:
            _trip(law, every, high, admitted, gap, sizes, limit, trips)
        while high > every:
            present = 0.0
            for k in range(kinds):
                present += law[high, k]
            if present > _TINY:
                break
            high -= 1
        if whole > 0:
            break
        steady = steady + 1 if abs(mean - last_mean) < _CLOSE * every and pending < _RARE else 0
        last_mean = mean
        if steady >= _STEADY:
            # those who wait for the next request are counted already
            for later in range(admitted + 2, most):
                whole += weights[later]
