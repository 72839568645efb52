"""Which phase each busy server is in: states and rates of a block of phase-type services.

A state is the number of services in each phase, since the servers are alike. With n services in m
phases there are ``binomial(n + m - 1, m - 1)`` states. Everything is assembled from index arrays
that depend on n and m only and are kept.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service import PhaseType

    Array = NDArray[np.float64]
    Indices = NDArray[np.intp]

__all__ = ["Level", "added", "level", "removed", "replaced", "saturated", "state_count"]


def state_count(*, services: int, phases: int) -> int:
    """Return the number of states of some services in some phases.

    Parameters
    ----------
    services : int
        Running services.
    phases : int
        Phases of their law.

    Returns
    -------
    int
        States.

    Examples
    --------
    >>> state_count(services=16, phases=4)
    969
    """
    return math.comb(services + phases - 1, phases - 1)


@dataclass(frozen=True)
class Level:
    """The states of n services in m phases, in descending lexicographic order.

    Attributes
    ----------
    counts : array
        Services in each phase, one row a state.
    down : tuple of (array, array)
        For each phase: the states that have a service there, and which state of the level below
        they become without it.
    """

    counts: Array
    down: tuple[tuple[Indices, Indices], ...]

    @property
    def size(self) -> int:
        """Number of states."""
        return int(self.counts.shape[0])


def _compositions(services: int, phases: int) -> NDArray[np.int64]:
    if phases == 1:
        return np.array([[services]])
    parts = []
    for first in range(services, -1, -1):
        rest = _compositions(services - first, phases - 1)
        parts.append(np.column_stack([np.full(len(rest), first), rest]))
    return np.concatenate(parts)


def _ranks(counts: NDArray[np.int64]) -> Indices:
    """Return the place of each state in the order of its level."""
    phases = counts.shape[1]
    total = counts.sum(axis=1)
    rank = np.zeros(len(counts), dtype=np.intp)
    highest = int(total.max(initial=0)) + phases
    table = np.array(
        [[math.comb(n, k) for k in range(phases)] for n in range(highest + 1)], dtype=np.intp
    )
    rest = total.copy()
    for phase in range(phases - 1):
        rest = rest - counts[:, phase]
        # states that hold more services in this phase come first
        left = phases - phase - 1
        rank += np.where(rest > 0, table[np.maximum(rest - 1 + left, 0), left], 0)
    return rank


@lru_cache(maxsize=2048)
def level(services: int, phases: int) -> Level:
    """Return the states of some services in some phases.

    Parameters
    ----------
    services : int
        Running services.
    phases : int
        Phases of their law.

    Returns
    -------
    Level
        Index arrays, shared between calls.
    """
    counts = _compositions(services, phases)
    down = []
    for phase in range(phases):
        rows = np.flatnonzero(counts[:, phase])
        fewer = counts[rows].copy()
        fewer[:, phase] -= 1
        down.append((rows, _ranks(fewer) if rows.size else rows))
    return Level(counts.astype(float), tuple(down))


def removed(law: PhaseType, services: int) -> Array:
    """Return the rates at which a service ends: from this level to the one below [1/s].

    Parameters
    ----------
    law : PhaseType
        Law of a service.
    services : int
        Running services, 1 or more.

    Returns
    -------
    array
        One row a state, one column a state with one service less.
    """
    here = level(services, law.phases)
    matrix = np.zeros((here.size, state_count(services=services - 1, phases=law.phases)))
    for phase, (rows, below) in enumerate(here.down):
        matrix[rows, below] = here.counts[rows, phase] * law.exit_rates[phase]
    return matrix


def added(law: PhaseType, services: int) -> Array:
    """Return the probabilities with which a new service changes the state.

    Parameters
    ----------
    law : PhaseType
        Law of a service.
    services : int
        Running services after it has begun, 1 or more.

    Returns
    -------
    array
        One row a state with one service less, one column a state.
    """
    here = level(services, law.phases)
    matrix = np.zeros((state_count(services=services - 1, phases=law.phases), here.size))
    for phase, (rows, below) in enumerate(here.down):
        matrix[below, rows] = law.alpha[phase]
    return matrix


def replaced(law: PhaseType, services: int) -> Array:
    """Return the rates between the states of a level while no service ends or begins [1/s].

    Parameters
    ----------
    law : PhaseType
        Law of a service.
    services : int
        Running services.

    Returns
    -------
    array
        Square; rows sum to minus the rate at which services end.
    """
    here = level(services, law.phases)
    matrix = np.diag(here.counts @ np.diag(law.matrix))
    for start, (rows, below) in enumerate(here.down):
        for end in range(law.phases):
            rate = law.matrix[start, end]
            if end != start and rate:
                up = _up(services, law.phases, end)
                matrix[rows, up[below]] += here.counts[rows, start] * rate
    return matrix


@lru_cache(maxsize=4096)
def _up(services: int, phases: int, phase: int) -> Indices:
    """Return which state each state of the level below becomes with a service in a phase."""
    rows, below = level(services, phases).down[phase]
    up = np.empty(rows.size, dtype=np.intp)
    up[below] = rows
    return up


def saturated(law: PhaseType, servers: int) -> tuple[Array, Array]:
    """Return the rates of the servers while all are busy and requests wait [1/s].

    Parameters
    ----------
    law : PhaseType
        Law of a service.
    servers : int
        Servers.

    Returns
    -------
    tuple of array
        Rates without and with the end of a service, at once replaced by the next.
    """
    here = level(servers, law.phases)
    ends = np.zeros((here.size, here.size))
    for start, (rows, below) in enumerate(here.down):
        rates = here.counts[rows, start] * law.exit_rates[start]
        for end in range(law.phases):
            if law.alpha[end]:
                ends[rows, _up(servers, law.phases, end)[below]] += rates * law.alpha[end]
    return replaced(law, servers), ends
