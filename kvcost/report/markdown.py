"""A page as one Markdown file, its charts inside as data."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from kvcost.report.blocks import Equation, Heading, Items, Paragraph, Picture, Table
from kvcost.report.text import markdown_text as _said

if TYPE_CHECKING:
    from kvcost.report.blocks import Block, Page

__all__ = ["to_markdown"]


def _table(block: Table) -> str:
    rule = ["---", *(["---:" if block.numbers else "---"] * (len(block.header) - 1))]
    lines = [
        "| " + " | ".join(_said(name) for name in block.header) + " |",
        "|" + "|".join(rule) + "|",
        *("| " + " | ".join(_said(cell) for cell in row) + " |" for row in block.rows),
    ]
    return f"*{_said(block.caption)}*\n\n" + "\n".join(lines)


def _equation(block: Equation) -> str:
    formula = block.formula
    lines = [
        _said(block.summary),
        "",
        f"$${formula.latex()}$$",
        "",
        *(
            f"- ${quantity.symbol}$: {_said(quantity.text)} [{_said(quantity.unit)}]"
            for quantity in formula.parameters.values()
        ),
    ]
    sources = [_said(source) for source in formula.documentation.references]
    return "\n".join([*lines, *(f"\n{source}" for source in sources)])


def _block(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {_said(block.text)}"
    if isinstance(block, Paragraph):
        return f"**{_said(block.text)}**" if block.lead else _said(block.text)
    if isinstance(block, Items):
        return "\n".join(f"- {_said(text)}" for text in block.texts)
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Picture):
        data = base64.b64encode(block.svg.encode()).decode()
        image = f"![{_said(block.alt)}](data:image/svg+xml;base64,{data})"
        return f"{image}\n\n{_said(block.caption)}" if block.caption else image
    assert isinstance(block, Equation)
    return _equation(block)


def to_markdown(page: Page) -> str:
    """Return a page as Markdown.

    Parameters
    ----------
    page : Page
        From `build_report`.

    Returns
    -------
    str
        Equations are in LaTeX between dollar signs.
    """
    parts = [f"# {_said(page.title)}"]
    if page.missed is not None:
        parts.append(f"**{_said(page.missed)}**")
    parts += [_block(block) for block in page.blocks]
    return "\n\n".join(parts) + "\n"
