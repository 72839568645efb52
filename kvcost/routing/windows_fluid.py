"""Overloaded windows: work comes and goes as a fluid, the same on every replica."""

from __future__ import annotations

from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np

from kvcost.routing.windows_law import Law, begins, decoy_shares, hit_work

if TYPE_CHECKING:
    from kvcost.routing.cases import Window

__all__ = ["as_fluid"]

_STEPS = 4000


def as_fluid(case: Window) -> Law:
    """Follow the work of an overloaded window, with one cold head of each burst on every replica.

    Parameters
    ----------
    case : Window
        The window.

    Returns
    -------
    Law
        Waits and their parts, first come first served.
    """
    node, each, heads = case.node, hit_work(case), min(case.replicas, case.burst_requests)
    gap = case.burst_span / max(case.burst_requests - 1, 1)
    at = begins(case)
    low = min(case.decoy_low, float(at[0])) if case.bursts else case.decoy_low
    high = max(case.decoy_high, float(at[-1]) + case.burst_span if case.bursts else low)
    edges = np.linspace(low, high, _STEPS + 1)
    middle = 0.5 * (edges[1:] + edges[:-1])
    decoys = decoy_shares(case, edges)
    flows = np.array(
        [np.diff(np.clip((edges - start) / gap + 0.5, heads, case.burst_requests)) for start in at]
    ).reshape(case.bursts, _STEPS)
    head_work = np.array([(middle >= start) * node.cold for start in at]).reshape(flows.shape)
    hit_sum = np.append(0.0, np.cumsum(flows.sum(0)) * each / case.replicas)
    cold_sum = np.append(0.0, np.cumsum(decoys) * node.cold / case.replicas)
    hit_sum, cold_sum = (0.5 * (total[1:] + total[:-1]) for total in (hit_sum, cold_sum))
    come = hit_sum + cold_sum + head_work.sum(0)
    # done: the work that has come, less the longest excess of it over time
    elapsed = middle - low
    left = come - elapsed - np.minimum(np.minimum.accumulate(come - elapsed), 0.0)
    since = np.interp(come - left, come, middle)
    ahead_hits = hit_sum - np.interp(since, middle, hit_sum)
    own = sum(
        float(flow @ np.minimum(work - np.interp(since, middle, work), left))
        for flow, work in zip(flows, head_work, strict=True)
    )
    arrivals = flows.sum(0)
    slots = [min(int(np.searchsorted(middle, start)), _STEPS - 1) for start in at]
    first = np.maximum(left[slots] - node.cold, 0.0) if case.bursts else np.zeros(0)
    behind_hits = float((arrivals + decoys) @ np.minimum(ahead_hits, left))
    cold = float(case.decoys + heads * case.bursts)
    # decoys fall on replicas at random: one quantile of the normal law for each replica
    share = (1.0 - 1.0 / case.replicas) / case.replicas
    spread = node.cold * np.sqrt(np.cumsum(decoys) * share)
    ranks = [NormalDist().inv_cdf((n + 0.5) / case.replicas) for n in range(case.replicas)]
    each_left = np.concatenate([np.maximum(left + z * spread, 0.0) for z in ranks])
    parts = np.tile(arrivals / case.replicas, case.replicas)
    cold_parts = np.tile(decoys / case.replicas, case.replicas)
    return Law(
        hit_waits=each_left,
        hit_weights=parts,
        cold_waits=np.append(each_left, first),
        cold_weights=np.append(cold_parts, np.full(first.size, float(heads))),
        hits=case.bursts * case.burst_requests + case.decoys - cold,
        cold=cold,
        own_head=own,
        suffix=behind_hits * node.hit / each,
        decode=behind_hits * (1 - node.hit / each),
        correction=0.0,
    )
