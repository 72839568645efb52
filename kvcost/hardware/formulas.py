"""How much KV fits in the memory that weights leave free."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = ["kv_budget", "kv_capacity", "sequences_that_fit"]


@formula(symbol="M_{kv}", unit="byte")
def kv_budget(
    *, accelerators: Num, hbm_bytes: Num, hbm_share: Num, weight_copies: Num, weight_bytes: Num
) -> Num:
    """Return the bytes of memory that the weights leave for KV.

    Parameters
    ----------
    accelerators : Num
        Accelerators of the replica [accelerator].
    hbm_bytes : Num
        Memory of one of them [byte/accelerator].
    hbm_share : Num
        Share of it that the engine may use [1].
    weight_copies : Num
        Copies of the weights that the replica holds [copy].
    weight_bytes : Num
        Size of one copy [byte/copy].

    Returns
    -------
    Num
        Memory left for KV; 0 when the weights do not fit [byte].

    Notes
    -----
    Assumes that activations and the engine's workspace are outside the share.

    References
    ----------
    .. [1] jwlaboratory/inference-sim, commit 547d2d5, where the share is 1

    Examples
    --------
    >>> kv_budget(
    ...     accelerators=4, hbm_bytes=80e9, hbm_share=1, weight_copies=1, weight_bytes=141.2e9
    ... )
    178800000000.0
    """
    usable = accelerators * hbm_bytes * hbm_share
    return ops.maximum(usable - weight_copies * weight_bytes, 0)


@formula(symbol="K", unit="request")
def sequences_that_fit(
    *,
    kv_budget_bytes: Num,
    kv_bytes_per_token: Num,
    tokens: Num,
    state_bytes: Num,
) -> Num:
    """Return how many requests of one length the memory holds at once.

    Parameters
    ----------
    kv_budget_bytes : Num
        Memory left for KV [byte].
    kv_bytes_per_token : Num
        Bytes that one token adds [byte/token].
    tokens : Num
        Tokens for which a request reserves memory: prompt and answer [token].
    state_bytes : Num
        Bytes of a request that do not grow [byte].

    Returns
    -------
    Num
        Whole requests [request].

    Notes
    -----
    Assumes that nothing is shared between requests and that memory is not broken into blocks.

    References
    ----------
    .. [1] jwlaboratory/inference-sim, commit 547d2d5: requests that a batch holds

    Examples
    --------
    >>> sequences_that_fit(
    ...     kv_budget_bytes=178.8e9,
    ...     kv_bytes_per_token=327_680,
    ...     tokens=65_793,
    ...     state_bytes=0,
    ... )
    8.0
    """
    each = kv_bytes_per_token * tokens + state_bytes
    return ops.floor(kv_budget_bytes / each)


@formula(symbol="N_{kv}", unit="token")
def kv_capacity(
    *,
    kv_budget_bytes: Num,
    kv_bytes_per_token: Num,
    requests: Num,
    state_bytes: Num,
) -> Num:
    """Return how many tokens of KV the memory holds.

    Parameters
    ----------
    kv_budget_bytes : Num
        Memory left for KV [byte].
    kv_bytes_per_token : Num
        Bytes that one token adds [byte/token].
    requests : Num
        Requests that hold their fixed bytes at the same time [request].
    state_bytes : Num
        Bytes of a request that do not grow [byte].

    Returns
    -------
    Num
        Tokens, not rounded; 0 when the bytes that do not grow fill it [token].

    Notes
    -----
    Assumes that memory is not broken into blocks.

    References
    ----------
    .. [1] vLLM reports this figure at start as GPU KV cache size, of one rank

    Examples
    --------
    >>> kv_capacity(
    ...     kv_budget_bytes=178.8e9,
    ...     kv_bytes_per_token=327_680,
    ...     requests=8,
    ...     state_bytes=0,
    ... )
    545654.296875
    """
    growing = ops.maximum(kv_budget_bytes - requests * state_bytes, 0)
    return growing / kv_bytes_per_token
