"""Closed forms of the rate at which KV arrives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "bandwidth",
    "pipelined_seconds_per_byte",
    "scaling_exponent",
    "seconds_per_byte",
    "shard_efficiency",
]


@formula(symbol="B", unit="byte/s")
def bandwidth(
    *,
    client_bandwidth: Num,
    ranks: Num,
    rank_balance: Num,
    link_bandwidth: Num,
    store_bandwidth: Num,
    shards: Num,
    shard_efficiency: Num,
    active_engines: Num,
) -> Num:
    """Return the rate of the narrowest of clients, link and store.

    Parameters
    ----------
    client_bandwidth : Num
        Rate of one rank's client [byte/s/rank].
    ranks : Num
        Ranks that hold a request [rank].
    rank_balance : Num
        Slowest rank's rate over the mean [1].
    link_bandwidth : Num
        Rate of the narrowest link of the path [byte/s].
    store_bandwidth : Num
        Rate of one shard of the store [byte/s/shard].
    shards : Num
        Shards of the store [shard].
    shard_efficiency : Num
        Share of as many single shards that the shards deliver together [1].
    active_engines : Num
        Engines that read the store at once [replica].

    Returns
    -------
    Num
        Rate for one engine, all its ranks together [byte/s].

    Notes
    -----
    Every rank brings an equal part through its own client, and the fetch ends with the slowest.
    Engines share the store equally while they read (processor sharing); the link is this engine's
    own. Waiting in a queue at the store is not in it.

    References
    ----------
    .. [1] GLM-5.3 remote KV cache study: one Valkey instance 1.71 GB/s, eight 10.76 GB/s
    .. [2] L. Kleinrock, Time-shared Systems: A Theoretical Treatment, J. ACM 14(2), 1967,
       https://doi.org/10.1145/321386.321388

    Examples
    --------
    >>> bandwidth(
    ...     client_bandwidth=0.94e9, ranks=8, rank_balance=0.95, link_bandwidth=25e9,
    ...     store_bandwidth=1.71e9, shards=8, shard_efficiency=0.79, active_engines=2,
    ... )
    5403600000.0
    """
    clients = client_bandwidth * ranks * rank_balance
    store = store_bandwidth * shards * shard_efficiency / active_engines
    return ops.minimum(clients, link_bandwidth, store)


@formula(symbol=r"\gamma", unit="1")
def scaling_exponent(*, measured_shards: Num, measured_speedup: Num) -> Num:
    """Return the power of the number of shards with which their rate grows.

    Parameters
    ----------
    measured_shards : Num
        Shards when it was measured [shard].
    measured_speedup : Num
        Rate of the shards over that of one [1].

    Returns
    -------
    Num
        Exponent; 1 where every shard adds as much as the first, nan for one shard [1].

    Notes
    -----
    One measured speed-up fixes one parameter; that it is a power of the number of shards is an
    assumption, good between the measured counts and poor far beyond them.

    References
    ----------
    .. [1] N. J. Gunther, Guerrilla Capacity Planning, 2007, ch. 4,
       https://doi.org/10.1007/978-3-540-31010-5

    Examples
    --------
    Eight Valkey instances at 6.3 times one:

    >>> round(scaling_exponent(measured_shards=8, measured_speedup=6.3), 3)
    0.885
    """
    several = ops.where(measured_shards > 1, ops.log(measured_shards), ops.nan)
    return ops.log(measured_speedup) / several


@formula(symbol=r"\eta_S", unit="1")
def shard_efficiency(*, shards: Num, scaling_exponent: Num) -> Num:
    """Return the share of as many single shards that the shards deliver together.

    Parameters
    ----------
    shards : Num
        Shards of the store [shard].
    scaling_exponent : Num
        Power of the shards that their rate grows with [1].

    Returns
    -------
    Num
        Share; 1 for one shard [1].

    Notes
    -----
    An approximation for counts that nobody measured: where the count was measured, the measured
    rate over that of as many single shards is the share.

    References
    ----------
    .. [1] GLM-5.3 remote KV cache study: one Valkey instance 1.71 GB/s, eight 10.76 GB/s

    Examples
    --------
    >>> round(shard_efficiency(shards=8, scaling_exponent=0.885), 3)
    0.787
    """
    return shards ** (scaling_exponent - 1)


@formula(symbol=r"\tau", unit="s/byte")
def seconds_per_byte(
    *, bandwidth: Num, compression_ratio: Num, encode_rate: Num, decode_rate: Num
) -> Num:
    """Return the time that a byte of KV takes when it is encoded, moved and decoded in turn.

    Parameters
    ----------
    bandwidth : Num
        Rate at which KV arrives [byte/s].
    compression_ratio : Num
        Bytes before over after compression [1].
    encode_rate : Num
        Rate of the encoder, in uncompressed bytes [byte/s].
    decode_rate : Num
        Rate of the decoder, in uncompressed bytes [byte/s].

    Returns
    -------
    Num
        Time of one uncompressed byte [s/byte].

    Notes
    -----
    A ratio of 1 and rates without bound leave the plain transfer. What a store keeps encoded needs
    no encoder on the way to a hit.

    References
    ----------
    .. [1] Y. Liu et al., CacheGen: KV Cache Compression and Streaming for Fast Large Language Model
       Serving, SIGCOMM 2024, https://doi.org/10.1145/3651890.3672274

    Examples
    --------
    >>> 1 / seconds_per_byte(
    ...     bandwidth=1e9, compression_ratio=4, encode_rate=1e12, decode_rate=4e9
    ... )
    1996007984.0...
    """
    return 1 / encode_rate + 1 / (compression_ratio * bandwidth) + 1 / decode_rate


@formula(symbol=r"\tau_{\parallel}", unit="s/byte")
def pipelined_seconds_per_byte(
    *, bandwidth: Num, compression_ratio: Num, encode_rate: Num, decode_rate: Num
) -> Num:
    """Return the time that a byte of KV takes when pieces are encoded, moved and decoded at once.

    Parameters
    ----------
    bandwidth : Num
        Rate at which KV arrives [byte/s].
    compression_ratio : Num
        Bytes before over after compression [1].
    encode_rate : Num
        Rate of the encoder, in uncompressed bytes [byte/s].
    decode_rate : Num
        Rate of the decoder, in uncompressed bytes [byte/s].

    Returns
    -------
    Num
        Time of one uncompressed byte [s/byte].

    Notes
    -----
    The slowest of the three decides. Leaves out the filling of the pipeline, one piece at each of
    the other two stages.

    References
    ----------
    .. [1] Y. Liu et al., CacheGen: KV Cache Compression and Streaming for Fast Large Language Model
       Serving, SIGCOMM 2024, https://doi.org/10.1145/3651890.3672274

    Examples
    --------
    >>> 1 / pipelined_seconds_per_byte(
    ...     bandwidth=1e9, compression_ratio=4, encode_rate=1e12, decode_rate=3e9
    ... )
    3000000000.0
    """
    return ops.maximum(1 / encode_rate, 1 / (compression_ratio * bandwidth), 1 / decode_rate)
