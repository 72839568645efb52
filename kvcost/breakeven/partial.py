"""Prompts of which only a part is fetched: stored in part, rounded to chunks, or split."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.breakeven.checks import json_value
from kvcost.breakeven.ranges import Ranges, winning_ranges
from kvcost.breakeven.splits import split_seconds, split_tokens
from kvcost.errors import InvalidValueError
from kvcost.transfer import hit_time
from kvcost.units import parse_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.compute import PrefillCurve
    from kvcost.transfer import TransferPath

__all__ = ["Split", "partial_hit_ranges", "rounded_fetch_ranges", "two_ended_split"]

_LONGEST = 2**25
_PIECE = 2**18


def partial_hit_ranges(
    prefill: PrefillCurve,
    path: TransferPath,
    *,
    tokens: float | str,
    kv_bytes_per_token: float,
    fixed_bytes_per_request: float,
) -> Ranges:
    """Return how many of a prompt's first tokens must be stored for fetching them to pay.

    Parameters
    ----------
    prefill : PrefillCurve
        Time to compute a prompt, or the rest of one over what is cached.
    path : TransferPath
        Time to fetch the stored part.
    tokens : float or str
        Length of the prompt.
    kv_bytes_per_token : float
        Bytes that one token adds to the KV, one copy.
    fixed_bytes_per_request : float
        Bytes of a request that do not grow, fetched with any part.

    Returns
    -------
    tuple of (float, float or None)
        Ranges of stored tokens, at most the prompt's length. Empty: no part pays.

    Raises
    ------
    InvalidValueError
        If a number is out of bounds.

    Notes
    -----
    The rest takes ``max(floor, c + a s + a2 (n^2 - h^2))`` with ``s = n - h``: the floor of prefill
    is paid again, however short the rest. A prompt that is stored to the last token and needs no
    further computing is `fetch_ranges`' matter. Exact up to rounding.
    """
    length = float(parse_tokens(tokens, field="tokens"))
    fixed = float(path.fixed_seconds(fixed_bytes=fixed_bytes_per_request))
    per_token = float(path.seconds_per_token(kv_bytes_per_token=kv_bytes_per_token))
    anew = float(prefill.seconds(length))
    curved = prefill.constant + (prefill.per_token + prefill.per_token_squared * length) * length
    # Fetching must beat the recompute with the rest on the curve, and with the rest on the floor.
    on_curve = winning_ranges(
        constant=anew - curved,
        per_token=prefill.per_token,
        per_token_squared=prefill.per_token_squared,
        floor=0.0,
        fixed_seconds=fixed,
        fetch_seconds_per_token=per_token,
    )
    spare = anew - prefill.floor - fixed
    if spare <= 0:
        return ()
    upper = min(length, spare / per_token if per_token > 0 else math.inf)
    return tuple(
        (start, upper if end is None else min(end, upper))
        for start, end in on_curve
        if start < upper
    )


def rounded_fetch_ranges(
    prefill: PrefillCurve,
    path: TransferPath,
    *,
    kv_bytes_per_token: float,
    fixed_bytes_per_request: float,
    recompute_last_token: bool,
    longest_tokens: int,
) -> tuple[tuple[int, int | None], ...]:
    """Return the whole prompt lengths at which fetching wins when only whole chunks are stored.

    Parameters
    ----------
    prefill : PrefillCurve
        Time to compute a prompt, or the rest of one over what is cached.
    path : TransferPath
        Time to fetch the stored part. Its `chunk_tokens` is the chunk; an unfilled last chunk is
        not stored.
    kv_bytes_per_token : float
        Bytes that one token adds to the KV, one copy.
    fixed_bytes_per_request : float
        Bytes of a request that do not grow.
    recompute_last_token : bool
        Whether the last token is computed even if it is stored, as engines do.
    longest_tokens : int
        Longest prompt to look at, such as the model's context.

    Returns
    -------
    tuple of (int, int or None)
        First and last winning length of each range; None where the longest length wins too.

    Raises
    ------
    InvalidValueError
        If the longest length is not a whole number from 1 to 33,554,432.

    Notes
    -----
    Every length is tried, so the result is exact: rounding makes teeth of a chunk's width, and near
    a crossing of `fetch_ranges` there can be a range for each. A prompt shorter than a chunk
    fetches nothing, which counts as no win.

    Examples
    --------
    GLM-5.3 in chunks of 256 tokens:

    >>> from kvcost.compute import PrefillCurve
    >>> from kvcost.transfer import TransferPath
    >>> rounded_fetch_ranges(
    ...     PrefillCurve.from_points({16_000: 0.31}),
    ...     TransferPath(overhead_seconds=0.33, store_bandwidth="10 GB/s", chunk_tokens=256),
    ...     kv_bytes_per_token=48_408,
    ...     fixed_bytes_per_request=0,
    ...     recompute_last_token=True,
    ...     longest_tokens=131_072,
    ... )
    ((22785, None),)
    """
    whole = isinstance(longest_tokens, int) and not isinstance(longest_tokens, bool)
    if not whole or not 1 <= longest_tokens <= _LONGEST:
        raise InvalidValueError(
            field="longest_tokens",
            value=longest_tokens,
            bound=f"must be a whole number from 1 to {_LONGEST:,} tokens",
            remedy="take the model's context",
        )
    found: list[tuple[int, int]] = []
    for start in range(1, longest_tokens + 1, _PIECE):
        lengths = np.arange(start, min(start + _PIECE, longest_tokens + 1), dtype=float)
        hit = hit_time(
            path=path,
            prefill=prefill,
            tokens=lengths,
            kv_bytes_per_token=kv_bytes_per_token,
            fixed_bytes=fixed_bytes_per_request,
            recompute_last_token=recompute_last_token,
        )
        wins = (hit.gained_tokens > 0) & (hit.seconds < prefill.seconds(lengths))
        _append_runs(found, wins, start)
    return tuple((first, None if last == longest_tokens else last) for first, last in found)


def _append_runs(found: list[tuple[int, int]], wins: NDArray[np.bool_], start: int) -> None:
    edges = np.flatnonzero(np.diff(np.concatenate(([False], wins, [False])).astype(np.int8)))
    for first, after in edges.reshape(-1, 2).tolist():
        if found and found[-1][1] == start + first - 1:
            found[-1] = (found[-1][0], start + after - 1)
        else:
            found.append((start + first, start + after - 1))


@dataclass(frozen=True, kw_only=True)
class Split:
    """A prompt that is computed from the front while it loads from the back.

    Attributes
    ----------
    computed_tokens, loaded_tokens : float
        How many tokens each end does.
    seconds : float
        Time until both are done.
    recompute_seconds, hit_seconds : float
        Time of computing alone and of loading alone.
    method : str
        How the numbers were found and what they leave out.
    """

    computed_tokens: float
    loaded_tokens: float
    seconds: float
    recompute_seconds: float
    hit_seconds: float
    method: str = "exact for the cost model; compute and load do not slow each other, no chunks"

    @property
    def speedup(self) -> float:
        """How many times faster than the better of computing alone and loading alone."""
        alone = min(self.recompute_seconds, self.hit_seconds)
        return alone / self.seconds if self.seconds else 1.0

    def as_dict(self) -> dict[str, Any]:
        """Return the fields and the speed-up, ready for JSON."""
        found = {**vars(self), "speedup": self.speedup}
        return {name: json_value(value) for name, value in found.items()}


def two_ended_split(
    prefill: PrefillCurve,
    path: TransferPath,
    *,
    tokens: float | str,
    kv_bytes_per_token: float,
    fixed_bytes_per_request: float,
) -> Split:
    """Return the best point at which computing from the front meets loading from the back.

    Parameters
    ----------
    prefill : PrefillCurve
        Time to compute a prompt.
    path : TransferPath
        Time to fetch one.
    tokens : float or str
        Length of the prompt.
    kv_bytes_per_token : float
        Bytes that one token adds to the KV, one copy.
    fixed_bytes_per_request : float
        Bytes of a request that do not grow, loaded with any part.

    Returns
    -------
    Split
        The meeting point and the time.

    Raises
    ------
    InvalidValueError
        If a number is out of bounds.

    Notes
    -----
    Recurrent state cannot be loaded for a later token and computed for an earlier one at once, so
    the split suits models whose KV grows with every token.

    References
    ----------
    .. [1] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065
    """
    length = float(parse_tokens(tokens, field="tokens"))
    fixed = float(path.fixed_seconds(fixed_bytes=fixed_bytes_per_request))
    per_token = float(path.seconds_per_token(kv_bytes_per_token=kv_bytes_per_token))
    costs = {
        "tokens": length,
        "prefill_constant": prefill.constant,
        "prefill_per_token": prefill.per_token,
        "prefill_per_token_squared": prefill.per_token_squared,
        "overhead_seconds": fixed,
        # seconds per token are bytes that take a second
        "kv_bytes_per_token": per_token,
        "bandwidth": 1.0,
    }
    seconds = split_seconds(**costs, prefill_floor=prefill.floor)
    hit = fixed + per_token * length
    computed = 0.0 if seconds >= hit else split_tokens(**costs)
    return Split(
        computed_tokens=computed,
        loaded_tokens=length - computed,
        seconds=seconds,
        recompute_seconds=float(prefill.seconds(length)),
        hit_seconds=hit,
    )
