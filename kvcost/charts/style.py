"""What all charts share: colours, data, axes, titles."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kvcost.charts.engine import alt

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = [
    "BLUE",
    "DASHES",
    "GREEN",
    "GREY",
    "ORANGE",
    "PALETTE",
    "PURPLE",
    "RED",
    "SHAPES",
    "SKY",
    "finished",
    "heading",
    "table",
    "tip",
]

# Okabe-Ito: told apart with any kind of colour vision
BLUE, ORANGE, GREEN, PURPLE, RED = "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#D55E00"
SKY, GREY, BLACK = "#56B4E9", "#999999", "#000000"
PALETTE = (BLUE, ORANGE, GREEN, PURPLE, RED, SKY, BLACK, GREY)
# and without any colour
DASHES = ([1, 0], [6, 3], [2, 2], [8, 2, 2, 2], [4, 4], [10, 4], [1, 3], [6, 2, 1, 2, 1, 2])
SHAPES = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "triangle-left",
    "triangle-right",
)

_FONT = "Helvetica, Arial, Liberation Sans, DejaVu Sans, sans-serif"


def _plain(value: Any) -> Any:
    if hasattr(value, "item"):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value


def table(rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as inline data; what is not finite becomes null."""
    made: Any = alt.Data
    return made(values=[{key: _plain(value) for key, value in row.items()} for row in rows])


def tip(field: str, title: str, form: str | None = None) -> alt.Tooltip:
    """Return a tooltip entry."""
    if form is None:
        return alt.Tooltip(field, title=title)
    return alt.Tooltip(field, title=title, format=form)


def heading(text: str, *lines: str) -> alt.TitleParams:
    """Return a title with lines under it."""
    if lines:
        return alt.TitleParams(text=text, subtitle=list(lines), anchor="start")
    return alt.TitleParams(text=text, anchor="start")


def finished(chart: Any, *, description: str) -> Any:
    """Return a chart in the common style, with a description for those who cannot see it."""
    return (
        # fonts of a reader may be wider than those measured: room at the sides
        chart.properties(
            description=description,
            background="white",
            padding={"left": 18, "right": 28, "top": 6, "bottom": 6},
        )
        .configure(font=_FONT)
        .configure_title(fontSize=14, subtitleFontSize=12, subtitleColor="#444444")
        .configure_axis(labelFontSize=12, titleFontSize=12, titleFontWeight="normal")
        .configure_legend(
            labelFontSize=12, titleFontSize=12, titleFontWeight="normal", columnPadding=24
        )
        .configure_view(stroke=None)
    )


def scale_of(names: Sequence[str]) -> alt.Scale:
    """Return a colour scale over names, in their order."""
    return alt.Scale(domain=list(names), range=list(PALETTE[: len(names)]))
