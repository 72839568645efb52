"""The inverse questions: servers, load or service time for a wait that is wanted."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError, MissingFactError, UnstableError
from kvcost.queueing.facts import queue
from kvcost.queueing.validation import fraction, not_negative, positive, whole

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.queueing.result import Wait
    from kvcost.queueing.service import Service

__all__ = [
    "Answer",
    "Target",
    "load_for_wait",
    "servers_for_wait",
    "service_time_for_wait",
]

_MOST_SERVERS = 1_000_000
_TOLERANCE = 1e-9


@dataclass(frozen=True, kw_only=True)
class Target:
    """What is wanted of a wait; exactly one form.

    Attributes
    ----------
    mean : float or None
        Largest mean wait [s]; where only a range is known, its upper end counts.
    percentile, wait : float or None
        A share of the requests, such as 0.95, and the longest that they may wait [s].
    probability_of_wait : float or None
        Largest share of the requests that wait at all.
    """

    mean: float | None = None
    percentile: float | None = None
    wait: float | None = None
    probability_of_wait: float | None = None

    def __post_init__(self) -> None:
        forms = [self.mean is not None, self.probability_of_wait is not None]
        forms.append(self.percentile is not None or self.wait is not None)
        if sum(forms) != 1 or (self.percentile is None) != (self.wait is None):
            raise InvalidValueError(
                field="target",
                value=self,
                bound="must have exactly one form",
                remedy="give mean, or percentile with wait, or probability_of_wait",
            )
        if self.mean is not None:
            positive("mean", self.mean, unit="s")
        elif self.percentile is not None:
            fraction("percentile", self.percentile)
            not_negative("wait", self.wait, unit="s")
        else:
            fraction("probability_of_wait", self.probability_of_wait)

    def met_by(self, wait: Wait) -> bool:
        """Return whether a wait is as wanted.

        Parameters
        ----------
        wait : Wait
            The wait.

        Returns
        -------
        bool
            Whether the target holds.

        Raises
        ------
        MissingFactError
            If the method gives no distribution where one is needed.
        """
        if self.mean is not None:
            return (wait.mean if wait.mean is not None else wait.mean_high) <= self.mean
        if self.percentile is not None:
            assert self.wait is not None
            return wait.quantile(self.percentile) <= self.wait
        if wait.probability_of_wait is None:
            wait.quantile(0.5)  # raises, naming the fact that is missing
        assert wait.probability_of_wait is not None
        assert self.probability_of_wait is not None
        return wait.probability_of_wait <= self.probability_of_wait


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was asked for, with the wait there.

    Attributes
    ----------
    value : float
        Servers, requests per second or seconds.
    wait : Wait
        The wait at that value, which meets the target.
    """

    value: float
    wait: Wait


def servers_for_wait(
    target: Target,
    *,
    arrival_rate: float,
    service_mean: float | None = None,
    service_scv: float | None = None,
    third_moment: float | None = None,
    distribution: str | Service | None = None,
    arrival_scv: float | None = None,
) -> Answer:
    """Return the fewest servers that meet a wait target.

    Parameters
    ----------
    target : Target
        What is wanted.
    arrival_rate : float
        Requests per second.
    service_mean, service_scv, third_moment, distribution, arrival_scv
        What is known; see `queue`.

    Returns
    -------
    Answer
        A whole number of servers.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or a million servers do not suffice.
    MissingFactError
        If the target needs a fact that is missing, such as an upper end of the wait.

    Notes
    -----
    More servers wait less; the search doubles, then halves. An approximation that is not quite
    monotone can be off by one server.

    References
    ----------
    .. [1] A. J. E. M. Janssen, J. S. H. van Leeuwaarden, B. Zwart (2011), Refining square-root
       safety staffing by expanding Erlang C, https://doi.org/10.1287/opre.1110.0991

    Examples
    --------
    >>> answer = servers_for_wait(
    ...     Target(mean=0.1), arrival_rate=24.0, service_mean=0.3, distribution="exponential"
    ... )
    >>> answer.value, round(answer.wait.mean, 3)
    (9, 0.072)
    """
    rate = positive("arrival_rate", arrival_rate, unit="requests/s")

    def wait_of(count: int) -> Wait:
        return queue(
            servers=count,
            arrival_rate=rate,
            service_mean=service_mean,
            service_scv=service_scv,
            third_moment=third_moment,
            distribution=distribution,
            arrival_scv=arrival_scv,
        )

    try:
        found = wait_of(1)
        low = 0
    except UnstableError as short:
        low = short.servers_needed - 1
        found = wait_of(low + 1)
    _attainable(found)
    step, high = 1, low + 1
    while not target.met_by(found):
        low, step = high, 2 * step
        high = low + step
        if high > _MOST_SERVERS:
            raise InvalidValueError(
                field="target",
                value=target,
                bound=f"is not met by {_MOST_SERVERS} servers",
                remedy="allow a longer wait",
            )
        found = wait_of(high)
    while high - low > 1:
        middle = (low + high) // 2
        tried = wait_of(middle)
        if target.met_by(tried):
            high, found = middle, tried
        else:
            low = middle
    return Answer(value=high, wait=found)


def _attainable(wait: Wait) -> None:
    if math.isinf(wait.mean_high):
        raise MissingFactError(
            fact="the squared coefficient of variation",
            subject="the service time",
            remedy="give service_scv or distribution; the mean alone sets no upper end of the wait",
        )


def load_for_wait(
    target: Target,
    *,
    servers: int,
    service_mean: float | None = None,
    service_scv: float | None = None,
    third_moment: float | None = None,
    distribution: str | Service | None = None,
    arrival_scv: float | None = None,
) -> Answer:
    """Return the highest arrival rate at which a wait target is met.

    Parameters
    ----------
    target : Target
        What is wanted.
    servers : int
        Servers.
    service_mean, service_scv, third_moment, distribution, arrival_scv
        What is known; see `queue`.

    Returns
    -------
    Answer
        Requests per second; the target holds there, and no longer 1e-9 above it.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the target holds at no utilization above 1e-4.
    MissingFactError
        If the target needs a fact that is missing.

    References
    ----------
    .. [1] R. B. Cooper (1981), Introduction to Queueing Theory, 2nd ed., section 3.4.

    Examples
    --------
    >>> answer = load_for_wait(
    ...     Target(mean=1.0), servers=1, service_mean=1.0, distribution="exponential"
    ... )
    >>> round(answer.value, 6)
    0.5
    """
    count = whole("servers", servers)

    def wait_of(utilization: float) -> Wait:
        return queue(
            servers=count,
            utilization=utilization,
            service_mean=service_mean,
            service_scv=service_scv,
            third_moment=third_moment,
            distribution=distribution,
            arrival_scv=arrival_scv,
        )

    mean = _mean_of(distribution, service_mean)
    utilization, wait = _largest(wait_of, target, field="utilization", most=1.0 - 1e-9)
    return Answer(value=utilization * count / mean, wait=wait)


def _mean_of(distribution: str | Service | None, service_mean: float | None) -> float:
    if distribution is not None and not isinstance(distribution, str):
        return distribution.mean
    return positive("service_mean", service_mean, unit="s")


def _largest(
    wait_of: Callable[[float], Wait], target: Target, *, field: str, most: float
) -> tuple[float, Wait]:
    """Return the largest utilization at which the target holds, in (1e-4, most)."""
    low, high = 1e-4, most
    found = wait_of(low)
    _attainable(found)
    if not target.met_by(found):
        raise InvalidValueError(
            field="target",
            value=target,
            bound=f"is not met at {field} {low:g}, where hardly anyone waits",
            remedy="allow a longer wait, or use more servers",
        )
    while high - low > _TOLERANCE * high and 1.0 - low > 1e-9:
        # the wait grows like 1 / (1 - utilization): halve on that scale
        middle = 1.0 - math.sqrt((1.0 - low) * (1.0 - high))
        if not low < middle < high:
            break
        tried = wait_of(middle)
        if target.met_by(tried):
            low, found = middle, tried
        else:
            high = middle
    return low, found


def service_time_for_wait(
    target: Target,
    *,
    servers: int,
    arrival_rate: float,
    service_scv: float | None = None,
    distribution: str | Service | None = None,
    arrival_scv: float | None = None,
) -> Answer:
    """Return the longest mean service time at which a wait target is met.

    Parameters
    ----------
    target : Target
        What is wanted.
    servers : int
        Servers.
    arrival_rate : float
        Requests per second.
    service_scv, distribution, arrival_scv
        What is known, whatever the mean; a law is taken in its shape. See `queue`.

    Returns
    -------
    Answer
        Mean service time in seconds.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, or the target holds at no utilization above 1e-4.
    MissingFactError
        If the target needs a fact that is missing.

    References
    ----------
    .. [1] R. B. Cooper (1981), Introduction to Queueing Theory, 2nd ed., section 3.4.

    Examples
    --------
    >>> answer = service_time_for_wait(
    ...     Target(mean=1.0), servers=1, arrival_rate=0.5, distribution="exponential"
    ... )
    >>> round(answer.value, 6)
    1.0
    """
    count = whole("servers", servers)
    rate = positive("arrival_rate", arrival_rate, unit="requests/s")

    def wait_of(utilization: float) -> Wait:
        mean = utilization * count / rate
        law = distribution
        if law is not None and not isinstance(law, str):
            law = law.scaled(mean / law.mean)
        named = law is None or isinstance(law, str)
        return queue(
            servers=count,
            utilization=utilization,
            service_mean=mean if named else None,
            service_scv=service_scv,
            distribution=law,
            arrival_scv=arrival_scv,
        )

    utilization, wait = _largest(wait_of, target, field="utilization", most=1.0 - 1e-9)
    return Answer(value=utilization * count / rate, wait=wait)
