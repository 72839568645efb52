"""Independent runs in parallel, and the interval that they put around a mean."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.routing.answer import Split
from kvcost.simulation.cluster.record import percentile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvcost.simulation.cluster.record import ClusterRun

__all__ = ["Simulated", "replicate", "run_seeds", "summarise"]


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """Mean TTFT over independent runs, with its 95% interval.

    Attributes
    ----------
    policy : str
        The routing policy.
    mean, low, high : float
        Mean of the runs' means, and its 95% interval by Student's t [s]. A single run, or runs
        without any randomness, have no width: see `runs`.
    deviation : float
        Standard deviation of the runs' means [s].
    p50, p95, p99 : float
        Percentiles of all requests of all runs [s].
    maximum : float
        Mean of the runs' longest TTFT [s].
    split : Split
        Parts of the mean.
    cold_requests : float
        Mean number of requests that found nothing cached.
    imbalance_share : float
        Share of the runs in which loads were out of balance at least once.
    hit_share, utilization : float
        Means over the runs.
    runs, requests : int
        Runs, and requests of all of them.
    """

    policy: str
    mean: float
    low: float
    high: float
    deviation: float
    p50: float
    p95: float
    p99: float
    maximum: float
    split: Split
    cold_requests: float
    imbalance_share: float
    hit_share: float
    utilization: float
    runs: int
    requests: int
    means: tuple[float, ...] = field(repr=False)


def summarise(runs: Sequence[ClusterRun]) -> Simulated:
    """Return the figures of several runs of one policy.

    Parameters
    ----------
    runs : sequence of ClusterRun
        At least one.

    Returns
    -------
    Simulated
        Mean, interval, percentiles, parts.
    """
    from scipy.special import stdtrit  # noqa: PLC0415 - slow to load

    means = np.array([run.mean for run in runs])
    count = means.size
    deviation = float(means.std(ddof=1)) if count > 1 else 0.0
    half = float(stdtrit(count - 1, 0.975)) * deviation / math.sqrt(count) if count > 1 else 0.0
    pooled = np.concatenate([run.ttft for run in runs])
    parts = {
        part.name: float(np.mean([getattr(run.split, part.name) for run in runs]))
        for part in fields(Split)
    }
    mean = float(means.mean())
    return Simulated(
        policy=runs[0].policy,
        mean=mean,
        low=mean - half,
        high=mean + half,
        deviation=deviation,
        p50=percentile(pooled, 0.5),
        p95=percentile(pooled, 0.95),
        p99=percentile(pooled, 0.99),
        maximum=float(np.mean([run.maximum for run in runs])),
        split=Split(**parts),
        cold_requests=float(np.mean([run.cold_requests for run in runs])),
        imbalance_share=float(np.mean([run.imbalances > 0 for run in runs])),
        hit_share=float(np.mean([run.hit_share for run in runs])),
        utilization=float(np.mean([run.utilization for run in runs])),
        runs=count,
        requests=int(pooled.size),
        means=tuple(means.tolist()),
    )


def run_seeds(seed: int, replications: int) -> list[int]:
    """Return the seeds of independent runs that derive from one; the first ones stay the same.

    Parameters
    ----------
    seed : int
        From which they derive.
    replications : int
        Runs.

    Returns
    -------
    list of int
        One a run.
    """
    children = np.random.SeedSequence(seed).spawn(replications)
    return [int(child.generate_state(1)[0]) for child in children]


def replicate(
    once: Callable[[int], ClusterRun],
    *,
    replications: int,
    seed: int,
    workers: int = 2,
    progress: Callable[[int], object] | None = None,
) -> Simulated:
    """Run independent replications in threads; the compiled loop lets them run side by side.

    Parameters
    ----------
    once : callable
        Runs one seed.
    replications : int
        Runs.
    seed : int
        Of the first; the others derive from it.
    workers : int
        Threads.
    progress : callable, optional
        Called with 1 after each run.

    Returns
    -------
    Simulated
        Figures of all of them.

    Raises
    ------
    InvalidValueError
        If there is no run or no worker.
    """
    for name, value in (("replications", replications), ("workers", workers)):
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise InvalidValueError(
                field=name,
                value=value,
                bound="must be a whole number of at least 1",
                remedy="use 1",
            )
    seeds = run_seeds(seed, replications)
    runs = []
    with ThreadPoolExecutor(max_workers=workers) as pool:
        for run in pool.map(once, seeds):
            runs.append(run)
            if progress is not None:
                progress(1)
    return summarise(runs)
