"""Windows under policies that look at loads: the joint law of the cold work on all replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.compiled import allocating, inlined
from kvcost.routing.windows_tables import tables

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service.base import Array
    from kvcost.routing.windows_tables import Tables

__all__ = ["Followed", "follow"]

_RARE, _FEW = 1e-9, 1e-5


class Followed(NamedTuple):
    """Waits of a window, in lattice steps.

    Attributes
    ----------
    hits, cold : array
        How many hits and cold requests wait, by lattice steps; hits half a step more.
    own, suffix : float
        Sum of the waits behind heads of the own burst, and behind hits.
    held : float
        Sum of what hits wait for the replica that computes their prefix to begin.
    clipped : float
        Jobs whose workload was cut at the top of the lattice.
    """

    hits: Array
    cold: Array
    own: float
    suffix: float
    held: float
    clipped: float


@inlined
def _draining(least: int, hits: float, batch: float) -> float:
    """Return the chance that the replica with the least work has the fewest requests.

    Its count falls when it is down to hits, but not before the first batch is decoded.
    """
    return min(max(hits - batch - least + 1.0, 0.0), 1.0)


@inlined
def _spared(  # noqa: PLR0917
    level: NDArray[np.int64], s: int, k: int, job: int, mass: float, seen_hit: Array
) -> None:
    """Move one hit from a replica that gets a cold request to the others.

    Counts of requests are even: the cold request takes the place of a hit.
    """
    top = level[level.shape[0] - 1, 0]
    replicas = level.shape[1]
    if replicas > 1:
        seen_hit[min(level[s, k] + job, top) - 1] -= mass
        for r in range(replicas):
            if r != k:
                seen_hit[max(level[s, r] - 1, 0)] += mass / (replicas - 1)


@allocating
def _decoy(  # noqa: PLR0912, PLR0915, PLR0917
    level: NDArray[np.int64], added: NDArray[np.int64], total: Array, job: int,
    law: NDArray[np.float64], out: NDArray[np.float64], active: int, busy: Array, batch: float,
    count: float, tie: float, seen: Array, seen_hit: Array, sums: Array, end: int,
) -> int:  # fmt: skip  # pragma: no cover - for numba
    """Give every state one decoy; `count` of them are counted in `seen`."""
    replicas = level.shape[1]
    top = level[level.shape[0] - 1, 0]
    furthest = int(added[end - 1, replicas - 1]) + 1
    if level[end - 1, replicas - 1] + job > top:
        furthest = level.shape[0]
    out[:, :furthest] = 0.0
    for s in range(end):
        mass = law[0, s]
        if mass < _RARE:
            continue
        headed, suffixed = law[1, s] / mass, law[2, s] / mass
        work = total[s]
        scale = work / (work + job)
        first, last, chance = 0, 1, 1.0
        idle = 0
        while idle < replicas and level[s, idle] == 0:
            idle += 1
        moved_first = 0.0
        if idle == 0:
            if active > 0:
                # a replica that is down to its hits has the fewest requests
                moved_first = _draining(level[s, 0], suffixed * work / replicas, batch)
                last = replicas
            else:
                jobs = (level[s, 0] + job - 1) // job
                while last < replicas and (level[s, last] + job - 1) // job == jobs:
                    last += 1
            chance = (1.0 - moved_first) / last
        else:
            if idle == 2 and active > 1:
                for k in range(1, replicas):
                    left = job if k == 1 else level[s, k]
                    if left <= job:
                        seen_hit[max(left - 1, 0)] += mass * count * tie
                        sums[1] += mass * count * tie * left * suffixed
            tied = busy[min(idle, replicas)]
            if tied > 0.0:
                over = idle
                while over < replicas and level[s, over] <= job:
                    over += 1
                chance = tied / over
                moved = mass * (1.0 - tied * (over - idle) / over)
                to = added[s, 0]
                out[0, to] += moved
                out[1, to] += moved * headed * scale
                out[2, to] += moved * suffixed * scale
                first, last = idle, over
        for k in range(first, last):
            moved = mass * (chance + (moved_first if k == 0 else 0.0))
            to = added[s, k]
            out[0, to] += moved
            out[1, to] += moved * headed * scale
            out[2, to] += moved * suffixed * scale
            seen[level[s, k]] += moved * count
            if idle == 0 and active > 0:
                _spared(level, s, k, job, moved * count, seen_hit)
            sums[1] += moved * count * level[s, k] * suffixed
            if level[s, k] + job > top:
                sums[3] += moved * count
    return furthest


@allocating
def _decoys(  # noqa: PLR0917
    level: NDArray[np.int64], added: NDArray[np.int64], total: Array, job: int, active: int,
    busy: Array, batch: float, tie: float, law: NDArray[np.float64], a: NDArray[np.float64],
    b: NDArray[np.float64], end: int, rate: float, weight: float, seen: Array, seen_hit: Array,
    sums: Array,
) -> int:  # fmt: skip  # pragma: no cover - for numba
    """Give every state a Poisson number of decoys: the exponential series to its third term."""
    part = np.exp(-rate)
    b[:, :end] = law[:, :end]
    law[:, :end] *= part
    reach, left = end, 1.0 - part
    for n in range(1, 4):
        if left < _FEW:
            break
        furthest = _decoy(
            level, added, total, job, b, a, active, busy, batch, left * weight, tie, seen,
            seen_hit, sums, reach,
        )  # fmt: skip
        part *= rate / n
        share = part if n < 3 and left - part > _FEW else left
        left -= share
        law[:, end:furthest] = 0.0
        end = max(end, furthest)
        for i in range(3):
            for s in range(furthest):
                law[i, s] += share * a[i, s]
                b[i, s] = a[i, s]
        reach = furthest
    while end > 1 and law[0, end - 1] < _RARE:
        end -= 1
    return end


@allocating
def _head(  # noqa: PLR0917
    level: NDArray[np.int64], head_added: NDArray[np.int64], head_far: NDArray[np.int64],
    total: Array, job: int, most: int, longer: float, behind: float,
    law: NDArray[np.float64], out: NDArray[np.float64], end: int, weight: float, spared: bool,
    seen: Array, seen_hit: Array, sums: Array,
) -> int:  # fmt: skip  # pragma: no cover - for numba
    """Give every state the head of a burst."""
    replicas = level.shape[1]
    top = level[level.shape[0] - 1, 0]
    furthest = int(head_far[end - 1]) + 1
    if level[end - 1, replicas - 1] + job + most > top:
        furthest = level.shape[0]
    out[:, :furthest] = 0.0
    for s in range(end):
        mass = law[0, s]
        if mass < _RARE:
            continue
        work = total[s]
        for extra in range(2):
            chance = longer if extra == 1 else 1.0 - longer
            if chance > 0.0:
                to = head_added[extra, s]
                out[0, to] += chance * mass
                out[1, to] += chance * (law[1, s] * work + mass * job) / (work + job)
                out[2, to] += chance * law[2, s] * work / (work + job)
        mass *= weight
        seen[level[s, 0]] += mass
        sums[2] += mass * behind * level[s, 0]
        if spared and level[s, 0] > 0:
            _spared(level, s, 0, job, mass, seen_hit)
        if level[s, 0] + job > top:
            sums[3] += mass
    law[:, :furthest] = out[:, :furthest]
    return furthest


@allocating
def _follow(  # noqa: PLR0912, PLR0915, PLR0917
    level: NDArray[np.int64], later: NDArray[np.int64], added: NDArray[np.int64], job: int,
    rates: Array, active: NDArray[np.int64], heads: NDArray[np.int64], fresh: NDArray[np.bool_],
    hits: NDArray[np.float64], slow: float, batch: float, busy: NDArray[np.float64],
    since: NDArray[np.int64], tie: float, behind: float, longer: float,
    head_added: NDArray[np.int64], head_far: NDArray[np.int64],
    most: int, weights: Array, seen_hit: Array, seen_cold: Array, sums: Array,
) -> None:  # fmt: skip  # pragma: no cover - for numba
    states, replicas = level.shape
    law, a, b = np.zeros((3, states)), np.zeros((3, states)), np.zeros((3, states))
    total = np.zeros(states)
    for s in range(states):
        for r in range(replicas):
            total[s] += level[s, r]
    law[0, 0] = 1.0
    end = 1
    spared = behind == 0.0
    for k in range(rates.size):
        m = active[k]
        if fresh[k]:
            law[1, :end] = 0.0  # what is left of the last burst's heads is not the newest one's
        # what comes during a step meets half of the step's decoys, on average
        halves = 2 if heads[k] > 0 else 1
        for half in range(halves):
            if half == 1:
                for _ in range(heads[k]):
                    end = _head(
                        level, head_added, head_far, total, job, most, longer, behind,
                        law, a, end, weights[k], spared, seen_cold, seen_hit, sums,
                    )  # fmt: skip
            if rates[k] > 0:
                end = _decoys(
                    level, added, total, job, m, busy[m], batch, tie, law, a, b, end,
                    rates[k] / halves, weights[k], seen_cold, seen_hit, sums,
                )  # fmt: skip
        a[:, :end] = 0.0
        count = hits[0, k] + hits[1, k]
        hold = min(slow * count, 1.0)
        count *= weights[k]
        for s in range(end):
            mass = law[0, s]
            if mass < _RARE:
                continue
            to = later[s]
            headed, suffixed = law[1, s] / mass, law[2, s] / mass
            moved = mass
            if level[s, 0] > 0 and count > 0:
                drain = _draining(level[s, 0], suffixed * total[s] / replicas, batch)
                seen_hit[level[s, 0] - 1] += mass * drain * count
                sums[1] += mass * drain * count * (level[s, 0] - 0.5)
                even = mass * (1.0 - drain)
                sums[1] += even * count * (total[s] / replicas - 0.5) * suffixed
                for kind in range(2):
                    # replicas busy since before the newest burst do not hold its prefix yet
                    first = 0
                    if kind == 0 and since[k] < job:
                        while first < replicas and level[s, first] < job - since[k]:
                            first += 1
                        first %= replicas
                    each = even * hits[kind, k] * weights[k] / (replicas - first)
                    reached = 0.0
                    for r in range(first, replicas):
                        seen_hit[level[s, r] - 1] += each
                        reached += level[s, r] - 0.5
                    if kind == 0:
                        work = headed * (total[s] - 0.5 * replicas)
                        sums[0] += each * min(work, reached)
                held = mass * hold
                a[0, s] += held
                a[1, s] += held * headed * total[s] / (total[s] + replicas)
                a[2, s] += held * (suffixed * total[s] + replicas) / (total[s] + replicas)
                moved -= held
            a[0, to] += moved
            if total[to] > 0:
                # cold work goes first: the hits came behind it
                busy_now, ending = 0, 0
                for r in range(replicas):
                    busy_now += level[s, r] > 0
                    ending += level[s, r] == 1
                after = suffixed * total[s] * (busy_now - ending) / busy_now
                share = min(after / total[to], 1.0)
                a[2, to] += moved * share
                if suffixed < 1.0:
                    a[1, to] += moved * headed * (1.0 - share) / (1.0 - suffixed)
        law[:, :end] = a[:, :end]


def follow(
    grid: Tables,
    *,
    job: int,
    rates: Array,
    active: NDArray[np.int64],
    heads: NDArray[np.int64],
    fresh: NDArray[np.bool_],
    hits: NDArray[np.float64],
    slow: float,
    batch: float,
    busy: NDArray[np.float64],
    since: NDArray[np.int64],
    tie: float,
    behind: float,
    longer: float,
    weights: Array,
) -> Followed:
    """Follow the law of the sorted cold work of all replicas through a window.

    Parameters
    ----------
    grid : Tables
        States and moves.
    job : int
        Work of a cold prefill [lattice steps].
    rates : array
        Decoys expected in each step.
    active, heads : array
        Bursts that run, and cold heads that arrive, in each step.
    fresh : array
        Whether a burst starts in a step.
    hits : array
        Hits expected in each step: of the burst whose head came last, and of the others.
    slow : float
        Share of a step that one hit keeps every replica busy while all are.
    batch : float
        Work of the hits that a batch holds besides a cold request [lattice steps].
    busy : array
        By active bursts and idle replicas: chance that each idle one is serving a hit.
    since : array
        Steps since copies of the newest burst's prefix were asked for; many where there are none.
    tie : float
        Chance that the hits of two bursts overlap in service.
    behind : float
        Hits that follow the head to its replica.
    longer : float
        What those hits keep the replica of the head busy after it [lattice steps].
    weights : array
        How often what arrives in each step counts.

    Returns
    -------
    Followed
        Waits in lattice steps.

    Notes
    -----
    Decoys of a step act at its start. The mean composition of the work in a state is carried
    along: what share is heads of the newest burst, and what share is hits.
    """
    top = int(grid.level[-1, -1])
    more = int(longer)
    near, next_ = (tables(grid.level.shape[1], top, job + more + k).added for k in range(2))
    head_added = np.stack((near[:, 0], next_[:, 0]))
    far, most = np.ascontiguousarray(next_[:, -1]), more + 1
    seen_hit, seen_cold, sums = np.zeros(top + 1), np.zeros(top + 1), np.zeros(4)
    _follow(
        *grid,
        job,
        rates,
        active,
        heads,
        fresh,
        hits,
        slow,
        batch,
        busy,
        since,
        tie,
        behind,
        longer % 1.0,
        head_added,
        far,
        most,
        weights,
        seen_hit,
        seen_cold,
        sums,
    )
    return Followed(seen_hit, seen_cold, *(float(value) for value in sums))
