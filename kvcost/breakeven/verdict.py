"""Which of two times is shorter, in one word."""

from __future__ import annotations

from typing import Literal, TypeAlias

from kvcost.breakeven.rates import margin

__all__ = ["TIE", "Verdict", "verdict_of"]

Verdict: TypeAlias = Literal["fetch", "recompute", "tie"]

TIE = 0.01
"""Margins of at most this size, either way, are a tie."""

_ROUNDING = 1e-9


def verdict_of(*, recompute_seconds: float, hit_seconds: float) -> Verdict:
    """Return which of the two is faster.

    Parameters
    ----------
    recompute_seconds : float
        Time to compute anew.
    hit_seconds : float
        Time of a hit.

    Returns
    -------
    {'fetch', 'recompute', 'tie'}
        ``tie`` where the margin is within 1% either way.

    Examples
    --------
    >>> verdict_of(recompute_seconds=0.31, hit_seconds=0.78)
    'recompute'
    >>> verdict_of(recompute_seconds=1.000, hit_seconds=0.995)
    'tie'
    """
    if recompute_seconds == hit_seconds:
        return "tie"
    saved = margin(recompute_seconds=recompute_seconds, hit_seconds=hit_seconds)
    if abs(saved) <= TIE * (1 + _ROUNDING):
        return "tie"
    return "fetch" if saved > 0 else "recompute"
