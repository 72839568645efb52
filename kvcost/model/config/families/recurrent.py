"""Sizes of recurrent and convolution states, a layer and request.

A causal convolution of width k keeps the k - 1 last inputs of each of its channels.
"""

from __future__ import annotations

from kvcost.model.spec import RecurrentLayers

__all__ = ["delta_rule", "gated_lru", "lightning", "mamba1", "mamba2", "short_convolution"]


def mamba1(*, channels: int, state_size: int, conv_width: int) -> RecurrentLayers:
    """Return one Mamba layer: a state vector for each channel.

    References
    ----------
    Gu and Dao, Mamba, arXiv 2312.00752.

    Examples
    --------
    >>> mamba1(channels=16384, state_size=16, conv_width=4)
    RecurrentLayers(layers=1, state_elements=262144, conv_elements=49152)
    """
    return RecurrentLayers(
        layers=1,
        state_elements=channels * state_size,
        conv_elements=channels * (conv_width - 1),
    )


def mamba2(
    *, heads: int, head_dim: int, state_size: int, groups: int, conv_width: int
) -> RecurrentLayers:
    """Return one Mamba-2 layer: a matrix for each head; x, B and C pass the convolution.

    References
    ----------
    Dao and Gu, Transformers are SSMs, arXiv 2405.21060.

    Examples
    --------
    >>> mamba2(heads=256, head_dim=64, state_size=256, groups=8, conv_width=4)
    RecurrentLayers(layers=1, state_elements=4194304, conv_elements=61440)
    """
    return RecurrentLayers(
        layers=1,
        state_elements=heads * head_dim * state_size,
        conv_elements=(heads * head_dim + 2 * groups * state_size) * (conv_width - 1),
    )


def delta_rule(
    *, key_heads: int, value_heads: int, key_dim: int, value_dim: int, conv_width: int
) -> RecurrentLayers:
    """Return one delta-rule layer: a matrix for each value head; q, k, v pass convolutions.

    References
    ----------
    Yang et al., Gated Delta Networks, arXiv 2412.06464; Kimi Linear, arXiv 2510.26692, whose
    layers have as many key as value heads.

    Examples
    --------
    >>> delta_rule(key_heads=16, value_heads=48, key_dim=128, value_dim=128, conv_width=4)
    RecurrentLayers(layers=1, state_elements=786432, conv_elements=30720)
    """
    channels = 2 * key_heads * key_dim + value_heads * value_dim
    return RecurrentLayers(
        layers=1,
        state_elements=value_heads * key_dim * value_dim,
        conv_elements=channels * (conv_width - 1),
    )


def lightning(*, heads: int, head_dim: int) -> RecurrentLayers:
    """Return one lightning-attention layer: a square matrix for each head, no convolution.

    References
    ----------
    MiniMax-01, arXiv 2501.08313.

    Examples
    --------
    >>> lightning(heads=64, head_dim=128)
    RecurrentLayers(layers=1, state_elements=1048576, conv_elements=0)
    """
    return RecurrentLayers(layers=1, state_elements=heads * head_dim**2, conv_elements=0)


def short_convolution(*, channels: int, width: int) -> RecurrentLayers:
    """Return one gated short-convolution layer: no state but the convolution's."""
    return RecurrentLayers(layers=1, state_elements=0, conv_elements=channels * (width - 1))


def gated_lru(*, channels: int, conv_width: int) -> RecurrentLayers:
    """Return one RG-LRU layer: one state element for each channel.

    References
    ----------
    De et al., Griffin, arXiv 2402.19427.
    """
    return RecurrentLayers(
        layers=1, state_elements=channels, conv_elements=channels * (conv_width - 1)
    )
