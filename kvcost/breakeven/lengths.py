"""Break-even prompt lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.breakeven.crossings import crossing_high_tokens
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "break_even_tokens",
    "break_even_tokens_infinite_bandwidth",
    "break_even_tokens_linear",
    "partial_hit_tokens",
]


@formula(symbol=r"n^{*}_{\mathrm{line}}", unit="token")
def break_even_tokens_linear(
    *, prefill_per_token: Num, overhead_seconds: Num, kv_bytes_per_token: Num, bandwidth: Num
) -> Num:
    """Return the prompt length from which fetching wins when prefill is a straight line.

    Parameters
    ----------
    prefill_per_token : Num
        Prefill time of one token, attention aside [s/token].
    overhead_seconds : Num
        Fixed time of a fetch [s].
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].
    bandwidth : Num
        Rate at which KV arrives [byte/s].

    Returns
    -------
    Num
        Length; nan where a token takes no longer to compute than to fetch: never [token].

    Notes
    -----
    Assumes a line through zero. A line fitted to a curve that bends gives crossings that do not
    exist; use `break_even_tokens` there.

    References
    ----------
    .. [1] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065

    Examples
    --------
    >>> break_even_tokens_linear(
    ...     prefill_per_token=19.375e-6, overhead_seconds=0.33, kv_bytes_per_token=48_408,
    ...     bandwidth=5e9,
    ... )
    34043.7...
    """
    gain = prefill_per_token - kv_bytes_per_token / bandwidth
    return ops.where(gain > 0, overhead_seconds / gain, ops.nan)


@formula(symbol=r"n^{*}", unit="token")
def break_even_tokens(
    *,
    prefill_constant: Num,
    prefill_per_token: Num,
    prefill_per_token_squared: Num,
    prefill_floor: Num,
    overhead_seconds: Num,
    kv_bytes_per_token: Num,
    bandwidth: Num,
) -> Num:
    """Return the shortest prompt from which on fetching is faster than computing anew.

    Parameters
    ----------
    prefill_constant : Num
        Prefill time that no token causes [s].
    prefill_per_token : Num
        Prefill time of one token, attention aside [s/token].
    prefill_per_token_squared : Num
        Prefill time for the square of the length, which attention causes [s/token^2].
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
        Length; 0 where fetching wins from the first token on, nan where it never wins [token].

    Notes
    -----
    Zero does not say that fetching wins at every length: it may fall behind at
    `crossing_low_tokens` or `floor_window_tokens`; `kvcost.breakeven.fetch_ranges` lists the
    ranges. Chunk rounding and the recomputed last token are left out.

    References
    ----------
    .. [1] llm-d, peer-to-peer KV cache sharing, https://github.com/llm-d/llm-d
    .. [2] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065

    Examples
    --------
    >>> round(break_even_tokens(
    ...     prefill_constant=0.0, prefill_per_token=19.375e-6, prefill_per_token_squared=0.0,
    ...     prefill_floor=0.0, overhead_seconds=0.33, kv_bytes_per_token=48_408, bandwidth=10e9,
    ... ))
    22705
    """
    crossing = crossing_high_tokens(
        prefill_constant=prefill_constant,
        prefill_per_token=prefill_per_token,
        prefill_per_token_squared=prefill_per_token_squared,
        overhead_seconds=overhead_seconds,
        kv_bytes_per_token=kv_bytes_per_token,
        bandwidth=bandwidth,
    )
    at_zero = ops.any_of(prefill_constant > overhead_seconds, prefill_floor > overhead_seconds)
    return ops.where(at_zero, 0.0, crossing)


@formula(symbol=r"n^{*}_{\infty}", unit="token")
def break_even_tokens_infinite_bandwidth(
    *,
    prefill_constant: Num,
    prefill_per_token: Num,
    prefill_per_token_squared: Num,
    prefill_floor: Num,
    overhead_seconds: Num,
) -> Num:
    """Return the prompt length below which no bandwidth makes fetching win.

    Parameters
    ----------
    prefill_constant : Num
        Prefill time that no token causes [s].
    prefill_per_token : Num
        Prefill time of one token, attention aside [s/token].
    prefill_per_token_squared : Num
        Prefill time for the square of the length, which attention causes [s/token^2].
    prefill_floor : Num
        Least time that a prefill takes [s].
    overhead_seconds : Num
        Fixed time of a fetch [s].

    Returns
    -------
    Num
        Length whose prefill takes as long as the overhead; 0 where every prefill takes longer, nan
        where none does [token].

    Notes
    -----
    Chunk rounding and the recomputed last token are left out.

    References
    ----------
    .. [1] N. J. Higham, "Accuracy and Stability of Numerical Algorithms", 2nd ed., 2002, sec. 1.8,
       https://doi.org/10.1137/1.9780898718027

    Examples
    --------
    >>> round(break_even_tokens_infinite_bandwidth(
    ...     prefill_constant=0.0, prefill_per_token=19.375e-6, prefill_per_token_squared=0.0,
    ...     prefill_floor=0.0, overhead_seconds=0.33,
    ... ))
    17032
    """
    lack = overhead_seconds - prefill_constant
    slope = prefill_per_token + ops.sqrt(
        prefill_per_token**2 + 4 * prefill_per_token_squared * lack
    )
    at_zero = ops.any_of(lack < 0, prefill_floor > overhead_seconds)
    return ops.where(at_zero, 0.0, ops.where(slope > 0, 2 * lack / slope, ops.nan))


@formula(symbol=r"h^{*}", unit="token")
def partial_hit_tokens(
    *,
    tokens: Num,
    prefill_per_token: Num,
    prefill_per_token_squared: Num,
    overhead_seconds: Num,
    kv_bytes_per_token: Num,
    bandwidth: Num,
) -> Num:
    """Return how many of a prompt's first tokens must be stored for fetching them to pay.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
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
        Stored tokens; nan where even all of them are too few [token].

    Notes
    -----
    The rest is computed over the fetched part, and takes what the whole prompt takes less what the
    stored part alone would take: the prompt's length drops out but as a bound, and so does the
    constant of prefill, which is paid either way. The floor of prefill is left out: a short rest
    may take longer than assumed here.

    References
    ----------
    .. [1] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065

    Examples
    --------
    >>> round(partial_hit_tokens(
    ...     tokens=64_000, prefill_per_token=19.375e-6, prefill_per_token_squared=0.0,
    ...     overhead_seconds=0.33, kv_bytes_per_token=48_408, bandwidth=25e9,
    ... ))
    18923
    """
    stored = crossing_high_tokens(
        prefill_constant=0.0,
        prefill_per_token=prefill_per_token,
        prefill_per_token_squared=prefill_per_token_squared,
        overhead_seconds=overhead_seconds,
        kv_bytes_per_token=kv_bytes_per_token,
        bandwidth=bandwidth,
    )
    saved = (prefill_per_token + prefill_per_token_squared * tokens) * tokens
    spent = overhead_seconds + tokens * kv_bytes_per_token / bandwidth
    return ops.where(saved >= spent, stored, ops.nan)
