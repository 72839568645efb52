"""What a workbook computes: rows that each know their cell text and Python's value.

A row is a formula of the registry, or plumbing between them: a value that is given, a look-up in a
table of facts, a sum, a quotient, a choice. Text and value come from the same fields, so neither
can say anything that the other does not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from kvcost.breakeven.verdict import TIE, verdict_of
from kvcost.formula import get
from kvcost.formula.printing.sheet import cell_text, defined_name, number_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = [
    "Choice",
    "Constant",
    "Given",
    "Lookup",
    "Node",
    "Positive",
    "Product",
    "Python",
    "Result",
    "Table",
    "Total",
    "Value",
    "Verdict",
    "result",
]

Value = float | str


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table of facts: a column of names, and columns of numbers.

    Attributes
    ----------
    name : str
        What its defined names end in.
    title : str
        Heading.
    columns : tuple of str
        Headings of the numbers; look-ups name them.
    rows : tuple of (str, tuple)
        Name, and a number or None (not known) for each column.
    source : mapping of str to str
        Where each row comes from.
    note : str
        What a reader must know.
    """

    name: str
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[float | None, ...]], ...]
    source: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def value(self, name: str, column: str) -> float:
        """Return a number; nan where it is not known."""
        if column not in self.columns:
            return math.nan
        place = self.columns.index(column)
        for label, numbers in self.rows:
            if label.lower() == name.lower():
                found = numbers[place]
                return math.nan if found is None else found
        return math.nan


class Node(Protocol):
    """A row: its name, what it is, its cell text and Python's value."""

    @property
    def key(self) -> str:
        """Name, unique in the workbook."""
        ...

    @property
    def label(self) -> str:
        """What it is, for people."""
        ...

    @property
    def unit(self) -> str:
        """Unit of the value."""
        ...

    @property
    def note(self) -> str:
        """What a reader must know."""
        ...

    def text(self, ref: Callable[[str], str]) -> str:
        """Return the cell text; `ref` gives the cell of another row."""
        ...

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return Python's value, given those of the rows before."""
        ...


@dataclass(frozen=True, kw_only=True)
class _Base:
    key: str
    label: str = ""
    unit: str = ""
    note: str = ""


@dataclass(frozen=True, kw_only=True)
class Given(_Base):
    """An input: what the user writes, or else what the workbook finds.

    Attributes
    ----------
    yours : float, str or None
        What is written in the cell; None leaves it blank.
    found : str, float or None
        A row, or a number, that stands in where the cell is blank.
    source : str
        Where the value comes from.
    low, high : float
        Bounds.
    whole : bool
        Whole numbers only.
    choices : str
        Defined name of the list to choose from.
    section : str
        Heading that starts above it.
    """

    yours: Value | None = None
    found: str | float | None = None
    source: str = ""
    low: float = 0.0
    high: float = math.inf
    whole: bool = False
    choices: str = ""
    section: str = ""

    def found_text(self, ref: Callable[[str], str]) -> str | None:
        """Return the text of the cell beside: what the workbook finds."""
        if self.found is None:
            return None
        return f"={ref(self.found) if isinstance(self.found, str) else number_text(self.found)}"

    def found_value(self, values: Mapping[str, Value]) -> Value:
        """Return what the workbook finds."""
        if self.found is None:
            return math.nan
        return values[self.found] if isinstance(self.found, str) else self.found

    def text(self, ref: Callable[[str], str]) -> str:
        """Return the cell text."""
        yours, found = ref("yours"), ref("found")
        return f"=IF(ISBLANK({yours}),{'NA()' if self.found is None else found},{yours})"

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return the value."""
        return self.found_value(values) if self.yours is None else self.yours


@dataclass(frozen=True, kw_only=True)
class Constant(_Base):
    """A number that is no input; nan is none."""

    number: float

    def text(self, ref: Callable[[str], str]) -> str:  # noqa: ARG002 - rows are alike
        """Return the number."""
        return f"={number_text(self.number)}" if math.isfinite(self.number) else "=NA()"

    def value(self, values: Mapping[str, Value]) -> Value:  # noqa: ARG002 - rows are alike
        """Return the number."""
        return self.number


@dataclass(frozen=True, kw_only=True)
class Lookup(_Base):
    """A number of a table of facts, found by the name that an input holds."""

    table: Table
    name: str
    column: str = ""
    column_key: str = ""

    def text(self, ref: Callable[[str], str]) -> str:
        """Return INDEX and MATCH; ``NA()`` where the number is not known."""
        row = f"MATCH({ref(self.name)},{defined_name(f'list_{self.table.name}')},0)"
        if self.column_key:
            heads = defined_name(f"heads_{self.table.name}")
            column = f"MATCH({ref(self.column_key)},{heads},0)"
        else:
            column = str(self.table.columns.index(self.column) + 1)
        found = f"INDEX({defined_name(f'table_{self.table.name}')},{row},{column})"
        return f"=IFERROR(IF(ISNUMBER({found}),{found},NA()),NA())"

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return the number."""
        column = str(values[self.column_key]) if self.column_key else self.column
        return self.table.value(str(values[self.name]), column)


def _number(value: Value) -> float:
    return math.nan if isinstance(value, str) else value


@dataclass(frozen=True, kw_only=True)
class Total(_Base):
    """A sum of rows, less others."""

    plus: tuple[str, ...]
    minus: tuple[str, ...] = ()

    def text(self, ref: Callable[[str], str]) -> str:
        """Return a sum."""
        return "=" + "+".join(map(ref, self.plus)) + "".join(f"-{ref(key)}" for key in self.minus)

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return the sum."""
        total = _number(values[self.plus[0]])
        for key in self.plus[1:]:
            total += _number(values[key])
        for key in self.minus:
            total -= _number(values[key])
        return total


@dataclass(frozen=True, kw_only=True)
class Product(_Base):
    """A product of rows, divided by others."""

    times: tuple[str, ...]
    over: tuple[str, ...] = ()

    def text(self, ref: Callable[[str], str]) -> str:
        """Return a product; ``NA()`` where a divisor is 0."""
        body = "*".join(map(ref, self.times)) + "".join(f"/{ref(key)}" for key in self.over)
        return f"=IFERROR({body},NA())" if self.over else f"={body}"

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return the product."""
        made = _number(values[self.times[0]])
        for key in self.times[1:]:
            made *= _number(values[key])
        for key in self.over:
            divisor = _number(values[key])
            made = made / divisor if divisor else math.nan
        return made


@dataclass(frozen=True, kw_only=True)
class Choice(_Base):
    """One of two rows, by the word that an input holds."""

    word_key: str
    word: str
    then: str
    otherwise: str

    def text(self, ref: Callable[[str], str]) -> str:
        """Return an IF."""
        chosen = f'{ref(self.word_key)}="{self.word}"'
        return f"=IF({chosen},{ref(self.then)},{ref(self.otherwise)})"

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return the chosen value."""
        chosen = str(values[self.word_key]).lower() == self.word.lower()
        return values[self.then if chosen else self.otherwise]


@dataclass(frozen=True, kw_only=True)
class Positive(_Base):
    """One row where another is above zero, else a third."""

    test: str
    then: str
    otherwise: str

    def text(self, ref: Callable[[str], str]) -> str:
        """Return an IF."""
        return f"=IF({ref(self.test)}>0,{ref(self.then)},{ref(self.otherwise)})"

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return the chosen value."""
        test = _number(values[self.test])
        if math.isnan(test):
            return math.nan
        return values[self.then if test > 0 else self.otherwise]


@dataclass(frozen=True, kw_only=True)
class Result(_Base):
    """A formula of the registry; arguments that are not mapped are rows of the same name."""

    formula: str
    arguments: Mapping[str, str] = field(default_factory=dict)

    def text(self, ref: Callable[[str], str]) -> str:
        """Return the text that the registry's printer gives."""
        known = get(self.formula)
        cells = {name: ref(self.arguments.get(name, name)) for name in known.parameters}
        return cell_text(known, cells)

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return the formula's value."""
        known = get(self.formula)
        given = {name: _number(values[self.arguments.get(name, name)]) for name in known.parameters}
        if not all(math.isfinite(number) for number in given.values()):
            return math.nan
        # a negative zero is a zero in a cell
        return float(known(**given)) + 0.0


@dataclass(frozen=True, kw_only=True)
class Verdict(_Base):
    """Which of two times is shorter, in a word."""

    recompute: str
    hit: str
    margin: str

    def text(self, ref: Callable[[str], str]) -> str:
        """Return IFs over the margin."""
        saved = ref(self.margin)
        words = f'IF({saved}>0,"fetch","recompute")'
        return f'=IF(ISNUMBER({saved}),IF(ABS({saved})<={number_text(TIE)},"tie",{words}),NA())'

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return the word."""
        times = {
            "recompute_seconds": _number(values[self.recompute]),
            "hit_seconds": _number(values[self.hit]),
        }
        if any(math.isnan(time) for time in times.values()) or not times["recompute_seconds"]:
            return math.nan
        return verdict_of(**times)


@dataclass(frozen=True, kw_only=True)
class Python(_Base):
    """A number that needs Python: it holds for the inputs as shipped, and then is ``NA()``."""

    number: float

    def text(self, ref: Callable[[str], str]) -> str:
        """Return the number, while no input is changed."""
        if not math.isfinite(self.number):
            return "=NA()"
        return f"=IF({ref('inputs_changed')}=0,{number_text(self.number)},NA())"

    def value(self, values: Mapping[str, Value]) -> Value:
        """Return the number, while no input is changed."""
        return math.nan if values.get("inputs_changed", 0.0) else self.number


def result(key: str, label: str, formula: str = "", note: str = "", **arguments: str) -> Result:
    """Return a row that computes a formula, named as the row if no other is said.

    Parameters
    ----------
    key, label, formula, note
        See `Result`.
    **arguments : str
        Rows that stand for the formula's arguments, where they differ in name.

    Returns
    -------
    Result
        The row, in the formula's unit.
    """
    name = formula or key
    return Result(
        key=key,
        label=label,
        unit=get(name).unit,
        note=note,
        formula=name,
        arguments=arguments,
    )
