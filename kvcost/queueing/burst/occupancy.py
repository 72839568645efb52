"""Busy servers by phase of service: the Markov chain behind phase-type services."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.queueing.service.base import Array
    from kvcost.queueing.service.phasetype import PhaseType

__all__ = ["Occupancy", "occupancy", "occupancy_count"]


def occupancy_count(*, servers: int, phases: int) -> int:
    """Return in how many ways busy servers can be spread over the phases of service.

    Parameters
    ----------
    servers : int
        Busy servers.
    phases : int
        Phases.

    Returns
    -------
    int
        ``C(servers + phases - 1, phases - 1)``.
    """
    from math import comb  # noqa: PLC0415 - rarely asked

    return comb(servers + phases - 1, phases - 1)


def _spread(total: int, phases: int) -> list[tuple[int, ...]]:
    if phases == 1:
        return [(total,)]
    return [
        (first, *rest) for first in range(total + 1) for rest in _spread(total - first, phases - 1)
    ]


@dataclass(frozen=True)
class Occupancy:
    """Sparse matrices of `servers` that serve a phase-type law.

    Attributes
    ----------
    servers : int
        Servers.
    law : PhaseType
        Law of the service time.

    Notes
    -----
    With n requests present, min(n, servers) are in service; a state is how many are in each phase.
    Row vectors are laws, so a matrix acts from the right.
    """

    servers: int
    law: PhaseType

    @cached_property
    def states(self) -> list[list[tuple[int, ...]]]:
        """States by number of busy servers."""
        return [_spread(total, self.law.phases) for total in range(self.servers + 1)]

    @cached_property
    def index(self) -> list[dict[tuple[int, ...], int]]:
        """Position of each state."""
        return [{state: i for i, state in enumerate(group)} for group in self.states]

    def _matrix(self, entries: list[tuple[int, int, float]], shape: tuple[int, int]) -> Any:
        from scipy import sparse  # noqa: PLC0415 - loaded when asked

        rows, columns, values = zip(*entries, strict=True) if entries else ((), (), ())
        return sparse.csr_matrix((values, (rows, columns)), shape=shape, dtype=float)

    @cached_property
    def inside(self) -> list[Any]:
        """Rates between states of the same number of busy servers, departures on the diagonal."""
        made = []
        for total in range(self.servers + 1):
            entries = []
            for i, state in enumerate(self.states[total]):
                for a, count in enumerate(state):
                    if not count:
                        continue
                    entries.append((i, i, count * self.law.matrix[a, a]))
                    entries += [
                        (i, self.index[total][_moved(state, a, b)], count * self.law.matrix[a, b])
                        for b in range(self.law.phases)
                        if b != a and self.law.matrix[a, b] > 0
                    ]
            size = len(self.states[total])
            made.append(self._matrix(entries, (size, size)))
        return made

    @cached_property
    def down(self) -> list[Any]:
        """Rates of departures that leave a server free, by number of busy servers before."""
        made = [self._matrix([], (1, 1))]
        for total in range(1, self.servers + 1):
            entries = [
                (i, self.index[total - 1][_moved(state, a, None)], count * self.law.exit_rates[a])
                for i, state in enumerate(self.states[total])
                for a, count in enumerate(state)
                if count and self.law.exit_rates[a] > 0
            ]
            made.append(
                self._matrix(entries, (len(self.states[total]), len(self.states[total - 1])))
            )
        return made

    @cached_property
    def up(self) -> list[Any]:
        """Chances of the state after a request starts, by number of busy servers before."""
        made = []
        for total in range(self.servers):
            entries = [
                (i, self.index[total + 1][_moved(state, None, b)], float(self.law.alpha[b]))
                for i, state in enumerate(self.states[total])
                for b in range(self.law.phases)
                if self.law.alpha[b] > 0
            ]
            made.append(
                self._matrix(entries, (len(self.states[total]), len(self.states[total + 1])))
            )
        return made

    @cached_property
    def stay(self) -> Any:
        """Rates without a departure while all servers are busy and requests wait."""
        return self.inside[self.servers]

    @cached_property
    def depart(self) -> Any:
        """Rates of departures whose server takes the next request at once."""
        return self.down[self.servers] @ self.up[self.servers - 1]

    @cached_property
    def fresh(self) -> Array:
        """Law of the state when all servers start at once."""
        law = np.ones(1)
        for total in range(self.servers):
            law = law @ self.up[total]
        return np.asarray(law)

    @cached_property
    def top_rate(self) -> float:
        """Largest total rate of change [1/s]."""
        return float(max(-matrix.diagonal().min() for matrix in self.inside[1:]))

    def departure_times(self, count: int) -> Array:
        """Return the mean time until the j-th departure from each full state.

        Parameters
        ----------
        count : int
            Largest j.

        Returns
        -------
        array
            Row j - 1 holds the times until the j-th departure [s], j from 1.
        """
        from scipy.sparse.linalg import splu  # noqa: PLC0415 - loaded when asked

        solver = splu((-self.stay).tocsc())
        times = np.zeros((count, self.stay.shape[0]))
        if count:
            step = solver.solve(np.ones(self.stay.shape[0]))
            times[0] = step
            for j in range(1, count):
                times[j] = step + solver.solve(np.asarray(self.depart @ times[j - 1]))
        return times


def _moved(state: Sequence[int], source: int | None, target: int | None) -> tuple[int, ...]:
    changed = list(state)
    if source is not None:
        changed[source] -= 1
    if target is not None:
        changed[target] += 1
    return tuple(changed)


@lru_cache(maxsize=16)
def occupancy(servers: int, law: PhaseType) -> Occupancy:
    """Return the matrices, kept for the next call.

    Parameters
    ----------
    servers : int
        Servers.
    law : PhaseType
        Law of the service time.

    Returns
    -------
    Occupancy
        Its matrices are made when first asked for.
    """
    return Occupancy(servers, law)
