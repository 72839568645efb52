"""One replica behind its cold head, until it first runs out of work: arrivals counted, exactly."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING

from kvcost.compiled import compiled, inlined
from kvcost.routing.even_replica import COLD, EACH, FIXED, HIT, SLOTS
from kvcost.routing.poisson_counts import more, some, spread, terms

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array

__all__ = ["AWAKE", "CAP", "COUNTED", "DECODE", "HEAD", "OUT", "RATE", "SUM", "TRIPPED", "alive"]

# what the loops add up: waits, of which behind the head and behind decode steps; requests counted;
# bursts in which the fallback fires; probability that the replica never ran out of work
SUM, HEAD, DECODE, COUNTED, TRIPPED, AWAKE, OUT = range(7)
# how arrivals come: gap between two events, events known to come (0: no end), and their horizon
RATE, CAP = 0, 1
_TINY, _PIECES, _TERMS = 1e-10, 24, 1.5


@inlined
def _exists(  # noqa: PLR0917 # pragma: no cover - for numba
    kept: float, requests: int, time: float, gap: float, first: int, last: int, shares: Array
) -> None:  # fmt: skip
    """Fill in how many replicas have their n-th request at a time behind their heads.

    Of the slots behind a head, those that go elsewhere are independent of those that do not.
    """
    elsewhere = time / gap * (1.0 - kept) / kept
    tilted = elsewhere / (1.0 - kept)
    for side in range(2):
        mean = elsewhere if side == 0 else tilted
        spread = 6.0 * math.sqrt(mean) + 6.0
        n = max(0, int(mean - spread))
        value = math.exp(n * math.log(max(mean, 1e-300)) - mean - math.lgamma(n + 1.0))
        below = value
        tilt = math.exp((requests - last) * math.log1p(-kept) + tilted - elsewhere)
        for index in range(last, first - 1, -1):
            y = requests - 1 - index
            chance = 0.0
            if y > mean + spread:
                chance = 1.0
            elif y >= n:
                while n < y:
                    n += 1
                    value *= mean / n
                    below += value
                chance = min(below, 1.0)
            if side == 0:
                shares[index] = chance / kept
            else:
                shares[index] -= min(tilt, 1e300) * chance / kept
                tilt *= 1.0 - kept


@partial(compiled, uses=("kvcost.routing.even_replica", "kvcost.routing.poisson_counts"))
def alive(  # noqa: PLR0912, PLR0915, PLR0917 # pragma: no cover - one loop for numba
    arrivals: Array, requests: int, every: int, weights: Array, kept: float, limit: float,
    costs: Array, law: Array, then: Array, pmf: Array, shares: Array, ends: Array, trips: Array,
    width: float, bins: Array, sums: Array, out: Array,
) -> None:  # fmt: skip
    """Count the requests that arrive before the replica first runs out of work.

    The law is that of how many events there were; each `every`-th is a request of this replica.
    """
    gap, cap, horizon = arrivals[0], arrivals[1], arrivals[2]
    slots, most = int(costs[SLOTS]), weights.size
    events = (most - 1) * every
    full = costs[FIXED] + costs[EACH] * slots
    law[:] = 0.0
    law[0] = 1.0
    low = high = 0
    time, admitted, done = 0.0, 1, 0
    while admitted <= most:
        # what the replica does next: the prefill of its last admitted request, then perhaps a step
        for stage in range(2):
            if stage == 1 and admitted % slots != 0:
                break
            length = full if stage == 1 else (costs[COLD] if admitted == 1 else costs[HIT])
            if stage == 1:
                done = admitted
            if length <= 0:
                continue
            pieces = max(1, math.ceil(length / (gap * _TERMS)))
            if admitted == 1 and stage == 0:
                pieces = max(pieces, _PIECES)
            step = length / pieces
            count = terms(step / gap, pmf) if cap == 0 else 0
            trips_at = limit + 1 + done
            tripping = trips_at < most
            last = int(trips_at) * every if tripping else events
            for piece in range(pieces):
                if low >= events:
                    time += step * (pieces - piece)
                    break
                first = low
                if cap == 0:
                    high = more(law, then, low, high, last, pmf, count)
                else:
                    share = step / max(horizon - time, step)
                    high = some(law, then, low, high, last, cap, share)
                left = length - (piece + 1) * step
                if stage == 0 and admitted % slots == 0:
                    left += full
                if kept < 1.0:
                    least, top = first // every, min(high // every, most - 1)
                    _exists(kept, requests, time + 0.5 * step, gap, least, top, shares)
                before = after = 0.0
                for n in range(first, high):
                    before += law[n]
                    after += then[n]
                    if (n + 1) % every != 0:
                        continue
                    index = (n + 1) // every
                    mass = before - after
                    if mass <= 0.0 or index >= most or (tripping and n + 1 == last):
                        continue
                    rise0 = law[n] / gap
                    rise1 = then[n] / gap
                    if cap > 0:
                        rise0 = law[n] * (cap - n) / max(horizon - time, step)
                        rise1 = then[n] * (cap - n) / max(horizon - time - step, step)
                    part = 0.5 * step * mass + step * step / 12 * (rise0 - rise1)
                    part = min(max(part, 0.0), step * mass)
                    turns = index // slots - admitted // slots
                    ahead = left + (index - admitted) * costs[HIT] + turns * full
                    weight = weights[index] if kept == 1.0 else shares[index]
                    total = weight * (part + mass * ahead)
                    out[SUM] += total
                    out[COUNTED] += weight * mass
                    if admitted == 1 and stage == 0:
                        out[HEAD] += weight * (part + mass * (length - (piece + 1) * step))
                    if stage == 1:
                        out[DECODE] += weight * (part + mass * left)
                    elif admitted % slots == 0:
                        turns += 1
                    out[DECODE] += weight * mass * turns * full
                    spread(total, weight * mass, ahead, step, width, bins, sums)
                law, then = then, law
                if tripping and high == last:
                    if law[last] > 0:
                        out[TRIPPED] += law[last]
                        trips[0] += law[last] * (time + 0.5 * step)
                        trips[1] += law[last] * last
                        law[last] = 0.0
                    high -= 1
                while low < high and law[low] < _TINY:
                    law[low] = 0.0
                    low += 1
                while high > low and law[high] < _TINY:
                    law[high] = 0.0
                    high -= 1
                time += step
        for n in range(low, min(high, admitted * every - 1) + 1):
            ends[admitted, n - (admitted - 1) * every] += law[n]
            law[n] = 0.0
        low = max(low, admitted * every)
        admitted += 1
        if low > high or low >= events:
            break
    if low <= high:
        for n in range(low, high + 1):
            out[AWAKE] += law[n]
