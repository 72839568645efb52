"""Lists of different lengths, one after another in one array, with where each starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["exclusive_sum", "expand_ids", "gather", "segment_sum"]


def exclusive_sum(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each list starts, and at the end where the last one ends."""
    starts = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def _counting(first: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return first, first + 1, ... for each length, one after another."""
    some = lengths > 0
    if not some.all():
        first, lengths = first[some], lengths[some]
    starts = exclusive_sum(lengths)
    # sums of steps are several times as fast as repeats
    steps = np.ones(starts[-1], dtype=np.int64)
    if lengths.size:
        steps[0] = first[0]
        steps[starts[1:-1]] = first[1:] - first[:-1] - lengths[:-1] + 1
    return np.cumsum(steps, out=steps)


def segment_sum(values: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of each list; 0 for an empty one."""
    total = exclusive_sum(values)
    return total[starts[1:]] - total[starts[:-1]]


def gather(
    starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts of some lists set side by side, and the indices of their entries."""
    lengths = starts[rows + 1] - starts[rows]
    return exclusive_sum(lengths), _counting(starts[rows], lengths)


def expand_ids(ids: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one new id a block for runs of blocks, the same for the same run."""
    known, where = np.unique(ids, return_inverse=True)
    length = np.zeros(known.size, dtype=np.int64)
    length[where] = counts
    first = exclusive_sum(length)[:-1]
    return _counting(first[where], counts)
