"""Least load while one warm replica can serve all that comes: who is stuck behind a cold head."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kvcost.routing.even_replica import COLD, EACH, FIXED, HIT, SLOTS
from kvcost.routing.poisson_crowd import crowd
from kvcost.routing.poisson_sums import Sums, top_load

if TYPE_CHECKING:
    from kvcost.routing.poisson_sums import Followed

__all__ = ["heads_found", "least_load_light"]

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array


def _counts(mean: float, most: int, share: float | None) -> tuple[Array, Array]:
    """Return how many requests may come while the first head is computed, and how likely."""
    spread = 7 * math.sqrt(mean) + 7
    numbers = np.arange(max(0, int(mean - spread)), min(most, int(mean + spread)) + 1.0)
    if numbers.size == 0 or (share is not None and share >= 1):
        return np.array([float(most)]), np.ones(1)
    if share is None:
        logs = numbers * math.log(mean) - np.array([math.lgamma(n + 1.0) for n in numbers])
    else:
        logs = numbers * math.log(share / (1 - share)) - np.array(
            [math.lgamma(n + 1.0) + math.lgamma(most - n + 1.0) for n in numbers]
        )
    law: Array = np.exp(logs - (mean if share is None else logs.max()))
    if share is not None:
        law /= law.sum()
    elif numbers[-1] == most:
        law[-1] = max(1 - float(law[:-1].sum()), 0.0)
    return numbers, law


def heads_found(*, requests: int, gap: float, replicas: int, cold: float) -> float:
    """Return the mean number of cold requests where all pick an idle replica at random.

    Parameters
    ----------
    requests, replicas : int
        Of the burst.
    gap, cold : float
        Mean time between two requests, and prefill of a whole prompt [s].

    Returns
    -------
    float
        Requests, by the mean numbers of replicas that are cold, warm and busy.
    """
    spread = int(cold / gap + 7 * math.sqrt(cold / gap) + 7)
    late, term = np.ones(spread + 1), math.exp(-cold / gap)
    for k in range(1, spread + 1):  # how likely k gaps are shorter than the head
        late[k] = max(late[k - 1] - term, 0.0)
        term *= cold / gap / k
    new = np.zeros(requests)
    new[0] = heads = 1.0
    for n in range(1, requests):
        if heads > replicas - 1e-4:
            break
        first = max(n - spread, 0)
        busy = float((new[first:n] * late[n - first : 0 : -1]).sum())
        new[n] = min((replicas - heads) / max(replicas - busy, 1e-9), 1.0)
        new[n] = min(new[n], replicas - heads)
        heads += new[n]
    return heads


def least_load_light(
    *, requests: int, gap: float, replicas: int, costs: Array, even: bool, heads: float
) -> Followed:
    """Follow a burst under least load where work comes more slowly than one replica does it.

    Parameters
    ----------
    requests : int
        Requests of the burst.
    gap : float
        Mean time between two of them [s].
    replicas : int
        Replicas.
    costs : array
        Costs of a replica.
    even : bool
        Whether the burst ends at a known time.
    heads : float
        Cold requests.

    Returns
    -------
    Followed
        Sums over the requests behind the heads.

    Notes
    -----
    Until the first head is computed, loads differ by at most one, so that each replica takes one
    request of each round, in random order; given how many come by then, their times are spread
    evenly. From then on whoever comes finds a warm replica with less load.
    """
    cold, hit = float(costs[COLD]), float(costs[HIT])
    slots = int(costs[SLOTS])
    full = float(costs[FIXED] + costs[EACH] * slots)
    sums = Sums()
    span = gap * (requests - 1)
    numbers, law = _counts(cold / gap, requests - 1, cold / span if even else None)
    for value, mass in zip(numbers, law, strict=True):
        number = int(value)
        if number < replicas or mass < 1e-9:
            continue
        late = np.arange(replicas, number + 1)
        spacing = cold / (number + 1) if number < requests - 1 else gap
        before = late // replicas
        steps = before // slots * full
        head = cold + (0.5 * (replicas - 1) - late) * spacing
        waits = np.maximum(head, 0.0) + (before - 1) * hit + steps
        weights = np.full(late.size, mass)
        sums.add(
            waits, weights, float((np.maximum(head, 0.0) * mass).sum()), float((steps * mass).sum())
        )
        if number < requests - 1:
            # the first replica's load falls when its decode step starts
            held = min(number // replicas, slots - 1) * hit
            more = min(held / gap, requests - 1 - number)
            behind = 0.5 * replicas * spacing + 0.5 * held
            share = (replicas - 1) / replicas
            sums.add(
                np.array([behind, 0.5 * held]),
                mass * more * np.array([share, 1 - share]),
                0.5 * replicas * spacing * mass * more * share,
                0.0,
            )
    rest = max(requests - heads - sums.count, 0.0)
    top = top_load(gap, replicas, costs)
    sums.add_crowd(crowd(gap=gap, servers=replicas, source=0, costs=costs, top=top), rest)
    return sums.done()
