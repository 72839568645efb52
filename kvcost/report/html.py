"""A page as one HTML file: no script, no network, nothing of the scenario unescaped."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING

from kvcost.report.blocks import Equation, Heading, Items, Paragraph, Picture, Table
from kvcost.report.mathml import mathml
from kvcost.report.text import visible

if TYPE_CHECKING:
    from kvcost.report.blocks import Block, Page

__all__ = ["to_html"]

_STYLE = """
:root { color-scheme: light dark; --line: #8888; --soft: #8882; }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 52rem; padding: 1rem; font: 1rem/1.5 system-ui, sans-serif;
  overflow-wrap: break-word; }
h1 { font-size: 1.6rem; line-height: 1.2; }
h2 { font-size: 1.3rem; margin-top: 2.2rem; border-bottom: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin-top: 1.6rem; }
.lead { font-size: 1.15rem; padding: .8rem 1rem; background: var(--soft); border-radius: .4rem;
  border-left: .3rem solid #0072B2; }
.missed { border-left-color: #D55E00; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-size: .9rem; }
caption { text-align: left; font-style: italic; padding: .3rem 0; }
th, td { text-align: left; vertical-align: top; padding: .3rem .6rem;
  border-bottom: 1px solid var(--line); min-width: 4rem; }
.numbers th:first-child { position: sticky; left: 0; background: Canvas; }
.numbers td { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap;
  min-width: 0; }
.numbers th { white-space: nowrap; min-width: 0; }
figure { margin: 1rem 0; }
figure svg { display: block; width: 100%; height: auto; max-width: 34rem; background: #fff;
  border-radius: .3rem; }
figcaption { font-size: .9rem; }
math { font-size: 1.05rem; }
.equation { padding: .5rem 0; }
code { overflow-wrap: anywhere; }
li { margin: .3rem 0; }
@media print { .scroll { overflow: visible; } }
"""

_ROOT = re.compile(r"<svg\b[^>]*>")
_SIZE = re.compile(r'\b(viewBox)="([^"]*)"')
_ARIA = re.compile(r' (?:aria-[a-z]+|role|xmlns(?::[a-z]+)?)="[^"]*"')
_NAMED = re.compile(r'\bid="([^"]+)"')


def _said(text: str) -> str:
    return html.escape(visible(text), quote=True)


def _picture(block: Picture, number: int) -> str:
    root = _ROOT.search(block.svg)
    assert root is not None
    box = _SIZE.search(root.group())
    body = _ARIA.sub("", block.svg[root.end() :])
    # ids are those of one page now, and do not depend on what was drawn before
    for place, name in enumerate(dict.fromkeys(_NAMED.findall(body))):
        new = f"chart{number}-part{place}"
        body = body.replace(f'id="{name}"', f'id="{new}"').replace(f"url(#{name})", f"url(#{new})")
    view = f' viewBox="{box.group(2)}"' if box else ""
    alt = _said(block.alt)
    opening = f'<svg{view} role="img" aria-label="{alt}"><title>{alt}</title>'
    caption = f"<figcaption>{_said(block.caption)}</figcaption>" if block.caption else ""
    return f"<figure>{opening}{body}{caption}</figure>"


def _table(block: Table) -> str:
    kind = ' class="numbers"' if block.numbers else ""
    head = "".join(f'<th scope="col">{_said(name)}</th>' for name in block.header)
    rows = "".join(
        f'<tr><th scope="row">{_said(first)}</th>'
        + "".join(f"<td>{_said(cell)}</td>" for cell in rest)
        + "</tr>\n"
        for first, *rest in block.rows
    )
    label = _said(block.caption)
    return (
        f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">'
        f"<table{kind}><caption>{label}</caption>\n<thead><tr>{head}</tr></thead>\n"
        f"<tbody>\n{rows}</tbody></table></div>"
    )


def _math(latex: str, *, block: bool = False) -> str:
    return mathml(latex, block=block) or f"<code>{html.escape(latex)}</code>"


def _equation(block: Equation) -> str:
    formula = block.formula
    lines = [
        f"<p>{_said(block.summary)}</p>",
        '<div class="scroll equation" role="region" tabindex="0" '
        f'aria-label="{_said(formula.name)}">{_math(formula.latex(), block=True)}</div>',
        "<ul>",
        *(
            f"<li>{_math(quantity.symbol)}: {_said(quantity.text)} [{_said(quantity.unit)}]</li>"
            for quantity in formula.parameters.values()
        ),
        "</ul>",
        *(f"<p>{_said(source)}</p>" for source in formula.documentation.references),
    ]
    return "\n".join(lines)


def _block(block: Block, number: int) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{_said(block.text)}</h{block.level}>"
    if isinstance(block, Paragraph):
        lead = ' class="lead"' if block.lead else ""
        return f"<p{lead}>{_said(block.text)}</p>"
    if isinstance(block, Items):
        return "<ul>" + "".join(f"<li>{_said(text)}</li>" for text in block.texts) + "</ul>"
    if isinstance(block, Table):
        return _table(block)
    if isinstance(block, Picture):
        return _picture(block, number)
    assert isinstance(block, Equation)
    return _equation(block)


def to_html(page: Page) -> str:
    """Return a page as HTML.

    Parameters
    ----------
    page : Page
        From `build_report`.

    Returns
    -------
    str
        A document of its own: styles and charts are in it, scripts are not.
    """
    missed = f'<p class="lead missed">{_said(page.missed)}</p>\n' if page.missed is not None else ""
    body = "\n".join(_block(block, number) for number, block in enumerate(page.blocks))
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_said(page.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{_said(page.title)}</h1>\n{missed}{body}\n</main>\n</body>\n</html>\n"
    )
