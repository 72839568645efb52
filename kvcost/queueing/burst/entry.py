"""One question for every burst: how long do its requests wait."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.queueing.burst.case import checked_case
from kvcost.queueing.burst.methods import deterministic, nobody_waits, phase_type, simulated

if TYPE_CHECKING:
    from kvcost.queueing.burst.answer import BurstWait
    from kvcost.queueing.burst.case import Arrivals, Spacing
    from kvcost.queueing.service.base import Service

__all__ = ["burst"]


def burst(
    *,
    servers: int,
    requests: int,
    window_seconds: float,
    service: Service,
    arrivals: Arrivals,
    background_utilization: float,
    spacing: Spacing = "window/requests",
    replications: int = 4000,
    seed: int = 1,
) -> BurstWait:
    """Return how long the requests of a burst wait, exactly where a method is known.

    Parameters
    ----------
    servers : int
        Servers that share one queue, first come, first served.
    requests : int
        Requests of the burst; their mean number for ``poisson_window``.
    window_seconds : float
        Time over which they arrive [s]; 0 for ``batch``.
    service : Service
        Law of the service times, of the burst and of the background.
    arrivals : str
        ``even``: fixed gaps from 0 on. ``uniform``: independent uniform times in the window.
        ``poisson``: exactly `requests`, exponential gaps of mean window over requests, the first
        at 0. ``poisson_window``: a Poisson stream inside the window, number random, mean
        `requests`. ``batch``: all at once.
    background_utilization : float
        Share of the servers that other, Poisson requests take before and during the burst; 0
        starts from empty servers, above 0 from the stationary law.
    spacing : str
        Gap of ``even``: ``window/requests``, or ``window/(requests-1)`` to end at the window's
        end.
    replications : int
        Bursts to simulate where no exact method is known, and for the longest wait.
    seed : int
        Of those simulations.

    Returns
    -------
    BurstWait
        `method` names the method; `error.kind` is ``exact`` for deterministic and phase-type
        service (with one exception: ``poisson`` on background with deterministic service) while
        the state space is affordable, otherwise ``simulated`` with the 95% half-width.

    Raises
    ------
    InvalidValueError
        If an argument is out of its domain.
    UnstableError
        If the background alone overloads the servers.

    Notes
    -----
    Deterministic service: closed form (even), finite Spitzer sums (random), the recursion one
    service time apart (on background). Phase-type service: uniformisation of the chain of requests
    and phases. Every request waits for a server of its own.

    References
    ----------
    Spitzer 1956, doi:10.1090/S0002-9947-1956-0079851-X; Crommelin 1932; Jensen 1953,
    doi:10.1080/03461238.1953.10419459 (uniformisation).

    Examples
    --------
    >>> from kvcost.queueing.service import Deterministic
    >>> answer = burst(servers=4, requests=40, window_seconds=0.0, arrivals="batch",
    ...                service=Deterministic(mean=1.0), background_utilization=0.0)
    >>> answer.mean, answer.maximum, answer.peak_backlog, answer.drain_seconds
    (4.5, 9.0, 36.0, 9.0)
    """
    case = checked_case(
        servers=servers,
        requests=requests,
        window=window_seconds,
        service=service,
        arrivals=arrivals,
        share=background_utilization,
        spacing=spacing,
        replications=replications,
        seed=seed,
    )
    if case.share == 0 and case.arrivals != "poisson_window" and case.requests <= case.servers:
        return nobody_waits(case)
    if service.scv == 0:
        answer = deterministic(case)
    else:
        phases = service.phase_type()
        answer = None if phases is None else phase_type(case, phases)
    return answer or simulated(case)
