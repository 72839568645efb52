"""One replica of an even burst: its clock, its batch, its queue, and what an arrival waits for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.compiled import inlined

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array

__all__ = [
    "COLD",
    "COPY",
    "EACH",
    "FIELDS",
    "FIXED",
    "HEAD",
    "HIT",
    "NOW",
    "READY",
    "RUNNING",
    "SLOTS",
    "THERE",
    "WAITING",
    "advance",
    "charge",
]

# a replica's row: clock, batch, queue, whether the prefix is there (1) or on its way (2), when it
# arrives, and when the replica has computed it
NOW, RUNNING, WAITING, THERE, READY, HEAD, FIELDS = range(7)
COLD, HIT, COPY, SLOTS, FIXED, EACH = range(6)
_OWN_HEAD, _SUFFIX, _COPY, _DECODE, _PREFILL = range(5)


@inlined
def advance(row: Array, time: float, costs: Array) -> None:
    """Bring a replica to an arrival: admit, and decode only when nothing can be admitted."""
    now, running, waiting = row[NOW], row[RUNNING], row[WAITING]
    while True:
        while waiting > 0 and running < costs[SLOTS]:
            if row[THERE] == 1:
                now += costs[HIT]
            else:
                now += costs[COLD]
                row[HEAD] = now
                row[THERE] = 1
            waiting -= 1
            running += 1
        if now >= time:
            break
        if running == 0:
            now = time
            break
        now += costs[FIXED] + costs[EACH] * running
        running = 0
    row[NOW], row[RUNNING], row[WAITING] = now, running, waiting
    if row[THERE] == 2 and row[READY] <= time + 1e-12:
        row[THERE] = 1


@inlined
def charge(row: Array, time: float, costs: Array, weight: float, parts: Array) -> float:
    """Add the waits of an arrival to `parts` by their cause; return its time to first token."""
    slots, hit, waiting = costs[SLOTS], costs[HIT], row[WAITING]
    ahead = row[NOW] - time
    head = min(ahead, max(row[HEAD] - time, 0.0))
    copy = min(ahead - head, max(row[READY] - time, 0.0))
    rest = ahead - head - copy
    suffix = min(rest, row[RUNNING] * hit)
    decode = rest - suffix
    if row[RUNNING] >= slots:
        turns = 1 + math.floor(waiting / slots)
        decode += turns * (costs[FIXED] + costs[EACH] * slots)
        suffix += waiting * hit
    prefill = hit if row[THERE] == 1 or waiting > 0 else costs[COLD]
    parts[_OWN_HEAD] += weight * head
    parts[_SUFFIX] += weight * suffix
    parts[_COPY] += weight * copy
    parts[_DECODE] += weight * decode
    parts[_PREFILL] += weight * prefill
    return float(head + copy + suffix + decode + prefill)
