"""Bursts: requests that share one prefix and come within a short time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, TypeAlias, cast, get_args

import numpy as np

from kvcost.workload.checks import choice, number, source, whole
from kvcost.workload.prompts import from_arrivals

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.workload.requests import Requests

__all__ = [
    "Spacing",
    "burst_times",
    "even_burst",
    "even_times",
    "mean_gap",
    "poisson_burst",
    "uniform_burst",
]

Spacing: TypeAlias = Literal["inclusive", "exclusive"]

_SPACINGS: tuple[str, ...] = get_args(Spacing)


def mean_gap(*, requests: int, span: float, spacing: Spacing = "inclusive") -> float:
    """Return the mean time between two requests of a burst.

    Parameters
    ----------
    requests : int
        Requests of the burst.
    span : float
        Its length [s].
    spacing : {"inclusive", "exclusive"}
        Whether the last request comes at the end of the span (gap W/(B-1)) or a gap before (W/B).

    Returns
    -------
    float
        Seconds; 0 for a single request.

    Examples
    --------
    >>> mean_gap(requests=5, span=60.0), mean_gap(requests=5, span=60.0, spacing="exclusive")
    (15.0, 12.0)
    """
    count = whole("requests", requests, low=1)
    length = number("span", span, unit="s")
    parts = count - 1 if choice("spacing", spacing, _SPACINGS) == "inclusive" else count
    return length / parts if parts else 0.0


def even_times(
    *, requests: int, span: float, spacing: Spacing = "inclusive"
) -> NDArray[np.float64]:
    """Return arrival times 0, gap, 2 gap, ... of an even burst; see `mean_gap`."""
    times = np.arange(requests, dtype=np.float64) * mean_gap(
        requests=requests, span=span, spacing=spacing
    )
    if spacing == "inclusive" and requests > 1:
        times[-1] = span
    return times


def burst_times(
    rng: np.random.Generator | int,
    *,
    requests: int,
    span: float,
    arrivals: str,
    spacing: str = "inclusive",
) -> NDArray[np.float64]:
    """Return arrival times of a burst, the first at 0: ``even``, ``poisson`` or ``uniform``."""
    spaced = cast("Spacing", spacing)  # mean_gap refuses what is none
    if arrivals == "even":
        return even_times(requests=requests, span=span, spacing=spaced)
    if arrivals == "poisson":
        gap = mean_gap(requests=requests, span=span, spacing=spaced)
        gaps = source(rng).exponential(gap, requests - 1)
        return np.concatenate([np.zeros(1), np.cumsum(gaps)])
    others = whole("requests", requests, low=1) - 1
    drawn = source(rng).uniform(0.0, number("span", span, unit="s"), others)
    return np.concatenate([np.zeros(1), np.sort(drawn)])


def even_burst(
    *,
    requests: int,
    span: float,
    shared_tokens: int,
    suffix_tokens: int = 256,
    output_tokens: int = 1,
    block_tokens: int = 256,
    spacing: Spacing = "inclusive",
    start: float = 0.0,
    name: str = "burst:0",
    compact: bool = True,
) -> Requests:
    """Return a burst with equal gaps.

    Parameters
    ----------
    requests : int
        Requests of the burst.
    span : float
        Its length [s].
    shared_tokens, suffix_tokens : int
        Tokens of the prompt that all share, and tokens of each request's own after them.
    output_tokens : int
        Tokens of each answer.
    block_tokens : int
        Tokens of one block.
    spacing : {"inclusive", "exclusive"}
        Gap W/(B-1), the last request at the end of the span, or W/B.
    start : float
        When the first request comes [s].
    name : str
        Name of the group.
    compact : bool
        Whether the ids name runs of blocks; if not, there is one id for each block.

    Returns
    -------
    Requests
        One group.

    Examples
    --------
    >>> even_burst(requests=4, span=3.0, shared_tokens=1024, spacing="exclusive").arrival.tolist()
    [0.0, 0.75, 1.5, 2.25]
    """
    begin = number("start", start, unit="s")
    return from_arrivals(
        arrival=begin + even_times(requests=requests, span=span, spacing=spacing),
        names=(name,),
        shared_tokens=shared_tokens,
        suffix_tokens=suffix_tokens,
        output_tokens=output_tokens,
        block_tokens=block_tokens,
        compact=compact,
    )


def poisson_burst(
    *,
    requests: int,
    span: float,
    shared_tokens: int,
    suffix_tokens: int = 256,
    output_tokens: int = 1,
    block_tokens: int = 256,
    spacing: Spacing = "inclusive",
    start: float = 0.0,
    name: str = "burst:0",
    rng: np.random.Generator | int,
    compact: bool = True,
) -> Requests:
    """Return a burst with exponential gaps: the first request at the start, their number fixed.

    Parameters
    ----------
    requests, span, spacing
        See `even_burst`; the mean gap is the even one, and the last request may come after the
        span.
    shared_tokens, suffix_tokens, output_tokens, block_tokens, start, name, compact
        See `even_burst`.
    rng : Generator or int
        Source of the random gaps, or its seed.

    Returns
    -------
    Requests
        One group.

    Examples
    --------
    >>> burst = poisson_burst(requests=500, span=60.0, shared_tokens=65536, rng=1)
    >>> float(burst.arrival[0]), 50 < burst.duration < 70
    (0.0, True)
    """
    times = burst_times(rng, requests=requests, span=span, arrivals="poisson", spacing=spacing)
    return from_arrivals(
        arrival=number("start", start, unit="s") + times,
        names=(name,),
        shared_tokens=shared_tokens,
        suffix_tokens=suffix_tokens,
        output_tokens=output_tokens,
        block_tokens=block_tokens,
        compact=compact,
    )


def uniform_burst(
    *,
    requests: int,
    span: float,
    shared_tokens: int,
    suffix_tokens: int = 256,
    output_tokens: int = 1,
    block_tokens: int = 256,
    start: float = 0.0,
    name: str = "burst:0",
    rng: np.random.Generator | int,
    compact: bool = True,
) -> Requests:
    """Return a burst whose first request comes at the start, the others uniformly on the span.

    Parameters
    ----------
    requests, span
        See `even_burst`.
    shared_tokens, suffix_tokens, output_tokens, block_tokens, start, name, compact
        See `even_burst`.
    rng : Generator or int
        Source of the random times, or its seed.

    Returns
    -------
    Requests
        One group.

    Examples
    --------
    >>> burst = uniform_burst(requests=500, span=60.0, shared_tokens=65536, rng=1)
    >>> float(burst.arrival[0]), burst.duration <= 60
    (0.0, True)
    """
    times = burst_times(rng, requests=requests, span=span, arrivals="uniform")
    return from_arrivals(
        arrival=number("start", start, unit="s") + times,
        names=(name,),
        shared_tokens=shared_tokens,
        suffix_tokens=suffix_tokens,
        output_tokens=output_tokens,
        block_tokens=block_tokens,
        compact=compact,
    )
