"""A library of LAMBDA functions for Excel 365: a workbook, and text for its formula editor."""

from __future__ import annotations

import math
import zipfile
from typing import TYPE_CHECKING
from xml.sax.saxutils import quoteattr

from kvcost import __version__
from kvcost.formula import registry
from kvcost.formula.printing.sheet import number_text
from kvcost.sheet.book import open_book
from kvcost.sheet.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from kvcost.formula import Formula, Quantity

__all__ = ["example_inputs", "lambda_module", "lambda_name", "write_lambdas"]

_PREFIX = "KV."
_WIDE = 50
_MOST_COMMENT = 255


def lambda_name(formula: Formula) -> str:
    """Return the name of a formula's function: ``KV.BREAK_EVEN_TOKENS``.

    Parameters
    ----------
    formula : Formula
        A registered formula.

    Returns
    -------
    str
        Its name in capitals, with a prefix.
    """
    return _PREFIX + formula.name.upper()


def example_inputs(formula: Formula) -> dict[str, float]:
    """Return inputs in the middle of their typical ranges.

    Parameters
    ----------
    formula : Formula
        A registered formula.

    Returns
    -------
    dict
        A number for each argument.
    """
    return {name: _middle(quantity) for name, quantity in formula.parameters.items()}


def _middle(quantity: Quantity) -> float:
    low, high = quantity.typical
    wide = low > 0 and high / low > _WIDE
    value = float(f"{math.sqrt(low * high) if wide else (low + high) / 2:.2g}")
    value = min(max(value, quantity.low), quantity.high)
    return float(round(value)) if quantity.whole else value


def _help(formula: Formula) -> list[str]:
    return [
        f"{name}: {quantity.text} [{quantity.unit}]"
        for name, quantity in formula.parameters.items()
    ]


def lambda_module() -> str:
    """Return every formula as text for the module editor of the Advanced Formula Environment.

    Returns
    -------
    str
        Named functions with help; loaded as a module named KV they are ``KV.NAME(...)``.
    """
    lines = [
        f"/* kvcost {__version__}: what a KV cache costs in LLM serving.",
        "   Excel Labs, Advanced Formula Environment: make a module named KV, paste this, save.",
        "   Then write e.g. =KV.MARGIN(B3, B4). Units are base units; #N/A says that there is no",
        "   such number. */",
        "",
    ]
    for formula in registry().values():
        lines.append("/**")
        lines.append(f" * {_comment(formula.documentation.summary)}")
        lines += [f" * @param {_comment(text.replace(': ', ' ', 1))}" for text in _help(formula)]
        lines.append(f" * @returns in {formula.unit}")
        lines.append(" */")
        lines.append(f"{formula.name.upper()} = {formula.excel_lambda()};")
        lines.append("")
    return "\n".join(lines)


def _comment(text: str) -> str:
    return text.replace("*/", "* /")


def write_lambdas(path: Path | str, *, force: bool = False) -> None:
    """Write the LAMBDA library: a workbook, or text for the Advanced Formula Environment.

    Parameters
    ----------
    path : Path or str
        Ending in ``.xlsx`` for the workbook, in ``.txt`` for the text.
    force : bool
        Whether a file that is there is replaced.

    Raises
    ------
    ConfigError
        If the name is of another kind, a file is there, it cannot be written, or XlsxWriter is not
        installed.
    """
    if str(path).lower().endswith(".txt"):
        with replacing(path, suffix=".txt", force=force) as draft:
            draft.write_text(lambda_module(), encoding="utf-8", newline="\n")
        return
    with replacing(path, suffix=".xlsx", force=force) as draft:
        _write_book(draft)
        _explain(draft)


def _tooltip(formula: Formula) -> str:
    """Return what Excel shows while the function is typed, as long as it takes."""
    units = ", ".join(f"{name} [{quantity.unit}]" for name, quantity in formula.parameters.items())
    text = f"{formula.documentation.summary} [{formula.unit}] {units}"
    return text if len(text) <= _MOST_COMMENT else f"{text[: _MOST_COMMENT - 3]}..."


def _explain(path: Path) -> None:
    """Give each name in a workbook its comment, which XlsxWriter cannot write."""
    with zipfile.ZipFile(path) as book:
        members = [(item, book.read(item)) for item in book.infolist()]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as book:
        for item, content in members:
            if item.filename == "xl/workbook.xml":
                text = content.decode("utf-8")
                for formula in registry().values():
                    mark = f'<definedName name="{lambda_name(formula)}"'
                    text = text.replace(mark, f"{mark} comment={quoteattr(_tooltip(formula))}")
                content = text.encode("utf-8")  # noqa: PLW2901 - one member, changed
            book.writestr(item, content)


def _write_book(draft: Path) -> None:
    with open_book(draft) as book:
        book.made.set_properties({"title": "kvcost LAMBDA library"})
        sheet = book.sheet("Functions", widths=(40, 70, 16, 70, 90, 22, 22), tab="#0072B2")
        book.write_text(sheet, 0, 0, "kvcost as functions of Excel 365", "title")
        book.write_text(
            sheet,
            1,
            0,
            "Copy this sheet into your workbook: the functions come with it. Base units; #N/A says "
            "that there is no such number. Other programs and older versions know no LAMBDA.",
            "note",
        )
        heads = ("function", "call", "unit", "what it is", "arguments", "example", "Python")
        for column, head in enumerate(heads):
            book.write_text(sheet, 3, column, head, "head")
        sheet.freeze_panes(4, 1)
        for row, formula in enumerate(registry().values(), start=4):
            name = lambda_name(formula)
            book.made.define_name(name, f"={formula.excel_lambda(in_file=True)}")
            given = example_inputs(formula)
            python = float(formula(**given))
            texts = (
                name,
                f"{name}({', '.join(formula.parameters)})",
                formula.unit,
                formula.documentation.summary,
                "\n".join(_help(formula)),
            )
            for column, text in enumerate(texts):
                book.write_text(sheet, row, column, text, "text" if column > 2 else "plain")
            call = f"={name}({','.join(map(number_text, given.values()))})"
            shown = python if math.isfinite(python) else "#N/A"
            sheet.write_dynamic_array_formula(row, 5, row, 5, call, book.styles["answer"], shown)
            book.write_value(sheet, row, 6, python, "value")
