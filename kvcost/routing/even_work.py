"""The law of one replica's work behind its first busy period, slot by slot."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.compiled import inlined
from kvcost.routing.even_replica import EACH, FIXED, HIT, SLOTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service.base import Array

__all__ = ["SEEDS", "Work", "move", "new_work"]

SEEDS = 480  # states that may be there before a slot; it can double them
_MOST, _TABLE = 48, 2048
_RARE = 1e-10


class Work(NamedTuple):
    """States of a replica that has work, each with its probability; for two slots in turn.

    Attributes
    ----------
    left : array
        Time until all admitted work is done, counted from the slot [s].
    batch : array
        Requests admitted since the last decode step.
    mass : array
        Probability.
    table, place : array
        States by what they are, -1 where there is none, and each state's place there.
    """

    left: NDArray[np.float64]
    batch: NDArray[np.int64]
    mass: NDArray[np.float64]
    table: NDArray[np.int64]
    place: NDArray[np.int64]


def new_work() -> Work:
    """Return room for the law."""
    room = 2 * SEEDS + 2
    return Work(
        np.zeros((2, room)),
        np.zeros((2, room), np.int64),
        np.zeros((2, room)),
        np.full(_TABLE, -1),
        np.zeros(room, np.int64),
    )


@inlined
def _add(  # noqa: PLR0917 # pragma: no cover - for numba
    work: Work, side: int, count: int, left: float, batch: int, mass: float, costs: Array,
    near: float,
) -> tuple[int, float]:  # fmt: skip
    """Add a state, after the decode step that a replica behind its time runs.

    Returns how many states there are, and what of `mass` is idle.
    """
    if left < 0.0 and batch > 0:
        left += costs[FIXED] + costs[EACH] * batch
        batch = 0
    if left < 0.0 or mass < _RARE or (left == 0.0 and batch == 0):
        return count, mass
    size = work.table.size
    slot = (int(left / near) * 31 + batch * 7) % size
    while work.table[slot] >= 0:
        k = work.table[slot]
        if work.batch[side, k] == batch and abs(work.left[side, k] - left) < near:
            work.mass[side, k] += mass
            return count, 0.0
        slot = (slot + 1) % size
    work.table[slot] = count
    work.place[count] = slot
    work.left[side, count], work.batch[side, count] = left, batch
    work.mass[side, count] = mass
    return count + 1, 0.0


@inlined
def _comb(work: Work, side: int, count: int, offset: float) -> int:
    """Leave about 48 states: the heavy ones, and an even comb through the others."""
    mass = work.mass[side]
    total = 0.0
    for k in range(count):
        total += mass[k]
    tooth, heavy = total / _MOST, -1
    while True:
        above, rest = 0, total
        for k in range(count):
            if mass[k] > tooth * (1 + 1e-9):
                above += 1
                rest -= mass[k]
        if above == heavy or above >= _MOST:
            break
        heavy, tooth = above, rest / (_MOST - above)
    reached, after, left = offset * tooth, 0.0, 0
    for k in range(count):
        if mass[k] <= tooth * (1 + 1e-9):
            reached += mass[k]
            if reached < tooth:
                continue
            reached -= tooth
            mass[k] = tooth
        after += mass[k]
        work.left[side, left], work.batch[side, left] = work.left[side, k], work.batch[side, k]
        mass[left] = mass[k]
        left += 1
    for k in range(left):
        mass[k] *= total / after
    return left


@inlined
def move(  # noqa: PLR0917 # pragma: no cover - for numba
    work: Work, side: int, count: int, idle: float, gap: float, chance: float, costs: Array,
    near: float, offset: float,
) -> tuple[int, float]:  # fmt: skip
    """Move the law by one slot to the other side; return its states and the idle share."""
    slots, hit = int(costs[SLOTS]), costs[HIT]
    full = costs[FIXED] + costs[EACH] * slots
    other, then = 1 - side, 0
    still = idle * (1 - chance)
    for k in range(count):
        left, batch, mass = work.left[side, k], work.batch[side, k], work.mass[side, k]
        then, lost = _add(work, other, then, left - gap, batch, mass * (1 - chance), costs, near)
        still += lost
    for k in range(-1, count):
        left, batch, mass = 0.0, 0, idle
        if k >= 0:
            left, batch, mass = work.left[side, k], work.batch[side, k], work.mass[side, k]
        left += hit - gap
        batch += 1
        if batch == slots:
            left += full
            batch = 0
        then, lost = _add(work, other, then, left, batch, mass * chance, costs, near)
        still += lost
    for k in range(then):
        work.table[work.place[k]] = -1
    if then > _MOST:
        then = _comb(work, other, then, offset)
    return then, still
