"""A scenario asked at many values, for the charts that are maps and curves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from kvcost.errors import InvalidValueError, UnstableError
from kvcost.planning import compare, policy_params
from kvcost.scenario import BurstWork, MixedWork, SteadyWork, WindowWork

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.planning import Comparison
    from kvcost.scenario import Scenario

__all__ = ["Cell", "LoadSweep", "load_sweep", "replication_sweep", "threshold_sweep"]

_LOADS = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5)
_ENTRY = {
    BurstWork: ("requests", "requests of the burst"),
    WindowWork: ("burst_requests", "requests of a burst"),
    MixedWork: ("burst_requests", "requests of a burst"),
    SteadyWork: ("rate", "requests a second, all replicas"),
}


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One value of a map.

    Attributes
    ----------
    x, y : float
        Where it is.
    value : float
        What is there.
    """

    x: float
    y: float
    value: float


@dataclass(frozen=True, kw_only=True)
class LoadSweep:
    """Comparisons at several loads.

    Attributes
    ----------
    title : str
        What the load is, with its unit.
    points : tuple of (float, Comparison)
        Load, and what each policy gives there.
    """

    title: str
    points: tuple[tuple[float, Comparison], ...]


def load_sweep(
    scenario: Scenario,
    policies: Sequence[str],
    *,
    multiples: Sequence[float] = _LOADS,
    simulate: bool = False,
    replications: int | None = None,
    seed: int | None = None,
) -> LoadSweep:
    """Ask a scenario at multiples of its load.

    Parameters
    ----------
    scenario : Scenario
        Replicas and workload.
    policies : sequence of str
        Policies to compare.
    multiples : sequence of float
        Of the rate, or of the requests of a burst, at the same length.
    simulate, replications, seed
        As `kvcost.planning.compare` takes them.

    Returns
    -------
    LoadSweep
        Loads at which replicas cannot keep up are left out.

    Raises
    ------
    InvalidValueError
        If the workload has no load to change, such as a trace.
    """
    kind = type(scenario.workload)
    if kind not in _ENTRY:
        raise InvalidValueError(
            field="workload",
            value=kind.__name__,
            bound="has no load to change",
            remedy="sweep a burst, a window or steady traffic",
        )
    entry, title = _ENTRY[kind]
    points: dict[float, Comparison] = {}
    for multiple in multiples:
        load: float = getattr(scenario.workload, entry) * multiple
        if kind is not SteadyWork:
            load = max(1, round(load))
        if load in points:
            continue
        changed = scenario.replace(workload=_with(scenario.workload, **{entry: load}))
        try:
            points[load] = compare(
                changed, policies, simulate=simulate, replications=replications, seed=seed
            )
        except UnstableError:
            continue
    return LoadSweep(title=title, points=tuple(points.items()))


def _with(work: Any, **changes: Any) -> Any:
    return replace(work, **changes)


def _burst(scenario: Scenario) -> BurstWork:
    if isinstance(scenario.workload, BurstWork):
        return scenario.workload
    raise InvalidValueError(
        field="workload",
        value=type(scenario.workload).__name__,
        bound="is no single burst",
        remedy="sweep a scenario of kind burst",
    )


def threshold_sweep(
    scenario: Scenario,
    *,
    thresholds: Sequence[float] = (4, 8, 16, 32, 64, 128),
    requests: Sequence[int] | None = None,
    arrivals: str | None = None,
    replications: int | None = None,
) -> tuple[Cell, ...]:
    """Return in which share of the bursts loads go out of balance, over size and threshold.

    Parameters
    ----------
    scenario : Scenario
        A burst.
    thresholds : sequence of float
        Values of cache-aware's ``balance_abs``.
    requests : sequence of int, optional
        Sizes of the burst; an eighth to twice the scenario's if not given.
    arrivals : str, optional
        How they arrive; as in the scenario if not given.
    replications : int, optional
        Runs, where there is no closed form.

    Returns
    -------
    tuple of Cell
        x: requests, y: threshold, value: share.

    Raises
    ------
    InvalidValueError
        If the scenario is no single burst.
    """
    work = _burst(scenario)
    sizes = requests or [max(2, round(work.requests * part)) for part in (0.125, 0.25, 0.5, 1, 2)]
    own = policy_params(scenario, "cache_aware")
    cells = []
    for size in dict.fromkeys(sizes):
        changed = _with(work, requests=size, arrivals=arrivals or work.arrivals)
        for threshold in thresholds:
            found = compare(
                scenario.replace(workload=changed),
                "cache_aware",
                params={"cache_aware": {**own, "balance_abs": threshold}},
                replications=replications,
            )["cache_aware"]
            share = found.closed.trip_share if found.closed is not None else None
            if found.closed is None and found.simulated is not None:
                share = found.simulated.imbalance_share
            if share is not None:
                cells.append(Cell(x=size, y=threshold, value=float(share)))
    return tuple(cells)


def replication_sweep(
    scenario: Scenario,
    *,
    copies: Sequence[int] | None = None,
    spans: Sequence[float] | None = None,
    replications: int | None = None,
) -> tuple[Cell, ...]:
    """Return mean TTFT over how many replicas hold the prefix and how long the burst is.

    Parameters
    ----------
    scenario : Scenario
        A burst.
    copies : sequence of int, optional
        Values of replicate-on-burst's ``copies``; 1 to the number of replicas if not given.
    spans : sequence of float, optional
        Lengths of the burst [s]; a quarter to twice the scenario's if not given.
    replications : int, optional
        Runs, where there is no closed form.

    Returns
    -------
    tuple of Cell
        x: copies, y: seconds of the burst, value: mean TTFT [s].

    Raises
    ------
    InvalidValueError
        If the scenario is no single burst.
    """
    work = _burst(scenario)
    most = scenario.replica.count
    counts = copies or sorted({*range(1, min(most, 6) + 1), most})
    lengths = spans or [work.span * part for part in (0.25, 0.5, 1, 2)]
    own = policy_params(scenario, "replicate_on_burst")
    name = "replicate_on_burst"
    return tuple(
        Cell(
            x=count,
            y=span,
            value=compare(
                scenario.replace(workload=_with(work, span=span)),
                name,
                params={name: {**own, "copies": count}},
                replications=replications,
            )[name].mean,
        )
        for span in dict.fromkeys(lengths)
        for count in counts
    )
