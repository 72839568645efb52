"""Lengths at which recompute time and hit time cross."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = ["crossing_high_tokens", "crossing_low_tokens", "floor_window_tokens"]


@formula(symbol=r"n_{+}", unit="token")
def crossing_high_tokens(
    *,
    prefill_constant: Num,
    prefill_per_token: Num,
    prefill_per_token_squared: Num,
    overhead_seconds: Num,
    kv_bytes_per_token: Num,
    bandwidth: Num,
) -> Num:
    """Return the length at which a quadratic prefill overtakes the fetch.

    Parameters
    ----------
    prefill_constant : Num
        Prefill time that no token causes [s].
    prefill_per_token : Num
        Prefill time of one token, attention aside [s/token].
    prefill_per_token_squared : Num
        Prefill time for the square of the length, which attention causes [s/token^2].
    overhead_seconds : Num
        Fixed time of a fetch [s].
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].
    bandwidth : Num
        Rate at which KV arrives [byte/s].

    Returns
    -------
    Num
        The larger root, beyond which fetching wins; nan where there is none [token].

    Notes
    -----
    The form of the root that adds terms of one sign is chosen, so no digits cancel and the line is
    its limit for a squared term of zero. The floor of prefill is left out.

    References
    ----------
    .. [1] N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., 2002, sec. 1.8,
       https://doi.org/10.1137/1.9780898718027

    Examples
    --------
    >>> crossing_high_tokens(
    ...     prefill_constant=0.0, prefill_per_token=2e-5, prefill_per_token_squared=1e-9,
    ...     overhead_seconds=0.56, kv_bytes_per_token=50_000, bandwidth=5e9,
    ... )
    19186.77...
    """
    gain = prefill_per_token - kv_bytes_per_token / bandwidth
    lack = overhead_seconds - prefill_constant
    square = gain**2 + 4 * prefill_per_token_squared * lack
    root = ops.sqrt(ops.where(square >= 0, square, ops.nan))
    rising = ops.where(lack >= 0, 2 * lack / (gain + root), ops.nan)
    falling = ops.where(
        prefill_per_token_squared > 0, (root - gain) / (2 * prefill_per_token_squared), ops.nan
    )
    return ops.where(gain > 0, rising, falling)


@formula(symbol=r"n_{-}", unit="token")
def crossing_low_tokens(
    *,
    prefill_constant: Num,
    prefill_per_token: Num,
    prefill_per_token_squared: Num,
    overhead_seconds: Num,
    kv_bytes_per_token: Num,
    bandwidth: Num,
) -> Num:
    """Return the length at which the fetch falls behind a quadratic prefill that it led.

    Parameters
    ----------
    prefill_constant : Num
        Prefill time that no token causes [s].
    prefill_per_token : Num
        Prefill time of one token, attention aside [s/token].
    prefill_per_token_squared : Num
        Prefill time for the square of the length, which attention causes [s/token^2].
    overhead_seconds : Num
        Fixed time of a fetch [s].
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].
    bandwidth : Num
        Rate at which KV arrives [byte/s].

    Returns
    -------
    Num
        The smaller root, below which fetching wins; nan where there is none [token].

    Notes
    -----
    Exists where prefill's constant exceeds the overhead while a token takes longer to fetch than to
    compute. The floor of prefill is left out.

    References
    ----------
    .. [1] N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., 2002, sec. 1.8,
       https://doi.org/10.1137/1.9780898718027

    Examples
    --------
    >>> crossing_low_tokens(
    ...     prefill_constant=0.146, prefill_per_token=2.01e-4, prefill_per_token_squared=0.0,
    ...     overhead_seconds=0.1, kv_bytes_per_token=131_072, bandwidth=0.54e9,
    ... )
    1102.4...
    """
    gain = prefill_per_token - kv_bytes_per_token / bandwidth
    lead = prefill_constant - overhead_seconds
    square = gain**2 - 4 * prefill_per_token_squared * lead
    root = ops.sqrt(ops.where(square >= 0, square, ops.nan))
    exists = ops.all_of(gain < 0, lead > 0, bandwidth > 0)
    return ops.where(exists, 2 * lead / (root - gain), ops.nan)


@formula(symbol=r"n_{0}", unit="token")
def floor_window_tokens(
    *, prefill_floor: Num, overhead_seconds: Num, kv_bytes_per_token: Num, bandwidth: Num
) -> Num:
    """Return the length up to which fetching beats the least time that a prefill takes.

    Parameters
    ----------
    prefill_floor : Num
        Least time that a prefill takes [s].
    overhead_seconds : Num
        Fixed time of a fetch [s].
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].
    bandwidth : Num
        Rate at which KV arrives [byte/s].

    Returns
    -------
    Num
        Length; nan where the overhead is no less than the floor [token].

    Notes
    -----
    Below about 1,000 tokens prefill hardly shortens with the prompt, so a fetch with a small
    overhead can win there and lose in the middle.

    References
    ----------
    .. [1] LMCache, "ValkeyConnector Benchmarking", https://github.com/LMCache/LMCache/pull/2790

    Examples
    --------
    >>> floor_window_tokens(
    ...     prefill_floor=0.05, overhead_seconds=0.03, kv_bytes_per_token=100_000, bandwidth=1e9
    ... )
    200.0...
    """
    lead = prefill_floor - overhead_seconds
    return ops.where(lead > 0, lead * bandwidth / kv_bytes_per_token, ops.nan)
