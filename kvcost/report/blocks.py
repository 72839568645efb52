"""What a page is made of, before it is HTML or Markdown; all texts are plain."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from kvcost.formula.core import Formula

__all__ = ["Block", "Equation", "Heading", "Items", "Page", "Paragraph", "Picture", "Table"]


@dataclass(frozen=True, kw_only=True)
class Heading:
    """A heading of level 2 or 3; the page's title is the only one of level 1."""

    level: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Paragraph:
    """A paragraph; `lead` marks the answer."""

    text: str
    lead: bool = False


@dataclass(frozen=True, kw_only=True)
class Items:
    """A list without order."""

    texts: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Table:
    """A table.

    Attributes
    ----------
    caption : str
        What it shows.
    header : tuple of str
        Names of the columns.
    rows : tuple of tuple of str
        Cells; the first of each row names it.
    numbers : bool
        Whether the other cells are numbers.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    numbers: bool = False


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A chart as SVG.

    Attributes
    ----------
    svg : str
        One ``svg`` element.
    alt : str
        What it shows, in words.
    caption : str
        How to read it.
    """

    svg: str
    alt: str
    caption: str


@dataclass(frozen=True, kw_only=True)
class Equation:
    """A registered formula with its variables."""

    formula: Formula

    @property
    def summary(self) -> str:
        """What the formula gives, as a heading's first sentence."""
        text = self.formula.documentation.summary.removeprefix("Return ")
        return text[:1].upper() + text[1:]


Block: TypeAlias = Heading | Paragraph | Items | Table | Picture | Equation


@dataclass(frozen=True, kw_only=True)
class Page:
    """A report.

    Attributes
    ----------
    title : str
        Of the scenario.
    answer : str
        The answer in one sentence.
    missed : str or None
        The budget that was missed, in words.
    blocks : tuple of Block
        Everything under the title.
    """

    title: str
    answer: str
    missed: str | None
    blocks: tuple[Block, ...]
