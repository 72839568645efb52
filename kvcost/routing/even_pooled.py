"""Percentiles of a law given as weighted values, without sorting it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kvcost.compiled import compiled

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.queueing.service.base import Array

__all__ = ["pooled_percentiles"]

_BINS = 1024


@compiled
def _percentiles(  # noqa: PLR0912, PLR0917 # pragma: no cover - for numba
    values: Array, weights: Array, targets: Array, bins: Array, near: Array,
    mass: Array, found: Array,
) -> None:  # fmt: skip
    """Fill in the smallest values at or below which more than each target lies."""
    lowest, highest = values[0], values[0]
    for value in values:
        lowest, highest = min(lowest, value), max(highest, value)
    found[:] = highest
    if highest - lowest <= 1e-13 * highest:
        return
    scale = (bins.size - 1) / (highest - lowest)
    bins[:] = 0.0
    for i in range(values.size):
        bins[int((values[i] - lowest) * scale)] += weights[i]
    last, count, before = -1, 0, 0.0
    for t in range(targets.size):
        chosen, below = 0, 0.0
        while chosen < bins.size - 1 and below + bins[chosen] <= targets[t]:
            below += bins[chosen]
            chosen += 1
        if chosen != last:
            last, count, before = chosen, 0, below
            for i in range(values.size):
                if int((values[i] - lowest) * scale) == chosen and weights[i] > 0:
                    near[count], mass[count] = values[i], weights[i]
                    count += 1
        # halve the values of the chosen bin until one is left
        first, end, below = 0, count, before
        while first < end:
            least, most = near[first], near[first]
            for i in range(first, end):
                least, most = min(least, near[i]), max(most, near[i])
            found[t] = most
            middle = 0.5 * (least + most)
            if most - least <= 1e-13 * most:
                break
            split, low = first, 0.0
            for i in range(first, end):
                if near[i] <= middle:
                    low += mass[i]
                    near[i], near[split] = near[split], near[i]
                    mass[i], mass[split] = mass[split], mass[i]
                    split += 1
            if below + low > targets[t]:
                end = split
            else:
                below += low
                first = split


def pooled_percentiles(values: Array, weights: Array, shares: Sequence[float]) -> list[float]:
    """Return percentiles of a law given as values and their weights.

    Parameters
    ----------
    values, weights : array
        Values in any order, and how many requests have each.
    shares : sequence of float
        Which percentiles, as shares, in any order.

    Returns
    -------
    list of float
        For a share p of n requests, the value at position ``floor(p n)`` (from 0) when sorted.
    """
    targets = np.asarray(shares) * (float(weights.sum()) * (1 + 1e-10))
    found = np.empty(targets.size)
    scratch = np.empty(values.size), np.empty(values.size)
    _percentiles(values, weights, targets, np.empty(_BINS), *scratch, found)
    return [float(value) for value in found]
