"""What a plan is made of: pages of rows, tables of rows for charts, and their values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvcost.errors import FormulaError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from kvcost.sheet.nodes import Given, Node, Table, Value

__all__ = ["AXIS", "Chart", "Grid", "Page", "Plan", "Row", "Sweep"]

AXIS = "x"
"""Name by which the columns of a sweep know the value of its axis."""


@dataclass(frozen=True, kw_only=True)
class Chart:
    """A chart of a sweep: its columns over its axis.

    Attributes
    ----------
    title, x_title, y_title : str
        Texts.
    series : tuple of str
        Keys of the columns that are drawn.
    log_x, log_y : bool
        Logarithmic axes.
    """

    title: str
    x_title: str
    y_title: str
    series: tuple[str, ...]
    log_x: bool = False
    log_y: bool = False


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """Rows over the values of one quantity.

    Attributes
    ----------
    key : str
        Name.
    title : str
        Heading.
    axis : str
        What the steps are, for people, with its unit.
    steps : tuple of float
        Values of the axis, or multiples of `base`.
    base : str
        Row that the steps are multiples of; empty if they are values.
    columns : tuple of Node
        What is computed for each value; they know the axis as ``x`` and each other by key.
    chart : Chart
        How it is drawn.
    """

    key: str
    title: str
    axis: str
    steps: tuple[float, ...]
    base: str = ""
    columns: tuple[Node, ...]
    chart: Chart


@dataclass(frozen=True, kw_only=True)
class Row:
    """A row of a `Grid`.

    Attributes
    ----------
    label : str
        What it is about.
    cells : tuple of Node
        Its numbers.
    texts : tuple of str
        Words after them.
    """

    label: str
    cells: tuple[Node, ...]
    texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Grid:
    """A table of single cells, with a chart of bars.

    Attributes
    ----------
    key, title : str
        Name, and heading.
    heads : tuple of str
        Of all columns, the labels' first.
    rows : tuple of Row
        Its rows.
    notes : tuple of str
        Lines below.
    chart_title, axis_title : str
        Texts of the chart.
    drawn : tuple of int
        Which of the cells of a row it shows.
    """

    key: str
    title: str
    heads: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]
    chart_title: str
    axis_title: str
    drawn: tuple[int, ...]


@dataclass(frozen=True, kw_only=True)
class Page:
    """A sheet of results.

    Attributes
    ----------
    name : str
        Name of the sheet.
    title, text : str
        Heading, and what it answers.
    rows : tuple of Node or str
        Results; a text is a heading.
    sweeps : tuple of Sweep
        Tables with charts.
    grids : tuple of Grid
        Tables of single cells.
    """

    name: str
    title: str
    text: str
    rows: tuple[Node | str, ...]
    sweeps: tuple[Sweep, ...] = ()
    grids: tuple[Grid, ...] = ()

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The rows that compute, and the cells of grids."""
        cells = (cell for grid in self.grids for row in grid.rows for cell in row.cells)
        return (*(row for row in self.rows if not isinstance(row, str)), *cells)


class _Lazy(dict[str, "Value"]):
    """Values by name, computed when they are asked for."""

    def __init__(self, nodes: Mapping[str, Node], given: Mapping[str, Value]) -> None:
        super().__init__(given)
        self._nodes = nodes
        self._open: set[str] = set()

    def __missing__(self, key: str) -> Value:
        if key not in self._nodes or key in self._open:
            problem = "depends on itself" if key in self._open else "is no row of the workbook"
            raise FormulaError(formula=key, problem=problem)
        self._open.add(key)
        found = self._nodes[key].value(self)
        self[key] = found
        return found


@dataclass(frozen=True, kw_only=True)
class Plan:
    """All that a workbook computes.

    Attributes
    ----------
    inputs : tuple of Given
        What the user may change.
    pages : tuple of Page
        Sheets of results.
    tables : mapping of str to Table
        Facts.
    """

    inputs: tuple[Given, ...]
    pages: tuple[Page, ...]
    tables: Mapping[str, Table]

    def nodes(self) -> Iterator[tuple[str, Node]]:
        """Yield each row with the name of its sheet."""
        for given in self.inputs:
            yield "Inputs", given
        for page in self.pages:
            for node in page.nodes:
                yield page.name, node

    def values(
        self, changed: Mapping[str, Value] | None = None, *, keys: Iterable[str] | None = None
    ) -> dict[str, Value]:
        """Return Python's value of each row.

        Parameters
        ----------
        changed : mapping of str to float or str, optional
            Inputs that differ from those shipped.
        keys : iterable of str, optional
            Rows that are wanted; all if not given.

        Returns
        -------
        dict
            By the row's key; nan where a cell says ``#N/A``.
        """
        known = {node.key: node for _, node in self.nodes()}
        given: dict[str, Value] = {"inputs_changed": float(len(changed or {}))}
        for key, value in (changed or {}).items():
            if key not in {node.key for node in self.inputs}:
                raise FormulaError(formula=key, problem="is no input of the workbook")
            given[key] = value
        lazy = _Lazy(known, given)
        return {key: lazy[key] for key in (known if keys is None else keys)}

    def sweep_values(self, sweep: Sweep, values: Mapping[str, Value]) -> list[list[Value]]:
        """Return Python's values of a sweep: a row a step, the axis first."""
        rows = []
        for step in sweep.steps:
            base = values[sweep.base] if sweep.base else 1.0
            local: dict[str, Value] = dict(values)
            local[AXIS] = step * base if not isinstance(base, str) else float("nan")
            row = [local[AXIS]]
            for column in sweep.columns:
                local[column.key] = column.value(local)
                row.append(local[column.key])
            rows.append(row)
        return rows
