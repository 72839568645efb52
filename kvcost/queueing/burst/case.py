"""A burst as it was asked for, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from kvcost.errors import InvalidValueError
from kvcost.queueing.burst.answer import BurstWait, Extremes
from kvcost.queueing.burst.replications import Replications, replicate
from kvcost.queueing.result import ErrorClass, WaitLaw
from kvcost.queueing.service.base import Service
from kvcost.queueing.validation import finite, not_negative, require_stable, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Arrivals", "Case", "Spacing", "checked_case"]

Arrivals = Literal["even", "uniform", "poisson", "poisson_window", "batch"]
Spacing = Literal["window/requests", "window/(requests-1)"]

_PATTERNS = {
    "even": "evenly spaced",
    "uniform": "uniform in the window",
    "poisson": "exponential gaps",
    "poisson_window": "Poisson in the window, their number random",
    "batch": "all at once",
}


@dataclass(frozen=True)
class Case:
    """A checked burst."""

    servers: int
    requests: int
    window: float
    gap: float
    arrivals: str
    service: Service
    share: float
    replications: int
    seed: int

    @property
    def rate(self) -> float:
        """Background requests per second."""
        return self.share * self.servers / self.service.mean

    @property
    def scheduled(self) -> bool:
        """Arrival times are fixed."""
        return self.arrivals in {"even", "batch"}

    def replay(self) -> Replications:
        """Return simulated bursts."""
        return replicate(
            servers=self.servers,
            service=self.service,
            requests=self.requests,
            window=self.window,
            arrivals=self.arrivals,
            gap=self.gap,
            background_rate=self.rate,
            replications=self.replications,
            seed=self.seed,
        )

    def exact(
        self,
        *,
        mean: float,
        served_at_once: float,
        method: str,
        law: WaitLaw,
        request_means: Iterable[float] = (),
        end_wait: float | None = None,
        extremes: Callable[[], Extremes] | None = None,
        relative: float = 1e-10,
        second_moment: float | None = None,
    ) -> BurstWait:
        """Return an exact answer."""
        return BurstWait(
            mean=mean,
            mean_low=mean,
            mean_high=mean,
            probability_of_wait=min(1.0, max(0.0, 1 - served_at_once)),
            method=method,
            error=ErrorClass(kind="exact", relative=relative, text=f"exact to {relative:.0e}"),
            law=law,
            second_moment=second_moment,
            request_means=tuple(float(value) for value in request_means),
            background_utilization=self.share,
            arrivals=self.pattern,
            _end_wait=end_wait,
            _find_extremes=extremes or (lambda: self.replay().extremes),
        )

    @property
    def pattern(self) -> str:
        """How the requests arrive, in words."""
        words = _PATTERNS[self.arrivals]
        return f"{words}, every {self.gap:.6g} s" if self.arrivals == "even" else words


def checked_case(
    *,
    servers: object,
    requests: object,
    window: object,
    service: object,
    arrivals: str,
    share: object,
    spacing: str,
    replications: object,
    seed: object,
) -> Case:
    """Return the burst, or say what is wrong with it.

    Parameters
    ----------
    servers, requests, window, service, arrivals, share, spacing, replications, seed
        As for `burst`.

    Returns
    -------
    Case
        Checked; a window of 0 makes any arrivals a batch.

    Raises
    ------
    InvalidValueError
        If an argument is out of its domain.
    UnstableError
        If the background alone overloads the servers.
    """
    for name, value, known in (
        ("arrivals", arrivals, get_args(Arrivals)),
        ("spacing", spacing, get_args(Spacing)),
    ):
        if value not in known:
            raise InvalidValueError(
                field=name,
                value=value,
                bound=f"must be one of {', '.join(known)}",
                remedy="see the parameter's description",
            )
    if not isinstance(service, Service):
        raise InvalidValueError(
            field="service",
            value=service,
            bound="must be a law of service times",
            remedy="give one such as Deterministic(mean=0.3)",
        )
    count = whole("requests", requests)
    seconds = not_negative("window_seconds", window, unit="s")
    busy = not_negative("background_utilization", share, unit="1")
    number = whole("servers", servers)
    finite("service.scv", service.scv, unit="1")
    require_stable(servers=number, offered_load=busy * number)
    if arrivals == "batch" and seconds > 0:
        raise InvalidValueError(
            field="window_seconds",
            value=seconds,
            bound="must be 0 s for a batch",
            remedy="choose even, uniform or poisson arrivals over a window",
        )
    if seconds == 0:
        if arrivals == "poisson_window":
            raise InvalidValueError(
                field="window_seconds",
                value=seconds,
                bound="must be above 0 s for a Poisson stream",
                remedy="use a batch, or give the window",
            )
        arrivals = "batch"
    parts = count if spacing == "window/requests" else max(count - 1, 1)
    gap = seconds / parts if arrivals == "even" else 0.0
    if arrivals == "even" and gap == 0:
        arrivals = "batch"
    return Case(
        number,
        count,
        seconds,
        gap,
        arrivals,
        service,
        busy,
        whole("replications", replications, least=2),
        whole("seed", seed, least=0),
    )
