"""Waits in a window, and the time to first token that they make."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from kvcost.routing.answer import RoutedTTFT, Split
from kvcost.routing.even_pooled import pooled_percentiles

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.queueing.result import ErrorClass
    from kvcost.queueing.service.base import Array
    from kvcost.routing.cases import Window

__all__ = ["Law", "answer", "begins", "decoy_shares", "hit_work", "load", "periods"]

_SHARES = (0.5, 0.95, 0.99)
_SETTLED = 6.0  # cold prefills after which the start is forgotten


class Law(NamedTuple):
    """Waits in a window as values and weights, and the parts of their sum.

    Attributes
    ----------
    hit_waits, hit_weights, cold_waits, cold_weights : array
        Waits above zero [s], and how many requests have each.
    hits, cold : float
        All hits, and all requests that compute the whole prompt.
    own_head, suffix, decode : float
        Parts of the sum of the waits [s]; the rest is behind other cold prefills.
    correction : float
        What the sum of the waits is more than the values say [s].
    """

    hit_waits: Array
    hit_weights: Array
    cold_waits: Array
    cold_weights: Array
    hits: float
    cold: float
    own_head: float
    suffix: float
    decode: float
    correction: float


def begins(case: Window) -> Array:
    """Return the mean start of each burst [s]."""
    return np.asarray(case.first + case.every * np.arange(case.bursts), np.float64)


def hit_work(case: Window) -> float:
    """Return the work that a hit brings to a busy replica: prefill and its part of a step [s]."""
    node = case.node
    return node.hit + node.step(node.slots) / node.slots


def load(case: Window, heads: float) -> float:
    """Return the work that comes while bursts and decoys both come, per second and replica."""
    span = case.decoy_high - case.decoy_low
    work = case.decoys * case.node.cold / span if case.decoys and span > 0 else 0.0
    if case.bursts:
        burst = heads * case.node.cold + (case.burst_requests - heads) * hit_work(case)
        work += burst / (case.every if case.bursts > 1 else max(case.burst_span, case.node.cold))
    return work / case.replicas


def decoy_shares(case: Window, edges: Array) -> Array:
    """Return how many decoys come between successive times."""
    span = case.decoy_high - case.decoy_low
    if span > 0:
        return case.decoys * np.diff(np.clip((edges - case.decoy_low) / span, 0.0, 1.0))
    return case.decoys * np.diff((edges > case.decoy_low).astype(float))


def periods(
    case: Window, low: float, step: float, rates: Array, hits: Array
) -> tuple[NDArray[np.bool_], Array]:
    """Return which steps to follow, and how often they count: periods that are alike stand once.

    Parameters
    ----------
    case : Window
        The window.
    low, step : float
        Start and length of the steps [s].
    rates, hits : array
        Decoys and hits of each step.

    Returns
    -------
    kept, weights : array
        Steps to follow, and the weight of every step.
    """
    kept, weights = np.ones(rates.size, np.bool_), np.ones(rates.size)
    first = max(math.ceil(case.burst_span / case.every) - 1, 1) if case.every > 0 else case.bursts
    at, last = begins(case), case.bursts - 1
    while last > first + 1 and at[last] > case.decoy_high:
        last -= 1
    settled = case.every >= _SETTLED * case.node.cold
    if last <= first + 1 or at[first] < case.decoy_low or not settled:
        return kept, weights
    a, b, c = (round((float(at[n]) - low) / step) for n in (first, first + 1, last))
    kept[b:c] = False
    whole = float(hits[:, a:c].sum() + rates[a:c].sum())
    weights[a:b] = whole / float(hits[:, a:b].sum() + rates[a:b].sum())
    return kept, weights


def _longest(values: Array, weights: Array) -> float:
    """Return the mean of the longest of independent requests."""
    order = np.argsort(values)[::-1]
    above = np.append(0.0, np.cumsum(weights[order]))
    chance = np.exp(-above[:-1]) - np.exp(-above[1:])
    return float(values[order] @ chance) / max(float(chance.sum()), 1e-300)


def answer(policy: str, case: Window, law: Law, *, method: str, error: ErrorClass) -> RoutedTTFT:
    """Return the time to first token that a law of the waits makes.

    Parameters
    ----------
    policy : str
        The policy.
    case : Window
        The window.
    law : Law
        Waits.
    method : str
        How they were found.
    error : ErrorClass
        How far to trust them.

    Returns
    -------
    RoutedTTFT
        The longest takes cold requests as independent.
    """
    node, count = case.node, law.hits + law.cold
    still_hits = max(law.hits - float(law.hit_weights.sum()), 0.0)
    still_cold = max(law.cold - float(law.cold_weights.sum()), 0.0)
    cold_values = np.append(law.cold_waits, 0.0) + node.cold
    cold_weights = np.append(law.cold_weights, still_cold)
    values = np.concatenate((law.hit_waits + node.hit, (node.hit,), cold_values))
    weights = np.concatenate((law.hit_weights, (still_hits,), cold_weights))
    used = weights > 0
    p50, p95, p99 = pooled_percentiles(values[used], weights[used], _SHARES)
    waits = float(law.hit_waits @ law.hit_weights + law.cold_waits @ law.cold_weights)
    waits += law.correction
    own = law.hits * node.hit + law.cold * node.cold
    split = Split(
        own_head=law.own_head / count,
        other_cold=(waits - law.own_head - law.suffix - law.decode) / count,
        suffix=law.suffix / count,
        copy=0.0,
        decode=law.decode / count,
        own_prefill=own / count,
    )
    longest = _longest(cold_values, cold_weights) if law.cold > 0 else float(values.max())
    return RoutedTTFT(
        policy=policy,
        mean=split.total,
        p50=p50,
        p95=p95,
        p99=p99,
        maximum=longest,
        split=split,
        cold_requests=law.cold,
        method=method,
        error=error,
    )
