"""Affinity in a light window: each burst stays on the replica of its head."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kvcost.routing.windows_law import Law, begins, decoy_shares, hit_work, load

if TYPE_CHECKING:
    from kvcost.routing.cases import Window

__all__ = ["at_home", "longest_queue"]

_STEPS, _VALUES = 512, 64


def longest_queue(case: Window) -> float:
    """Return how many hits queue behind a cold prefill on the replica of their burst."""
    gap = case.burst_span / max(case.burst_requests - 1, 1)
    free = gap - hit_work(case)
    return case.node.cold / free if free > 0 else math.inf


def at_home(case: Window) -> Law:
    """Find the waits of a light window whose bursts each stay on one replica.

    Parameters
    ----------
    case : Window
        The window.

    Returns
    -------
    Law
        Waits and their parts.

    Notes
    -----
    A decoy goes to one of the replicas with nothing to do. The home of a burst is one of them
    unless it serves a hit or a cold request; others are busy independently. A decoy at home makes
    hits wait evenly up to a cold prefill. Decoys do not meet: a busy replica gets none.
    """
    node, each, replicas = case.node, hit_work(case), case.replicas
    gap = case.burst_span / (case.burst_requests - 1) if case.bursts else 1.0
    grows = 1.0 / (1.0 - each / gap)  # a busy period grows by the hits that come in it
    rate = case.decoys / max(case.decoy_high - case.decoy_low, 1e-9)
    busy = min(load(case, 1.0), 0.9)
    serving = min(node.hit / gap, 1.0)
    idle = (1.0 - busy**replicas) / (replicas * (1.0 - busy))
    chosen = (1.0 - serving) * idle
    chosen /= 1.0 + chosen * rate * node.cold * grows
    at, count = begins(case), case.burst_requests
    alone = node.cold - each - np.arange(1, count) * (gap - each)
    alone = np.asarray(np.maximum(alone[alone > 0], 0.0), np.float64)
    blocked = node.cold * grows
    hits_at_decoys, hits_at_heads = 0.0, 0.0
    for start in at:
        end = float(start) + case.burst_span
        edges = np.linspace(float(start) + blocked, max(end, float(start) + blocked), _STEPS + 1)
        middle = 0.5 * (edges[1:] + edges[:-1])
        # the last hits of a burst end what a decoy delays
        reach = np.minimum(end - middle, blocked) / blocked
        delayed = 1.0 - (1.0 - reach) ** 2
        hits_at_decoys += float(decoy_shares(case, edges) @ delayed)
        for other in at:
            if float(start) + blocked < other < end:
                left = min((end - float(other)) / blocked, 1.0)
                hits_at_heads += 1.0 - (1.0 - left) ** 2
    queue = node.cold / (gap - each)
    decoy_hits, head_hits = (chosen * n * queue for n in (hits_at_decoys, hits_at_heads))
    waits = (np.arange(_VALUES) + 0.5) / _VALUES * node.cold
    weights = np.full(_VALUES, (decoy_hits + head_hits) / _VALUES)
    pure = np.maximum(node.cold - np.arange(1, alone.size + 1) * gap, 0.0)
    own = case.bursts * float(pure.sum())
    # of a wait, the cold request is what is left of it, the rest are hits before
    shared = 0.5 * node.cold * (decoy_hits + head_hits) * each / gap
    suffix = case.bursts * float(alone.sum()) - own + shared
    cold = float(case.decoys + case.bursts)
    return Law(
        hit_waits=np.append(waits, alone),
        hit_weights=np.append(weights, np.full(alone.size, float(case.bursts))),
        cold_waits=np.zeros(0),
        cold_weights=np.zeros(0),
        hits=case.bursts * count + case.decoys - cold,
        cold=cold,
        own_head=own,
        suffix=suffix * node.hit / each,
        decode=suffix * (1 - node.hit / each),
        correction=0.0,
    )
