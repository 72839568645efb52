"""The law of the joint state of all replicas: successors, merged where equal, thinned, made."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.compiled import inlined
from kvcost.routing.even_replica import FIELDS, HEAD, NOW, READY, RUNNING, THERE, WAITING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service.base import Array

__all__ = ["Law", "add_successor", "busy", "comb", "lacking", "make_states", "new_law", "sign"]

_SAME, _FINE, _NEVER = 1e-10, 1e7, 1e-12
_STEPS = (301, 132, 57, 23, 10, 4, 1)


class Law(NamedTuple):
    """A law on states of all replicas, and the successors that an arrival gives them.

    Attributes
    ----------
    weight, longest, tripped : array
        Probability of each state, and the mean longest time to token and the share of tripped
        histories that led to it.
    next_weight, next_longest, next_tripped : array
        The same of each successor.
    mark : array
        A number for each successor that does not depend on the order of the replicas.
    rank : array
        Sum over its replicas of load times `busy`: what thinning sorts them by.
    parent, chosen, lack, slot, order : array
        State that a successor comes from, replica that the arrival joins there, replicas that
        lack the prefix then, place in `table`, and the successors sorted.
    table : array
        Successors by their mark; -1 where there is none.
    tied, sizes : array
        A replica of each kind that ties for an arrival, and how many are of that kind.
    """

    weight: Array
    longest: Array
    tripped: Array
    next_weight: Array
    next_longest: Array
    next_tripped: Array
    mark: Array
    rank: Array
    parent: NDArray[np.int64]
    chosen: NDArray[np.int64]
    lack: NDArray[np.int64]
    slot: NDArray[np.int64]
    order: NDArray[np.int64]
    table: NDArray[np.int64]
    tied: NDArray[np.int64]
    sizes: NDArray[np.int64]


def new_law(*, most: int, replicas: int) -> tuple[Law, NDArray[np.float64]]:
    """Return a law with one state, all replicas empty at time 0, and rows for it and the next.

    Parameters
    ----------
    most : int
        States that the law may have.
    replicas : int
        Replicas.

    Returns
    -------
    Law
        The law.
    array
        For two laws: state, replica, field; see `kvcost.routing.even_replica`.
    """
    states, successors = most + 2, (most + 2) * replicas
    rows = np.zeros((2, states, replicas, FIELDS))
    rows[0, 0, :, HEAD] = rows[0, 0, :, READY] = -1.0
    whole = np.int64
    law = Law(
        np.zeros(states), np.zeros(states), np.zeros(states),
        np.zeros(successors), np.zeros(successors), np.zeros(successors),
        np.zeros(successors), np.zeros(successors),
        np.zeros(successors, whole), np.zeros(successors, whole), np.zeros(successors, whole),
        np.zeros(successors, whole), np.zeros(successors, whole),
        np.full(2 << successors.bit_length(), -1, whole),
        np.zeros(replicas, whole), np.zeros(replicas, whole),
    )  # fmt: skip
    law.weight[0] = 1.0
    return law, rows


@inlined
def sign(row: Array, time: float, scale: float, more: int) -> float:
    """Return a replica's part of the mark of a state, with `more` arrivals in its queue."""
    # irrational steps, and a reciprocal, so that different states have different sums
    z = 1.3716 + 0.7310586 * max(row[NOW] - time, 0.0) * scale + 0.5772157 * row[THERE]
    return 1.0 / float(z + 1.6180340 * row[RUNNING] + 2.2360680 * (row[WAITING] + more))


@inlined
def busy(row: Array, time: float) -> float:
    """Return what a request more on a replica adds to the rank of a state."""
    # a cold prefill decides; other work orders what it leaves equal
    return float(max(row[HEAD] - time, 0.0) + 0.01 * (row[NOW] - time))


@inlined
def lacking(rows: NDArray[np.float64]) -> int:
    """Return how many replicas of a state lack the prefix."""
    count = 0
    for j in range(rows.shape[0]):
        count += 1 if rows[j, THERE] != 1 and rows[j, WAITING] == 0 else 0
    return count


@inlined
def add_successor(  # noqa: PLR0917 # pragma: no cover - for numba
    law: Law, count: int, mark: float, weight: float, longest: float, tripped: float
) -> tuple[int, bool]:
    """Add to an equal successor, or make a new one; return its number and whether it is new."""
    size = law.table.size
    slot = int(mark * _FINE) % size
    while law.table[slot] >= 0:
        same = law.table[slot]
        if abs(law.mark[same] - mark) < _SAME:
            before = law.next_weight[same]
            both = before + weight
            law.next_longest[same] = (law.next_longest[same] * before + longest * weight) / both
            law.next_tripped[same] = (law.next_tripped[same] * before + tripped * weight) / both
            law.next_weight[same] = both
            return same, False
        slot = (slot + 1) % size
    law.table[slot] = count
    law.slot[count], law.mark[count] = slot, mark
    law.next_weight[count] = weight
    law.next_longest[count], law.next_tripped[count] = longest, tripped
    return count, True


@inlined
def comb(  # noqa: PLR0912 # pragma: no cover - for numba
    law: Law, count: int, most: int, offset: float
) -> None:
    """Leave about `most` successors: the heavy ones, and an even comb through the others.

    They are ordered by how many replicas lack the prefix and then by their rank, so that the laws
    of what decides later waits, cold prefills to come and requests behind those that run, are kept
    to one tooth.
    """
    weight, order, rank = law.next_weight, law.order, law.rank
    total = highest = 0.0
    for u in range(count):
        total += weight[u]
        highest = max(highest, rank[u])
    for u in range(count):
        order[u] = u
        rank[u] += 2.0 * law.lack[u] * highest
    for step in _STEPS:  # Shell's sort
        for u in range(step, count):
            moved, v = order[u], u
            while v >= step and rank[order[v - step]] > rank[moved]:
                order[v] = order[v - step]
                v -= step
            order[v] = moved
    tooth, heavy = total / most, -1
    while True:  # the weight from which a successor is kept as it is
        above, rest = 0, total
        for u in range(count):
            if weight[u] > tooth * (1 + 1e-9):
                above += 1
                rest -= weight[u]
        if above == heavy or above >= most:
            break
        heavy, tooth = above, rest / (most - above)
    reached, after = offset * tooth, 0.0
    for v in range(count):
        u = order[v]
        if weight[u] <= tooth * (1 + 1e-9):
            reached += weight[u]
            weight[u] = 0.0
            if reached >= tooth:
                reached -= tooth
                weight[u] = tooth
        after += weight[u]
    for u in range(count):
        weight[u] *= total / after


@inlined
def make_states(law: Law, rows: NDArray[np.float64], then: NDArray[np.float64], count: int) -> int:
    """Make the successors that have probability the states; return how many."""
    made = 0
    for u in range(count):
        law.table[law.slot[u]] = -1
        if law.next_weight[u] > _NEVER and made < then.shape[0]:
            for j in range(rows.shape[1]):
                for field in range(FIELDS):
                    then[made, j, field] = rows[law.parent[u], j, field]
            then[made, law.chosen[u], WAITING] += 1
            law.weight[made] = law.next_weight[u]
            law.longest[made] = law.next_longest[u]
            law.tripped[made] = law.next_tripped[u]
            made += 1
    return made
