"""Several sets of requests as one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.workload.requests import Requests
from kvcost.workload.rows import exclusive_sum, gather

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["merge"]


def merge(*parts: Requests, same_ids: bool = False) -> Requests:
    """Return the requests of all parts, in the order of their arrival.

    Parameters
    ----------
    *parts : Requests
        With the same block size.
    same_ids : bool
        Whether an id of a block or session means the same in every part. If not, they are
        renumbered so that parts share nothing.

    Returns
    -------
    Requests
        Requests at one instant keep the order of the parts; groups are kept apart.

    Raises
    ------
    InvalidValueError
        If there is no part, block sizes differ, or some have prefixes and others do not.

    Examples
    --------
    >>> from kvcost.workload import decoys, even_burst
    >>> burst = even_burst(requests=3, span=2.0, shared_tokens=512)
    >>> alone = decoys(requests=2, low=0.0, high=1.0, shared_tokens=512, rng=1)
    >>> len(merge(burst, alone)), merge(burst, alone).names
    (5, ('burst:0', 'decoy:0', 'decoy:1'))
    """
    if not parts:
        raise _refused("parts", 0, "must be at least one", "give the requests to merge")
    sizes = sorted({part.block_tokens for part in parts})
    if len(sizes) > 1:
        raise _refused("block_tokens", sizes, "must be the same in all parts", "use one block size")
    if len({part.has_blocks for part in parts}) > 1:
        bound = "must be alike: prefixes are known in some parts only"
        raise _refused("has_blocks", "of the parts", bound, "merge parts of one kind")
    ids = [part.block_ids if same_ids else _dense(part.block_ids) for part in parts]
    sessions = [part.session if same_ids else _dense(part.session) for part in parts]
    if not same_ids:
        ids, sessions = _apart(ids), _apart(sessions)
    names = tuple(name for part in parts for name in part.names)
    groups = _apart([part.group for part in parts], [len(part.names) for part in parts])
    arrival = np.concatenate([part.arrival for part in parts])
    order = np.argsort(arrival, kind="stable")
    lists = exclusive_sum(np.concatenate([np.diff(part.block_starts) for part in parts]))
    starts, entries = gather(lists, order)
    runs = any(part.block_counts is not None for part in parts)
    counts = np.concatenate([_counts(part) for part in parts])[entries] if runs else None
    return Requests(
        arrival=arrival[order],
        prompt_tokens=np.concatenate([part.prompt_tokens for part in parts])[order],
        output_tokens=np.concatenate([part.output_tokens for part in parts])[order],
        block_tokens=sizes[0],
        block_starts=starts,
        block_ids=np.concatenate(ids)[entries],
        block_counts=counts,
        has_blocks=parts[0].has_blocks,
        group=np.concatenate(groups)[order],
        session=np.concatenate(sessions)[order],
        names=names,
    )


def _counts(part: Requests) -> NDArray[np.int64]:
    if part.block_counts is None:
        return np.ones(part.block_ids.size, dtype=np.int64)
    return part.block_counts


def _dense(ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the ids numbered from 0, where they are far from that; -1 stays."""
    if ids.size == 0 or (ids.min() >= -1 and ids.max() < 4 * ids.size + 1024):
        return ids
    known, where = np.unique(ids, return_inverse=True)
    none = known.size > 0 and known[0] == -1
    dense: NDArray[np.int64] = where.astype(np.int64) - int(none)
    return dense


def _apart(
    columns: list[NDArray[np.int64]], sizes: list[int] | None = None
) -> list[NDArray[np.int64]]:
    """Shift each column's ids behind those of the column before; -1 stays."""
    offset = 0
    shifted = []
    for place, ids in enumerate(columns):
        shifted.append(np.where(ids < 0, ids, ids + offset) if offset else ids)
        most = int(ids.max()) + 1 if ids.size else 0
        offset += max(most, 0) if sizes is None else sizes[place]
    return shifted


def _refused(field: str, value: Any, bound: str, remedy: str) -> InvalidValueError:
    return InvalidValueError(field=field, value=value, bound=bound, remedy=remedy)
