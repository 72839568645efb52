"""Closed forms of what a token weighs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "attention_bytes_per_token",
    "entry_bytes_per_token",
    "latent_bytes_per_token",
    "scaled_element_bytes",
]


@formula(symbol=r"e_{\sigma}", unit="byte/element")
def scaled_element_bytes(*, value_bytes: Num, scale_bytes: Num, quant_block: Num) -> Num:
    """Return the bytes of a quantized element with its share of the scale.

    Parameters
    ----------
    value_bytes : Num
        Bytes of an element without its scale [byte/element].
    scale_bytes : Num
        Bytes of one scale [byte].
    quant_block : Num
        Elements that share one scale [element].

    Returns
    -------
    Num
        Bytes of an element, scale included [byte/element].

    Notes
    -----
    Assumes that every block is full, so the width is a multiple of the block. NVFP4 has 4 bits and
    one FP8 scale per 16 elements, MXFP4 4 bits and one E8M0 scale per 32.

    References
    ----------
    .. [1] Open Compute Project, OCP Microscaling Formats (MX) Specification v1.0, 2023,
       https://www.opencompute.org/documents/ocp-microscaling-formats-mx-v1-0-spec-final-pdf
    .. [2] NVIDIA, Pretraining Large Language Models with NVFP4, 2025,
       https://doi.org/10.48550/arXiv.2509.25149

    Examples
    --------
    >>> scaled_element_bytes(value_bytes=0.5, scale_bytes=1, quant_block=16)
    0.5625
    """
    return value_bytes + scale_bytes / quant_block


@formula(symbol=r"b_{\mathrm{att}}", unit="byte/token")
def attention_bytes_per_token(
    *,
    layers: Num,
    kv_heads: Num,
    head_dim_k: Num,
    head_dim_v: Num,
    element_bytes: Num,
    head_scale_bytes: Num,
) -> Num:
    """Return the bytes that one token adds to layers that keep K and V per head.

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

    Returns
    -------
    Num
        Bytes of one token, one copy [byte/token].

    Notes
    -----
    Valid for MHA, MQA and GQA; the heads are key-value heads, not query heads, and the width is
    the stated head width, not the hidden size over the query heads. Assumes no page padding.

    References
    ----------
    .. [1] J. Ainslie et al., GQA: Training Generalized Multi-Query Transformer Models from
       Multi-Head Checkpoints, 2023, https://doi.org/10.48550/arXiv.2305.13245

    Examples
    --------
    Llama-3.3-70B in bf16:

    >>> attention_bytes_per_token(
    ...     layers=80, kv_heads=8, head_dim_k=128, head_dim_v=128, element_bytes=2,
    ...     head_scale_bytes=0,
    ... )
    327680.0
    """
    return layers * kv_heads * ((head_dim_k + head_dim_v) * element_bytes + head_scale_bytes)


@formula(symbol=r"b_{\mathrm{mla}}", unit="byte/token")
def latent_bytes_per_token(
    *, layers: Num, kv_lora_rank: Num, rope_dim: Num, element_bytes: Num
) -> Num:
    """Return the bytes that one token adds to layers that keep a latent and a rotary key.

    Parameters
    ----------
    layers : Num
        Layers of this kind [layer].
    kv_lora_rank : Num
        Width of the latent [element/token].
    rope_dim : Num
        Width of the rotary key [element/token].
    element_bytes : Num
        Bytes of a stored element [byte/element].

    Returns
    -------
    Num
        Bytes of one token, one copy [byte/token].

    Notes
    -----
    Valid for multi-head latent attention: all heads share the latent and the rotary key, so the
    number of heads does not matter. Assumes one element width; engines' mixed records differ.

    References
    ----------
    .. [1] DeepSeek-AI, DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts
       Language Model, 2024, https://doi.org/10.48550/arXiv.2405.04434

    Examples
    --------
    DeepSeek-V3 in bf16:

    >>> latent_bytes_per_token(layers=61, kv_lora_rank=512, rope_dim=64, element_bytes=2)
    70272.0
    """
    return layers * (kv_lora_rank + rope_dim) * element_bytes


@formula(symbol=r"b_{\mathrm{ent}}", unit="byte/token")
def entry_bytes_per_token(
    *, layers: Num, entry_dim: Num, element_bytes: Num, tokens_per_entry: Num
) -> Num:
    """Return the bytes that one token adds to layers that keep one entry for several tokens.

    Parameters
    ----------
    layers : Num
        Layers of this kind [layer].
    entry_dim : Num
        Width of a stored entry [element/entry].
    element_bytes : Num
        Bytes of a stored element [byte/element].
    tokens_per_entry : Num
        Tokens that share one entry [token/entry].

    Returns
    -------
    Num
        Bytes of one token on average, one copy [byte/token].

    Notes
    -----
    Valid for index keys and for compressed attention, whose entry serves as K and as V. An average
    over the tokens of an entry: the last, open entry of a request is not counted.

    References
    ----------
    .. [1] DeepSeek-AI, DeepSeek-V3.2: Pushing the Frontier of Open Large Language Models, 2025,
       https://doi.org/10.48550/arXiv.2512.02556

    Examples
    --------
    The index of GLM-5.2, kept on 21 layers, in bf16:

    >>> entry_bytes_per_token(layers=21, entry_dim=128, element_bytes=2, tokens_per_entry=1)
    5376.0
    """
    return layers * entry_dim * element_bytes / tokens_per_entry
