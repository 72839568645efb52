"""Which method answers which burst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.queueing.burst.answer import BurstWait, Extremes
from kvcost.queueing.burst.formulas import even_burst_mean_wait
from kvcost.queueing.burst.laws import CdfLaw, DepartureLaw, SampleLaw
from kvcost.queueing.result import ErrorClass

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.queueing.burst.case import Case
    from kvcost.queueing.service.base import Array
    from kvcost.queueing.service.phasetype import PhaseType

__all__ = ["deterministic", "known", "nobody_waits", "phase_type", "simulated"]

_MOST_WORK = 2e10


def nobody_waits(case: Case) -> BurstWait:
    """Return the answer where there is a server for each request.

    Parameters
    ----------
    case : Case
        The burst.

    Returns
    -------
    BurstWait
        Zero.
    """
    none = np.zeros(case.requests)
    return case.exact(
        mean=0.0,
        served_at_once=1.0,
        method="a free server for each request",
        law=SampleLaw(none),
        request_means=none,
        extremes=lambda: known(none, 0.0),
    )


def known(waits: Array, backlog: float) -> Extremes:
    """Return the extremes of waits that do not vary.

    Parameters
    ----------
    waits : array
        In order of arrival [s].
    backlog : float
        Largest number waiting.

    Returns
    -------
    Extremes
        Exact.
    """
    return Extremes(
        maximum=float(waits.max()),
        peak_backlog=backlog,
        last_wait=float(waits[-1]),
        error=ErrorClass(kind="exact", relative=1e-14, text="exact"),
    )


def deterministic(case: Case) -> BurstWait | None:
    """Return the exact answer for equal services.

    Parameters
    ----------
    case : Case
        The burst.

    Returns
    -------
    BurstWait or None
        None where no exact method is known or it would take too long.
    """
    if case.share == 0 and case.arrivals != "poisson_window":
        return _even(case) if case.scheduled else _spitzer(case)
    if case.arrivals == "poisson":
        return None
    return _on_background(case)


def _even(case: Case) -> BurstWait:
    late = max(case.service.mean - case.servers * case.gap, 0.0)
    arrivals = np.arange(case.requests) * case.gap
    waits: Array = (np.arange(case.requests) // case.servers).astype(np.float64) * late
    begun = np.searchsorted(arrivals + waits, arrivals * (1 + 1e-15), side="right")
    backlog = float(max(0, (np.arange(case.requests) + 1 - begun).max()))
    return case.exact(
        mean=even_burst_mean_wait(
            burst_requests=case.requests,
            servers=case.servers,
            arrival_gap=case.gap,
            service_seconds=case.service.mean,
        ),
        served_at_once=float((waits == 0).mean()),
        method="even spacing, servers in turn",
        law=SampleLaw(np.sort(waits)),
        request_means=waits,
        extremes=lambda: known(waits, backlog),
        relative=1e-14,
        second_moment=float((waits**2).mean()),
    )


def _spitzer(case: Case) -> BurstWait:
    from kvcost.queueing.burst.spitzer import (  # noqa: PLC0415 - loads scipy
        crossing_cdf,
        poisson_means,
        uniform_means,
    )

    size, seconds = {"servers": case.servers, "requests": case.requests}, case.service.mean
    rate = case.requests / case.window
    uniform = case.arrivals == "uniform"
    if uniform:
        means = uniform_means(**size, service=seconds, window=case.window)
    else:
        means = poisson_means(**size, service=seconds, rate=rate)
    window = case.window if uniform else None

    def at_most(t: float) -> float:
        cdf = crossing_cdf(t, **size, service=seconds, rate=rate, window=window)
        return float(cdf.mean())

    return case.exact(
        mean=float(means.mean()),
        served_at_once=at_most(0.0),
        method="finite Spitzer sums, " + ("uniform arrivals" if uniform else "exponential gaps"),
        law=CdfLaw(at_most, seconds, jumps=False),
        request_means=means,
        relative=1e-11,
    )


def _on_background(case: Case) -> BurstWait | None:
    from kvcost.queueing.burst.recursion import DeterministicBurst  # noqa: PLC0415 - loads scipy

    unit = case.service.mean
    window = case.gap * (case.requests - 1) if case.scheduled else case.window
    model = DeterministicBurst(
        case.servers, case.share * case.servers, case.requests, window / unit
    )
    if model.work(scheduled=case.scheduled, uniform=case.arrivals == "uniform") > _MOST_WORK:
        return None
    method = "M_t/D/c, one service time at a time"
    means: Any = ()
    end = None
    chance: Callable[[float], float]
    if case.scheduled:
        times = np.arange(case.requests, dtype=np.float64) * (case.gap / unit)
        means = model.means_at(times, schedule=times) * unit
        mean = float(means.mean())

        def chance(x: float) -> float:
            return float(model.chances_at(x, times, schedule=times).mean())
    else:
        extra = case.requests / model.window
        none = np.zeros(0)
        if case.arrivals == "uniform":
            method += ", the number fixed by Cauchy's integral"
            mean = float(model.uniform(model.window_mean)) * unit

            def chance(x: float) -> float:
                return float(model.uniform(lambda rate: model.window_chance(x, rate)))
        else:
            mean = float(model.window_mean(extra)) * unit
            close = np.array([model.window])
            end = float(model.means_at(close, schedule=none, extra=extra)[0]) * unit

            def chance(x: float) -> float:
                return float(model.window_chance(x, extra))

    def at_most(t: float) -> float:
        return chance(t / unit)

    return case.exact(
        mean=mean,
        served_at_once=at_most(0.0),
        method=method,
        law=CdfLaw(at_most, unit, jumps=case.scheduled),
        request_means=means,
        end_wait=end,
        relative=1e-9,
    )


def phase_type(case: Case, phases: PhaseType) -> BurstWait | None:
    """Return the exact answer for phase-type services.

    Parameters
    ----------
    case : Case
        The burst.
    phases : PhaseType
        The law of its services.

    Returns
    -------
    BurstWait or None
        None where it would take too long.
    """
    from kvcost.queueing.burst.chain import BurstChain, batch_seen  # noqa: PLC0415 - loads scipy
    from kvcost.queueing.burst.occupancy import occupancy  # noqa: PLC0415 - loads scipy

    number = case.arrivals == "poisson_window"
    chain = BurstChain(case.servers, phases, case.requests, case.rate, case.window, number)
    if chain.work(case.arrivals, gap=case.gap) > _MOST_WORK:
        return None
    means: list[float] = []
    end = None
    if case.arrivals == "batch" and case.share == 0:
        servers = occupancy(case.servers, phases)
        seen = batch_seen(servers=case.servers, law=phases, requests=case.requests)
        times = servers.departure_times(len(seen)) @ servers.fresh
        means = [0.0] * case.servers + [float(value) for value in times]
        method = "batch at phase-type servers"
    else:
        servers, method = chain.occupancy, "M_t/PH/c by uniformisation"
        times = servers.departure_times(chain.places + 1)
        if number:
            law, last = chain.seen_window(case.window)
            seen = chain.waiting(law)
            end = float((chain.waiting(last) * times).sum())
        else:
            steps = {
                "even": lambda: chain.seen_even(case.gap),
                "batch": lambda: chain.seen_even(0.0),
                "uniform": lambda: chain.seen_uniform(case.window),
                "poisson": lambda: chain.seen_poisson(case.requests / case.window),
            }[case.arrivals]()
            seen = np.zeros_like(times)
            for met in steps:
                waiting = chain.waiting(met)
                means.append(float((waiting * times).sum()))
                seen += waiting / case.requests
    law_of_wait = DepartureLaw(servers, seen)
    return case.exact(
        mean=law_of_wait.mean,
        served_at_once=1 - float(seen.sum()),
        method=method,
        law=law_of_wait,
        request_means=means,
        end_wait=end,
        relative=1e-10,
    )


def simulated(case: Case) -> BurstWait:
    """Return the answer by simulation.

    Parameters
    ----------
    case : Case
        The burst.

    Returns
    -------
    BurstWait
        With the 95% half-width.
    """
    made = case.replay()
    mean, half = made.mean, made.half_width
    waits = made.all_waits
    by_request: Any = () if case.arrivals == "poisson_window" else made.waits.mean(axis=0)
    extremes = made.extremes
    return BurstWait(
        mean=mean,
        mean_low=max(0.0, mean - half),
        mean_high=mean + half,
        probability_of_wait=float((waits > 0).mean()),
        method=f"simulation of {case.replications} bursts, seed {case.seed}",
        error=ErrorClass(
            kind="simulated",
            relative=half / mean if mean > 0 else None,
            text=f"simulated, 95% interval +-{half:.3g} s",
        ),
        law=SampleLaw(waits),
        second_moment=float((waits**2).mean()),
        request_means=tuple(float(value) for value in by_request),
        background_utilization=case.share,
        arrivals=case.pattern,
        _find_extremes=lambda: extremes,
    )
