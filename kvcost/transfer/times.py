"""Closed forms of the time that a fetch takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = ["keys", "layerwise_seconds", "moved_bytes", "transfer_seconds"]


@formula(symbol=r"k", unit="key")
def keys(*, fetched_tokens: Num, chunk_tokens: Num, keys_per_chunk: Num) -> Num:
    """Return the keys that a fetch asks a store for.

    Parameters
    ----------
    fetched_tokens : Num
        Tokens that are moved [token].
    chunk_tokens : Num
        Tokens of a store's chunk [token].
    keys_per_chunk : Num
        Keys of a chunk [key/chunk].

    Returns
    -------
    Num
        Keys of all chunks, the last one whole [key].

    Notes
    -----
    Assumes that nothing joins several chunks in one key. Every rank asks for its own keys: count
    them in the keys of a chunk where one connection serves all ranks.

    References
    ----------
    .. [1] LMCache, pull request 2790: 508 reads of a prompt of 65,024 tokens with two keys a chunk
       of 256, 762 with three, https://github.com/LMCache/LMCache/pull/2790

    Examples
    --------
    >>> keys(fetched_tokens=65_024, chunk_tokens=256, keys_per_chunk=2)
    508.0
    """
    return ops.ceil(fetched_tokens / chunk_tokens) * keys_per_chunk


@formula(symbol=r"V_m", unit="byte")
def moved_bytes(
    *, fetched_tokens: Num, kv_bytes_per_token: Num, kv_copies: Num, fixed_bytes: Num
) -> Num:
    """Return the bytes that a fetch moves, before compression.

    Parameters
    ----------
    fetched_tokens : Num
        Tokens that are moved [token].
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].
    kv_copies : Num
        Copies of the KV that the ranks hold together [copy].
    fixed_bytes : Num
        Bytes of a fetch whatever its length [byte].

    Returns
    -------
    Num
        Bytes, all ranks together [byte].

    Notes
    -----
    A latent that every rank keeps is moved once for each, unless ranks pass it on over their own
    links. Recurrent states and windows are fixed bytes: a hit needs them too, and they are taken as
    given for all ranks together.

    References
    ----------
    .. [1] LMCache, pull request 1740: 10,010 tokens of Qwen3-8B are 1.3747 GiB,
       https://github.com/LMCache/LMCache/pull/1740

    Examples
    --------
    >>> round(moved_bytes(
    ...     fetched_tokens=10_010, kv_bytes_per_token=147_456, kv_copies=1, fixed_bytes=0
    ... ) / 2**30, 4)
    1.3747
    """
    return fetched_tokens * kv_bytes_per_token * kv_copies + fixed_bytes


@formula(symbol=r"T_{\mathrm{mov}}", unit="s")
def transfer_seconds(
    *,
    lookup_seconds: Num,
    overhead_seconds: Num,
    keys: Num,
    per_key_seconds: Num,
    descriptors: Num,
    per_descriptor_seconds: Num,
    moved_bytes: Num,
    seconds_per_byte: Num,
) -> Num:
    """Return the time that a fetch takes.

    Parameters
    ----------
    lookup_seconds : Num
        Time to ask what the store holds [s].
    overhead_seconds : Num
        Fixed time of a fetch [s].
    keys : Num
        Keys that a fetch asks for [key].
    per_key_seconds : Num
        Time that a key takes [s/key].
    descriptors : Num
        Pieces of memory of a fetch [descriptor].
    per_descriptor_seconds : Num
        Time that a piece takes [s/descriptor].
    moved_bytes : Num
        Bytes that a fetch brings, uncompressed [byte].
    seconds_per_byte : Num
        Time that a byte of KV takes [s/byte].

    Returns
    -------
    Num
        Time [s].

    Notes
    -----
    Assumes that the parts follow one another: posting descriptors is not hidden behind the bytes.
    Waiting for a busy store or engine is not in it.

    References
    ----------
    .. [1] GLM-5.3 remote KV cache study: 0.33 s and the bytes of 16,000 tokens over 1.71 GB/s
    .. [2] vLLM, issue 55434: 57% of a transfer's time is posting descriptors,
       https://github.com/vllm-project/vllm/issues/55434

    Examples
    --------
    >>> round(transfer_seconds(
    ...     lookup_seconds=0, overhead_seconds=0.33, keys=0, per_key_seconds=0, descriptors=0,
    ...     per_descriptor_seconds=0, moved_bytes=16_000 * 48_408, seconds_per_byte=1 / 1.71e9,
    ... ), 4)
    0.7829
    """
    asking = lookup_seconds + overhead_seconds + keys * per_key_seconds
    return asking + descriptors * per_descriptor_seconds + moved_bytes * seconds_per_byte


@formula(symbol=r"T_{\mathrm{lw}}", unit="s")
def layerwise_seconds(*, load_seconds: Num, suffix_seconds: Num, layers: Num) -> Num:
    """Return the time to load KV and compute the rest, when a layer loads while another computes.

    Parameters
    ----------
    load_seconds : Num
        Time during which KV arrives [s].
    suffix_seconds : Num
        Time to compute what was not fetched [s].
    layers : Num
        Layers that are loaded and computed one after another [layer].

    Returns
    -------
    Num
        Time until both are done [s].

    Notes
    -----
    The longer of the two, and one layer of the shorter: the first layer's load where computing
    decides, the last layer's computing where loading does. Assumes equal layers and that the two do
    not slow each other. With one layer they follow one another.

    References
    ----------
    .. [1] S. M. Johnson, Optimal two- and three-stage production schedules with setup times
       included, Naval Research Logistics Quarterly 1(1), 1954,
       https://doi.org/10.1002/nav.3800010110
    .. [2] LMSYS, SGLang HiCache, 2025, https://lmsys.org/blog/2025-09-10-sglang-hicache/

    Examples
    --------
    >>> layerwise_seconds(load_seconds=0.4, suffix_seconds=0.2, layers=80)
    0.4025
    """
    longer = ops.maximum(load_seconds, suffix_seconds)
    return longer + ops.minimum(load_seconds, suffix_seconds) / layers
