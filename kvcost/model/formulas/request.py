"""Closed forms of what a request weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula
from kvcost.model.formulas.token import attention_bytes_per_token

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "block_rounded_tokens",
    "cache_bytes",
    "chunk_rounded_tokens",
    "cross_attention_bytes",
    "state_bytes",
    "window_bytes",
]


@formula(symbol=r"V_W", unit="byte")
def window_bytes(*, window_bytes_per_token: Num, window: Num, tokens: Num) -> Num:
    """Return the bytes that windowed layers hold of a request.

    Parameters
    ----------
    window_bytes_per_token : Num
        Bytes of a token in the windowed layers [byte/token].
    window : Num
        Tokens that a layer keeps at most [token].
    tokens : Num
        Length of the request [token].

    Returns
    -------
    Num
        Bytes of the layers' last tokens [byte].

    Notes
    -----
    Assumes that tokens outside the window are dropped at once. A chunked layer starts anew at each
    chunk, so for it this is the most that it holds.

    References
    ----------
    .. [1] A. Q. Jiang et al., Mistral 7B, 2023, https://doi.org/10.48550/arXiv.2310.06825

    Examples
    --------
    Mistral-7B in bf16, every layer with a window of 4,096 tokens:

    >>> window_bytes(window_bytes_per_token=131072, window=4096, tokens=32768)
    536870912.0
    """
    return window_bytes_per_token * ops.minimum(tokens, window)


@formula(symbol=r"V_s", unit="byte")
def state_bytes(
    *,
    layers: Num,
    state_elements: Num,
    state_element_bytes: Num,
    conv_elements: Num,
    conv_element_bytes: Num,
) -> Num:
    """Return the bytes of the recurrent and convolution states of a request.

    Parameters
    ----------
    layers : Num
        Layers of this kind [layer].
    state_elements : Num
        Recurrent state of a layer [element/layer].
    state_element_bytes : Num
        Bytes of a recurrent state element [byte/element].
    conv_elements : Num
        Convolution state of a layer [element/layer].
    conv_element_bytes : Num
        Bytes of a convolution element [byte/element].

    Returns
    -------
    Num
        Bytes of one request, whatever its length [byte].

    Notes
    -----
    Assumes one state a request; snapshots that an engine keeps for prefix reuse come on top.

    References
    ----------
    .. [1] A. Gu and T. Dao, Mamba: Linear-Time Sequence Modeling with Selective State Spaces,
       2023, https://doi.org/10.48550/arXiv.2312.00752

    Examples
    --------
    Qwen3.6-27B as llama.cpp keeps it, 149.625 MiB a slot:

    >>> state_bytes(
    ...     layers=48, state_elements=786432, state_element_bytes=4, conv_elements=30720,
    ...     conv_element_bytes=4,
    ... ) / 2**20
    149.625
    """
    recurrent = state_elements * state_element_bytes
    return layers * (recurrent + conv_elements * conv_element_bytes)


@formula(symbol=r"V_x", unit="byte")
def cross_attention_bytes(
    *,
    layers: Num,
    kv_heads: Num,
    head_dim_k: Num,
    head_dim_v: Num,
    element_bytes: Num,
    head_scale_bytes: Num,
    source_tokens: Num,
) -> Num:
    """Return the bytes that the cross attention of a request keeps of the encoder's tokens.

    Parameters
    ----------
    layers : Num
        Layers of this kind [layer].
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
    source_tokens : Num
        Tokens of the encoder [token].

    Returns
    -------
    Num
        Bytes of one request, fixed once its source is encoded [byte].

    Notes
    -----
    Assumes that every decoder layer of the group keeps its own K and V of the source.

    References
    ----------
    .. [1] A. Vaswani et al., Attention Is All You Need, 2017,
       https://doi.org/10.48550/arXiv.1706.03762

    Examples
    --------
    Whisper large-v3 in fp16, 1,500 frames:

    >>> cross_attention_bytes(
    ...     layers=32, kv_heads=20, head_dim_k=64, head_dim_v=64, element_bytes=2,
    ...     head_scale_bytes=0, source_tokens=1500,
    ... )
    245760000.0
    """
    return source_tokens * attention_bytes_per_token(
        layers=layers,
        kv_heads=kv_heads,
        head_dim_k=head_dim_k,
        head_dim_v=head_dim_v,
        element_bytes=element_bytes,
        head_scale_bytes=head_scale_bytes,
    )


@formula(symbol=r"V", unit="byte")
def cache_bytes(
    *, kv_bytes_per_token: Num, tokens: Num, window_bytes: Num, state_bytes: Num
) -> Num:
    """Return the bytes that a request of some length keeps.

    Parameters
    ----------
    kv_bytes_per_token : Num
        Bytes that one token adds to the KV [byte/token].
    tokens : Num
        Length of the request [token].
    window_bytes : Num
        Bytes of the windowed layers at this length [byte].
    state_bytes : Num
        Bytes of the request that do not grow [byte].

    Returns
    -------
    Num
        Bytes of the request, one copy [byte].

    Notes
    -----
    Valid for one request; assumes no rounding to blocks or chunks.

    References
    ----------
    .. [1] Gemma Team, Gemma 3 Technical Report, 2025, https://doi.org/10.48550/arXiv.2503.19786

    Examples
    --------
    Gemma-3-27B in bf16 at 131,072 tokens, in GiB:

    >>> cache_bytes(
    ...     kv_bytes_per_token=81920, tokens=131072, window_bytes=436207616, state_bytes=0
    ... ) / 2**30
    10.40625
    """
    return kv_bytes_per_token * tokens + window_bytes + state_bytes


@formula(symbol=r"n_{\lceil b \rceil}", unit="token")
def block_rounded_tokens(*, tokens: Num, block_tokens: Num) -> Num:
    """Return the tokens that whole blocks of an engine hold for a request.

    Parameters
    ----------
    tokens : Num
        Length of the request [token].
    block_tokens : Num
        Tokens of a block [token].

    Returns
    -------
    Num
        The length, rounded up to blocks [token].

    Notes
    -----
    Valid for paged allocation, where a request owns whole blocks.

    References
    ----------
    .. [1] W. Kwon et al., Efficient Memory Management for Large Language Model Serving with
       PagedAttention, 2023, https://doi.org/10.1145/3600006.3613165

    Examples
    --------
    >>> block_rounded_tokens(tokens=300, block_tokens=16)
    304.0
    """
    return ops.ceil(tokens / block_tokens) * block_tokens


@formula(symbol=r"n_{\lfloor c \rfloor}", unit="token")
def chunk_rounded_tokens(*, tokens: Num, chunk_tokens: Num) -> Num:
    """Return the tokens of a prompt that a store of whole chunks keeps.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
    chunk_tokens : Num
        Tokens of a store's chunk [token].

    Returns
    -------
    Num
        The length, rounded down to chunks [token].

    Notes
    -----
    Assumes that a last chunk that is not full is not stored, as LMCache does by default.

    References
    ----------
    .. [1] LMCache, configuration, https://docs.lmcache.ai/api_reference/configurations.html

    Examples
    --------
    >>> chunk_rounded_tokens(tokens=300, chunk_tokens=256)
    256.0
    """
    return ops.floor(tokens / chunk_tokens) * chunk_tokens
