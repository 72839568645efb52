"""Computing and loading one prompt at once, from its two ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = ["ideal_split_seconds", "split_seconds", "split_tokens"]


@formula(symbol=r"T_{\parallel}", unit="s")
def ideal_split_seconds(*, recompute_seconds: Num, hit_seconds: Num) -> Num:
    """Return the time of a prompt that is computed and loaded at once, if both went at even rates.

    Parameters
    ----------
    recompute_seconds : Num
        Time to compute the prompt anew [s].
    hit_seconds : Num
        Time until a fetched prompt is ready [s].

    Returns
    -------
    Num
        Time, in which the rates of the two add up [s].

    Notes
    -----
    Assumes that every token takes the same time on each side: no overhead, no constant, no
    attention term. With an overhead it is too short, with an attention term alone too long, since
    computing takes the cheap front; `split_tokens` is exact for both.

    References
    ----------
    .. [1] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065

    Examples
    --------
    >>> round(ideal_split_seconds(recompute_seconds=20.0, hit_seconds=30.0), 9)
    12.0
    """
    return recompute_seconds * hit_seconds / (recompute_seconds + hit_seconds)


@formula(symbol=r"x_c", unit="token")
def split_tokens(
    *,
    tokens: Num,
    prefill_constant: Num,
    prefill_per_token: Num,
    prefill_per_token_squared: Num,
    overhead_seconds: Num,
    kv_bytes_per_token: Num,
    bandwidth: Num,
) -> Num:
    """Return how many tokens to compute from the front while the others load from the back.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
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
        Tokens at which both ends finish together: 0 where loading is done before computing would
        start to pay, the whole prompt where computing is done first [token].

    Notes
    -----
    Assumes that computing and loading do not slow each other, and that a token is computed in
    order from the front, so attention is paid over the computed part only. Not rounded to chunks.

    References
    ----------
    .. [1] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065

    Examples
    --------
    >>> round(split_tokens(
    ...     tokens=16_000, prefill_constant=0.0, prefill_per_token=19.375e-6,
    ...     prefill_per_token_squared=0.0, overhead_seconds=0.0, kv_bytes_per_token=48_408,
    ...     bandwidth=48_408 / 19.375e-6,
    ... ))
    8000
    """
    loading = kv_bytes_per_token / bandwidth
    ahead = overhead_seconds + tokens * loading - prefill_constant
    both = prefill_per_token + loading
    root = ops.sqrt(both**2 + 4 * prefill_per_token_squared * ops.maximum(ahead, 0.0))
    return ops.minimum(tokens, 2 * ops.maximum(ahead, 0.0) / (both + root))


@formula(symbol=r"T_{x}", unit="s")
def split_seconds(
    *,
    tokens: Num,
    prefill_constant: Num,
    prefill_per_token: Num,
    prefill_per_token_squared: Num,
    prefill_floor: Num,
    overhead_seconds: Num,
    kv_bytes_per_token: Num,
    bandwidth: Num,
) -> Num:
    """Return the time of a prompt that is computed from the front and loaded from the back at once.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
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
        Time, never above that of computing alone or of loading alone [s].

    Notes
    -----
    Assumes that computing and loading do not slow each other. Not rounded to chunks.

    References
    ----------
    .. [1] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065

    Examples
    --------
    >>> round(split_seconds(
    ...     tokens=16_000, prefill_constant=0.0, prefill_per_token=19.375e-6,
    ...     prefill_per_token_squared=0.0, prefill_floor=0.0, overhead_seconds=0.0,
    ...     kv_bytes_per_token=48_408, bandwidth=48_408 / 19.375e-6,
    ... ), 3)
    0.155
    """
    computed = split_tokens(
        tokens=tokens,
        prefill_constant=prefill_constant,
        prefill_per_token=prefill_per_token,
        prefill_per_token_squared=prefill_per_token_squared,
        overhead_seconds=overhead_seconds,
        kv_bytes_per_token=kv_bytes_per_token,
        bandwidth=bandwidth,
    )
    computing = (
        prefill_constant + prefill_per_token * computed + prefill_per_token_squared * computed**2
    )
    loading = overhead_seconds + tokens * kv_bytes_per_token / bandwidth
    return ops.minimum(loading, ops.maximum(prefill_floor, computing))
