"""Closed forms of engines' records, pages and pools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "page_bytes_per_token",
    "pool_bytes_per_token",
    "record_bytes",
    "record_bytes_per_token",
]


@formula(symbol=r"\rho", unit="byte/entry")
def record_bytes(
    *,
    quantized_dim: Num,
    value_bytes: Num,
    quant_block: Num,
    scale_bytes: Num,
    plain_dim: Num,
    plain_element_bytes: Num,
    pad_bytes: Num,
) -> Num:
    """Return the bytes of a record: quantized elements, their scales, plain elements, padding.

    Parameters
    ----------
    quantized_dim : Num
        Quantized elements of the record [element/entry].
    value_bytes : Num
        Bytes of a quantized element without its scale [byte/element].
    quant_block : Num
        Elements that share one scale [element].
    scale_bytes : Num
        Bytes of one scale [byte].
    plain_dim : Num
        Elements kept as they are [element/entry].
    plain_element_bytes : Num
        Bytes of an element kept as it is [byte/element].
    pad_bytes : Num
        Bytes that hold nothing [byte/entry].

    Returns
    -------
    Num
        Bytes of one record [byte/entry].

    Notes
    -----
    Assumes that a block of quantized elements that is not full has a whole scale. Valid for records
    that stand one after another; padding of pages is another matter.

    References
    ----------
    .. [1] DeepSeek-AI, FlashMLA, FP8 KV cache format, https://github.com/deepseek-ai/FlashMLA

    Examples
    --------
    The fp8_ds_mla record of vLLM, 512 latent elements and 64 rotary ones:

    >>> record_bytes(
    ...     quantized_dim=512, value_bytes=1, quant_block=128, scale_bytes=4,
    ...     plain_dim=64, plain_element_bytes=2, pad_bytes=0,
    ... )
    656.0
    """
    scales = ops.ceil(quantized_dim / quant_block)
    quantized = quantized_dim * value_bytes + scales * scale_bytes
    return quantized + plain_dim * plain_element_bytes + pad_bytes


@formula(symbol=r"b_{\rho}", unit="byte/token")
def record_bytes_per_token(*, layers: Num, record_bytes: Num, tokens_per_entry: Num) -> Num:
    """Return the bytes that one token adds to layers that keep an engine's records.

    Parameters
    ----------
    layers : Num
        Layers of this kind [layer].
    record_bytes : Num
        Bytes of a record [byte/entry].
    tokens_per_entry : Num
        Tokens that share one record [token/entry].

    Returns
    -------
    Num
        Bytes of one token on average, one copy [byte/token].

    Notes
    -----
    Assumes no page padding, and does not count the last, open record of a request.

    References
    ----------
    .. [1] vLLM project, KV cache specifications,
       https://github.com/vllm-project/vllm/blob/main/vllm/v1/kv_cache_interface.py

    Examples
    --------
    The 132-byte index of DeepSeek-V3.2:

    >>> record_bytes_per_token(layers=61, record_bytes=132, tokens_per_entry=1)
    8052.0
    """
    return layers * record_bytes / tokens_per_entry


@formula(symbol=r"b_{\beta}", unit="byte/token")
def page_bytes_per_token(
    *,
    layers: Num,
    record_bytes: Num,
    tokens_per_entry: Num,
    block_tokens: Num,
    page_bytes: Num,
) -> Num:
    """Return the bytes that one token takes where the pages of blocks are padded.

    Parameters
    ----------
    layers : Num
        Layers of this kind [layer].
    record_bytes : Num
        Bytes of a record [byte/entry].
    tokens_per_entry : Num
        Tokens that share one record [token/entry].
    block_tokens : Num
        Tokens of a block [token].
    page_bytes : Num
        Bytes that a page is a multiple of [byte].

    Returns
    -------
    Num
        Bytes of one token in full blocks, one copy [byte/token].

    Notes
    -----
    Assumes full blocks and one page for a block and layer, rounded up to a multiple.

    References
    ----------
    .. [1] vLLM project, KV cache specifications,
       https://github.com/vllm-project/vllm/blob/main/vllm/v1/kv_cache_interface.py

    Examples
    --------
    The 21 layers of DeepSeek-V4-Flash that keep an entry for every 4 tokens:

    >>> page_bytes_per_token(
    ...     layers=21, record_bytes=584, tokens_per_entry=4, block_tokens=256, page_bytes=576,
    ... )
    3071.25
    """
    pages = ops.ceil(block_tokens / tokens_per_entry * record_bytes / page_bytes)
    return layers * pages * page_bytes / block_tokens


@formula(symbol=r"b_{\mathrm{pool}}", unit="byte/token")
def pool_bytes_per_token(
    *, layer_groups: Num, group_layers: Num, layer_bytes_per_token: Num
) -> Num:
    """Return the bytes of a pool for each token where every group of layers has equal pages.

    Parameters
    ----------
    layer_groups : Num
        Groups of layers that share the pool [1].
    group_layers : Num
        Layers of a group, the padding included [layer].
    layer_bytes_per_token : Num
        Bytes of a token in one layer of the widest kind [byte/token/layer].

    Returns
    -------
    Num
        Pool bytes over the tokens that the pool is said to hold [byte/token].

    Notes
    -----
    Valid for vLLM's pool when full and windowed layers (or a recurrent state) mix: each block of
    the pool is a page of every layer of one group, and blocks are dealt to all groups alike, so a
    token of the stated capacity has a page in windowed layers too. Newer releases state the
    capacity at the maximum length instead, which is larger.

    References
    ----------
    .. [1] vLLM project, KV cache groups,
       https://github.com/vllm-project/vllm/blob/main/vllm/v1/core/kv_cache_utils.py
    .. [2] vLLM project, issue 40691, The KV cache size log is wrong for Qwen3.5,
       https://github.com/vllm-project/vllm/issues/40691

    Examples
    --------
    gpt-oss-120b, 18 full and 18 windowed layers of 8 heads of 64, in bf16:

    >>> pool_bytes_per_token(layer_groups=2, group_layers=18, layer_bytes_per_token=2048)
    73728.0
    """
    return layer_groups * group_layers * layer_bytes_per_token
