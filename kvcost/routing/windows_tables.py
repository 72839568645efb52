"""Sorted workloads of several replicas on a lattice, numbered, with the moves between them."""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.compiled import allocating

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Tables", "count_states", "tables"]


class Tables(NamedTuple):
    """States, and where a state moves.

    Attributes
    ----------
    level : array
        Workload of each replica in each state [lattice steps], ascending.
    later : array
        The state one step later.
    added : array
        The state after a job for the replica at each position.
    """

    level: NDArray[np.int64]
    later: NDArray[np.int64]
    added: NDArray[np.int64]


def count_states(replicas: int, top: int) -> int:
    """Return how many sorted tuples of `replicas` values from 0 to `top` there are."""
    return comb(top + replicas, replicas)


@allocating
def _fill(  # noqa: PLR0917
    level: NDArray[np.int64], later: NDArray[np.int64], added: NDArray[np.int64],
    choose: NDArray[np.int64], top: int, job: int,
) -> None:  # fmt: skip  # pragma: no cover - for numba
    states, replicas = level.shape
    for s in range(states):
        rest = s
        for i in range(replicas - 1, -1, -1):
            y = i
            while y < top + replicas and choose[y + 1, i + 1] <= rest:
                y += 1
            rest -= choose[y, i + 1]
            level[s, i] = y - i
    for s in range(states):
        rank = 0
        for i in range(replicas):
            rank += choose[max(level[s, i] - 1, 0) + i, i + 1]
        later[s] = rank
        for k in range(replicas):
            value = min(level[s, k] + job, top)
            at, rank, placed = 0, 0, False
            for i in range(replicas):
                if i == k:
                    continue
                if not placed and value <= level[s, i]:
                    rank += choose[value + at, at + 1]
                    at += 1
                    placed = True
                rank += choose[level[s, i] + at, at + 1]
                at += 1
            if not placed:
                rank += choose[value + at, at + 1]
            added[s, k] = rank


@lru_cache(maxsize=32)
def tables(replicas: int, top: int, job: int) -> Tables:
    """Return the numbered states of `replicas` sorted workloads from 0 to `top`, and moves.

    Parameters
    ----------
    replicas : int
        Replicas.
    top : int
        Largest workload [lattice steps]; more is cut to it.
    job : int
        Workload of one job [lattice steps].

    Returns
    -------
    Tables
        The empty state is number 0. A state's number is the sum of binomials ``C(w_i + i, i + 1)``
        (the combinatorial number system).
    """
    states = count_states(replicas, top)
    choose = np.zeros((top + replicas + 2, replicas + 2), np.int64)
    for row in range(choose.shape[0]):
        for column in range(choose.shape[1]):
            choose[row, column] = comb(row, column)
    level = np.zeros((states, replicas), np.int64)
    later = np.zeros(states, np.int64)
    added = np.zeros((states, replicas), np.int64)
    _fill(level, later, added, choose, top, job)
    return Tables(level, later, added)
