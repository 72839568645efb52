"""What a policy's closed form answers: the TTFT, its percentiles, and where the wait comes from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvcost.queueing.result import ErrorClass

__all__ = ["RoutedTTFT", "Split"]


@dataclass(frozen=True, kw_only=True)
class Split:
    """Parts of the mean TTFT; they add up to it.

    Attributes
    ----------
    own_head : float
        Waiting while the replica computes the prefix of the request's own group [s].
    other_cold : float
        Waiting behind cold prefills of other groups or decoys [s].
    suffix : float
        Waiting behind the suffix prefills of hits [s].
    copy : float
        Waiting for copies that hold the replica, or for the prefix to arrive [s].
    decode : float
        Waiting for decode steps [s].
    own_prefill : float
        The request's own prefill and load [s].
    """

    own_head: float
    other_cold: float
    suffix: float
    copy: float
    decode: float
    own_prefill: float

    @property
    def total(self) -> float:
        """Sum of the parts: the mean TTFT [s]."""
        return (
            self.own_head
            + self.other_cold
            + self.suffix
            + self.copy
            + self.decode
            + self.own_prefill
        )


@dataclass(frozen=True, kw_only=True)
class RoutedTTFT:
    """Time to first token under a policy.

    Attributes
    ----------
    policy : str
        The policy.
    mean : float
        Mean over all requests [s].
    p50, p95, p99 : float
        Percentiles over all requests of all bursts (pooled) [s].
    maximum : float
        Mean over bursts of the longest [s].
    split : Split or None
        Where the mean comes from; None where the method does not tell.
    trip_share : float or None
        Share of the bursts in which cache-aware's imbalance fallback fires; None elsewhere.
    cold_requests : float or None
        Mean number of requests that compute the whole prompt.
    method : str
        How it was found.
    error : ErrorClass
        How far to trust it.
    warnings : tuple of str
        What the caller should know about validity.
    """

    policy: str
    mean: float
    p50: float
    p95: float
    p99: float
    maximum: float
    split: Split | None
    trip_share: float | None = None
    cold_requests: float | None = None
    method: str
    error: ErrorClass
    warnings: tuple[str, ...] = field(default=())
