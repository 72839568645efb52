"""A map of cells with their values written in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.charts.engine import alt
from kvcost.charts.style import finished, heading, table, tip
from kvcost.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.charts.sweeps import Cell

__all__ = ["grid"]

_MOST_CELLS = 10_000


def grid(
    cells: Sequence[Cell],
    *,
    x_title: str,
    y_title: str,
    value_title: str,
    form: str,
    title: tuple[str, ...],
    description: str,
    domain: tuple[float, float] | None = None,
    mark_least_of_row: bool = False,
    width: int,
    height: int,
) -> Any:
    """Return cells as coloured squares, each with its value.

    Parameters
    ----------
    cells : sequence of Cell
        The values.
    x_title, y_title, value_title : str
        What they are, with units.
    form : str
        How values are written.
    title : tuple of str
        Title, and lines under it.
    description : str
        For those who cannot see it.
    domain : tuple of float, optional
        Values at the ends of the colours; those of the cells if not given.
    mark_least_of_row : bool
        Whether the least value of each row gets a frame.
    width, height : int
        Size [px].

    Returns
    -------
    altair.LayerChart
        The map; light is low, dark is high.

    Raises
    ------
    InvalidValueError
        If there is no cell, or more than 10,000.
    """
    if not 1 <= len(cells) <= _MOST_CELLS:
        raise InvalidValueError(
            field="cells",
            value=len(cells),
            bound=f"must be from 1 to {_MOST_CELLS:,}",
            remedy="sweep fewer values",
        )
    low, high = domain or (min(c.value for c in cells), max(c.value for c in cells))
    least = {y: min(c.value for c in cells if c.y == y) for y in {c.y for c in cells}}
    rows = [
        {
            "x": cell.x,
            "y": cell.y,
            "value": cell.value,
            "least": mark_least_of_row and cell.value == least[cell.y],
            "dark": cell.value > (low + high) / 2,
        }
        for cell in cells
    ]
    base = alt.Chart(table(rows)).encode(
        x=alt.X("x:O", title=x_title, axis=alt.Axis(labelAngle=0)),
        y=alt.Y("y:O", title=y_title, sort="descending"),
        tooltip=[
            tip("x:O", x_title),
            tip("y:O", y_title),
            tip("value:Q", value_title, form),
        ],
    )
    # of one hue, so that only lightness tells
    color = alt.Color(
        "value:Q",
        title=value_title,
        scale=alt.Scale(scheme="blues", domain=[low, high]),
        legend=alt.Legend(
            orient="bottom", format=form, gradientLength=min(width, 200), tickCount=4
        ),
    )
    squares = base.mark_rect(stroke="white").encode(color=color)
    words = base.mark_text(fontSize=10).encode(
        text=alt.Text("value:Q", format=form),
        color=alt.condition("datum.dark", alt.value("white"), alt.value("black")),
    )
    layers: list[Any] = [squares, words]
    if mark_least_of_row:
        frame = base.transform_filter("datum.least").mark_rect(
            fill=None, stroke="#D55E00", strokeWidth=2.5
        )
        layers.append(frame)
    return finished(
        alt.layer(*layers).properties(width=width, height=height, title=heading(*title)),
        description=description,
    )
