"""Windows under policies that look at nothing: the law of the work on one replica."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kvcost.compiled import allocating
from kvcost.routing.windows_law import Law, begins, decoy_shares, hit_work, load, periods

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.service.base import Array
    from kvcost.routing.cases import Window

__all__ = ["on_one"]

_CELLS = 32  # of a cold prefill
_MOST = 4096
_TAIL = math.log(1e4)
_RARE = 1e-12


@allocating
def _shift(law: Array, to: Array, job: int, share: float, heads: bool) -> None:
    """Add to `to` a share of a law after one more cold job; rows: mass, head work, hit work."""
    top = law.shape[1] - 1
    for v in range(top + 1):
        mass = law[0, v] * share
        if mass > 0.0:
            w = min(v + job, top)
            to[0, w] += mass
            to[1, w] += law[1, v] * share + (mass * job if heads else 0.0)
            to[2, w] += law[2, v] * share


@allocating
def _follow(  # noqa: PLR0917
    top: int, job: int, rates: Array, heads: NDArray[np.bool_], hits: Array, apart: Array,
    slow: float, weights: Array, seen_hit: Array, seen_cold: Array, sums: Array,
) -> None:  # fmt: skip  # pragma: no cover - for numba
    # layer 1: a decoy came so lately that the next one goes to another replica
    law, new = np.zeros((2, 3, top + 1)), np.zeros((2, 3, top + 1))
    law[0, 0, 0] = 1.0
    for k in range(rates.size):
        weight = weights[k]
        if heads[k]:
            law[:, 1, :] = 0.0  # what is left of the last burst's heads is not the newest one's
            new[:] = 0.0
            for layer in range(2):
                for v in range(top + 1):
                    seen_cold[v] += law[layer, 0, v] * weight
                _shift(law[layer], new[layer], job, 1.0, True)
            law[:] = new
        rate = rates[k]
        if rate > 0.0:
            chance = 1.0 - math.exp(-rate / max(1.0 - rate * apart[k], 0.1))
            for v in range(top + 1):
                mass = law[0, 0, v] * chance * weight
                seen_cold[v] += mass
                sums[1] += law[0, 2, v] * chance * weight
            new[1] = 0.0
            _shift(law[0], new[1], job, chance, False)
            law[0] *= 1.0 - chance
            law[1] += new[1]
        free = 1.0 - math.exp(-1.0 / apart[k]) if apart[k] > 0.0 else 1.0
        law[0] += free * law[1]
        law[1] *= 1.0 - free
        late = 0.0
        for v in range(top + 1):
            late += law[1, 0, v]
        new[:] = 0.0
        for layer in range(2):
            # the hits that layer 1 does not get come to layer 0
            share = 1.0 / max(1.0 - late, 0.1) if layer == 0 else 0.0
            count = (hits[0, k] + hits[1, k]) * weight * share
            hold = min(slow * (hits[0, k] + hits[1, k]) * share, 1.0)
            new[layer, 0, 0] = law[layer, 0, 0]
            for v in range(1, top + 1):
                mass = law[layer, 0, v]
                if mass < _RARE:
                    continue
                headed, hit = law[layer, 1, v] / mass, law[layer, 2, v] / mass
                seen_hit[v - 1] += mass * count
                sums[0] += mass * hits[0, k] * weight * share * min(headed, v - 0.5)
                sums[1] += mass * count * min(hit, v - 0.5)
                held = mass * hold
                new[layer, 0, v] += held
                new[layer, 1, v] += held * headed * max(v - hit - 1.0, 0.0) / max(v - hit, 1.0)
                new[layer, 2, v] += held * min(hit + 1.0, v)
                mass -= held
                new[layer, 0, v - 1] += mass
                left = max(v - hit, 1e-9)
                new[layer, 1, v - 1] += mass * headed * max(left - 1.0, 0.0) / left
                new[layer, 2, v - 1] += mass * min(hit, v - 1.0)
        law[:] = new


def on_one(case: Window, *, turns: bool) -> Law:
    """Follow the work of one replica that gets every R-th request, by turns or at random.

    Parameters
    ----------
    case : Window
        The window.
    turns : bool
        Whether replicas take turns; else each request goes to a random one.

    Returns
    -------
    Law
        Waits and their parts.
    """
    node, replicas, each = case.node, case.replicas, hit_work(case)
    gap = case.burst_span / (case.burst_requests - 1)
    free = max(1.0 - load(case, min(replicas, case.burst_requests)), 0.05)
    step = node.cold / _CELLS
    top = min(math.ceil((2.0 + _TAIL / (2 * free)) * _CELLS), _MOST)
    at = begins(case)
    low = min(float(at[0]) if case.bursts else case.decoy_low, case.decoy_low)
    high = max(case.decoy_high, (float(at[-1]) if case.bursts else low) + case.burst_span)
    edges = np.asarray(low + step * np.arange(math.ceil((high - low) / step) + 1), np.float64)
    count = edges.size - 1
    rates = decoy_shares(case, edges) / replicas
    hits, heads = np.zeros((2, count)), np.zeros(count, np.bool_)
    active = np.zeros(count)
    per_head = case.burst_requests / replicas
    headed = 1.0 - (1.0 - 1.0 / replicas) ** case.burst_requests if not turns else min(per_head, 1)
    for n, start in enumerate(at):
        slot = min(round((float(start) - low) / step), count - 1)
        heads[slot] = True
        flow_start = edges[slot] + (0.5 * replicas * gap if turns else 0.0)
        flow = np.diff(np.clip((edges - flow_start) / (replicas * gap), 0, per_head - headed))
        end = count
        if n + 1 < case.bursts:
            end = min(round((float(at[n + 1]) - low) / step), count)
        hits[0, :end] += flow[:end]
        hits[1, end:] += flow[end:]
        active += np.diff(np.clip((edges - edges[slot]) / step, 0, case.burst_span / step))
    # by turns, a replica that got a decoy gets none of the next R - 1 requests: its hits come as
    # a flow of one in R gaps that starts this much later
    wait = 0.5 * (replicas - 1) * gap / step if turns else 0.0
    apart = np.where(active > 0, wait / np.maximum(active, 1.0), 0.0)
    kept, weights = periods(case, low, step, rates, hits)
    seen_hit, seen_cold, sums = np.zeros(top + 1), np.zeros(top + 1), np.zeros(2)
    _follow(
        top, _CELLS, rates[kept], heads[kept], hits[:, kept].copy(), apart[kept], each / step,
        weights[kept], seen_hit, seen_cold, sums,
    )  # fmt: skip
    levels = np.arange(top + 1).astype(np.float64)
    cold = float(case.decoys + headed * replicas * case.bursts)
    suffix = replicas * float(sums[1]) * step
    return Law(
        hit_waits=np.asarray((levels + 0.5) * step),
        hit_weights=replicas * seen_hit,
        cold_waits=levels[1:] * step,
        cold_weights=replicas * seen_cold[1:],
        hits=case.bursts * case.burst_requests + case.decoys - cold,
        cold=cold,
        own_head=replicas * float(sums[0]) * step,
        suffix=suffix * node.hit / each,
        decode=suffix * (1 - node.hit / each),
        correction=0.0,
    )
