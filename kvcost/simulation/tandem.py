"""One run of requests that load and then compute, times given: also in overload."""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from kvcost.errors import InvalidValueError
from kvcost.queueing.validation import whole

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["tandem_times"]


def tandem_times(
    *,
    arrivals: ArrayLike,
    loads: ArrayLike,
    computes: ArrayLike,
    servers: int,
    blocking: bool,
    loaders: int | None = None,
) -> NDArray[np.float64]:
    """Return the time from arrival to computed of each request of a run.

    Parameters
    ----------
    arrivals : array
        When requests come, ascending [s].
    loads, computes : array
        Times of the two stages of each [s].
    servers : int
        Servers that compute.
    blocking : bool
        Whether a server is held from the start of its load on.
    loaders : int, optional
        Loads at once where they go on by the side; endless if not given.

    Returns
    -------
    array
        Seconds, in the order of arrival.

    Raises
    ------
    InvalidValueError
        If the arrays differ in length, are empty or not finite, or times are negative.

    Notes
    -----
    First come first served at each stage, from an empty start; nothing is random here, so the
    result is exact for the given run.

    Examples
    --------
    >>> run = dict(arrivals=[0, 1, 2], loads=[3, 3, 3], computes=[1, 1, 1], servers=1)
    >>> tandem_times(**run, blocking=True).tolist()
    [4.0, 7.0, 10.0]
    >>> tandem_times(**run, blocking=False).tolist()
    [4.0, 4.0, 4.0]
    """
    come, load, compute = (np.asarray(part, dtype=float) for part in (arrivals, loads, computes))
    for name, part in (("arrivals", come), ("loads", load), ("computes", compute)):
        if part.shape != come.shape or part.ndim != 1 or part.size == 0:
            raise InvalidValueError(
                field=name,
                value=part.shape,
                bound="must be a list with an entry for each request",
                remedy="give as many times as arrivals, at least one",
            )
        if not np.all(np.isfinite(part)) or (name != "arrivals" and np.any(part < 0)):
            raise InvalidValueError(
                field=name, value=float(np.min(part)), bound="must hold finite times from 0 on",
                remedy="give seconds",
            )  # fmt: skip
    if np.any(np.diff(come) < 0):
        raise InvalidValueError(
            field="arrivals", value=float(np.min(np.diff(come))), bound="must ascend",
            remedy="sort the requests by arrival",
        )  # fmt: skip
    count = whole("servers", servers)
    if blocking:
        return np.asarray(_ends(come, load + compute, count) - come)
    loaded = come + load if loaders is None else _ends(come, load, whole("loaders", loaders))
    order = np.argsort(loaded, kind="stable")
    done = np.empty_like(come)
    done[order] = _ends(loaded[order], compute[order], count)
    return np.asarray(done - come)


def _ends(
    come: NDArray[np.float64], times: NDArray[np.float64], servers: int
) -> NDArray[np.float64]:
    free = [float("-inf")] * servers
    ends = np.empty_like(come)
    for i, (at, length) in enumerate(zip(come.tolist(), times.tolist(), strict=True)):
        end = max(at, free[0]) + length
        heapq.heapreplace(free, end)
        ends[i] = end
    return ends
