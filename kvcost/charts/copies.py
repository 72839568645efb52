"""How many copies of a hot prefix pay, for how long a burst."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.charts.grid import grid

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.charts.sweeps import Cell

__all__ = ["replication_map"]


def replication_map(cells: Sequence[Cell], *, width: int = 260, height: int = 200) -> Any:
    """Return mean TTFT over copies and length of a burst.

    Parameters
    ----------
    cells : sequence of Cell
        Seconds over copies (x) and length of the burst in seconds (y), from `replication_sweep`.
    width, height : int
        Size [px].

    Returns
    -------
    altair.LayerChart
        The map; a frame marks the best number of copies for each length.

    Raises
    ------
    InvalidValueError
        If there is no cell, or too many.
    """
    return grid(
        cells,
        x_title="replicas that hold the prefix",
        y_title="length of the burst, seconds",
        value_title="mean TTFT, seconds",
        form=".3~g",
        title=("What copies of a hot prefix save", "framed: the best of each row"),
        description="Mean time to first token over the number of replicas that hold a prefix and "
        "the length of the burst.",
        mark_least_of_row=True,
        width=width,
        height=height,
    )
