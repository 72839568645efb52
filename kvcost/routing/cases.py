"""What the closed forms take: costs of one replica, and a workload reduced to a few numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["Arrivals", "Burst", "NodeCosts", "Spacing", "Steady", "Window"]

Arrivals: TypeAlias = Literal["even", "poisson", "uniform"]
Spacing: TypeAlias = Literal["inclusive", "exclusive"]


@dataclass(frozen=True, kw_only=True)
class NodeCosts:
    """What one replica needs for one kind of request.

    Attributes
    ----------
    cold : float
        Prefill of a whole prompt, nothing cached [s].
    hit : float
        Prefill of what the shared prefix leaves, the private suffix [s].
    copy : float
        Time to copy the shared prefix from another replica [s].
    slots : int
        Requests that the KV memory and the batch limit admit together.
    step_fixed : float
        Part of a decode step that does not grow with the batch: reading the weights [s].
    step_each : float
        Part of a decode step that each request in the batch adds: reading its KV [s].
    output_tokens : int
        Tokens that each request generates.
    """

    cold: float
    hit: float
    copy: float
    slots: int
    step_fixed: float
    step_each: float
    output_tokens: int = 1

    def step(self, batch: float) -> float:
        """Return the duration of one decode step of a batch, in seconds."""
        return self.step_fixed + self.step_each * batch


@dataclass(frozen=True, kw_only=True)
class Burst:
    """An isolated burst: requests that share one prefix, on replicas that know nothing yet.

    Attributes
    ----------
    requests : int
        Requests of the burst, B; the first arrives at 0.
    span : float
        Length of the burst, W [s].
    arrivals : str
        ``even`` (gap W/(B-1), or W/B with exclusive spacing), ``poisson`` (B requests, the first at
        0, then exponential gaps of that mean) or ``uniform`` (the first at 0, the others uniform
        on the span).
    spacing : str
        ``inclusive``: gap W/(B-1), last request at W. ``exclusive``: gap W/B.
    replicas : int
        Replicas, R.
    node : NodeCosts
        Costs of each replica.
    """

    requests: int
    span: float
    arrivals: Arrivals
    spacing: Spacing = "inclusive"
    replicas: int
    node: NodeCosts

    @property
    def gap(self) -> float:
        """Mean time between two requests [s]."""
        parts = self.requests - 1 if self.spacing == "inclusive" else self.requests
        return self.span / parts if parts else 0.0


@dataclass(frozen=True, kw_only=True)
class Window:
    """Overlapping bursts among decoys, each decoy with a long prefix of its own.

    Attributes
    ----------
    bursts : int
        Bursts in the window.
    first, every, jitter : float
        Start of the first burst, time from one start to the next, and half-width of the uniform
        jitter of each start [s].
    burst_requests : int
        Requests of each burst, even over `burst_span`, the last one at its end.
    burst_span : float
        Length of each burst [s].
    decoys : int
        Requests without sharing, of the same size.
    decoy_low, decoy_high : float
        Range on which decoys arrive uniformly [s].
    replicas : int
        Replicas.
    node : NodeCosts
        Costs of each replica; decoys cost `node.cold`.
    """

    bursts: int
    first: float
    every: float
    jitter: float
    burst_requests: int
    burst_span: float
    decoys: int
    decoy_low: float
    decoy_high: float
    replicas: int
    node: NodeCosts


@dataclass(frozen=True, kw_only=True)
class Steady:
    """Poisson traffic without sharing.

    Attributes
    ----------
    rate : float
        Requests a second, over all replicas.
    replicas : int
        Replicas.
    prefill_mean, prefill_scv : float
        Mean [s] and squared coefficient of variation of the prefill time.
    law : str
        Family of the prefill time: ``fixed``, or ``lognormal`` as clipped (the two moments hold).
    prefill_high : float
        Longest prefill of a clipped lognormal law [s]; infinite where it is not clipped.
    slots : float
        Requests that the KV memory admits together, for a mean-sized request.
    step_fixed, step_each : float
        Decode step: fixed part, and part for each mean-sized request in the batch [s].
    output_tokens : int
        Tokens that each request generates.
    """

    rate: float
    replicas: int
    prefill_mean: float
    prefill_scv: float
    law: Literal["fixed", "lognormal"]
    slots: float
    step_fixed: float
    step_each: float
    output_tokens: int
    prefill_high: float = float("inf")
