"""Batches at phase-type servers: a chain that goes down one request at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kvcost.queueing.burst.occupancy import Occupancy, occupancy

if TYPE_CHECKING:
    from kvcost.queueing.burst.batches import BatchSize
    from kvcost.queueing.service.base import Array
    from kvcost.queueing.service.phasetype import PhaseType

__all__ = ["bulk_seen"]

_STEPS = 100_000
_TAIL = 1e-15


def bulk_seen(
    *, servers: int, law: PhaseType, batches: float, batch: BatchSize
) -> tuple[Occupancy, Array]:
    """Return what a request of a batch waits for.

    Parameters
    ----------
    servers : int
        Servers.
    law : PhaseType
        Service time.
    batches : float
        Batches per second; the load must be below 1.
    batch : BatchSize
        Requests of a batch.

    Returns
    -------
    occupancy : Occupancy
        The servers.
    seen : array
        Row j - 1: chance to wait for j departures, by the full state from which they are counted.
    """
    chain = occupancy(servers, law)
    sizes = batch.sizes
    up = [matrix.toarray() for matrix in chain.up]
    full = _first_passage(chain, batches, sizes)
    sums = np.zeros((sizes.size + 1, *full.shape))  # row d: sum over i of p_{d+i} G^i
    for d in range(sizes.size - 1, -1, -1):
        sums[d] = sizes[d] * np.eye(full.shape[0]) + sums[d + 1] @ full
    below = _passages_below(chain, batches, sizes, sums, full)
    levels = _levels(chain, batches=batches, sizes=sizes, sums=sums, below=below, up=up)
    return chain, _joined(levels, servers, batch, up)


def _first_passage(chain: Occupancy, batches: float, sizes: Array) -> Array:
    """Return G: the full state when the number present first falls by one."""
    stay, depart = chain.stay.toarray(), chain.depart.toarray()
    rate = chain.top_rate + batches
    size = stay.shape[0]
    inner = np.eye(size) + (stay - batches * np.eye(size)) / rate
    found = np.zeros((size, size))
    for _ in range(_STEPS):
        jumps = np.zeros((size, size))
        for chance in sizes[:0:-1]:
            jumps = (jumps + chance * np.eye(size)) @ found
        moved = np.linalg.solve(np.eye(size) - inner - batches / rate * jumps, depart / rate)
        change = float(np.abs(moved - found).max())
        found = moved
        if change < 1e-15:
            break
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _passages_below(
    chain: Occupancy, batches: float, sizes: Array, sums: Array, full: Array
) -> list[tuple[Array, Array]]:
    """Return, for 1 to c requests present, the passage down and the local balance matrix."""
    c = chain.servers
    up = [matrix.toarray() for matrix in chain.up]
    passages: dict[int, Array] = {}
    made: list[tuple[Array, Array]] = []
    for n in range(c, 0, -1):
        inside = chain.inside[n].toarray()
        size = inside.shape[0]
        # sum over batches of the way back down to n
        back = np.zeros((size, size))
        if n == c:
            back = sums[0] - sizes[0] * np.eye(size)
        else:
            grown = np.eye(size)
            terms = []
            for m in range(n, c):
                grown = grown @ up[m]
                k = m + 1 - n
                if m + 1 < c:
                    terms.append((sizes[k] if k < sizes.size else 0.0) * grown)
                else:
                    rest = sums[k] if k < sums.shape[0] else np.zeros_like(full)
                    terms.append(grown @ rest)
            held = terms[-1]
            for m in range(c, n + 1, -1):
                held = held @ passages[m] + terms[m - 2 - n]
            back = held @ passages[n + 1]
        local = -(inside - batches * np.eye(size) + batches * back)
        passages[n] = np.linalg.solve(local, chain.down[n].toarray())
        made.append((passages[n], local))
    return made[::-1]


def _levels(
    chain: Occupancy,
    *,
    batches: float,
    sizes: Array,
    sums: Array,
    below: list[tuple[Array, Array]],
    up: list[Array],
) -> list[Array]:
    """Return the stationary law by number present, until nothing is left."""
    c = chain.servers
    laws: list[Array] = [np.ones(1)]
    grown: list[list[Array]] = []  # grown[j][n]: state with n busy after n - j joined j
    for j in range(c):
        row = [np.eye(up[j].shape[0])]
        for m in range(j, c):
            row.append(row[-1] @ up[m])
        grown.append(row)
    width = sums.shape[0]
    to_full = []
    into = []  # into[j][n]: rate into the sets at and above n, censored there, for n <= c
    for j in range(c):
        flows: dict[int, Array] = {}
        d = c - j
        flows[c] = grown[j][d] @ (sums[d] if d < width else np.zeros_like(sums[0]))
        for n in range(c - 1, j, -1):
            chance = sizes[n - j] if n - j < sizes.size else 0.0
            flows[n] = chance * grown[j][n - j] + flows[n + 1] @ below[n][0]
        into.append(flows)
        to_full.append(grown[j][d])
    for n in range(1, c + 1):
        arriving = sum(
            (laws[j] @ into[j][n] for j in range(n)), start=np.zeros(below[n - 1][1].shape[0])
        )
        laws.append(np.asarray(np.linalg.solve(below[n - 1][1].T, batches * arriving)))
    local = below[c - 1][1].T
    inverse = np.linalg.inv(local)
    joined = [laws[j] @ to_full[j] for j in range(c)]
    sources = [*joined, laws[c]]
    total = float(sum(law.sum() for law in laws))
    n = c
    while True:
        n += 1
        first = max(0, n - width + 1)
        recent = np.array(sources[first:n])
        arriving = np.einsum("ji,jik->k", recent, sums[n - first : 0 : -1][: recent.shape[0]])
        law = np.asarray(inverse @ (batches * arriving))
        laws.append(law)
        sources.append(law)
        mass = float(law.sum())
        total += mass
        if mass * (n - c) < _TAIL * total and n > c + 8:
            break
    return [law / total for law in laws]


def _joined(levels: list[Array], servers: int, batch: BatchSize, up: list[Array]) -> Array:
    """Return the departures that a request waits for, its place in the batch being random."""
    places = batch.places
    size = levels[-1].size
    waiting = len(levels) - servers
    seen = np.zeros((waiting + places.size - 1, size))
    for i, chance in enumerate(places):
        if chance > 0:
            seen[i : i + waiting] += chance * np.array(levels[servers:])
    for n in range(servers):
        law = levels[n]
        for m in range(n, servers):
            law = law @ up[m]
        late = places[servers - n :]
        seen[: late.size] += late[:, None] * law
    return seen
