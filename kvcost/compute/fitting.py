"""Least squares for a curve whose slope and bend may not be negative."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["fit_curve"]


def fit_curve(
    tokens: Sequence[float], seconds: Sequence[float], *, relative: bool
) -> tuple[float, float, float]:
    """Return constant, slope and bend of the curve nearest to points, by least squares.

    Parameters
    ----------
    tokens : sequence of float
        Lengths, above 0.
    seconds : sequence of float
        Times, above 0.
    relative : bool
        Whether the errors to make small are relative to the times.

    Returns
    -------
    tuple of float
        Time that no token causes, time of a token, time for the square of the length. One length
        gives a line through zero, two a line, three and more a parabola.

    Notes
    -----
    Slope and bend are kept at or above zero. The best of all curves with some of them at zero that
    stays within bounds is the optimum, since the problem is convex; there are at most four.
    """
    lengths = np.asarray(tokens, dtype=float)
    times = np.asarray(seconds, dtype=float)
    scale = lengths.max()
    powers = {1: (1,), 2: (0, 1)}.get(len(set(tokens)), (0, 1, 2))
    columns = {power: (lengths / scale) ** power for power in powers}
    weights = 1 / times if relative else np.ones_like(times)
    bounded = tuple(power for power in powers if power)
    candidates = [
        _least_squares({p: c for p, c in columns.items() if p not in dropped}, times, weights)
        for count in range(len(bounded) + 1)
        for dropped in combinations(bounded, count)
    ]
    within = [
        (error, found)
        for error, found in candidates
        if all(found.get(power, 0.0) >= 0 for power in bounded)
    ]
    _, best = min(within, key=lambda candidate: candidate[0])
    constant, slope, bend = (float(best.get(power, 0.0) / scale**power) for power in (0, 1, 2))
    return constant, slope, bend


def _least_squares(
    columns: dict[int, NDArray[np.float64]],
    times: NDArray[np.float64],
    weights: NDArray[np.float64],
) -> tuple[float, dict[int, float]]:
    if not columns:
        return float(np.sum((times * weights) ** 2)), {}
    matrix = np.stack(list(columns.values()), axis=1)
    solution = np.linalg.lstsq(matrix * weights[:, None], times * weights, rcond=None)[0]
    error = float(np.sum(((matrix @ solution - times) * weights) ** 2))
    return error, dict(zip(columns, map(float, solution), strict=True))
