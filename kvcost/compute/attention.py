"""Closed forms of the arithmetic of attention."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "attention_flops",
    "causal_pairs",
    "chunked_pairs",
    "latent_attention_flops",
    "windowed_pairs",
]


@formula(symbol=r"N_{2,\mathrm{causal}}", unit="token^2")
def causal_pairs(*, new_tokens: Num, cached_tokens: Num) -> Num:
    """Return the pairs of a new token and one that it attends to, where each attends to all before.

    Parameters
    ----------
    new_tokens : Num
        Tokens to compute [token].
    cached_tokens : Num
        Tokens whose KV is present [token].

    Returns
    -------
    Num
        Pairs [token^2].

    Notes
    -----
    A token's attention to itself counts as half a pair, so that the pairs of a prompt are half its
    square and add up over pieces; the exact count is larger by half the new tokens.

    References
    ----------
    .. [1] T. Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning,
       2023, https://doi.org/10.48550/arXiv.2307.08691

    Examples
    --------
    >>> causal_pairs(new_tokens=1000, cached_tokens=0)
    500000.0
    >>> causal_pairs(new_tokens=1000, cached_tokens=9000)
    9500000.0
    """
    return new_tokens * (cached_tokens + new_tokens / 2)


@formula(symbol=r"N_{2,W}", unit="token^2")
def windowed_pairs(*, new_tokens: Num, cached_tokens: Num, window: Num) -> Num:
    """Return the pairs of a new token and one that it attends to, within a sliding window.

    Parameters
    ----------
    new_tokens : Num
        Tokens to compute [token].
    cached_tokens : Num
        Tokens whose KV is present [token].
    window : Num
        Tokens that a windowed layer keeps at most [token].

    Returns
    -------
    Num
        Pairs [token^2].

    Notes
    -----
    Tokens up to the window attend to all before them, later ones to a full window. Counts as
    `causal_pairs` does, which is the limit for a window no shorter than the prompt. Assumes a
    kernel that skips what lies outside the window.

    References
    ----------
    .. [1] A. Q. Jiang et al., Mistral 7B, 2023, https://doi.org/10.48550/arXiv.2310.06825

    Examples
    --------
    >>> windowed_pairs(new_tokens=1000, cached_tokens=0, window=128)
    119808.0
    """
    start = ops.minimum(cached_tokens, window)
    end = ops.minimum(cached_tokens + new_tokens, window)
    ramp = end - start
    return ramp * (start + end) / 2 + window * (new_tokens - ramp)


@formula(symbol=r"N_{2,W'}", unit="token^2")
def chunked_pairs(*, new_tokens: Num, cached_tokens: Num, window: Num) -> Num:
    """Return the pairs of a new token and one that it attends to, within chunks that stand still.

    Parameters
    ----------
    new_tokens : Num
        Tokens to compute [token].
    cached_tokens : Num
        Tokens whose KV is present [token].
    window : Num
        Tokens that a windowed layer keeps at most [token].

    Returns
    -------
    Num
        Pairs [token^2].

    Notes
    -----
    A token attends to those before it in its own chunk, half a chunk on average. Counts as
    `causal_pairs` does.

    References
    ----------
    .. [1] Meta, Llama 4 (chunked attention of 8,192 tokens on three layers of four), 2025,
       https://huggingface.co/meta-llama/Llama-4-Scout-17B-16E

    Examples
    --------
    >>> chunked_pairs(new_tokens=16384, cached_tokens=0, window=8192) == 2 * 8192**2 / 2
    True
    """
    chunks_before = ops.floor(cached_tokens / window)
    chunks_after = ops.floor((cached_tokens + new_tokens) / window)
    rest_before = cached_tokens - chunks_before * window
    rest_after = cached_tokens + new_tokens - chunks_after * window
    whole = (chunks_after - chunks_before) * window**2
    return (whole + rest_after**2 - rest_before**2) / 2


@formula(symbol=r"\Phi_{\mathrm{att}}", unit="FLOP")
def attention_flops(
    *, layers: Num, q_heads: Num, head_dim_k: Num, head_dim_v: Num, pairs: Num
) -> Num:
    """Return the arithmetic of attention over the given pairs of tokens.

    Parameters
    ----------
    layers : Num
        Layers of this kind [layer].
    q_heads : Num
        Query heads of a layer [head].
    head_dim_k : Num
        Width of a key head [element/head/token].
    head_dim_v : Num
        Width of a value head [element/head/token].
    pairs : Num
        Pairs of a token and one that it attends to [token^2].

    Returns
    -------
    Num
        Arithmetic of the scores and of the weighted values [FLOP].

    Notes
    -----
    Every query head works, however few key-value heads there are. Leaves the softmax out, which is
    no matrix product.

    References
    ----------
    .. [1] T. Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning,
       2023, sec. 4.1: 4 x length^2 x head dimension x heads, halved when causal,
       https://doi.org/10.48550/arXiv.2307.08691

    Examples
    --------
    Llama-3.3-70B, a prompt of 8,000 tokens:

    >>> attention_flops(layers=80, q_heads=64, head_dim_k=128, head_dim_v=128, pairs=8000**2 / 2)
    83886080000000.0
    """
    work = ops.constant(2, "FLOP/element/token") * layers * q_heads * (head_dim_k + head_dim_v)
    return work * pairs


@formula(symbol=r"\Phi_{\mathrm{mla}}", unit="FLOP")
def latent_attention_flops(
    *, layers: Num, q_heads: Num, kv_lora_rank: Num, rope_dim: Num, pairs: Num
) -> Num:
    """Return the arithmetic of attention that works on the latent itself.

    Parameters
    ----------
    layers : Num
        Layers of this kind [layer].
    q_heads : Num
        Query heads of a layer [head].
    kv_lora_rank : Num
        Width of the latent [element/token].
    rope_dim : Num
        Width of the rotary key [element/token].
    pairs : Num
        Pairs of a token and one that it attends to [token^2].

    Returns
    -------
    Num
        Arithmetic of the scores over latent and rotary key, and of the weighted latents [FLOP].

    Notes
    -----
    The absorbed form, which sparse-attention kernels and decoding use: every query head sees the
    whole latent. Dense prefill usually expands the latent into heads first, which takes fewer
    operations a pair (`attention_flops` with the model's own head widths, 192 and 128 for
    DeepSeek-V3 against 576 and 512 here), so for it this is an upper bound.

    References
    ----------
    .. [1] DeepSeek-AI, DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts
       Language Model, 2024, sec. 2.1, https://doi.org/10.48550/arXiv.2405.04434

    Examples
    --------
    DeepSeek-V3, one new token over 1,000:

    >>> latent_attention_flops(layers=61, q_heads=128, kv_lora_rank=512, rope_dim=64, pairs=1000)
    16990208000.0
    """
    return attention_flops(
        layers=layers,
        q_heads=q_heads,
        head_dim_k=kv_lora_rank + rope_dim,
        head_dim_v=kv_lora_rank,
        pairs=pairs,
    )
