"""Lists of different lengths, one after another in one array, with where each starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["exclusive_sum", "expand_ids", "gather", "ramps", "segment_sum"]


def exclusive_sum(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each list starts, and at the end where the last one ends."""
    starts = np.zeros(lengths.size + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    return starts


def ramps(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return 0, 1, ... up to each length, one after another."""
    starts = exclusive_sum(lengths)
    return np.arange(starts[-1]) - np.repeat(starts[:-1], lengths)


def segment_sum(values: NDArray[np.int64], starts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the sum of each list; 0 for an empty one."""
    total = exclusive_sum(values)
    return total[starts[1:]] - total[starts[:-1]]


def gather(
    starts: NDArray[np.int64], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the starts of some lists set side by side, and the indices of their entries."""
    lengths = starts[rows + 1] - starts[rows]
    return exclusive_sum(lengths), np.repeat(starts[rows], lengths) + ramps(lengths)


def expand_ids(ids: NDArray[np.int64], counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one new id a block for runs of blocks, the same for the same run."""
    known, where = np.unique(ids, return_inverse=True)
    length = np.zeros(known.size, dtype=np.int64)
    length[where] = counts
    first = exclusive_sum(length)[:-1]
    return np.repeat(first[where], counts) + ramps(counts)
