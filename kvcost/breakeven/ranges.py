"""Prompt lengths at which fetching wins, as ranges."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

from kvcost.breakeven.crossings import (
    crossing_high_tokens,
    crossing_low_tokens,
    floor_window_tokens,
)
from kvcost.units import format_tokens

if TYPE_CHECKING:
    from kvcost.compute import PrefillCurve
    from kvcost.transfer import TransferPath

__all__ = [
    "Ranges",
    "describe_ranges",
    "fetch_ranges",
    "first_winning_tokens",
    "whole_ranges",
    "winning_ranges",
]

Ranges: TypeAlias = tuple[tuple[float, float | None], ...]
"""Ranges of prompt length in tokens, ascending and apart; None stands for no upper end."""

# The roots are formulas of bytes and a bandwidth; seconds per token are bytes that take a second.
_UNIT_RATE = 1.0


def winning_ranges(
    *,
    constant: float,
    per_token: float,
    per_token_squared: float,
    floor: float,
    fixed_seconds: float,
    fetch_seconds_per_token: float,
) -> Ranges:
    """Return where ``max(floor, c + a n + a2 n^2)`` exceeds ``F + t n``.

    Parameters
    ----------
    constant, per_token, per_token_squared : float
        Coefficients of the prefill in s, s/token and s/token^2; only the constant may be negative.
    floor : float
        Least prefill time in seconds.
    fixed_seconds : float
        Time of a fetch that does not depend on the length, in seconds.
    fetch_seconds_per_token : float
        Time that one token adds to a fetch, in seconds.

    Returns
    -------
    tuple of (float, float or None)
        Ranges in tokens; at their ends both take the same time. Empty: never.

    Notes
    -----
    A maximum exceeds the fetch where either of its two pieces does, so the result is the union of
    the window below the floor and of the ranges that the roots of the quadratic bound. Exact up to
    rounding.

    Examples
    --------
    >>> winning_ranges(
    ...     constant=0.01, per_token=1e-5, per_token_squared=1e-9, floor=0.05,
    ...     fixed_seconds=0.03, fetch_seconds_per_token=1e-4,
    ... )
    ((0.0, 200.0...), (90221.67..., None))
    """
    fetch = {
        "overhead_seconds": fixed_seconds,
        "kv_bytes_per_token": fetch_seconds_per_token,
        "bandwidth": _UNIT_RATE,
    }
    curve = {
        "prefill_constant": constant,
        "prefill_per_token": per_token,
        "prefill_per_token_squared": per_token_squared,
    }
    low = crossing_low_tokens(**curve, **fetch)
    high = crossing_high_tokens(**curve, **fetch)
    below_floor = floor_window_tokens(prefill_floor=floor, **fetch)
    pieces = []
    if not math.isnan(high):
        pieces.append((high, math.inf))
    if constant > fixed_seconds:
        pieces.append((0.0, math.inf if math.isnan(low) else low))
    if not math.isnan(below_floor):
        pieces.append((0.0, below_floor))
    return _union(pieces)


def _union(pieces: list[tuple[float, float]]) -> Ranges:
    joined: list[tuple[float, float]] = []
    for start, end in sorted(piece for piece in pieces if piece[0] < piece[1]):
        if joined and start <= joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    return tuple((start, None if math.isinf(end) else end) for start, end in joined)


def whole_ranges(ranges: Ranges) -> Ranges:
    """Return the ranges that hold a whole prompt length.

    Parameters
    ----------
    ranges : tuple of (float, float or None)
        What `winning_ranges` returns.

    Returns
    -------
    tuple of (float, float or None)
        A range from before the first token begins at 0; one without a whole length inside is left
        out.

    Examples
    --------
    >>> whole_ranges(((0.0, 0.4), (300.2, 300.8), (500.5, None)))
    ((500.5, None),)
    """
    kept = []
    for start, end in ranges:
        first = math.floor(start) + 1
        if end is None or first < end:
            kept.append((0.0 if first == 1 else start, end))
    return tuple(kept)


def fetch_ranges(
    prefill: PrefillCurve,
    path: TransferPath,
    *,
    kv_bytes_per_token: float,
    fixed_bytes_per_request: float,
) -> Ranges:
    """Return the prompt lengths at which fetching is faster than computing anew.

    Parameters
    ----------
    prefill : PrefillCurve
        Time to compute a prompt.
    path : TransferPath
        Time to fetch one.
    kv_bytes_per_token : float
        Bytes that one token adds to the KV, one copy.
    fixed_bytes_per_request : float
        Bytes of a request that do not grow (windowed layers at a full window, recurrent state).

    Returns
    -------
    tuple of (float, float or None)
        Ranges in tokens, from the roots of every piece; None: no upper end. Empty: never.

    Notes
    -----
    The whole prompt is taken to be stored; rounding to chunks and the recomputed last token are
    left out (`rounded_fetch_ranges` has them). At the ends of a range both take the same time, so
    within a percent of them a `Decision` says ``tie``.

    Examples
    --------
    GLM-5.3 from a faster store:

    >>> from kvcost.compute import PrefillCurve
    >>> from kvcost.transfer import TransferPath
    >>> fetch_ranges(
    ...     PrefillCurve.from_points({16_000: 0.31}),
    ...     TransferPath(overhead_seconds=0.33, store_bandwidth="10 GB/s"),
    ...     kv_bytes_per_token=48_408,
    ...     fixed_bytes_per_request=0,
    ... )
    ((22705.06..., None),)
    """
    return whole_ranges(
        winning_ranges(
            constant=prefill.constant,
            per_token=prefill.per_token,
            per_token_squared=prefill.per_token_squared,
            floor=prefill.floor,
            fixed_seconds=float(path.fixed_seconds(fixed_bytes=fixed_bytes_per_request)),
            fetch_seconds_per_token=float(
                path.seconds_per_token(kv_bytes_per_token=kv_bytes_per_token)
            ),
        )
    )


def first_winning_tokens(ranges: Ranges) -> float | None:
    """Return where fetching first wins.

    Parameters
    ----------
    ranges : tuple of (float, float or None)
        What `fetch_ranges` returns.

    Returns
    -------
    float or None
        Tokens; 0 if it wins from the first one on, None if never.

    Examples
    --------
    >>> first_winning_tokens(((17_032.0, None),)), first_winning_tokens(())
    (17032.0, None)
    """
    return ranges[0][0] if ranges else None


def describe_ranges(ranges: Ranges) -> str:
    """Return ranges in words.

    Parameters
    ----------
    ranges : tuple of (float, float or None)
        What `fetch_ranges` returns.

    Returns
    -------
    str
        ``never``, ``always``, ``from ...``, ``up to ...``, ``only between ... and ...``, or several
        of them joined by ``and``; whole lengths that win, so an end that is a tie is not one.

    Examples
    --------
    >>> describe_ranges(()), describe_ranges(((0.0, None),))
    ('never', 'always')
    >>> describe_ranges(((0.0, 200.0), (90_221.7, None)))
    'up to 199 tokens and from 90,222 tokens'
    >>> describe_ranges(((300.0, 5_000.0),))
    'only between 301 tokens and 4,999 tokens'
    """
    if not ranges:
        return "never"
    if ranges == ((0.0, None),):
        return "always"
    parts = []
    for start, end in ranges:
        # whole lengths strictly inside: at the ends themselves both take the same time
        first = format_tokens(math.floor(start) + 1)
        last = None if end is None else format_tokens(math.ceil(end) - 1)
        if start == 0 and last is not None:
            parts.append(f"up to {last}")
        elif last is None:
            parts.append(f"from {first}")
        else:
            parts.append(f"between {first} and {last}")
    only = "only " if len(parts) == 1 and parts[0].startswith("between") else ""
    return only + " and ".join(parts)
