"""Break-even bandwidth and overhead, and what fetching saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "break_even_bandwidth",
    "break_even_bandwidth_without_overhead",
    "break_even_overhead",
    "hit_gpu_seconds",
    "implied_kv_bytes_per_token",
    "margin",
    "relative_residual",
]


@formula(symbol=r"B^{*}", unit="byte/s")
def break_even_bandwidth(
    *, tokens: Num, kv_bytes_per_token: Num, recompute_seconds: Num, overhead_seconds: Num
) -> Num:
    """Return the bandwidth at which fetching takes as long as computing anew.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].
    recompute_seconds : Num
        Time to compute the prompt anew [s].
    overhead_seconds : Num
        Fixed time of a fetch [s].

    Returns
    -------
    Num
        Bandwidth; nan where the overhead alone takes as long as the recompute, since then no
        bandwidth wins [byte/s].

    Notes
    -----
    Assumes that the bytes grow with the length and that the overhead and the transfer follow one
    another. Valid for one request with the path to itself.

    References
    ----------
    .. [1] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065

    Examples
    --------
    >>> round(break_even_bandwidth(
    ...     tokens=34_000, kv_bytes_per_token=48_408, recompute_seconds=0.65875,
    ...     overhead_seconds=0.33,
    ... ) / 1e9, 2)
    5.01
    """
    left = recompute_seconds - overhead_seconds
    return ops.where(left > 0, tokens * kv_bytes_per_token / left, ops.nan)


@formula(symbol=r"B^{*}_{0}", unit="byte/s")
def break_even_bandwidth_without_overhead(
    *, tokens: Num, kv_bytes_per_token: Num, recompute_seconds: Num
) -> Num:
    """Return the bandwidth below which fetching loses even if nothing but the bytes took time.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].
    recompute_seconds : Num
        Time to compute the prompt anew [s].

    Returns
    -------
    Num
        Bandwidth [byte/s].

    Notes
    -----
    A lower bound of the break-even bandwidth, and its limit for long prompts.

    References
    ----------
    .. [1] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065

    Examples
    --------
    >>> break_even_bandwidth_without_overhead(
    ...     tokens=16_000, kv_bytes_per_token=48_408, recompute_seconds=0.31
    ... ) / 1e9
    2.4984...
    """
    return tokens * kv_bytes_per_token / recompute_seconds


@formula(symbol=r"F^{*}", unit="s")
def break_even_overhead(
    *, tokens: Num, kv_bytes_per_token: Num, recompute_seconds: Num, bandwidth: Num
) -> Num:
    """Return the fixed time of a fetch at which fetching takes as long as computing anew.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].
    recompute_seconds : Num
        Time to compute the prompt anew [s].
    bandwidth : Num
        Rate at which KV arrives [byte/s].

    Returns
    -------
    Num
        Overhead; nan where the bytes alone take longer than the recompute, since then no overhead
        is small enough [s].

    Notes
    -----
    Assumes that the overhead and the transfer follow one another.

    References
    ----------
    .. [1] S. Jin et al., "Compute Or Load KV Cache? Why Not Both?", ICML 2025,
       https://doi.org/10.48550/arXiv.2410.03065

    Examples
    --------
    >>> round(break_even_overhead(
    ...     tokens=16_000, kv_bytes_per_token=48_408, recompute_seconds=0.31, bandwidth=10.76e9
    ... ), 3)
    0.238
    """
    left = recompute_seconds - tokens * kv_bytes_per_token / bandwidth
    return ops.where(left >= 0, left, ops.nan)


@formula(symbol=r"m_H", unit="1")
def margin(*, recompute_seconds: Num, hit_seconds: Num) -> Num:
    """Return the share of the recompute time that fetching saves.

    Parameters
    ----------
    recompute_seconds : Num
        Time to compute the prompt anew [s].
    hit_seconds : Num
        Time until a fetched prompt is ready [s].

    Returns
    -------
    Num
        Share: positive where fetching is faster, at most 1, without lower bound [1].

    Notes
    -----
    Relative to the recompute, so a fetch that takes twice as long has margin -1.

    References
    ----------
    .. [1] LMCache, "ValkeyConnector Benchmarking", https://github.com/LMCache/LMCache/pull/2790

    Examples
    --------
    >>> margin(recompute_seconds=12.0, hit_seconds=7.6)
    0.3666...
    """
    return (recompute_seconds - hit_seconds) / recompute_seconds


@formula(symbol=r"b_{\mathrm{implied}}", unit="byte/token")
def implied_kv_bytes_per_token(*, tokens: Num, load_seconds: Num, bandwidth: Num) -> Num:
    """Return the bytes per token that a published time and bandwidth imply.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
    load_seconds : Num
        Time during which KV arrives [s].
    bandwidth : Num
        Rate at which KV arrives [byte/s].

    Returns
    -------
    Num
        Bytes per token [byte/token].

    Notes
    -----
    Assumes that the time holds nothing but the transfer: an overhead left in it makes the figure
    too large. With a published break-even bandwidth the time is the recompute's.

    References
    ----------
    .. [1] llm-d, https://github.com/llm-d/llm-d-kv-cache/issues/559

    Examples
    --------
    >>> implied_kv_bytes_per_token(tokens=16_000, load_seconds=0.31, bandwidth=2.53e9)
    49018.75
    """
    return load_seconds * bandwidth / tokens


@formula(symbol=r"\rho_{\mathrm{res}}", unit="1")
def relative_residual(*, measured_seconds: Num, predicted_seconds: Num) -> Num:
    """Return the share of a measured time that a model leaves unexplained.

    Parameters
    ----------
    measured_seconds : Num
        Time that was measured [s].
    predicted_seconds : Num
        Time that a model gives [s].

    Returns
    -------
    Num
        Share; negative where the model says more than was measured [1].

    Notes
    -----
    A residual is reported beside a model, and no parameter is fitted to make it vanish.

    References
    ----------
    .. [1] N. R. Draper and H. Smith, "Applied Regression Analysis", 3rd ed., 1998, ch. 2,
       https://doi.org/10.1002/9781118625590

    Examples
    --------
    >>> round(relative_residual(measured_seconds=0.88, predicted_seconds=0.78), 2)
    0.11
    """
    return (measured_seconds - predicted_seconds) / measured_seconds


@formula(symbol=r"G_H", unit="s")
def hit_gpu_seconds(*, blocking: Num, load_seconds: Num, suffix_seconds: Num) -> Num:
    """Return how long one fetched prompt keeps the GPU from other work.

    Parameters
    ----------
    blocking : Num
        Share of the load that keeps the GPU from other work (1 synchronous, 0 asynchronous) [1].
    load_seconds : Num
        Time during which KV arrives [s].
    suffix_seconds : Num
        Time to compute what was not fetched [s].

    Returns
    -------
    Num
        GPU time, for all accelerators of the replica together, not added over them [s].

    Notes
    -----
    A synchronous connector stops the engine while it loads, so requests behind it wait although
    nothing is computed; an asynchronous one costs the GPU only what was not fetched. Copies that
    share memory bandwidth with running work are left out.

    References
    ----------
    .. [1] LMCache, synchronous loading, https://github.com/LMCache/LMCache/issues/985

    Examples
    --------
    >>> hit_gpu_seconds(blocking=1.0, load_seconds=0.78, suffix_seconds=0.0)
    0.78
    >>> hit_gpu_seconds(blocking=0.0, load_seconds=0.78, suffix_seconds=0.0)
    0.0
    """
    return blocking * load_seconds + suffix_seconds
