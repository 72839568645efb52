"""What a queueing model answers: the wait, how it was found, and how far to trust it."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Literal, Protocol

from kvcost.errors import MissingFactError
from kvcost.queueing.validation import fraction, not_negative

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ErrorClass", "Wait", "WaitLaw", "exact_wait"]


class WaitLaw(Protocol):
    """The distribution of a wait."""

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds `t` seconds."""
        ...

    def quantile(self, p: float) -> float:
        """Return the smallest wait that a share `p` of the requests does not exceed."""
        ...


@dataclass(frozen=True, kw_only=True)
class ErrorClass:
    """How far a result may be from the model's truth.

    Attributes
    ----------
    kind : str
        ``exact`` (up to rounding), ``range`` (the truth of plausible laws lies inside), ``bound``
        (the truth of every law lies inside), ``approximation`` or ``simulated``.
    relative : float or None
        Relative error of the mean, as a fraction: numerical error for ``exact``, the stated error
        for ``approximation``, the half-width of the 95% interval for ``simulated``; None where no
        figure is known.
    text : str
        The same in words.
    """

    kind: Literal["exact", "range", "bound", "approximation", "simulated"]
    relative: float | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Time that a request waits before its service starts.

    Attributes
    ----------
    mean : float or None
        Mean over all requests, those that do not wait included [s]; None where the facts given
        determine a range only.
    mean_low, mean_high : float
        Range of the mean [s]; both equal `mean` where it is a number without a stated range.
    probability_of_wait : float or None
        Share of the requests that wait at all; None where the method does not give it.
    method : str
        How it was found, such as ``M/D/c by Lambert-W roots``.
    error : ErrorClass
        How far to trust it.
    warnings : tuple of str
        What the caller should know about validity.
    law : WaitLaw or None
        Distribution of the wait; None where the method gives none.
    second_moment : float or None
        Mean square of the wait [s^2]; None where the method does not give it.
    """

    mean: float | None
    mean_low: float
    mean_high: float
    probability_of_wait: float | None
    method: str
    error: ErrorClass
    warnings: tuple[str, ...] = ()
    law: WaitLaw | None = field(default=None, repr=False, compare=False)
    second_moment: float | None = None

    def quantile(self, p: float) -> float:
        """Return the wait that a share `p` of the requests does not exceed.

        Parameters
        ----------
        p : float
            Share, above 0 and below 1.

        Returns
        -------
        float
            Seconds; 0 where at most ``1 - p`` of the requests wait.

        Raises
        ------
        InvalidValueError
            If `p` is not inside (0, 1).
        MissingFactError
            If the method gives no distribution.
        """
        p = fraction("p", p)
        return self._known_law().quantile(p)

    def survival(self, t: float) -> float:
        """Return the probability that the wait exceeds a time.

        Parameters
        ----------
        t : float
            Seconds, not negative.

        Returns
        -------
        float
            Probability.

        Raises
        ------
        MissingFactError
            If the method gives no distribution.
        """
        return self._known_law().survival(not_negative("t", t, unit="s"))

    def _known_law(self) -> WaitLaw:
        if self.law is None:
            raise MissingFactError(
                fact="the distribution of the wait",
                subject=self.method,
                remedy="give the distribution of the service time, not only its moments",
            )
        return self.law

    @property
    def p50(self) -> float:
        """Median wait [s]."""
        return self.quantile(0.5)

    @property
    def p95(self) -> float:
        """Wait that 95% of the requests do not exceed [s]."""
        return self.quantile(0.95)

    @property
    def p99(self) -> float:
        """Wait that 99% of the requests do not exceed [s]."""
        return self.quantile(0.99)


@cache
def _exact(relative: float) -> ErrorClass:
    return ErrorClass(kind="exact", relative=relative, text=f"exact to {relative:.0e}")


def exact_wait(
    *,
    mean: float,
    probability_of_wait: float | None,
    method: str,
    relative: float,
    law: WaitLaw | None = None,
    second_moment: float | None = None,
    warnings: Iterable[str] = (),
) -> Wait:
    """Return a result that is exact up to rounding.

    Parameters
    ----------
    mean, probability_of_wait, method, law, second_moment, warnings
        See `Wait`.
    relative : float
        Numerical error of the mean, relative.

    Returns
    -------
    Wait
        With both ends of the range at the mean.
    """
    return Wait(
        mean=mean,
        mean_low=mean,
        mean_high=mean,
        probability_of_wait=probability_of_wait,
        method=method,
        error=_exact(relative),
        warnings=tuple(warnings),
        law=law,
        second_moment=second_moment,
    )
