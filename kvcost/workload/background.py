"""Traffic that goes on: a stream with its lengths, and prefixes of unequal popularity."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.workload.checks import number, source, whole
from kvcost.workload.gaps import PoissonGaps, check_stream
from kvcost.workload.lengths import as_lengths
from kvcost.workload.prompts import shared_prefix_requests

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.workload.gaps import Gaps
    from kvcost.workload.lengths import Lengths
    from kvcost.workload.requests import Requests

__all__ = ["background", "zipf_shares"]


def zipf_shares(*, groups: int, exponent: float) -> NDArray[np.float64]:
    """Return how popular each of some prefixes is: the n-th in proportion to 1/n**exponent.

    Parameters
    ----------
    groups : int
        Prefixes.
    exponent : float
        0 for equal shares; 1 is Zipf's law.

    Returns
    -------
    array of float
        Shares that add up to 1.

    Examples
    --------
    >>> zipf_shares(groups=3, exponent=1.0).round(4).tolist()
    [0.5455, 0.2727, 0.1818]
    """
    count = whole("groups", groups, low=1)
    weights = np.arange(1, count + 1) ** -number("exponent", exponent, unit="")
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares


def background(
    *,
    rate: float,
    requests: int | None = None,
    duration: float | None = None,
    prompt: Lengths | int,
    output: Lengths | int = 1,
    gaps: Gaps | None = None,
    shared_tokens: int = 0,
    groups: int = 0,
    exponent: float = 0.0,
    block_tokens: int = 256,
    rng: np.random.Generator | int,
    compact: bool = True,
) -> Requests:
    """Return a stream of requests, from time 0.

    Parameters
    ----------
    rate : float
        Requests a second.
    requests, duration : int or float, optional
        How many, or until when [s]; give one.
    prompt, output : Lengths or int
        Law of the tokens of prompt and answer, or the same for all. Where a prefix is shared,
        `prompt` is what comes after it.
    gaps : Gaps, optional
        Law of the gaps; Poisson if not given.
    shared_tokens : int
        Tokens of the prefix that a group shares; 0 if nobody shares.
    groups : int
        Groups that share one prefix each; needed where `shared_tokens` is not 0.
    exponent : float
        Unequal popularity of the groups; see `zipf_shares`.
    block_tokens : int
        Tokens of one block.
    rng : Generator or int
        Source of random numbers, or its seed.
    compact : bool
        Whether the ids name runs of blocks; if not, there is one id for each block.

    Returns
    -------
    Requests
        Sorted by arrival.

    Examples
    --------
    >>> from kvcost.workload import GammaGaps, Lognormal
    >>> stream = background(
    ...     rate=5.0, requests=1000, prompt=Lognormal(mean=2000, sigma=1.0, high=32_768),
    ...     gaps=GammaGaps(scv=4.0), rng=1,
    ... )
    >>> 4 < stream.rate < 6, stream.summary().gap_scv > 2
    (True, True)
    """
    check_stream(requests=requests, duration=duration)
    wanted = number("rate", rate, unit="requests/s", above=0.0)
    shared = whole("shared_tokens", shared_tokens)
    families = whole("groups", groups, low=1 if shared else 0)
    if families and not shared:
        raise InvalidValueError(
            field="groups",
            value=groups,
            bound="share nothing without shared_tokens",
            remedy="say how long their prefix is",
        )
    draw = source(rng)
    law = PoissonGaps() if gaps is None else gaps
    times = _times(law, draw, rate=wanted, requests=requests, duration=duration)
    size = times.size
    group = np.full(size, -1, dtype=np.int64)
    if families:
        bounds = np.cumsum(zipf_shares(groups=families, exponent=exponent))
        drawn = np.searchsorted(bounds, draw.random(size), side="right")
        group = np.minimum(drawn, families - 1).astype(np.int64)
    return shared_prefix_requests(
        arrival=times,
        group=group,
        names=tuple(f"prefix:{i}" for i in range(families)),
        shared=np.full(size, shared, dtype=np.int64),
        suffix=as_lengths(prompt).sample(draw, size),
        output=as_lengths(output).sample(draw, size),
        block_tokens=block_tokens,
        compact=compact,
    )


def _times(
    law: Gaps,
    rng: np.random.Generator,
    *,
    rate: float,
    requests: int | None,
    duration: float | None,
) -> NDArray[np.float64]:
    if requests is not None:
        return np.cumsum(law.sample(rng, rate=rate, size=whole("requests", requests, low=1)))
    end = number("duration", duration, unit="s", above=0.0)
    some = math.ceil(1.2 * rate * end) + 64
    while True:
        # all gaps anew if they were too few: a stream cut and continued would not be the same law
        times = np.cumsum(law.sample(rng, rate=rate, size=some))
        if times[-1] > end:
            return times[times <= end]
        some *= 2
