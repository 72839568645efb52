"""Where cache-aware routing's imbalance fallback fires."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.charts.grid import grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.charts.sweeps import Cell

__all__ = ["threshold_map"]


def threshold_map(cells: Sequence[Cell], *, width: int = 300, height: int = 200) -> Any:
    """Return the share of the bursts in which loads go out of balance.

    Parameters
    ----------
    cells : sequence of Cell
        Share over requests of a burst (x) and the threshold ``balance_abs`` (y), from
        `threshold_sweep`.
    width, height : int
        Size [px].

    Returns
    -------
    altair.LayerChart
        The map.

    Raises
    ------
    InvalidValueError
        If there is no cell, or too many.
    """
    return grid(
        cells,
        x_title="requests of a burst",
        y_title="threshold balance_abs, requests",
        value_title="share of bursts",
        form=".0%",
        title=("When cache-aware gives up the cache", "share of bursts out of balance"),
        description="Share of the bursts in which cache-aware routing falls back to the least "
        "load, over the size of the burst and the threshold.",
        domain=(0.0, 1.0),
        width=width,
        height=height,
    )
