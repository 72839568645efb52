"""What a formula's docstring says, and how a notebook shows it."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kvcost.formula.core import Formula

__all__ = ["Documentation", "markdown", "read_docstring"]

_SECTION = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}\n", re.MULTILINE)


@dataclass(frozen=True, kw_only=True)
class Documentation:
    """The parts of a docstring.

    Attributes
    ----------
    summary : str
        The first sentence.
    notes : str
        Assumptions and validity.
    references : tuple of str
        Sources, one a string.
    """

    summary: str
    notes: str
    references: tuple[str, ...]


def read_docstring(formula: Formula) -> Documentation:
    """Return the parts of a formula's docstring.

    Parameters
    ----------
    formula : Formula
        A registered formula.

    Returns
    -------
    Documentation
        Its summary, notes and references.
    """
    text = inspect.cleandoc(formula.__doc__ or "")
    pieces = _SECTION.split(text)
    sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
    sources = re.split(r"^\.\. \[\d+\] ", sections.get("References", ""), flags=re.MULTILINE)
    return Documentation(
        summary=" ".join(pieces[0].split()),
        notes=sections.get("Notes", "").strip(),
        references=tuple(" ".join(source.split()) for source in sources if source.strip()),
    )


def markdown(formula: Formula) -> str:
    """Return a formula as Markdown: equation, variables, units and sources.

    Parameters
    ----------
    formula : Formula
        A registered formula.

    Returns
    -------
    str
        Markdown with LaTeX.
    """
    said = formula.documentation
    lines = [
        f"**`{formula.name}`** [{formula.unit}]: {said.summary}",
        "",
        f"$${formula.latex()}$$",
        "",
        "| symbol | argument | unit | meaning |",
        "|---|---|---|---|",
    ]
    lines += [
        f"| ${quantity.symbol}$ | `{name}` | {quantity.unit} | {quantity.text} |"
        for name, quantity in formula.parameters.items()
    ]
    if said.notes:
        lines += ["", said.notes]
    lines += ["", *(f"- {source}" for source in said.references)]
    return "\n".join(lines)
