"""Closed forms of the time to prefill and to decode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = [
    "compute_seconds",
    "decode_step_seconds",
    "linear_prefill_flops",
    "prefill_per_token",
    "prefill_per_token_squared",
    "prefill_seconds",
]


@formula(symbol=r"\Phi_{\mathrm{lin}}", unit="FLOP")
def linear_prefill_flops(*, active_parameters: Num, new_tokens: Num) -> Num:
    """Return the arithmetic of a prefill that grows with the tokens alone.

    Parameters
    ----------
    active_parameters : Num
        Parameters that a token meets [parameter].
    new_tokens : Num
        Tokens to compute [token].

    Returns
    -------
    Num
        Arithmetic of the matrix products with the weights [FLOP].

    Notes
    -----
    Assumes one multiplication and one addition a parameter and token, embeddings counted as if
    they were multiplied. What is cached costs nothing here.

    References
    ----------
    .. [1] J. Kaplan et al., Scaling Laws for Neural Language Models, 2020, sec. 2.1,
       https://doi.org/10.48550/arXiv.2001.08361

    Examples
    --------
    >>> linear_prefill_flops(active_parameters=70.6e9, new_tokens=8000)
    1129600000000000.0
    """
    return ops.constant(2, "FLOP/parameter/token") * active_parameters * new_tokens


@formula(symbol=r"T_{\Phi}", unit="s")
def compute_seconds(*, flops: Num, accelerators: Num, peak_flops: Num, mfu: Num) -> Num:
    """Return the time that arithmetic takes on a replica.

    Parameters
    ----------
    flops : Num
        Arithmetic to do [FLOP].
    accelerators : Num
        Accelerators of the replica [accelerator].
    peak_flops : Num
        Dense peak of one accelerator [FLOP/s/accelerator].
    mfu : Num
        Share of the peak that is achieved [1].

    Returns
    -------
    Num
        Time [s].

    Notes
    -----
    Assumes that the share of the peak does not change with the length of the prompt and already
    holds the time of communication between accelerators.

    References
    ----------
    .. [1] A. Chowdhery et al., PaLM: Scaling Language Modeling with Pathways, 2022, sec. 4.1,
       https://doi.org/10.48550/arXiv.2204.02311

    Examples
    --------
    Llama-3.3-70B, 65,792 tokens on 4 x H100:

    >>> round(compute_seconds(
    ...     flops=2 * 70.6e9 * 65_792, accelerators=4, peak_flops=989e12, mfu=0.5
    ... ), 6)
    4.696578
    """
    return flops / (accelerators * peak_flops * mfu)


@formula(symbol="a", unit="s/token")
def prefill_per_token(
    *, active_parameters: Num, accelerators: Num, peak_flops: Num, mfu: Num
) -> Num:
    """Return the prefill time of one token, attention aside.

    Parameters
    ----------
    active_parameters : Num
        Parameters that a token meets [parameter].
    accelerators : Num
        Accelerators of the replica [accelerator].
    peak_flops : Num
        Dense peak of one accelerator [FLOP/s/accelerator].
    mfu : Num
        Share of the peak that is achieved [1].

    Returns
    -------
    Num
        Time of one token [s/token].

    Notes
    -----
    Alone it makes prefill a straight line, as Biting the Bullet does: too short for long prompts,
    where attention adds `prefill_per_token_squared`.

    References
    ----------
    .. [1] jwlaboratory, Biting the Bullet, https://github.com/jwlaboratory/bite-the-bullet

    Examples
    --------
    >>> prefill_per_token(active_parameters=70.6e9, accelerators=4, peak_flops=989e12, mfu=0.5)
    7.138523761375126e-05
    """
    work = ops.constant(2, "FLOP/parameter/token") * active_parameters
    return work / (accelerators * peak_flops * mfu)


@formula(symbol="a_2", unit="s/token^2")
def prefill_per_token_squared(
    *,
    layers: Num,
    q_heads: Num,
    head_dim_k: Num,
    head_dim_v: Num,
    accelerators: Num,
    peak_flops: Num,
    mfu: Num,
) -> Num:
    """Return the prefill time for the square of the length, which attention causes.

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
    accelerators : Num
        Accelerators of the replica [accelerator].
    peak_flops : Num
        Dense peak of one accelerator [FLOP/s/accelerator].
    mfu : Num
        Share of the peak that is achieved [1].

    Returns
    -------
    Num
        Time for the square of the length [s/token^2].

    Notes
    -----
    Valid for causal attention over all tokens, whose pairs are half the square. Assumes that
    attention achieves the same share of the peak as the products with the weights.

    References
    ----------
    .. [1] T. Dao, FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning,
       2023, sec. 4.1, https://doi.org/10.48550/arXiv.2307.08691

    Examples
    --------
    Llama-3.3-70B on 4 x H100:

    >>> prefill_per_token_squared(
    ...     layers=80, q_heads=64, head_dim_k=128, head_dim_v=128, accelerators=4,
    ...     peak_flops=989e12, mfu=0.5,
    ... )
    6.626...e-10
    """
    work = ops.constant(1, "FLOP/element/token") * layers * q_heads * (head_dim_k + head_dim_v)
    return work / (accelerators * peak_flops * mfu)


@formula(symbol=r"T_{\mathrm{pre}}", unit="s")
def prefill_seconds(
    *,
    prefill_floor: Num,
    prefill_constant: Num,
    prefill_per_token: Num,
    prefill_per_token_squared: Num,
    new_tokens: Num,
    cached_tokens: Num,
) -> Num:
    """Return the time to prefill new tokens over those whose KV is present.

    Parameters
    ----------
    prefill_floor : Num
        Least time that a prefill takes [s].
    prefill_constant : Num
        Prefill time that no token causes [s].
    prefill_per_token : Num
        Prefill time of one token, attention aside [s/token].
    prefill_per_token_squared : Num
        Prefill time for the square of the length [s/token^2].
    new_tokens : Num
        Tokens to compute [token].
    cached_tokens : Num
        Tokens whose KV is present [token].

    Returns
    -------
    Num
        Time, 0 for no new token [s].

    Notes
    -----
    The constant is paid by every prefill, over cached tokens too. Fitted to long prompts it can
    come out negative; then the floor keeps short prompts from taking less than no time, and the
    lengths that were measured are where the curve is valid. Prefill shorter than about 1,000 tokens
    hardly shortens further, which is what the floor is for.

    References
    ----------
    .. [1] llm-d, peer-to-peer KV cache sharing, gpt-oss-120b on H200: measured prefill times that
       bend with the length,
       https://github.com/llm-d/llm-d/tree/main/guides/p2p-kv-cache-sharing

    Examples
    --------
    gpt-oss-120b on one H200, 16,384 tokens, then the last 384 of them alone:

    >>> curve = dict(
    ...     prefill_floor=0, prefill_constant=0.028, prefill_per_token=19.5e-6,
    ...     prefill_per_token_squared=0.294e-9,
    ... )
    >>> round(prefill_seconds(**curve, new_tokens=16_384, cached_tokens=0), 3)
    0.426
    >>> round(prefill_seconds(**curve, new_tokens=384, cached_tokens=16_000), 3)
    0.039
    """
    squares = new_tokens * (new_tokens + 2 * cached_tokens)
    grown = prefill_constant + prefill_per_token * new_tokens + prefill_per_token_squared * squares
    nothing = ops.where(ops.equal(new_tokens, 0.0), 0.0, ops.nan)
    return ops.where(new_tokens > 0, ops.maximum(prefill_floor, grown), nothing)


@formula(symbol=r"T_{\mathrm{dec}}", unit="s")
def decode_step_seconds(
    *,
    active_weight_bytes: Num,
    batch_kv_bytes: Num,
    accelerators: Num,
    hbm_bandwidth: Num,
    hbm_efficiency: Num,
) -> Num:
    """Return the time of one decode step, in which each request of the batch gains a token.

    Parameters
    ----------
    active_weight_bytes : Num
        Bytes of weights that the step reads [byte].
    batch_kv_bytes : Num
        Bytes of KV that the step reads, all requests together [byte].
    accelerators : Num
        Accelerators of the replica [accelerator].
    hbm_bandwidth : Num
        Peak rate of one accelerator's memory [byte/s/accelerator].
    hbm_efficiency : Num
        Share of it that is achieved [1].

    Returns
    -------
    Num
        Time of the step [s].

    Notes
    -----
    Assumes that memory is what a step waits for: small batches, no communication. A batch of a
    mixture-of-experts model touches more experts than one token does, up to all of them.

    References
    ----------
    .. [1] jwlaboratory, inference-sim, https://github.com/jwlaboratory/inference-sim
    .. [2] R. Pope et al., Efficiently Scaling Transformer Inference, MLSys 2023,
       https://doi.org/10.48550/arXiv.2211.05102

    Examples
    --------
    Llama-3.3-70B on 4 x H100, one request of 65,792 tokens:

    >>> round(decode_step_seconds(
    ...     active_weight_bytes=141.2e9, batch_kv_bytes=327_680 * 65_792, accelerators=4,
    ...     hbm_bandwidth=3.35e12, hbm_efficiency=0.8,
    ... ), 6)
    0.015183
    """
    return (active_weight_bytes + batch_kv_bytes) / (accelerators * hbm_bandwidth * hbm_efficiency)
