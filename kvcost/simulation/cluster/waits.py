"""Where the wait of each request went: what its replica did from arrival to start."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["WaitParts", "attribute"]


@dataclass(frozen=True, kw_only=True)
class WaitParts:
    """Seconds that each request waited behind each kind of work; they add up to its wait.

    Attributes
    ----------
    own_head : array of float
        Prefills without a hit by requests of its own group.
    other_cold : array of float
        Prefills without a hit by others.
    suffix : array of float
        Prefills of requests that had a hit.
    copy : array of float
        Copies that held the replica.
    decode : array of float
        Decode steps, and loading that nothing else covers.
    """

    own_head: NDArray[np.float64]
    other_cold: NDArray[np.float64]
    suffix: NDArray[np.float64]
    copy: NDArray[np.float64]
    decode: NDArray[np.float64]


def _until(
    starts: NDArray[np.float64], ends: NDArray[np.float64], times: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the seconds that sorted intervals without overlap cover before each time."""
    if starts.size == 0:
        return np.zeros(times.size)
    before = np.concatenate([[0.0], np.cumsum(ends - starts)])
    last = np.searchsorted(starts, times, side="right") - 1
    inside = np.minimum(times, ends[last]) - starts[last]
    return np.where(last < 0, 0.0, before[np.maximum(last, 0)] + inside)


def _between(
    intervals: NDArray[np.float64], arrival: NDArray[np.float64], start: NDArray[np.float64]
) -> NDArray[np.float64]:
    order = np.argsort(intervals[:, 0], kind="stable")
    starts, ends = intervals[order, 0], intervals[order, 1]
    return _until(starts, ends, start) - _until(starts, ends, arrival)


def attribute(
    *,
    arrival: NDArray[np.float64],
    start: NDArray[np.float64],
    end: NDArray[np.float64],
    replica: NDArray[np.int64],
    cold: NDArray[np.bool_],
    group: NDArray[np.int64],
    copies: NDArray[np.float64],
) -> WaitParts:
    """Attribute the waits of a run.

    Parameters
    ----------
    arrival, start, end : array of float
        Arrival, start and end of the prefill (with its loading) of each request [s].
    replica : array of int
        Where each ran.
    cold : array of bool
        Whether it had no hit.
    group : array of int
        Group it belongs to, -1 for none.
    copies : array of float
        Copies that held a replica: start [s], end [s], replica.

    Returns
    -------
    WaitParts
        One row a request.
    """
    size = arrival.size
    parts = {name: np.zeros(size) for name in ("own_head", "other_cold", "suffix", "copy")}
    work = np.column_stack([start, end])
    for r in np.unique(replica):
        here = np.flatnonzero(replica == r)
        came, began = arrival[here], start[here]
        heads = here[cold[here]]
        parts["suffix"][here] = _between(work[here[~cold[here]]], came, began)
        parts["other_cold"][here] = _between(work[heads], came, began)
        if copies.size:
            parts["copy"][here] = _between(copies[copies[:, 2] == r, :2], came, began)
        for head in heads[group[heads] >= 0]:
            mates = here[group[here] == group[head]]
            low = np.maximum(arrival[mates], start[head])
            own = np.clip(np.minimum(start[mates], end[head]) - low, 0.0, None)
            parts["own_head"][mates] += own
    parts["other_cold"] -= parts["own_head"]
    decode = (start - arrival) - sum(parts.values())
    return WaitParts(decode=decode, **parts)
