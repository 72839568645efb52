"""Policies that look at loads on an even burst: follow the law of the state through its ties."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from kvcost.compiled import compiled, inlined
from kvcost.routing.even_replica import (
    COLD,
    COPY,
    EACH,
    FIXED,
    HIT,
    NOW,
    READY,
    RUNNING,
    THERE,
    WAITING,
    advance,
    charge,
)
from kvcost.routing.even_states import (
    Law,
    add_successor,
    busy,
    comb,
    lacking,
    make_states,
    new_law,
    sign,
)
from kvcost.routing.even_turns import Followed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service.base import Array

__all__ = ["AWARE", "LEAST", "REPLICATE", "follow_ties"]

LEAST, AWARE, REPLICATE = range(3)
_COPIES, _REPEATS, _WINDOW, _ABSOLUTE, _RELATIVE, _COMPUTED = range(6)
_PREFILL, _COLD, _LONGEST, _TRIPPED, _THINNED, _AT_HIT, _AT_COLD, _SUMS = range(4, 12)
_GOLDEN = 0.6180339887498949
_MOST, _MOST_COPIED, _MOST_WHILE_COLD, _ROOM = 12, 24, 64, 2048
_USES = ("kvcost.routing.even_replica", "kvcost.routing.even_states")


@inlined
def _plan(rows: NDArray[np.float64], time: float, wanted: float, costs: Array) -> None:
    """Start copies to the least loaded replicas that lack the prefix."""
    while wanted >= 1:
        best, least = -1, 0.0
        for j in range(rows.shape[0]):
            load = rows[j, RUNNING] + rows[j, WAITING]
            if rows[j, THERE] == 0 and (best < 0 or load < least):
                best, least = j, load
        if best < 0:
            break
        ready = max(time, rows[best, NOW]) + costs[COPY]
        rows[best, NOW] = rows[best, READY] = ready
        rows[best, THERE] = 2
        wanted -= 1


@inlined
def _mode(  # noqa: PLR0917 # pragma: no cover - for numba
    kind: int, rows: NDArray[np.float64], i: int, gap: float, costs: Array, rule: Array
) -> tuple[int, bool]:
    """Return whether all replicas compete or those with the prefix, and whether that is a trip."""
    most, least, there, planned = 0.0, np.inf, 0, 0
    for j in range(rows.shape[0]):
        load = rows[j, RUNNING] + rows[j, WAITING]
        most, least = max(most, load), min(least, load)
        there += 1 if rows[j, THERE] == 1 else 0
        planned += 1 if rows[j, THERE] == 2 else 0
    if kind == REPLICATE and there > 0:
        recent = i + 1 if gap * i <= rule[_WINDOW] else int(rule[_WINDOW] / gap + 1e-9) + 1
        if recent >= rule[_REPEATS]:
            if rule[_COMPUTED] == 0 or i * gap >= costs[COLD]:
                _plan(rows, i * gap, rule[_COPIES] - there - planned, costs)
            return AWARE, False
    if kind == LEAST or there == 0:
        return LEAST, False
    if most > rule[_ABSOLUTE] and most > rule[_RELATIVE] * least:
        return LEAST, True
    return AWARE, False


@inlined
def _settled(rows: NDArray[np.float64], time: float, mode: int) -> bool:
    """Return whether the replicas that compete are all idle and hold the prefix."""
    for j in range(rows.shape[0]):
        if rows[j, THERE] == 1:
            if rows[j, NOW] > time or rows[j, RUNNING] > 0:
                return False
        elif mode == LEAST:
            return False
    return True


@inlined
def _tied(law: Law, rows: NDArray[np.float64], mode: int, near: float) -> tuple[int, int]:
    """List one replica of each kind that ties for the arrival; return kinds and replicas."""
    tied, sizes = law.tied, law.sizes
    least = np.inf
    for j in range(rows.shape[0]):
        if mode == LEAST or rows[j, THERE] == 1:
            least = min(least, rows[j, RUNNING] + rows[j, WAITING])
    kinds, replicas = 0, 0
    for j in range(rows.shape[0]):
        if mode != LEAST and rows[j, THERE] != 1:
            continue
        if rows[j, RUNNING] + rows[j, WAITING] != least:
            continue
        replicas += 1
        same = -1
        for e in range(kinds):
            k = tied[e]
            if (
                rows[k, THERE] == rows[j, THERE]
                and rows[k, RUNNING] == rows[j, RUNNING]
                and abs(rows[k, NOW] - rows[j, NOW]) < near
            ):
                same = e
                break
        if same < 0:
            tied[kinds], sizes[kinds] = j, 1
            kinds += 1
        else:
            sizes[same] += 1
    return kinds, replicas


@partial(compiled, uses=_USES)
def _follow(  # noqa: PLR0912, PLR0915, PLR0917 # pragma: no cover - one loop for numba
    kind: int, requests: int, gap: float, costs: Array, rule: Array, most: int, most_cold: int,
    law: Law, both: NDArray[np.float64], values: Array, weights: Array, out: Array,
) -> int:  # fmt: skip
    """Fill in times and sums; return how many times, or -1 where there is no room."""
    replicas, hit, cold = both.shape[2], costs[HIT], costs[COLD]
    alone = hit + costs[FIXED] + costs[EACH]
    near = 1e-6 * max(hit, 1e-6 * cold)
    scale = 1e-6 / near
    states, written, here = 1, 0, 0
    for i in range(requests):
        time = i * gap
        now = both[here]
        count, cold_somewhere, certain = 0, False, False
        for p in range(states):
            rows, weight = now[p], law.weight[p]
            for j in range(replicas):
                if rows[j, NOW] < time or rows[j, WAITING] > 0 or rows[j, THERE] == 2:
                    advance(rows[j], time, costs)
            mode, trips = _mode(kind, rows, i, gap, costs, rule)
            if trips:
                law.tripped[p] = 1.0
            if gap >= alone and i > 0 and _settled(rows, time, mode):
                rest = weight * (requests - i)
                out[_AT_HIT] += rest
                out[_PREFILL] += rest * hit
                out[_LONGEST] += weight * max(law.longest[p], hit)
                out[_TRIPPED] += weight * law.tripped[p]
                continue
            kinds, tied = _tied(law, rows, mode, near)
            if written + kinds > values.size:
                return -1
            certain = states == 1 and kinds == 1
            lack, mark, rank = 0, 0.0, 0.0
            if not certain:
                lack = lacking(rows)
                for j in range(replicas):
                    mark += sign(rows[j], time, scale, 0)
                    load = rows[j, RUNNING] + rows[j, WAITING]
                    rank += load * busy(rows[j], time)
            for e in range(kinds):
                j = law.tied[e]
                row, share = rows[j], weight * law.sizes[e] / tied
                lacks = 1 if row[THERE] != 1 and row[WAITING] == 0 else 0
                wait = charge(row, time, costs, share, out)
                out[_COLD] += share * lacks
                if wait == hit:
                    out[_AT_HIT] += share
                elif wait == cold:
                    out[_AT_COLD] += share
                else:
                    values[written], weights[written] = wait, share
                    written += 1
                longest = max(law.longest[p], wait)
                if certain:
                    law.longest[p] = longest
                    row[WAITING] += 1
                    continue
                after = mark - sign(row, time, scale, 0) + sign(row, time, scale, 1)
                u, new = add_successor(law, count, after, share, longest, law.tripped[p])
                if new:
                    law.parent[u], law.chosen[u], law.lack[u] = p, j, lack - lacks
                    law.rank[u] = rank + busy(row, time)
                    cold_somewhere = cold_somewhere or lack > lacks
                    count += 1
        if certain:
            continue
        allowed = most_cold if cold_somewhere and kind != REPLICATE else most
        if count > allowed:
            out[_THINNED] += 1
            comb(law, count, allowed, (i * _GOLDEN) % 1.0)
        here = 1 - here
        states = make_states(law, now, both[here], count)
        if states == 0:
            break
    for p in range(states):
        out[_LONGEST] += law.weight[p] * law.longest[p]
        out[_TRIPPED] += law.weight[p] * law.tripped[p]
    return written


def follow_ties(
    kind: int, *, requests: int, gap: float, replicas: int, costs: Array, rule: Array
) -> Followed:
    """Follow an even burst under a policy that looks at loads and breaks ties at random.

    Parameters
    ----------
    kind : int
        `LEAST`, `AWARE` or `REPLICATE`.
    requests : int
        Requests of the burst.
    gap : float
        Time between two of them [s].
    replicas : int
        Replicas.
    costs : array
        Cold prefill, hit, copy, slots, fixed and growing part of a decode step.
    rule : array
        Copies, repeats and window of replication, absolute and relative threshold of the
        fallback, and whether copies wait until the prefix is computed.

    Returns
    -------
    Followed
        Exact where the law needed no thinning (`thinned` is 0).

    Notes
    -----
    The state of all replicas is a law on at most 12 states (24 for `REPLICATE`, 64 while a replica
    may still compute the prefix, fewer for more than 32 replicas). An arrival gives a state one
    successor for each kind of replica that ties; successors that differ only in the order of the
    replicas are merged, and if too many are left, the law is thinned: heavy states keep their
    weight and the others are picked by a comb along what decides later waits [1]_, moved by the
    golden ratio from arrival to arrival in place of random draws [2]_.

    References
    ----------
    .. [1] P. Fearnhead and P. Clifford (2003), On-line inference for hidden Markov models via
       particle filters, https://doi.org/10.1111/1467-9868.00421
    .. [2] P. L'Ecuyer, C. Lecot and B. Tuffin (2008), A randomized quasi-Monte Carlo simulation
       method for Markov chains, https://doi.org/10.1287/opre.1080.0556
    """
    most = max(min(_MOST_COPIED if kind == REPLICATE else _MOST, _ROOM // replicas), 2)
    most_cold = max(min(_MOST_WHILE_COLD, _ROOM // replicas), 2)
    length = 64 * requests + 1024
    while True:
        law, rows = new_law(most=most_cold, replicas=replicas)
        values, weights, out = np.empty(length), np.empty(length), np.zeros(_SUMS)
        arrays = (costs, rule, most, most_cold, law, rows, values, weights, out)
        written = _follow(kind, requests, gap, *arrays)
        if written >= 0:
            break
        length *= 4
    values = np.append(values[:written], (costs[HIT], costs[COLD]))
    weights = np.append(weights[:written], (out[_AT_HIT], out[_AT_COLD]))
    return Followed(
        values=values,
        weights=weights,
        parts=out[:5],
        cold=float(out[_COLD]),
        longest=float(out[_LONGEST]),
        tripped=float(out[_TRIPPED]),
        thinned=int(out[_THINNED]),
    )
