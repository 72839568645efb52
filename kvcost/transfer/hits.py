"""Closed forms of how much of a prompt is fetched."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = ["fetched_tokens", "gained_tokens", "usable_hit_tokens"]


@formula(symbol=r"n_u", unit="token")
def usable_hit_tokens(*, tokens: Num, hit_tokens: Num, chunk_tokens: Num) -> Num:
    """Return the tokens of a hit that a request can use.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
    hit_tokens : Num
        Tokens of the prompt that a store holds [token].
    chunk_tokens : Num
        Tokens of a store's chunk [token].

    Returns
    -------
    Num
        Whole chunks that leave at least the last token to compute [token].

    Notes
    -----
    Engines compute the last token even when all of the prompt is held, since the first answer token
    needs its logits; the rest is rounded down to chunks. A chunk of one token turns the rounding
    off, and `tokens` one larger turns off the last token's rule.

    References
    ----------
    .. [1] LMCache, pull request 1740: a prompt of 10,010 tokens hits 10,010, "need to load" 10,009,
       https://github.com/LMCache/LMCache/pull/1740

    Examples
    --------
    >>> usable_hit_tokens(tokens=10_010, hit_tokens=10_010, chunk_tokens=1)
    10009.0
    >>> usable_hit_tokens(tokens=512, hit_tokens=512, chunk_tokens=256)
    256.0
    """
    held = ops.minimum(hit_tokens, tokens - ops.constant(1, "token"))
    return chunk_tokens * ops.floor(ops.maximum(held, 0.0) / chunk_tokens)


@formula(symbol=r"n_g", unit="token")
def gained_tokens(*, tokens: Num, hit_tokens: Num, local_tokens: Num, chunk_tokens: Num) -> Num:
    """Return the tokens that a fetch saves from being computed.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
    hit_tokens : Num
        Tokens of the prompt that a store holds [token].
    local_tokens : Num
        Tokens that the replica holds [token].
    chunk_tokens : Num
        Tokens of a store's chunk [token].

    Returns
    -------
    Num
        Tokens beyond those that the replica holds already [token].

    Notes
    -----
    Assumes that both hold prefixes of the same prompt: what the replica holds counts first.

    References
    ----------
    .. [1] LMCache, issue 2263: 288 tokens held locally, 512 in the store, 224 gained,
       https://github.com/LMCache/LMCache/issues/2263

    Examples
    --------
    >>> gained_tokens(tokens=600, hit_tokens=512, local_tokens=288, chunk_tokens=256)
    224.0
    """
    usable = usable_hit_tokens(tokens=tokens, hit_tokens=hit_tokens, chunk_tokens=chunk_tokens)
    return ops.maximum(usable - local_tokens, 0.0)


@formula(symbol=r"n_f", unit="token")
def fetched_tokens(*, tokens: Num, hit_tokens: Num, local_tokens: Num, chunk_tokens: Num) -> Num:
    """Return the tokens that a fetch moves.

    Parameters
    ----------
    tokens : Num
        Length of the prompt [token].
    hit_tokens : Num
        Tokens of the prompt that a store holds [token].
    local_tokens : Num
        Tokens that the replica holds [token].
    chunk_tokens : Num
        Tokens of a store's chunk [token].

    Returns
    -------
    Num
        Tokens of the chunks that are not whole on the replica [token].

    Notes
    -----
    A chunk of which the replica holds a part is moved whole, so more is moved than gained. Nothing
    is moved where nothing is gained.

    References
    ----------
    .. [1] LMCache, issue 2263: 256 tokens fetched for 224 gained,
       https://github.com/LMCache/LMCache/issues/2263

    Examples
    --------
    >>> fetched_tokens(tokens=600, hit_tokens=512, local_tokens=288, chunk_tokens=256)
    256.0
    """
    usable = usable_hit_tokens(tokens=tokens, hit_tokens=hit_tokens, chunk_tokens=chunk_tokens)
    kept = chunk_tokens * ops.floor(local_tokens / chunk_tokens)
    return ops.where(usable > local_tokens, usable - kept, 0.0)
