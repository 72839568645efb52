"""What a run of the cluster tells: each request's times, and the figures made of them."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from kvcost.routing.answer import Split
from kvcost.simulation.cluster.waits import attribute

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

__all__ = ["ClusterRun", "percentile"]

_WHOLE = frozenset({"policy", "seed", "replicas", "copies", "copies_hold", "imbalances", "busy"})


def percentile(values: NDArray[np.float64], share: float) -> float:
    """Return the value at position ``int(share * n)`` of the sorted values."""
    position = min(int(share * values.size), values.size - 1)
    return float(np.partition(values, position)[position])


@dataclass(frozen=True, kw_only=True, eq=False)
class ClusterRun:
    """One simulated run.

    Attributes
    ----------
    policy : str
        The routing policy.
    seed : int
        Of all its random numbers.
    replicas : int
        Replicas.
    arrival, start, load, prefill, finish : array of float
        Of each request: arrival, admission, seconds of loading and of prefill, and end of its last
        decode step [s].
    replica : array of int
        Where each ran.
    prompt_tokens, covered_tokens, hit_tokens, hbm_tokens : array of int
        Prompt, the part of it in whole or partial blocks with an id or of its own, what was found
        cached, and what of it in HBM [token].
    group : array of int
        Burst or family of each request, -1 for none.
    copies : array of float
        Copies between replicas, one row each: start [s], end [s], target, source.
    copies_hold : bool
        Whether a copy kept its target from computing.
    imbalances : int
        Times that loads were out of balance, for policies that look.
    busy : array of float
        Seconds that each replica computed, loaded, or was held.
    """

    policy: str
    seed: int
    replicas: int
    arrival: NDArray[np.float64] = field(repr=False)
    start: NDArray[np.float64] = field(repr=False)
    load: NDArray[np.float64] = field(repr=False)
    prefill: NDArray[np.float64] = field(repr=False)
    finish: NDArray[np.float64] = field(repr=False)
    replica: NDArray[np.int64] = field(repr=False)
    prompt_tokens: NDArray[np.int64] = field(repr=False)
    covered_tokens: NDArray[np.int64] = field(repr=False)
    hit_tokens: NDArray[np.int64] = field(repr=False)
    hbm_tokens: NDArray[np.int64] = field(repr=False)
    group: NDArray[np.int64] = field(repr=False)
    copies: NDArray[np.float64] = field(repr=False)
    copies_hold: bool
    imbalances: int
    busy: NDArray[np.float64] = field(repr=False)

    @cached_property
    def ttft(self) -> NDArray[np.float64]:
        """Time to first token of each request, its own first decode step left out [s]."""
        return self.start - self.arrival + self.load + self.prefill

    @property
    def wait(self) -> NDArray[np.float64]:
        """Time from arrival to admission of each request [s]."""
        return self.start - self.arrival

    @cached_property
    def mean(self) -> float:
        """Mean TTFT [s]."""
        return float(self.ttft.mean())

    def quantile(self, share: float) -> float:
        """Return the TTFT at position ``int(share * n)`` of the sorted ones [s]."""
        return percentile(self.ttft, share)

    @property
    def maximum(self) -> float:
        """Longest TTFT [s]."""
        return float(self.ttft.max())

    @property
    def cold_requests(self) -> int:
        """Requests that found nothing cached."""
        return int(np.count_nonzero(self.hit_tokens == 0))

    @property
    def hit_share(self) -> float:
        """Share of the cacheable prompt tokens that were found cached."""
        covered = int(self.covered_tokens.sum())
        return float(self.hit_tokens.sum()) / covered if covered else 0.0

    @property
    def utilization(self) -> float:
        """Share of the time until the last finish that replicas were busy."""
        span = float(self.finish.max())
        return float(self.busy.sum()) / (self.replicas * span) if span > 0 else 0.0

    @cached_property
    def split(self) -> Split:
        """Parts of the mean TTFT."""
        parts = attribute(
            arrival=self.arrival,
            start=self.start,
            end=self.start + self.load + self.prefill,
            replica=self.replica,
            cold=self.hit_tokens == 0,
            group=self.group,
            copies=self.copies[:, :3] if self.copies_hold else np.empty((0, 3)),
        )
        return Split(
            own_head=float(parts.own_head.mean()),
            other_cold=float(parts.other_cold.mean()),
            suffix=float(parts.suffix.mean()),
            copy=float(parts.copy.mean()),
            decode=float(parts.decode.mean()),
            own_prefill=float((self.load + self.prefill).mean()),
        )

    def after(self, requests: int) -> ClusterRun:
        """Return the run without its first requests; busy time and copies stay as they are."""
        rows = {
            entry.name: getattr(self, entry.name)[requests:]
            for entry in fields(self)
            if entry.name not in _WHOLE
        }
        return replace(self, **rows)

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with one row a request, in seconds and tokens."""
        import pandas as pd  # noqa: PLC0415 - slow to load

        return pd.DataFrame(
            {
                "arrival": self.arrival,
                "ttft": self.ttft,
                "wait": self.wait,
                "load": self.load,
                "prefill": self.prefill,
                "finish": self.finish,
                "replica": self.replica,
                "prompt_tokens": self.prompt_tokens,
                "hit_tokens": self.hit_tokens,
                "hbm_tokens": self.hbm_tokens,
                "group": self.group,
            }
        )
