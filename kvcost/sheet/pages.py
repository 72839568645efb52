"""The sheets that compute: Inputs, and the pages of results with their tables and charts."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kvcost.formula.printing.sheet import defined_name, number_text
from kvcost.sheet.book import COLOURS, cell_name, number_format, quoted
from kvcost.sheet.grids import write_grid
from kvcost.sheet.nodes import Given, Python, Result, Verdict
from kvcost.sheet.plan.inputs import NO_LIMIT
from kvcost.sheet.plan.parts import AXIS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.sheet.book import Book
    from kvcost.sheet.nodes import Node, Value
    from kvcost.sheet.plan import Page, Plan, Sweep

__all__ = ["Written", "write_inputs", "write_page"]

YOURS, FOUND, USED = 2, 3, 4
"""Columns of sheet Inputs."""

_FIRST_ROW = 4
_SWEEP_COLUMN = 6
_CHART_ROWS = 18
_LIST_LETTERS = 255
_MARK = "kv_of_this_row_"


@dataclass(frozen=True, kw_only=True)
class Written:
    """A result that stands in a cell.

    Attributes
    ----------
    what : str
        What it is.
    sheet, cell : str
        Where it is.
    value : float or str
        Python's value for the inputs as shipped.
    key : str
        Row of the plan; for a table, its key and the column's.
    """

    what: str
    sheet: str
    cell: str
    value: Value
    key: str

    @property
    def reference(self) -> str:
        """The cell as other sheets write it."""
        return f"{quoted(self.sheet)}!{self.cell}"


def write_inputs(book: Book, plan: Plan, values: Mapping[str, Value]) -> list[Written]:
    """Write sheet Inputs, and return what is used of each input."""
    sheet = book.sheet("Inputs", widths=(62, 30, 40, 18, 40, 20, 60), tab="#E69F00")
    book.write_text(sheet, 0, 0, "Inputs", "title")
    book.write_text(
        sheet,
        1,
        0,
        "Edit the yellow cells. A blank one takes what stands beside it, from Facts or Model.",
        "note",
    )
    heads = ("quantity", "name", "yours", "found", "used", "unit", "source")
    for column, head in enumerate(heads):
        book.write_text(sheet, 2, column, head, "head")
    sheet.freeze_panes(3, 0)
    written = []
    row = 3
    for node in plan.inputs:
        if node.section:
            book.write_text(sheet, row, 0, node.section, "heading")
            row += 1
        written.append(_write_input(book, sheet, row, node, values))
        row += 1
    return written


def _write_input(
    book: Book, sheet: Any, row: int, node: Given, values: Mapping[str, Value]
) -> Written:
    book.write_text(sheet, row, 0, node.label, "plain")
    book.write_text(sheet, row, 1, defined_name(node.key), "note")
    number = (
        "#,##0" if number_format(node.unit) == "#,##0" and node.found != NO_LIMIT else "General"
    )
    if node.yours is None:
        sheet.write_blank(row, YOURS, None, book.shown("edit", number))
    elif isinstance(node.yours, str):
        book.write_text(sheet, row, YOURS, node.yours, "edit")
    else:
        sheet.write_number(row, YOURS, node.yours, book.shown("edit", number))
    found = node.found_text(defined_name)
    if found is not None:
        seen = node.found_value(values)
        book.write_formula(sheet, row, FOUND, found, value=seen, style="found", number=number)
    cells = {"yours": cell_name(row, YOURS), "found": cell_name(row, FOUND)}
    text = node.text(cells.__getitem__)
    book.write_formula(sheet, row, USED, text, value=values[node.key], style="value", number=number)
    book.name(node.key, "Inputs", cell_name(row, USED))
    book.write_text(sheet, row, 5, node.unit, "unit")
    book.write_text(sheet, row, 6, node.source, "note")
    _validate(sheet, row, node)
    return Written(
        what=node.label,
        sheet="Inputs",
        cell=cell_name(row, USED),
        value=values[node.key],
        key=node.key,
    )


def _validate(sheet: Any, row: int, node: Given) -> None:
    if node.choices:
        source: Any = node.choices.split(",")
        if len(source) == 1:
            source = f"={defined_name(node.choices)}"
        rule: dict[str, Any] = {
            "validate": "list",
            "source": source,
            "error_message": "Choose from the list.",
        }
    else:
        rule = {"validate": "integer" if node.whole else "decimal"}
        low = max(node.low, -1e300)
        if math.isfinite(node.high):
            rule |= {"criteria": "between", "minimum": low, "maximum": node.high}
            bounds = f"from {node.low:g} to {node.high:g}"
        else:
            rule |= {"criteria": ">=", "value": low}
            bounds = f"of {node.low:g} or more" if math.isfinite(node.low) else "of any sign"
        kind = "whole number" if node.whole else "number"
        rule["error_message"] = f"A {kind} {bounds}, in {node.unit}."[:_LIST_LETTERS]
    rule |= {"error_title": "kvcost", "ignore_blank": True}
    sheet.data_validation(row, YOURS, row, YOURS, rule)


def _style(node: Node) -> str:
    if isinstance(node, Python):
        return "python"
    return "answer" if isinstance(node, Result | Verdict) else "value"


@dataclass(frozen=True, kw_only=True)
class _Canvas:
    """A sheet that is being written, and what it shows."""

    book: Book
    sheet: Any
    name: str
    plan: Plan
    values: Mapping[str, Value]

    def text(self, row: int, column: int, text: str, style: str) -> None:
        self.book.write_text(self.sheet, row, column, text, style)

    def formula(self, row: int, column: int, node: Node, text: str, value: Value) -> None:
        self.book.write_formula(
            self.sheet,
            row,
            column,
            text,
            value=value,
            style=_style(node),
            number=number_format(node.unit),
        )


def write_page(book: Book, plan: Plan, page: Page, values: Mapping[str, Value]) -> list[Written]:
    """Write a page of results, and return what stands on it."""
    sheet = book.sheet(page.name, widths=(56, 22, 16, 48, 34, 3, *[22] * 8), tab="#0072B2")
    canvas = _Canvas(book=book, sheet=sheet, name=page.name, plan=plan, values=values)
    canvas.text(0, 0, page.title, "title")
    canvas.text(1, 0, page.text, "note")
    for column, head in enumerate(("result", "value", "unit", "note", "formula")):
        canvas.text(2, column, head, "head")
    sheet.freeze_panes(3, 1)
    written = []
    row = 3
    for item in page.rows:
        if isinstance(item, str):
            canvas.text(row, 0, item, "heading")
        else:
            written.append(_write_row(canvas, row, item))
        row += 1
    place = 2
    for grid in page.grids:
        cells, place = write_grid(book, sheet, grid, values, top=place, left=_SWEEP_COLUMN)
        written += [
            Written(
                what=node.label, sheet=page.name, cell=cell, value=values[node.key], key=node.key
            )
            for node, cell in cells
        ]
    for sweep in page.sweeps:
        written += _write_sweep(canvas, place, sweep)
        place += len(sweep.steps) + 4 + _CHART_ROWS
    return written


def _write_row(canvas: _Canvas, row: int, node: Node) -> Written:
    value = canvas.values[node.key]
    canvas.text(row, 0, node.label, "plain")
    canvas.formula(row, 1, node, node.text(defined_name), value)
    canvas.book.name(node.key, canvas.name, cell_name(row, 1))
    canvas.text(row, 2, node.unit, "unit")
    canvas.text(row, 3, node.note, "note")
    if isinstance(node, Result):
        canvas.text(row, 4, node.formula, "note")
    return Written(
        what=node.label, sheet=canvas.name, cell=cell_name(row, 1), value=value, key=node.key
    )


def _write_sweep(canvas: _Canvas, top: int, sweep: Sweep) -> list[Written]:
    left = _SWEEP_COLUMN
    canvas.text(top, left, sweep.title, "heading")
    heads = ["times" if sweep.base else sweep.axis, sweep.axis]
    heads += [f"{column.label} [{column.unit}]" for column in sweep.columns]
    for place, head in enumerate(heads):
        canvas.text(top + 1, left + place, head, "head")
    columns = {AXIS: left + 1}
    columns |= {column.key: left + 2 + place for place, column in enumerate(sweep.columns)}
    templates = {node.key: _template(node, columns) for node in sweep.columns}
    written = []
    first = top + 2
    values = canvas.plan.sweep_values(sweep, canvas.values)
    for place, (step, numbers) in enumerate(zip(sweep.steps, values, strict=True)):
        row = first + place
        canvas.sheet.write_number(row, left, step, canvas.book.styles["edit"])
        factor = f"*{defined_name(sweep.base)}" if sweep.base else ""
        axis = f"={cell_name(row, left)}{factor}"
        canvas.book.write_formula(
            canvas.sheet,
            row,
            left + 1,
            axis,
            value=numbers[0],
            style="value",
            number="#,##0" if sweep.base else "General",
        )
        for node, value in zip(sweep.columns, numbers[1:], strict=True):
            column = columns[node.key]
            text = _in_row(templates[node.key], row, columns)
            canvas.formula(row, column, node, text, value)
            written.append(
                Written(
                    what=f"{sweep.title}: {node.label}, {number_text(step)}",
                    sheet=canvas.name,
                    cell=cell_name(row, column),
                    value=value,
                    key=f"{sweep.key}.{node.key}.{place}",
                )
            )
    _draw(canvas, first, sweep, columns)
    return written


def _template(node: Node, columns: Mapping[str, int]) -> str:
    """Return a column's text with a mark for each cell of its row: printing once is enough."""
    return node.text(lambda key: f"{_MARK}{key}" if key in columns else defined_name(key))


def _in_row(template: str, row: int, columns: Mapping[str, int]) -> str:
    return re.sub(rf"\b{_MARK}(\w+)", lambda match: cell_name(row, columns[match[1]]), template)


def _draw(canvas: _Canvas, first: int, sweep: Sweep, columns: Mapping[str, int]) -> None:
    drawn, page = sweep.chart, canvas.name
    last = first + len(sweep.steps) - 1
    chart = canvas.book.made.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
    for place, key in enumerate(drawn.series):
        colour = COLOURS[place % len(COLOURS)]
        marker = ("circle", "square", "diamond", "triangle")[place % 4]
        chart.add_series(
            {
                "name": [page, first - 1, columns[key]],
                "categories": [page, first, columns[AXIS], last, columns[AXIS]],
                "values": [page, first, columns[key], last, columns[key]],
                "line": {"color": colour, "width": 1.75},
                "marker": {
                    "type": marker,
                    "size": 5,
                    "fill": {"color": colour},
                    "border": {"color": colour},
                },
            }
        )
    chart.set_title({"name": drawn.title, "overlay": False, "name_font": {"size": 12}})
    for set_axis, title, log in (
        (chart.set_x_axis, drawn.x_title, drawn.log_x),
        (chart.set_y_axis, drawn.y_title, drawn.log_y),
    ):
        axis: dict[str, Any] = {"name": title, "major_gridlines": {"visible": True}}
        axis["major_gridlines"]["line"] = {"color": "#D9D9D9"}
        # values below the first power stay left of and below the axes
        axis |= {"log_base": 10, "crossing": "min", "num_format": "0E+00"} if log else {"min": 0}
        set_axis(axis)
    chart.set_legend({"position": "bottom"})
    chart.show_na_as_empty_cell()
    chart.set_size({"width": 620, "height": 20 * (_CHART_ROWS - 1)})
    canvas.sheet.insert_chart(last + 2, _SWEEP_COLUMN, chart, {"description": drawn.title})
