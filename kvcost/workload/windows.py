"""Overlapping bursts among decoys: requests of the same size that share nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.workload.bursts import even_times
from kvcost.workload.checks import number, source, whole
from kvcost.workload.prompts import from_arrivals

if TYPE_CHECKING:
    from kvcost.workload.bursts import Spacing
    from kvcost.workload.requests import Requests

__all__ = ["decoys", "window"]


def decoys(
    *,
    requests: int,
    low: float,
    high: float,
    shared_tokens: int,
    suffix_tokens: int = 256,
    output_tokens: int = 1,
    block_tokens: int = 256,
    rng: np.random.Generator | int,
    compact: bool = True,
) -> Requests:
    """Return requests at random times, each with a long prefix of its own.

    Parameters
    ----------
    requests : int
        How many.
    low, high : float
        Range of the times [s].
    shared_tokens, suffix_tokens : int
        Tokens of the prefix and of what follows, as in the bursts that they go with.
    output_tokens, block_tokens, rng, compact
        As for `window`.

    Returns
    -------
    Requests
        One group each.

    Examples
    --------
    >>> decoys(requests=120, low=14.0, high=340.0, shared_tokens=65536, rng=1).names[-1]
    'decoy:119'
    """
    return window(
        bursts=0,
        decoys=requests,
        decoy_low=low,
        decoy_high=high,
        shared_tokens=shared_tokens,
        suffix_tokens=suffix_tokens,
        output_tokens=output_tokens,
        block_tokens=block_tokens,
        rng=rng,
        compact=compact,
    )


def window(
    *,
    bursts: int = 8,
    first: float = 20.0,
    every: float = 40.0,
    jitter: float = 2.0,
    burst_requests: int = 500,
    burst_span: float = 60.0,
    spacing: Spacing = "inclusive",
    decoys: int = 120,
    decoy_low: float = 14.0,
    decoy_high: float = 340.0,
    shared_tokens: int = 65_536,
    suffix_tokens: int = 256,
    output_tokens: int = 1,
    block_tokens: int = 256,
    rng: np.random.Generator | int,
    compact: bool = True,
) -> Requests:
    """Return even bursts whose starts jitter, among decoys; as given, a window of the study.

    Parameters
    ----------
    bursts : int
        Bursts.
    first, every, jitter : float
        Start of the first burst, time from start to start, half-width of the uniform jitter of
        each start [s].
    burst_requests : int
        Requests of a burst.
    burst_span : float
        Length of a burst [s].
    spacing : {"inclusive", "exclusive"}
        Gap W/(B-1), the last request at the end of the span, or W/B.
    decoys : int
        Requests without sharing.
    decoy_low, decoy_high : float
        Range of their times [s].
    shared_tokens, suffix_tokens : int
        Tokens of the prefix of a burst or decoy, and of each request's own after it.
    output_tokens : int
        Tokens of each answer.
    block_tokens : int
        Tokens of one block.
    rng : Generator or int
        Source of random numbers, or its seed.
    compact : bool
        Whether the ids name runs of blocks; if not, there is one id for each block.

    Returns
    -------
    Requests
        Groups ``burst:0``, ..., ``decoy:0``, ...

    References
    ----------
    .. [1] Biting the Bullet, https://github.com/jwlaboratory/bite-the-bullet, commit 26dd06a

    Examples
    --------
    >>> few = window(rng=1)
    >>> len(few), few.summary().groups
    (4120, 128)
    """
    count = whole("bursts", bursts)
    alone = whole("decoys", decoys)
    each = whole("burst_requests", burst_requests, low=1)
    wide = number("jitter", jitter, unit="s")
    begin = number("first", first, unit="s")
    low = number("decoy_low", decoy_low, unit="s")
    if decoy_high < low or wide > begin:
        field = "jitter" if wide > begin else "decoy_high"
        raise InvalidValueError(
            field=field,
            value=jitter if field == "jitter" else decoy_high,
            bound="must not exceed the first start" if field == "jitter" else "is below decoy_low",
            remedy="start later" if field == "jitter" else "swap them",
        )
    draw = source(rng)
    starts = begin + number("every", every, unit="s") * np.arange(count)
    starts = starts + draw.uniform(-wide, wide, count)
    own = even_times(requests=each, span=burst_span, spacing=spacing)
    times = [(starts[:, None] + own).ravel(), draw.uniform(low, decoy_high, alone)]
    group = np.repeat(np.arange(count + alone), [each] * count + [1] * alone)
    names = [f"burst:{i}" for i in range(count)] + [f"decoy:{i}" for i in range(alone)]
    return from_arrivals(
        arrival=np.concatenate(times),
        group=group,
        names=names,
        shared_tokens=shared_tokens,
        suffix_tokens=suffix_tokens,
        output_tokens=output_tokens,
        block_tokens=block_tokens,
        compact=compact,
    )
