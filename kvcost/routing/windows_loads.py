"""Least load and replication in a window: what the joint law of cold work needs, and answers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.routing.windows_joint import follow
from kvcost.routing.windows_law import Law, begins, decoy_shares, hit_work, load, periods
from kvcost.routing.windows_tables import count_states, tables

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array
    from kvcost.routing.cases import Window
    from kvcost.routing.windows_joint import Followed

__all__ = ["Rule", "by_loads", "lattice"]

_WORK, _MOST = 2.5e5, 1.5e6
_FINEST, _COARSEST = 8, 3
_VALUES = 4
_ALIKE = 4  # bursts from which periods can stand once
_LONG = 10**9
_TAIL = math.log(1000.0)


class Rule(NamedTuple):
    """Replication in a window: requests that make a prefix worth copying, and what copies wait for.

    Attributes
    ----------
    repeats : int
        Arrivals from which a prefix is copied.
    computed : bool
        Whether copies wait until the prefix is computed.
    """

    repeats: int
    computed: bool


def lattice(case: Window, heads: int) -> tuple[int, int] | None:
    """Return the steps of a cold prefill and of the largest workload; None if it takes too many."""
    free = 1.0 - load(case, heads)
    if free <= 0:
        return None
    tops = 1.0 + (heads > 1) + min(_TAIL / (2 * free * case.replicas), 8.0)
    length = min(case.bursts, 3) * case.every + case.burst_span
    if case.bursts < _ALIKE:
        length = max(length, case.decoy_high - case.decoy_low)
    for job in range(_FINEST, _COARSEST - 1, -1):
        top = math.ceil(tops * job)
        work = count_states(case.replicas, top) * length * job / case.node.cold
        if work <= (_WORK if job > _COARSEST else _MOST):
            return job, top
    return None


def _busy(case: Window, most: int, gap: float) -> Array:
    """Return, by active bursts and idle replicas, the chance that all idle ones serve hits."""
    node = case.node
    share = min(node.hit / gap, 1.0) if gap > 0 else 1.0
    busy = np.zeros((most + 1, case.replicas + 1))
    for bursts in range(most + 1):
        for idle in range(case.replicas + 1):
            busy[bursts, idle] = sum(
                math.comb(bursts, i) * share**i * (1 - share) ** (bursts - i)
                for i in range(idle, bursts + 1)
            )
    if most > 1:
        # once phases overlap the others have two requests each, and never tie
        busy[2:, 1] = (1 - min(2 * share, 1.0)) * min(2 * share, 1.0)
    return busy


def _alone(case: Window, gap: float, each: float, rule: Rule | None) -> Array:
    """Return the waits of the hits that queue behind their own head until copies are there."""
    if rule is None:
        return np.zeros(0)
    node = case.node
    begun = (rule.repeats - 1) * gap
    if rule.computed:
        begun = max(begun, math.ceil(node.cold / gap) * gap)
    last = min(math.ceil((begun + node.copy) / gap) - 1, case.burst_requests - 1)
    waits = node.cold - each - np.arange(1, last + 1) * (gap - each)
    return np.asarray(np.maximum(waits, 0.0), np.float64)


def by_loads(case: Window, rule: Rule | None) -> Law:
    """Follow a window under least load, or under replication to every replica.

    Parameters
    ----------
    case : Window
        The window.
    rule : Rule or None
        Replication; None for least load.

    Returns
    -------
    Law
        Waits and their parts.
    """
    node, replicas = case.node, case.replicas
    gap = case.burst_span / (case.burst_requests - 1)
    each = hit_work(case)
    heads = 1 if rule or not case.bursts else min(replicas, case.burst_requests)
    found = lattice(case, heads)
    assert found is not None
    job, top = found
    step = node.cold / job
    at = begins(case)
    # heads act at the start of a step: what that moves them by moves the hits behind them too
    late = np.array([math.floor(h * gap / step) for h in range(heads)])
    moved = float(late.mean()) * step - 0.5 * (heads - 1) * gap
    low = min(float(at[0]) if case.bursts else case.decoy_low, case.decoy_low)
    high = max(case.decoy_high, (float(at[-1]) if case.bursts else low) + case.burst_span)
    edges = np.asarray(low + step * np.arange(math.ceil((high - low) / step) + 1), np.float64)
    count = edges.size - 1
    rates = decoy_shares(case, edges)
    alone = _alone(case, gap, each, rule)
    first = heads + alone.size
    hits, coming = np.zeros((2, count)), np.zeros(count, np.int64)
    since = np.full(count, _LONG)
    asked = round(math.ceil(node.cold / gap) * gap / step) if rule and rule.computed else 0
    active, fresh = np.zeros(count, np.int64), np.zeros(count, np.bool_)
    per_burst = max(case.burst_requests - first, 0)
    for n, begin in enumerate(at):
        slot = min(round((begin - low) / step), count - 1)
        np.add.at(coming, np.minimum(slot + late, count - 1), 1)
        fresh[slot] = True
        if rule:
            since[slot:] = _LONG
            since[slot + asked :] = np.arange(max(count - slot - asked, 0))
        begin_flow = edges[slot] + (first - 0.5) * gap + moved
        flow = np.diff(np.clip((edges - begin_flow) / gap, 0, per_burst))
        end = count
        if n + 1 < case.bursts:
            end = min(round((float(at[n + 1]) - low) / step), count)
        # until the last head has come, other hits find a replica free
        last = edges[slot] + (heads - 1) * gap + moved
        from_ = np.maximum(edges[:-1], edges[slot] + late[-1] * step)
        taken = np.clip(np.minimum(edges[1:], last) - from_, 0, step)
        hits *= 1 - taken / step
        hits[0, :end] += flow[:end]
        hits[1, end:] += flow[end:]
        active += (edges[1:] > edges[slot]) & (edges[:-1] < edges[slot] + case.burst_span)
    kept, weights = periods(case, low, step, rates, hits)
    seen = follow(
        tables(replicas, top, job),
        job=job,
        rates=rates[kept],
        active=active[kept],
        heads=coming[kept],
        fresh=fresh[kept],
        hits=hits[:, kept].copy(),
        slow=each / step / replicas,
        batch=(node.slots - 1) * each / step,
        busy=_busy(case, int(active.max(initial=0)), gap),
        since=since[kept],
        behind=float(alone.size),
        longer=alone.size * each / step if rule and rule.computed else 0.0,
        weights=weights[kept],
        tie=min(2 * node.hit / gap, 1.0) if replicas > 1 else 0.0,
    )
    return _law(case, seen, step=step, heads=heads, alone=alone, gap=gap)


def _law(case: Window, seen: Followed, *, step: float, heads: int, alone: Array, gap: float) -> Law:
    """Return waits in seconds, each lattice step as a few values."""
    node, each = case.node, hit_work(case)
    at = (np.arange(_VALUES) + 0.5) / _VALUES
    levels = np.arange(seen.hits.size)
    # a hit counts in what others wait behind, and half of it in what itself does
    waits = np.maximum(((levels[:, None] + at) * step).ravel() - 0.5 * each, 0.0)
    ahead = 0.5 * each * float(seen.hits.sum())
    # hits that queue with their own head wait for it first, then for each other
    pure = np.minimum(np.maximum(node.cold - (1 + np.arange(alone.size)) * gap, 0.0), alone)
    behind_head = case.bursts * float(pure.sum())
    behind_hits = case.bursts * float(alone.sum()) - behind_head
    behind_hits += max(seen.suffix * step - ahead, 0.0)
    cold = float(case.decoys + heads * case.bursts)
    return Law(
        hit_waits=np.append(waits, alone),
        hit_weights=np.append(
            np.repeat(seen.hits / _VALUES, _VALUES), np.full(alone.size, float(case.bursts))
        ),
        cold_waits=((levels[1:, None] + at - 0.5) * step).ravel(),
        cold_weights=np.repeat(seen.cold[1:] / _VALUES, _VALUES),
        hits=case.bursts * case.burst_requests + case.decoys - cold,
        cold=cold,
        own_head=behind_head + (seen.own + seen.held) * step,
        suffix=behind_hits * node.hit / each,
        decode=behind_hits * (1 - node.hit / each),
        correction=seen.held * step,
    )
