"""Closed forms of what a rank keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula
from kvcost.model.formulas.token import attention_bytes_per_token

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "attention_bytes_on_rank",
    "heads_on_rank",
    "kv_copies",
]


@formula(symbol=r"H_R", unit="head/rank")
def heads_on_rank(*, kv_heads: Num, tensor_ranks: Num) -> Num:
    """Return the key-value heads that a rank keeps of each layer.

    Parameters
    ----------
    kv_heads : Num
        Key-value heads of a layer [head].
    tensor_ranks : Num
        Ranks that split the heads [rank].

    Returns
    -------
    Num
        Heads on the rank that has most [head/rank].

    Notes
    -----
    With more ranks than heads, each rank keeps one head and heads are kept several times. Where
    heads do not divide, this is the rank with most; many engines refuse that.

    References
    ----------
    .. [1] vLLM project, model configuration,
       https://github.com/vllm-project/vllm/blob/main/vllm/config/model.py

    Examples
    --------
    >>> heads_on_rank(kv_heads=4, tensor_ranks=8)
    1.0
    """
    return ops.ceil(kv_heads / tensor_ranks)


@formula(symbol=r"b_{\mathrm{att},R}", unit="byte/token/rank")
def attention_bytes_on_rank(
    *,
    layers: Num,
    kv_heads: Num,
    head_dim_k: Num,
    head_dim_v: Num,
    element_bytes: Num,
    head_scale_bytes: Num,
    tensor_ranks: Num,
    context_ranks: Num,
) -> Num:
    """Return the bytes that one token adds on one rank to layers that keep K and V per head.

    Parameters
    ----------
    layers : Num
        Layers of this kind on the rank [layer].
    kv_heads : Num
        Key-value heads of a layer [head].
    head_dim_k : Num
        Width of a key head [element/head/token].
    head_dim_v : Num
        Width of a value head [element/head/token].
    element_bytes : Num
        Bytes of a stored element [byte/element].
    head_scale_bytes : Num
        Bytes of scale for one head and token, K and V together [byte/head/token].
    tensor_ranks : Num
        Ranks that split the heads [rank].
    context_ranks : Num
        Ranks that split the tokens of a head [rank].

    Returns
    -------
    Num
        Bytes of one token, averaged over the tokens of a request [byte/token/rank].

    Notes
    -----
    Assumes that ranks that hold the same head deal its tokens out evenly if they split them, and
    keep them all otherwise.

    References
    ----------
    .. [1] SGLang project, Decode Context Parallelism,
       https://docs.sglang.io/docs/advanced_features/dcp.md

    Examples
    --------
    Qwen3-235B-A22B in bf16 on 8 ranks, which keep each of its 4 heads twice:

    >>> attention_bytes_on_rank(
    ...     layers=94, kv_heads=4, head_dim_k=128, head_dim_v=128, element_bytes=2,
    ...     head_scale_bytes=0, tensor_ranks=8, context_ranks=1,
    ... )
    48128.0
    """
    heads = heads_on_rank(kv_heads=kv_heads, tensor_ranks=tensor_ranks)
    return (
        attention_bytes_per_token(
            layers=layers,
            kv_heads=heads,
            head_dim_k=head_dim_k,
            head_dim_v=head_dim_v,
            element_bytes=element_bytes,
            head_scale_bytes=head_scale_bytes,
        )
        / context_ranks
    )


@formula(symbol=r"C_R", unit="copy")
def kv_copies(*, rank_bytes_per_token: Num, ranks: Num, kv_bytes_per_token: Num) -> Num:
    """Return how many copies of the KV the ranks hold together.

    Parameters
    ----------
    rank_bytes_per_token : Num
        Bytes of a token on one rank [byte/token/rank].
    ranks : Num
        Ranks that hold the request [rank].
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].

    Returns
    -------
    Num
        Copies; 1 where nothing is kept twice [copy].

    Notes
    -----
    Assumes that all ranks hold as much as the one given.

    References
    ----------
    .. [1] vLLM project, pull request 48906, Deduplicate replicated MLA KV,
       https://github.com/vllm-project/vllm/pull/48906

    Examples
    --------
    The latent of DeepSeek-V3, which every one of 8 ranks keeps:

    >>> kv_copies(rank_bytes_per_token=70272, ranks=8, kv_bytes_per_token=70272)
    8.0
    """
    return rank_bytes_per_token * ranks / kv_bytes_per_token
