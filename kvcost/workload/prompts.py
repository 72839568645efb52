"""Prompts of one shape: a prefix that a group shares, then a suffix of each request's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from kvcost.workload.checks import whole
from kvcost.workload.requests import Requests
from kvcost.workload.rows import exclusive_sum

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["from_arrivals", "shared_prefix_requests"]


def from_arrivals(
    *,
    arrival: Sequence[float] | NDArray[np.float64],
    group: Sequence[int] | NDArray[np.int64] | None = None,
    names: Sequence[str] = (),
    shared_tokens: int,
    suffix_tokens: int = 256,
    output_tokens: int = 1,
    block_tokens: int = 256,
    compact: bool = True,
) -> Requests:
    """Return requests at given times, whose groups each share a prefix of one length.

    Parameters
    ----------
    arrival : array of float
        When they arrive [s], in any order.
    group : array of int, optional
        Group of each, an index into `names`; all in one group if not given.
    names : sequence of str
        Names of the groups; numbered if not given.
    shared_tokens, suffix_tokens : int
        Tokens that the group shares, and tokens of the request's own after them.
    output_tokens : int
        Tokens of each answer.
    block_tokens : int
        Tokens of one block. Only whole blocks of the prefix are shared.
    compact : bool
        Whether the ids name runs of blocks; if not, there is one id for each block.

    Returns
    -------
    Requests
        Sorted by arrival; requests at one instant keep their order.

    Examples
    --------
    >>> few = from_arrivals(arrival=[2.0, 0.0], group=[0, 1], shared_tokens=512)
    >>> few.arrival.tolist(), few.names, few.group.tolist()
    ([0.0, 2.0], ('group:0', 'group:1'), [1, 0])
    """
    times = np.asarray(arrival, dtype=np.float64)
    groups = np.zeros(times.size, dtype=np.int64) if group is None else np.asarray(group)
    order = np.argsort(times, kind="stable")
    known = int(groups.max()) + 1 if groups.size else 0
    shared = np.full(times.size, whole("shared_tokens", shared_tokens))
    suffix = np.full(times.size, whole("suffix_tokens", suffix_tokens))
    output = np.full(times.size, whole("output_tokens", output_tokens, low=1))
    return shared_prefix_requests(
        arrival=times[order],
        group=groups[order].astype(np.int64),
        names=tuple(names) or tuple(f"group:{i}" for i in range(known)),
        shared=shared,
        suffix=suffix,
        output=output,
        block_tokens=block_tokens,
        compact=compact,
    )


def shared_prefix_requests(
    *,
    arrival: NDArray[np.float64],
    group: NDArray[np.int64],
    names: tuple[str, ...],
    shared: NDArray[np.int64],
    suffix: NDArray[np.int64],
    output: NDArray[np.int64],
    block_tokens: int,
    compact: bool,
) -> Requests:
    """Return requests whose prompts are `shared` tokens of the group and `suffix` of their own.

    Notes
    -----
    `shared` must be the same for all requests of a group. The block that holds the end of the
    shared part and the start of the suffix is private; a last block that is not full has no id,
    since engines cache whole blocks only.
    """
    block = whole("block_tokens", block_tokens, low=1)
    prompt = shared + suffix
    common = np.where(group >= 0, shared // block, 0)
    private = prompt // block - common
    families = int(group.max()) + 1 if group.size else 0
    counts = np.stack([common, private], axis=1).ravel()
    ids = np.empty(counts.size, dtype=np.int64)
    ids[0::2] = group
    ids[1::2] = families + np.arange(group.size)
    if counts.all():
        starts = np.arange(0, counts.size + 1, 2)
    else:
        kept = counts > 0
        starts = exclusive_sum((common > 0).astype(np.int64) + (private > 0))
        counts, ids = counts[kept], ids[kept]
    made = Requests(
        arrival=arrival,
        prompt_tokens=prompt,
        output_tokens=output,
        block_tokens=block,
        block_starts=starts,
        block_ids=ids,
        block_counts=counts,
        group=group,
        names=names,
    )
    return made if compact else made.expanded()
