"""A workbook under construction: styles, cached values, names, and text that stays text."""

from __future__ import annotations

import math
import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from kvcost.errors import ConfigError
from kvcost.formula.printing.sheet import defined_name

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from kvcost.sheet.nodes import Value

__all__ = ["COLOURS", "NOTHING", "Book", "cell_name", "number_format", "open_book", "quoted"]

NOTHING = "#N/A"
"""What a cell says where Python gives nan or infinity."""

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00")
"""Colours that people with any colour vision tell apart (Okabe and Ito)."""

_LIGHT = {"border": 1, "border_color": "#BFBFBF"}
_STYLES: dict[str, dict[str, Any]] = {
    "title": {"bold": True, "font_size": 16},
    "heading": {"bold": True, "font_size": 12, "bottom": 1},
    "head": {"bold": True, "bg_color": "#E8EEF4", "valign": "top", **_LIGHT},
    "text": {"text_wrap": True, "valign": "top"},
    "plain": {"valign": "top"},
    "note": {"font_color": "#595959", "valign": "top"},
    "unit": {"font_color": "#595959", "valign": "top", "indent": 1},
    "edit": {
        "bg_color": "#FFF2B3",
        "font_color": "#003B7A",
        "align": "right",
        "locked": False,
        **_LIGHT,
    },
    "found": {"font_color": "#595959", "align": "right", **_LIGHT},
    "value": {"align": "right", **_LIGHT},
    "answer": {"align": "right", "bold": True, "bg_color": "#E3F1E8", **_LIGHT},
    "python": {"align": "right", "italic": True, "bg_color": "#EDE7F3", **_LIGHT},
    "good": {"bg_color": "#E3F1E8"},
    "bad": {"bg_color": "#F8D7CE", "bold": True},
    "changed": {"bg_color": "#FFF2B3"},
}


_PLAIN_NUMBER = "General"
_SHOWN_AS = {
    "#,##0": frozenset({"byte", "byte/s", "byte/token", "token", "byte/s/shard", "byte/s/rank"}),
    "0.0000": frozenset({"s", "1"}),
    "0.000E+00": frozenset({"s/byte", "s/token", "s/token^2", "FLOP/s", "FLOP/s/accelerator"}),
}


def number_format(unit: str) -> str:
    """Return how numbers of a unit are shown; their values stay as they are."""
    return next((shown for shown, units in _SHOWN_AS.items() if unit in units), _PLAIN_NUMBER)


def cell_name(row: int, column: int) -> str:
    """Return a cell's name, from 0: (0, 1) is B1."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row + 1}"


def quoted(sheet: str) -> str:
    """Return a sheet's name as formulas write it."""
    return sheet if sheet.isalnum() else f"'{sheet}'"


class Book:
    """A workbook under construction.

    Parameters
    ----------
    made : xlsxwriter.Workbook
        The open file.
    sentinel : float, optional
        Written as the cached value of every formula instead of Python's, so that a test sees which
        cells were recalculated.
    """

    def __init__(self, made: Any, *, sentinel: float | None = None) -> None:
        self.made = made
        self._sentinel = sentinel
        self.formulas: list[tuple[str, str, Value]] = []
        self.styles = {name: made.add_format(style) for name, style in _STYLES.items()}
        self._shown: dict[tuple[str, str], Any] = {}
        # what users supply stays text even when it is edited in place
        for name in ("text", "plain", "note", "unit", "title"):
            self.styles[name].set_quote_prefix()

    def sheet(self, name: str, *, widths: tuple[float, ...], tab: str = "") -> Any:
        """Return a new sheet with columns of the given widths."""
        made = self.made.add_worksheet(name)
        made.hide_gridlines(2)
        made.set_landscape()
        made.fit_to_pages(1, 0)
        for column, width in enumerate(widths):
            made.set_column(column, column, width)
        if tab:
            made.set_tab_color(tab)
        return made

    def write_text(self, sheet: Any, row: int, column: int, text: str, style: str) -> None:
        """Write a text as it is, whatever it starts with."""
        sheet.write_string(row, column, text, self.styles[style])

    def write_value(self, sheet: Any, row: int, column: int, value: Value, style: str) -> None:
        """Write a number or a text that is no formula; what is no number becomes words."""
        if isinstance(value, str):
            self.write_text(sheet, row, column, value, style)
        elif math.isfinite(value):
            sheet.write_number(row, column, value, self.styles[style])
        else:
            self.write_text(sheet, row, column, "no number", style)

    def shown(self, style: str, number: str) -> Any:
        """Return a style that shows numbers in a format."""
        if number == _PLAIN_NUMBER:
            return self.styles[style]
        if (style, number) not in self._shown:
            made = self.made.add_format(_STYLES[style] | {"num_format": number})
            self._shown[style, number] = made
        return self._shown[style, number]

    def write_formula(
        self,
        sheet: Any,
        row: int,
        column: int,
        text: str,
        *,
        value: Value,
        style: str,
        number: str = _PLAIN_NUMBER,
    ) -> None:
        """Write a formula with Python's value as its cached value."""
        cached: Value = value
        if isinstance(value, float) and not math.isfinite(value):
            cached = NOTHING
        shown = cached if self._sentinel is None else self._sentinel
        sheet.write_formula(row, column, text, self.shown(style, number), shown)
        self.formulas.append((sheet.get_name(), cell_name(row, column), cached))

    def name(self, key: str, sheet: str, cells: str) -> None:
        """Define a name for cells of a sheet, such as B3 or B3:B9."""
        absolute = ":".join(_absolute(cell) for cell in cells.split(":"))
        self.made.define_name(defined_name(key), f"={quoted(sheet)}!{absolute}")


def _absolute(cell: str) -> str:
    letters = cell.rstrip("0123456789")
    return f"${letters}${cell[len(letters) :]}"


@contextmanager
def open_book(path: Path, *, sentinel: float | None = None) -> Iterator[Book]:
    """Open a workbook for writing, and close it; what XlsxWriter warns of is an error.

    Parameters
    ----------
    path : Path
        The file.
    sentinel : float, optional
        See `Book`.

    Yields
    ------
    Book
        The open workbook.

    Raises
    ------
    ConfigError
        If XlsxWriter is not installed.
    """
    try:
        import xlsxwriter  # noqa: PLC0415 - an extra, and loaded only when asked for
    except ImportError:
        raise ConfigError(
            path="xlsxwriter",
            problem="is not installed, and workbooks need it",
            remedy='pip install "kvcost[sheet]"',
        ) from None
    options = {
        "strings_to_formulas": False,
        "strings_to_numbers": False,
        "strings_to_urls": False,
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        made = xlsxwriter.Workbook(str(path), options)
        yield Book(made, sentinel=sentinel)
        made.close()
