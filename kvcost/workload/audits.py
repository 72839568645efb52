"""Audits of a trace: do requests that share a prefix come together, and how much is shared."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from kvcost.workload.checks import number, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.workload.requests import Requests

__all__ = ["BurstAudit", "SharingAudit", "burst_audit", "growing_sessions", "sharing_audit"]

_NOT_MEASURABLE = "not measurable: the trace has no prefixes"


@dataclass(frozen=True, kw_only=True)
class BurstAudit:
    """How many requests that share a prefix come together.

    Attributes
    ----------
    min_shared_tokens : int
        Tokens that requests must share, rounded up to blocks.
    within : float
        Seconds within which they must come.
    measurable : bool
        Whether the trace records prefixes. If not, everything below is None.
    prefixes : int or None
        Different prefixes of that length.
    largest : int or None
        Most requests that share one of them within the time; 1 if no two do.
    largest_apart : int or None
        The same, where the turns of one growing conversation count once.
    start : float or None
        When the first of the `largest_apart` comes [s].
    """

    min_shared_tokens: int
    within: float
    measurable: bool
    prefixes: int | None
    largest: int | None
    largest_apart: int | None
    start: float | None

    def __str__(self) -> str:
        if not self.measurable:
            return _NOT_MEASURABLE
        return (
            f"at most {self.largest_apart} requests share {self.min_shared_tokens:,} tokens within "
            f"{self.within:g} s ({self.largest} with all turns of a conversation)"
        )


@dataclass(frozen=True, kw_only=True)
class SharingAudit:
    """How much of the prompts an unlimited cache would hold already.

    Attributes
    ----------
    measurable : bool
        Whether the trace records prefixes. If not, everything below is None.
    blocks, unique_blocks : int or None
        Blocks of all prompts, and different ones among them.
    hit_ratio : float or None
        Share of the prompts' tokens that come in blocks seen before.
    block_hit_ratio : float or None
        The same in blocks.
    used_once : float or None
        Share of the different blocks that only one request has.
    most_used : int or None
        Requests that have the most common block.
    requests_with_hit : float or None
        Share of the requests that find at least one block.
    """

    measurable: bool
    blocks: int | None
    unique_blocks: int | None
    hit_ratio: float | None
    block_hit_ratio: float | None
    used_once: float | None
    most_used: int | None
    requests_with_hit: float | None

    def __str__(self) -> str:
        if not self.measurable:
            return _NOT_MEASURABLE
        return (
            f"an unlimited cache holds {self.hit_ratio:.1%} of the prompt tokens; "
            f"{self.unique_blocks:,} different blocks, {self.used_once:.1%} of them used once"
        )


def burst_audit(requests: Requests, *, min_shared_tokens: int, within: float) -> BurstAudit:
    """Return how many requests that share a long prefix come within a short time.

    Parameters
    ----------
    requests : Requests
        Sorted by arrival.
    min_shared_tokens : int
        Tokens that they must share, rounded up to whole blocks.
    within : float
        Seconds from the first to the last of them, included.

    Returns
    -------
    BurstAudit
        With and without the turns of one growing conversation. Where the trace has no prefixes it
        says so, and gives no numbers.

    Notes
    -----
    Conversations are those that the trace records; else a request whose blocks all stand at the
    front of a later and longer one is taken to be an earlier turn of it.

    Examples
    --------
    >>> from kvcost.workload import even_burst
    >>> burst = even_burst(requests=500, span=60.0, shared_tokens=65536)
    >>> burst_audit(burst, min_shared_tokens=65536, within=10.0).largest
    84
    """
    shared = whole("min_shared_tokens", min_shared_tokens, low=1)
    span = number("within", within, unit="s")
    if not requests.has_blocks:
        return BurstAudit(
            min_shared_tokens=shared,
            within=span,
            measurable=False,
            prefixes=None,
            largest=None,
            largest_apart=None,
            start=None,
        )
    plain = requests.expanded()
    depth = -(-shared // plain.block_tokens)
    rows = np.flatnonzero(plain.blocks >= depth)
    prefix = plain.block_ids[plain.block_starts[rows] + depth - 1]
    session = plain.session if plain.session.max(initial=-1) >= 0 else growing_sessions(plain)
    session = np.where(session < 0, np.arange(len(plain)) + session.max(initial=-1) + 1, session)
    order = np.argsort(prefix, kind="stable")
    rows, prefix = rows[order], prefix[order]
    bounds = np.flatnonzero(np.diff(prefix, prepend=-1, append=-1))
    largest, apart, start = 0, 0, None
    for first, last in pairwise(bounds.tolist()):
        if last - first <= apart:
            continue
        members = rows[first:last]
        together, distinct, when = _most_within(plain.arrival[members], session[members], span)
        largest = max(largest, together)
        if distinct > apart:
            apart, start = distinct, when
    return BurstAudit(
        min_shared_tokens=shared,
        within=span,
        measurable=True,
        prefixes=max(bounds.size - 1, 0),
        largest=largest,
        largest_apart=apart,
        start=start,
    )


def _most_within(
    arrival: NDArray[np.float64], session: NDArray[np.int64], span: float
) -> tuple[int, int, float]:
    """Return most requests, most different sessions, and when those start, within a time."""
    times, sessions = arrival.tolist(), session.tolist()
    inside: dict[int, int] = {}
    together, distinct, when, low = 0, 0, times[0], 0
    for high, time in enumerate(times):
        inside[sessions[high]] = inside.get(sessions[high], 0) + 1
        # a microsecond of slack, since sums of gaps are not exact
        while times[low] < time - span - 1e-6:
            left = sessions[low]
            inside[left] -= 1
            if not inside[left]:
                del inside[left]
            low += 1
        together = max(together, high - low + 1)
        if len(inside) > distinct:
            distinct, when = len(inside), times[low]
    return together, distinct, when


def growing_sessions(requests: Requests) -> NDArray[np.int64]:
    """Return conversations guessed from prompts that grow.

    Parameters
    ----------
    requests : Requests
        Sorted by arrival, with prefixes.

    Returns
    -------
    array of int
        A number for each request; -1 without blocks. A request continues the longest earlier one
        whose blocks all stand at its front, with at least one more behind. Of two that would
        continue the same one only the first does: the other starts a conversation.

    Examples
    --------
    >>> from kvcost.workload import even_burst
    >>> growing_sessions(even_burst(requests=3, span=2.0, shared_tokens=512)).tolist()
    [0, 1, 2]
    """
    plain = requests.expanded()
    ids, starts = plain.block_ids.tolist(), plain.block_starts.tolist()
    session = np.full(len(plain), -1, dtype=np.int64)
    ended: dict[int, int] = {}
    found = 0
    for row in range(len(plain)):
        first, last = starts[row], starts[row + 1]
        if first == last:
            continue
        own = -1
        for place in range(last - 2, first - 1, -1):
            if ids[place] in ended:
                own = ended.pop(ids[place])
                break
        if own < 0:
            own = found
            found += 1
        session[row] = own
        ended[ids[last - 1]] = own
    return session


def sharing_audit(requests: Requests) -> SharingAudit:
    """Return how much of the prompts a cache without limit would hold when they come.

    Parameters
    ----------
    requests : Requests
        Sorted by arrival, with ids that name whole prefixes.

    Returns
    -------
    SharingAudit
        Hit ratios, which bound those of any real cache, and how often blocks are used again. Where
        the trace has no prefixes it says so, and gives no numbers.

    Examples
    --------
    >>> from kvcost.workload import even_burst
    >>> found = sharing_audit(even_burst(requests=500, span=60.0, shared_tokens=65536))
    >>> round(found.hit_ratio, 4), found.unique_blocks
    (0.9941, 756)
    """
    if not requests.has_blocks:
        return SharingAudit(
            measurable=False,
            blocks=None,
            unique_blocks=None,
            hit_ratio=None,
            block_hit_ratio=None,
            used_once=None,
            most_used=None,
            requests_with_hit=None,
        )
    ids = requests.block_ids
    sizes = np.ones(ids.size, dtype=np.int64)
    if requests.block_counts is not None:
        sizes = requests.block_counts
    _, first, uses = np.unique(ids, return_index=True, return_counts=True)
    # np.unique gives the first place, and lists stand in the order of arrival
    seen = np.ones(ids.size, dtype=bool)
    seen[first] = False
    request = np.repeat(np.arange(len(requests)), np.diff(requests.block_starts))
    blocks = int(sizes.sum())
    unique = int(sizes[first].sum())
    hits = np.bincount(request[seen], sizes[seen], minlength=len(requests))
    tokens = np.minimum(hits * requests.block_tokens, requests.prompt_tokens)
    once = int(sizes[first][uses == 1].sum())
    return SharingAudit(
        measurable=True,
        blocks=blocks,
        unique_blocks=unique,
        hit_ratio=float(tokens.sum() / max(requests.prompt_tokens.sum(), 1)),
        block_hit_ratio=(blocks - unique) / blocks if blocks else 0.0,
        used_once=once / unique if unique else 0.0,
        most_used=int(uses.max(initial=0)),
        requests_with_hit=float(np.mean(hits > 0)) if len(requests) else 0.0,
    )
