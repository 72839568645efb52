"""Ids that name whole prefixes, made from ids that name single blocks."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["chained_ids", "is_chained"]


def _before(starts: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place among the distinct ids of each entry's predecessor, -1 at the front."""
    before = np.full(ids.size, -1, dtype=np.int64)
    before[1:] = ids[:-1]
    before[starts[:-1][np.diff(starts) > 0]] = -1
    return before


def is_chained(starts: NDArray[np.int64], ids: NDArray[np.int64]) -> bool:
    """Tell whether each id always comes after the same one, as ids of whole prefixes do.

    Parameters
    ----------
    starts : array of int
        Where each list starts in `ids`; one more entry closes the last.
    ids : array of int
        Ids, one list after another.

    Examples
    --------
    >>> import numpy as np
    >>> is_chained(np.array([0, 2, 4]), np.array([1, 2, 1, 3]))
    True
    >>> is_chained(np.array([0, 2, 4]), np.array([1, 2, 3, 2]))
    False
    """
    if ids.size == 0:
        return True
    _, where = np.unique(ids, return_inverse=True)
    before = _before(starts, where)
    expected = np.empty(int(where.max()) + 1, dtype=np.int64)
    expected[where] = before
    return bool(np.all(expected[where] == before))


def chained_ids(starts: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ids that name whole prefixes: the given ones if they do, else new ones.

    Parameters
    ----------
    starts, ids
        See `is_chained`; here an id may name the content of one block wherever it stands.

    Examples
    --------
    >>> import numpy as np
    >>> chained_ids(np.array([0, 2, 4]), np.array([7, 8, 9, 8])).tolist()
    [0, 1, 2, 3]
    """
    if is_chained(starts, ids):
        return ids
    known: dict[tuple[int, int], int] = {}
    chained = np.empty(ids.size, dtype=np.int64)
    listed = ids.tolist()
    for first, last in pairwise(starts.tolist()):
        prefix = -1
        for place in range(first, last):
            prefix = known.setdefault((prefix, listed[place]), len(known))
            chained[place] = prefix
    return chained
