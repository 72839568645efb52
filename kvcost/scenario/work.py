"""The workloads of a scenario, and the requests that a seed makes of them."""

from __future__ import annotations

import dataclasses
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.scenario import schema as of
from kvcost.scenario.schema import Part
from kvcost.workload.bursts import burst_times
from kvcost.workload.lengths import Lognormal
from kvcost.workload.prompts import shared_prefix_requests

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.workload import Requests

__all__ = ["BurstWork", "MixedWork", "SteadyWork", "TraceWork", "WindowWork", "Work", "work_from"]

_ARRIVALS = ("even", "poisson", "uniform")
_SPACING = ("inclusive", "exclusive")


@dataclasses.dataclass(frozen=True, kw_only=True)
class BurstWork(Part):
    """One burst of requests that share a prefix, on replicas that know nothing yet."""

    requests: int = of.count("requests of the burst", high=10**7)
    span: float = of.seconds("length of the burst")
    shared_tokens: int = of.tokens("prefix that all share")
    suffix_tokens: int = of.tokens("what each has alone", 256, zero=True)
    output_tokens: int = of.tokens("tokens that each generates", 1)
    arrivals: str = of.choice("how they arrive", _ARRIVALS, "even")
    spacing: str = of.choice("gap W/(B-1) or W/B", _SPACING, "inclusive")

    @property
    def shared(self) -> int:
        """Tokens of the longest shared prefix."""
        return self.shared_tokens

    def draw(self, rng: np.random.Generator, *, block_tokens: int) -> Requests:
        """Return the requests of one burst."""
        times = burst_times(
            rng,
            requests=self.requests,
            span=self.span,
            arrivals=self.arrivals,
            spacing=self.spacing,
        )
        return shared_prefix_requests(
            arrival=times,
            group=np.zeros(self.requests, dtype=np.int64),
            shared=np.full(self.requests, self.shared_tokens),
            suffix=np.full(self.requests, self.suffix_tokens),
            output=np.full(self.requests, self.output_tokens),
            block_tokens=block_tokens,
            names=("burst",),
            compact=True,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class WindowWork(Part):
    """Overlapping bursts among decoys: requests of the same size that share nothing."""

    bursts: int = of.count("bursts", low=0, high=100_000)
    first: float = of.seconds("start of the first burst")
    every: float = of.seconds("from one start to the next")
    jitter: float = of.seconds("half-width of the uniform jitter of a start", 0.0)
    burst_requests: int = of.count("requests of a burst", high=10**7)
    burst_span: float = of.seconds("length of a burst")
    arrivals: str = of.choice("how the requests of a burst arrive", _ARRIVALS, "even")
    spacing: str = of.choice("gap W/(B-1) or W/B", _SPACING, "inclusive")
    shared_tokens: int = of.tokens("prefix that a burst shares")
    suffix_tokens: int = of.tokens("what each request has alone", 256, zero=True)
    output_tokens: int = of.tokens("tokens that each generates", 1)
    decoys: int = of.count("decoys", 0, low=0, high=10**7)
    decoy_low: float = of.seconds("from when decoys come", 0.0)
    decoy_high: float = of.seconds("until when decoys come", 0.0)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.decoys and self.decoy_high <= self.decoy_low:
            raise InvalidValueError(
                field="decoy_high",
                value=self.decoy_high,
                bound=f"must be above decoy_low, {self.decoy_low:g} s",
                remedy="state the range in which decoys come",
            )
        if self.jitter > self.first:
            raise InvalidValueError(
                field="jitter",
                value=self.jitter,
                bound=f"must not exceed the first start, {self.first:g} s",
                remedy="start later",
            )
        if self.bursts + self.decoys == 0:
            raise InvalidValueError(
                field="bursts", value=0, bound="must be at least 1 without decoys", remedy="use 1"
            )

    @property
    def shared(self) -> int:
        """Tokens of the longest shared prefix."""
        return self.shared_tokens

    def draw(self, rng: np.random.Generator, *, block_tokens: int) -> Requests:
        """Return the requests of one window."""
        starts = self.first + self.every * np.arange(self.bursts)
        starts = starts + rng.uniform(-self.jitter, self.jitter, self.bursts)
        bursts = [
            start
            + burst_times(
                rng,
                requests=self.burst_requests,
                span=self.burst_span,
                arrivals=self.arrivals,
                spacing=self.spacing,
            )
            for start in starts
        ]
        decoys = rng.uniform(self.decoy_low, self.decoy_high, self.decoys)
        return self.at(bursts, decoys, block_tokens=block_tokens)

    def at(
        self, bursts: list[NDArray[np.float64]], decoys: NDArray[np.float64], *, block_tokens: int
    ) -> Requests:
        """Return the requests of a window whose arrivals are given, in seconds."""
        times = np.concatenate([*bursts, decoys])
        group = np.concatenate(
            [
                *(np.full(times_of.size, j) for j, times_of in enumerate(bursts)),
                np.full(decoys.size, -1),
            ]
        ).astype(np.int64)
        order = np.argsort(times, kind="stable")
        return shared_prefix_requests(
            arrival=times[order],
            group=group[order],
            shared=np.full(times.size, self.shared_tokens),
            suffix=np.full(times.size, self.suffix_tokens),
            output=np.full(times.size, self.output_tokens),
            block_tokens=block_tokens,
            names=tuple(f"burst {j}" for j in range(len(bursts))),
            compact=True,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SteadyWork(Part):
    """Poisson traffic, or traffic with another spread of its gaps, that shares nothing."""

    rate: float = of.number("requests a second over all replicas")
    requests: int = of.count("requests of a simulated run", 20_000, high=10**8)
    warm_up: int = of.count("of them, first ones that do not count", 2_000, low=0, high=10**8)
    prompt_tokens: int = of.tokens("prompt, or its median before clipping")
    prompt_law: str = of.choice("law of the prompt", ("fixed", "lognormal"), "fixed")
    prompt_sigma: float = of.number(
        "deviation of the logarithm of a lognormal prompt", 1.0, below=10.0
    )
    prompt_low: int = of.tokens("least prompt of a clipped law", 1)
    prompt_high: int = of.tokens("largest prompt of a clipped law", 10**9)
    prompt_mean: float | None = of.number(
        "mean of the law before clipping, instead", None, below=1e12
    )
    output_tokens: int = of.tokens("tokens that each generates", 1)
    gap_scv: float = of.number("squared coefficient of variation of the gaps", 1.0, zero=True)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.warm_up >= self.requests:
            raise InvalidValueError(
                field="warm_up",
                value=self.warm_up,
                bound=f"must be below the {self.requests} requests",
                remedy="simulate more requests",
            )

    @property
    def shared(self) -> int:
        """No prefix is shared."""
        return 0

    @property
    def _median(self) -> float:
        if self.prompt_mean is None:
            return float(self.prompt_tokens)
        return self.prompt_mean * math.exp(-(self.prompt_sigma**2) / 2)

    def prompts(self, rng: np.random.Generator, size: int) -> NDArray[np.int64]:
        """Return drawn prompt lengths."""
        if self.prompt_law == "fixed":
            return np.full(size, self.prompt_tokens, dtype=np.int64)
        drawn = rng.lognormal(math.log(self._median), self.prompt_sigma, size)
        return np.clip(drawn, self.prompt_low, self.prompt_high).astype(np.int64)

    def moments(self) -> tuple[float, float]:
        """Return the mean and the second moment of the prompt length."""
        if self.prompt_law == "fixed":
            return float(self.prompt_tokens), float(self.prompt_tokens) ** 2
        law = Lognormal(
            mean=self._median * math.exp(self.prompt_sigma**2 / 2),
            sigma=self.prompt_sigma,
            low=self.prompt_low,
            high=self.prompt_high,
        )
        return law.clipped_moments()

    def draw(self, rng: np.random.Generator, *, block_tokens: int) -> Requests:
        """Return the requests of one run, the warm-up included."""
        size = self.requests
        if self.gap_scv > 0:
            gaps = rng.gamma(1 / self.gap_scv, self.gap_scv / self.rate, size)
        else:
            gaps = np.full(size, 1 / self.rate)
        return shared_prefix_requests(
            arrival=np.cumsum(gaps),
            group=np.full(size, -1, dtype=np.int64),
            shared=np.zeros(size, dtype=np.int64),
            suffix=self.prompts(rng, size),
            output=np.full(size, self.output_tokens),
            block_tokens=block_tokens,
            names=(),
            compact=True,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class MixedWork(Part):
    """Bursts on a steady background that shares nothing."""

    bursts: int = of.count("bursts", 1, high=100_000)
    first: float = of.seconds("start of the first burst")
    every: float = of.seconds("from one start to the next", 0.0)
    burst_requests: int = of.count("requests of a burst", high=10**7)
    burst_span: float = of.seconds("length of a burst")
    arrivals: str = of.choice("how the requests of a burst arrive", _ARRIVALS, "poisson")
    spacing: str = of.choice("gap W/(B-1) or W/B", _SPACING, "inclusive")
    shared_tokens: int = of.tokens("prefix that a burst shares")
    suffix_tokens: int = of.tokens("what each request of a burst has alone", 256, zero=True)
    background_rate: float = of.number("other requests a second, over all replicas")
    background_tokens: int = of.tokens("prompt of each of them")
    duration: float = of.seconds("until when the background comes", zero=False)
    output_tokens: int = of.tokens("tokens that each request generates", 1)

    @property
    def shared(self) -> int:
        """Tokens of the longest shared prefix."""
        return self.shared_tokens

    def draw(self, rng: np.random.Generator, *, block_tokens: int) -> Requests:
        """Return the requests of one run."""
        others = rng.poisson(self.background_rate * self.duration)
        times = [rng.uniform(0.0, self.duration, others)]
        group = [np.full(others, -1)]
        for j in range(self.bursts):
            own = burst_times(
                rng,
                requests=self.burst_requests,
                span=self.burst_span,
                arrivals=self.arrivals,
                spacing=self.spacing,
            )
            times.append(self.first + j * self.every + own)
            group.append(np.full(own.size, j))
        flat = np.concatenate(times)
        order = np.argsort(flat, kind="stable")
        groups = np.concatenate(group)[order].astype(np.int64)
        return shared_prefix_requests(
            arrival=flat[order],
            group=groups,
            shared=np.where(groups >= 0, self.shared_tokens, 0),
            suffix=np.where(groups >= 0, self.suffix_tokens, self.background_tokens),
            output=np.full(flat.size, self.output_tokens),
            block_tokens=block_tokens,
            names=tuple(f"burst {j}" for j in range(self.bursts)),
            compact=True,
        )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TraceWork(Part):
    """A recorded trace."""

    path: str = of.text("file of the trace; a relative path is looked up in KVCOST_TRACES too")
    format: str | None = of.text("its format, where the name does not tell", None)
    requests: int | None = of.count("first requests to use", None, high=10**9)
    rate: float | None = of.number("mean rate to stretch or squeeze it to, requests/s", None)
    max_tokens: int | None = of.tokens("leave out requests of more, prompt and answer", None)

    @property
    def shared(self) -> int:
        """Not known before the trace is read."""
        return 0

    def draw(self, rng: np.random.Generator, *, block_tokens: int) -> Requests:  # noqa: ARG002
        """Return the requests of the trace, which do not depend on the seed.

        Longer ones than `max_tokens` go first, then all behind the first `requests`; the rate is
        that of what is left. A trace without prefixes has no blocks of its own and takes those of
        the cache.
        """
        from kvcost.scenario.tracefile import load_trace  # noqa: PLC0415 - needs the readers

        found = load_trace(self.path, self.format)
        if self.max_tokens is not None:
            fits = found.prompt_tokens + found.output_tokens <= self.max_tokens
            if not fits.any():
                raise InvalidValueError(
                    field="max_tokens",
                    value=self.max_tokens,
                    bound=f"leaves none of the {len(found):,} requests of {self.path}",
                    remedy="allow longer requests",
                )
            found = found.take(fits)
        if self.requests is not None:
            found = found.head(self.requests)
        if not found.has_blocks:
            found = dataclasses.replace(found, block_tokens=block_tokens)
        return found if self.rate is None else found.scaled(rate=self.rate)


Work = BurstWork | WindowWork | SteadyWork | MixedWork | TraceWork

KINDS: dict[str, type[Work]] = {
    "burst": BurstWork,
    "window": WindowWork,
    "steady": SteadyWork,
    "bursts_on_background": MixedWork,
    "trace": TraceWork,
}


def work_from(table: Any, *, where: str = "workload") -> Work:
    """Return the workload that a TOML table describes; its ``kind`` says which."""
    if not isinstance(table, dict):
        raise InvalidValueError(
            field=where, value=table, bound="must be one table", remedy=f"write [{where}]"
        )
    rest = dict(table)
    kind = rest.pop("kind", None)
    if kind is None:
        raise MissingFactError(
            fact=f"kind ({', '.join(KINDS)})", subject=f"[{where}]", remedy="add it"
        )
    if not isinstance(kind, str) or kind not in KINDS:
        raise InvalidValueError(
            field=f"{where}.kind",
            value=kind,
            bound="is no kind of workload",
            remedy=f"use one of {', '.join(KINDS)}",
        )
    return KINDS[kind].from_table(rest, where=where)
