"""Requests that arrive in batches, for ever: M^[X]/G/c."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.burst.formulas import bulk_single_server_wait
from kvcost.queueing.burst.laws import CdfLaw, DepartureLaw
from kvcost.queueing.result import ErrorClass, Wait, exact_wait
from kvcost.queueing.service.discrete import Deterministic
from kvcost.queueing.service.light import Exponential
from kvcost.queueing.validation import load_of, positive, whole

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kvcost.queueing.service.base import Array, Service

__all__ = ["BatchSize", "bulk"]

_LARGEST = 20_000
_PHASE_STATES = 400


@dataclass(frozen=True)
class BatchSize:
    """How many requests a batch holds.

    Attributes
    ----------
    chances : tuple of float
        Chance of 1, 2, 3, ... requests.
    name : str
        What the law is called.
    """

    chances: tuple[float, ...]
    name: str

    @classmethod
    def fixed(cls, size: int) -> BatchSize:
        """Return the law of a fixed size.

        Parameters
        ----------
        size : int
            Requests of each batch.

        Returns
        -------
        BatchSize
            One size only.
        """
        size = whole("size", size)
        return cls((0.0,) * (size - 1) + (1.0,), f"fixed {size}")

    @classmethod
    def geometric(cls, mean: float) -> BatchSize:
        """Return the geometric law on 1, 2, 3, ..., cut where less than 1e-17 is left.

        Parameters
        ----------
        mean : float
            Mean size, 1 or more.

        Returns
        -------
        BatchSize
            Geometric.

        Raises
        ------
        InvalidValueError
            If the mean is below 1.
        """
        mean = positive("mean", mean, unit="1")
        if mean < 1:
            raise InvalidValueError(
                field="mean",
                value=mean,
                bound="must be 1 or more, since a batch holds at least one request",
                remedy="count batches that hold a request",
            )
        more = 1 - 1 / mean
        last = 1 if more == 0 else math.ceil(-17 * math.log(10) / math.log(more)) + 1
        chances = more ** np.arange(last) / mean
        return cls(tuple(chances / chances.sum()), f"geometric mean {mean:g}")

    @classmethod
    def of(cls, chances: Iterable[float]) -> BatchSize:
        """Return the law with given chances of 1, 2, 3, ... requests.

        Parameters
        ----------
        chances : iterable of float
            Not negative; scaled to sum to 1.

        Returns
        -------
        BatchSize
            As given.

        Raises
        ------
        InvalidValueError
            If a chance is negative or none is positive.
        """
        values = np.asarray(list(chances), dtype=float)
        if not values.size or not np.isfinite(values).all() or values.min() < 0:
            raise InvalidValueError(
                field="chances",
                value=tuple(values),
                bound="must be finite and not negative, and at least one",
                remedy="give the share of batches of 1, 2, 3, ... requests",
            )
        total = positive("chances", float(values.sum()), unit="1")
        return cls(tuple(values / total), "as given")

    @property
    def sizes(self) -> Array:
        """Chance of 0, 1, 2, ... requests."""
        return np.concatenate([[0.0], self.chances])

    @property
    def mean(self) -> float:
        """Mean size."""
        return float(self.sizes @ np.arange(self.sizes.size))

    @property
    def second_factorial(self) -> float:
        """Mean of ``X (X - 1)``."""
        number = np.arange(self.sizes.size)
        return float(self.sizes @ (number * (number - 1.0)))

    @property
    def places(self) -> Array:
        """Chance that a request is the first, second, ... of its batch."""
        reached: Array = np.cumsum(self.sizes[::-1])[::-1][1:]
        return np.asarray(reached / self.mean)


def bulk(
    *,
    servers: int,
    service: Service,
    batch: BatchSize,
    utilization: float | None = None,
    request_rate: float | None = None,
) -> Wait:
    """Return the wait of requests that arrive in batches at Poisson times.

    Parameters
    ----------
    servers : int
        Servers.
    service : Service
        Service time of a request.
    batch : BatchSize
        Requests of a batch.
    utilization : float, optional
        Share of the time that a server is busy; this or `request_rate`.
    request_rate : float, optional
        Requests (not batches) per second.

    Returns
    -------
    Wait
        Over all requests. Exact for one server (mean only unless the service is deterministic or
        phase-type), for deterministic and for phase-type service; otherwise an approximation.

    Raises
    ------
    InvalidValueError
        If an argument is out of its domain.
    UnstableError
        If the servers cannot keep up.

    Notes
    -----
    Deterministic service: the queue one service time apart, by zeros of its generating function.
    Phase-type service: the chain goes down one request at a time, so first-passage matrices and a
    recursion without subtractions give its law. Anything else: ``(1 - s) W_D + s W_M`` between the
    two exact ends for scv s.

    References
    ----------
    Ramaswami 1988, doi:10.1080/15326348808807077 (the recursion); Chaudhry and Templeton 1983,
    A First Course in Bulk Queues.

    Examples
    --------
    >>> from kvcost.queueing.service import Deterministic
    >>> answer = bulk(servers=4, service=Deterministic(mean=1.0), batch=BatchSize.fixed(4),
    ...               utilization=0.6)
    >>> round(answer.mean, 9), answer.error.kind
    (0.75, 'exact')
    """
    load = load_of(
        servers=servers,
        mean_service=service.mean,
        arrival_rate=request_rate,
        utilization=utilization,
        whole_servers=True,
    )
    count = int(load.servers)
    batches = load.arrival_rate / batch.mean
    phases = service.phase_type()
    if isinstance(service, Deterministic):
        return _deterministic(count, service.mean, batches * service.mean, batch)
    if phases is not None and _fits(count, phases.phases):
        from kvcost.queueing.burst.bulk_phase import bulk_seen  # noqa: PLC0415 - heavy

        law = DepartureLaw(*bulk_seen(servers=count, law=phases, batches=batches, batch=batch))
        return exact_wait(
            mean=law.mean,
            probability_of_wait=float(law.seen.sum()),
            method="M^[X]/PH/c by first-passage matrices",
            relative=1e-9,
            law=law,
            second_moment=law.moment(2),
        )
    if count == 1:
        mean = bulk_single_server_wait(
            utilization=load.utilization,
            service_seconds=service.mean,
            service_scv=service.scv,
            batch_mean=batch.mean,
            batch_pairs=batch.second_factorial,
        )
        return exact_wait(
            mean=mean, probability_of_wait=None, method="M^[X]/G/1 mean", relative=1e-12
        )
    return _between(count, service, load.utilization, batch)


def _fits(servers: int, phases: int) -> bool:
    from kvcost.queueing.burst.occupancy import occupancy_count  # noqa: PLC0415

    return occupancy_count(servers=servers, phases=phases) <= _PHASE_STATES


def _deterministic(servers: int, seconds: float, batches: float, batch: BatchSize) -> Wait:
    from kvcost.queueing.burst.bulk_deterministic import (  # noqa: PLC0415 - loaded when asked
        unit_queue,
        unit_queue_mean,
    )

    sizes = batch.sizes
    rate = batches * batch.mean
    queue = unit_queue(servers=servers, batches=batches, sizes=sizes)
    by_law = float(queue @ np.arange(queue.size))
    light = (servers - rate) ** 2 > 0.3 * batches * (sizes @ np.arange(sizes.size) ** 2.0)
    by_zeros = unit_queue_mean(servers=servers, batches=batches, sizes=sizes)
    waiting = by_law if light else by_zeros
    law = _UnitLaw(queue, servers, batches, batch)
    return exact_wait(
        mean=waiting / rate * seconds,
        probability_of_wait=1 - law.at_most(0.0),
        method="M^[X]/D/c " + ("by its recursion" if light else "by zeros"),
        relative=1e-11 if not light else max(1e-12, 1e-13 / max(waiting, 1e-300)),
        law=CdfLaw(lambda t: law.at_most(t / seconds), seconds, jumps=True),
    )


@dataclass(frozen=True)
class _UnitLaw:
    """Wait, in service times, of requests of a batch at deterministic servers."""

    queue: Array
    servers: int
    batches: float
    batch: BatchSize

    def at_most(self, x: float) -> float:
        """Return the chance that the wait is at most `x` service times."""
        periods = math.floor(x) + 1
        room = periods * self.servers
        size = 1 << math.ceil(math.log2(self.queue.size + 2 * self.batch.sizes.size + room + 1))
        size = 2 * size
        arrived = np.exp(self.batches * (periods - x) * (np.fft.rfft(self.batch.sizes, size) - 1))
        moved = np.fft.rfft(self.queue, size) * np.fft.rfft(self.batch.places, size) * arrived
        return float(min(1.0, max(0.0, np.fft.irfft(moved, size)[:room].sum())))


def _between(servers: int, service: Service, utilization: float, batch: BatchSize) -> Wait:
    ends: list[Any] = [
        bulk(servers=servers, service=law, batch=batch, utilization=utilization).mean
        for law in (Deterministic(mean=service.mean), Exponential(mean=service.mean))
    ]
    scv = service.scv
    mean = (1 - scv) * ends[0] + scv * ends[1]
    error = 0.03 if scv <= 1 else 0.06 * scv
    warnings: tuple[str, ...] = ()
    if mean <= 0 or scv > 4:
        mean = max(mean, 0.0)
        warnings = (
            f"scv {scv:.3g} lies outside what was tested (0 to 4): fit a phase-type law instead",
        )
    return Wait(
        mean=mean,
        mean_low=mean * max(0.0, 1 - error),
        mean_high=mean * (1 + error),
        probability_of_wait=None,
        method="M^[X]/G/c between deterministic and exponential service",
        error=ErrorClass(
            kind="approximation",
            relative=error,
            text=f"approximation, within {error:.0%} of exact phase-type answers at scv 0 to 4",
        ),
        warnings=warnings,
    )
