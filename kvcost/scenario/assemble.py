"""Requests from arrival times, groups and lengths."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kvcost.workload.requests import Requests

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["assemble"]


def assemble(
    arrival: NDArray[np.float64],
    *,
    group: NDArray[np.int64],
    shared: int,
    prompt: NDArray[np.int64],
    output: NDArray[np.int64],
    block_tokens: int,
    names: tuple[str, ...],
) -> Requests:
    """Return requests of which those of one group share a prefix.

    Parameters
    ----------
    arrival : array of float
        Sorted [s].
    group : array of int
        Group of each, -1 for none.
    shared : int
        Tokens that the requests of a group share, rounded down to blocks.
    prompt, output : array of int
        Tokens of each request.
    block_tokens : int
        Tokens of a block.
    names : tuple of str
        Names of the groups.

    Returns
    -------
    Requests
        With one id for the shared run of blocks and one for the whole blocks of its own.
    """
    size = arrival.size
    common = np.where(group >= 0, shared // block_tokens, 0)
    own = prompt // block_tokens - common
    pairs = np.column_stack([common, own])
    ids = np.column_stack([group, len(names) + np.arange(size)])
    used = pairs > 0
    starts = np.concatenate([[0], np.cumsum(used.sum(axis=1))])
    return Requests(
        arrival=arrival,
        prompt_tokens=prompt,
        output_tokens=output,
        block_tokens=block_tokens,
        block_starts=starts,
        block_ids=ids[used],
        block_counts=pairs[used],
        group=group,
        names=names,
    )
