"""Least loaded of some replicas, where finished prefills count as load: measured factors."""

from __future__ import annotations

import csv
import itertools
import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from kvcost.facts.paths import data_path
from kvcost.queueing.dispatch.formulas import MOST_SERVERS, shortest_queue_wait

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = [
    "LEAST_UTILIZATION",
    "MOST_REPLICAS",
    "MOST_UTILIZATION",
    "Measured",
    "base_wait",
    "measured",
]

LEAST_UTILIZATION = 0.15  # of the measured cells

MOST_REPLICAS = 32
MOST_UTILIZATION = 0.95
_TERMS = 12
_LEAST = 1e-6


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the factors give, in mean prefills.

    Attributes
    ----------
    wait : float
        Mean wait.
    quantiles : tuple of float
        p50, p95, p99 of wait plus prefill.
    outside : tuple of str
        Where the case leaves what was measured.
    """

    wait: float
    quantiles: tuple[float, float, float]
    outside: tuple[str, ...]


def base_wait(*, looks: str, replicas: int, utilization: float, scv: float) -> float:
    """Return the wait where finished requests are no load, in services: the factors' base.

    Parameters
    ----------
    looks : str
        ``all`` replicas, or ``two`` drawn at random.
    replicas : int
        Replicas.
    utilization : float
        Load of each.
    scv : float
        Of the service.

    Returns
    -------
    float
        Join the shortest queue, or the mean field of two choices, times ``(1 + scv) / 2``.
    """
    if looks == "all":
        base = shortest_queue_wait(
            servers=min(replicas, MOST_SERVERS), utilization=utilization, service_seconds=1.0
        )
    else:
        base = sum(utilization ** (2.0**i - 2) for i in range(2, _TERMS))
    return float(base) * (1 + scv) / 2


@dataclass(frozen=True)
class _Table:
    axes: tuple[NDArray[np.float64], ...]
    logs: NDArray[np.float64]
    outside: tuple[tuple[float, float], ...]


def _scaled(point: Sequence[float]) -> tuple[float, ...]:
    """Return the coordinates in which the logarithms are nearly straight."""
    replicas, utilization, scv, ratio = point
    return math.log(replicas), -math.log1p(-utilization), math.log1p(scv), math.log1p(ratio)


@cache
def _table(looks: str) -> _Table:
    rows: dict[tuple[float, ...], list[float]] = {}
    with data_path("routing", "undecoded_load.csv").open() as file:
        for row in csv.DictReader(file):
            if row["looks"] != looks:
                continue
            key = tuple(
                float(row[name]) for name in ("replicas", "utilization", "scv", "decode_ratio")
            )
            base = base_wait(looks=looks, replicas=int(key[0]), utilization=key[1], scv=key[2])
            rows[key] = [
                math.log(max(float(row["wait"]), _LEAST) / base),
                *(math.log(float(row[name])) for name in ("p50", "p95", "p99")),
            ]
    values = [sorted({key[axis] for key in rows}) for axis in range(4)]
    logs = np.array([rows[key] for key in itertools.product(*values)])
    ends = tuple((each[0], each[-1]) for each in values)
    probe = [e[0] for e in values]
    axes = []
    for axis, each in enumerate(values):
        points = [_scaled([*probe[:axis], v, *probe[axis + 1 :]])[axis] for v in each]
        axes.append(np.array(points))
    return _Table(tuple(axes), logs.reshape(*(len(each) for each in values), 4), ends)


def measured(
    *, looks: str, replicas: int, utilization: float, scv: float, ratio: float
) -> Measured:
    """Return wait and percentiles by interpolation in the measured factors.

    Parameters
    ----------
    looks : str
        ``all`` replicas, or ``two`` drawn at random.
    replicas : int
        Replicas, 2 or more.
    utilization : float
        Load of prefill at each, below 1.
    scv : float
        Squared coefficient of variation of the prefill.
    ratio : float
        Time that a request decodes over its prefill; 0 where one step ends the whole batch.

    Returns
    -------
    Measured
        In mean prefills.

    Notes
    -----
    A request counts as load until it is decoded, and a replica decodes only when nobody waits: in a
    busy period all its requests count. There is no closed form for that. The factors over
    `base_wait` come from runs of 1 to 5 million requests of that rule alone
    (``data/routing/undecoded_load.csv``), for a fixed and for lognormal prefills; logarithms are
    interpolated linearly.
    """
    table = _table(looks)
    asked = (float(replicas), utilization, scv, ratio)
    names = ("replicas", "utilization", "scv", "decode time over prefill")
    outside = tuple(
        f"{name} {value:.4g} is above the largest measured, {high:g}"
        for name, value, (_, high) in zip(names, asked, table.outside, strict=True)
        if value > high
    )
    inside = [min(max(v, low), high) for v, (low, high) in zip(asked, table.outside, strict=True)]
    logs = _interpolated(table, _scaled(inside))
    base = base_wait(looks=looks, replicas=replicas, utilization=utilization, scv=scv)
    factor, p50, p95, p99 = (math.exp(value) for value in logs)
    return Measured(wait=base * factor, quantiles=(p50, p95, p99), outside=outside)


def _interpolated(table: _Table, at: Sequence[float]) -> list[float]:
    values = table.logs
    for axis, place in zip(table.axes, at, strict=True):
        low = min(max(int(np.searchsorted(axis, place, side="right")) - 1, 0), axis.size - 2)
        share = (place - axis[low]) / (axis[low + 1] - axis[low])
        values = values[low] * (1 - share) + values[low + 1] * share
    return [float(value) for value in values]
