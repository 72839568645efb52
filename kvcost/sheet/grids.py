"""Tables of single cells on the sheets of results, with a chart of bars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.formula.printing.sheet import defined_name
from kvcost.sheet.book import COLOURS, cell_name, number_format

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.sheet.book import Book
    from kvcost.sheet.nodes import Node, Value
    from kvcost.sheet.plan import Grid

__all__ = ["write_grid"]

_CHART_ROWS = 12
"""Of a chart, beside one for each row that it shows."""


def write_grid(
    book: Book, sheet: Any, grid: Grid, values: Mapping[str, Value], *, top: int, left: int
) -> tuple[list[tuple[Node, str]], int]:
    """Write a table and its chart.

    Parameters
    ----------
    book : Book
        The workbook.
    sheet : Worksheet
        Where it goes.
    grid : Grid
        The table.
    values : mapping of str to float or str
        Python's value of each cell.
    top, left : int
        Its first row and column, from 0.

    Returns
    -------
    list of (Node, str)
        Each cell and where it stands.
    int
        The row from which there is space again.
    """
    book.write_text(sheet, top, left, grid.title, "heading")
    for place, head in enumerate(grid.heads):
        book.write_text(sheet, top + 1, left + place, head, "head")
    written = []
    row = first = top + 2
    for item in grid.rows:
        book.write_text(sheet, row, left, item.label, "plain")
        for column, node in enumerate(item.cells, start=left + 1):
            book.write_formula(
                sheet,
                row,
                column,
                node.text(defined_name),
                value=values[node.key],
                style="python",
                number=number_format(node.unit),
            )
            cell = cell_name(row, column)
            book.name(node.key, sheet.get_name(), cell)
            written.append((node, cell))
        for column, text in enumerate(item.texts, start=left + 1 + len(item.cells)):
            book.write_text(sheet, row, column, text, "note")
        row += 1
    last = row - 1
    for text in grid.notes:
        book.write_text(sheet, row, left, text, "note")
        row += 1
    if grid.rows:
        _draw(book, sheet, grid, first=first, last=last, left=left, below=row + 1)
        row += _CHART_ROWS + len(grid.rows)
    return written, row + 2


def _draw(
    book: Book, sheet: Any, grid: Grid, *, first: int, last: int, left: int, below: int
) -> None:
    page = sheet.get_name()
    chart = book.made.add_chart({"type": "bar"})
    for place, cell in enumerate(grid.drawn):
        column = left + 1 + cell
        chart.add_series(
            {
                "name": [page, first - 1, column],
                "categories": [page, first, left, last, left],
                "values": [page, first, column, last, column],
                "fill": {"color": COLOURS[place % len(COLOURS)]},
            }
        )
    chart.set_title({"name": grid.chart_title, "overlay": False, "name_font": {"size": 12}})
    # of bars, the first axis is that of the values; the best stands on top
    lines = {"visible": True, "line": {"color": "#D9D9D9"}}
    chart.set_x_axis(
        {"name": grid.axis_title, "min": 0, "major_gridlines": lines, "label_position": "high"}
    )
    chart.set_y_axis({"reverse": True, "major_gridlines": {"visible": False}})
    chart.set_legend({"position": "bottom"})
    chart.show_na_as_empty_cell()
    chart.set_size({"width": 620, "height": 20 * (_CHART_ROWS + last - first)})
    sheet.insert_chart(below, left, chart, {"description": grid.chart_title})
