"""Formulas as spreadsheet text: a cell, or the body of a LAMBDA.

Only functions that Excel 2007 and later, LibreOffice Calc, Gnumeric and Google Sheets share are
written. Sheets have no infinity and no nan: both are ``NA()``. ``=-2^2`` is 4 in a sheet, so every
power stands in brackets.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, ClassVar

import sympy

from kvcost.errors import InvalidValueError
from kvcost.formula.printing.infix import InfixPrinter
from kvcost.ops import SNAP, symbolic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.formula.core import Formula

__all__ = ["SheetPrinter", "cell_text", "defined_name", "lambda_text", "number_text"]

_NAME_PREFIX = "kv_"

_CELL = re.compile(
    r"(?:'[^'\[\]*?:/\\]+'!|[A-Za-z_][\w.]*!)?(?:\$?[A-Za-z]{1,3}\$?[0-9]{1,7}|[A-Za-z_\\][\w.\\]*)"
)


def defined_name(parameter: str) -> str:
    """Return the defined name that stands for a parameter in a workbook.

    Parameters
    ----------
    parameter : str
        A parameter of a formula.

    Returns
    -------
    str
        The name with the prefix ``kv_``, since ``H100``, ``tp8`` or ``R`` would be cell references.

    Examples
    --------
    >>> defined_name("tokens"), defined_name("kv_heads")
    ('kv_tokens', 'kv_heads')
    """
    return parameter if parameter.startswith(_NAME_PREFIX) else _NAME_PREFIX + parameter


def number_text(value: float) -> str:
    """Return a finite number as every sheet reads it: ``5E+10``, never ``5E10``.

    Parameters
    ----------
    value : float
        A finite number.

    Returns
    -------
    str
        Its shortest text that reads back as the same float.

    Examples
    --------
    >>> number_text(5e10), number_text(0.1), number_text(1e22), number_text(1e-9)
    ('50000000000', '0.1', '1E+22', '1E-09')
    """
    text = repr(float(value))
    if text.endswith(".0"):
        text = text[:-2]
    return text.upper()


class SheetPrinter(InfixPrinter):
    """Writes classic spreadsheet functions."""

    functions: ClassVar[dict[Any, str]] = {
        sympy.Min: "MIN",
        sympy.Max: "MAX",
        sympy.exp: "EXP",
        sympy.log: "LN",
        sympy.sqrt: "SQRT",
        sympy.Abs: "ABS",
    }
    relations: ClassVar[dict[str, str]] = {
        "<": "<",
        "<=": "<=",
        ">": ">",
        ">=": ">=",
        "==": "=",
        "!=": "<>",
    }

    def number(self, value: float) -> str:
        """Return a finite number."""
        return number_text(value)

    def power(self, base: str, exponent: str) -> str:
        """Return a power in brackets."""
        return f"({base}^{exponent})"

    def choice(self, condition: str, chosen: str, otherwise: str) -> str:
        """Return an IF."""
        return f"IF({condition},{chosen},{otherwise})"

    def joined(self, word: str, parts: list[str]) -> str:
        """Return AND or OR of conditions."""
        return f"{word.upper()}({','.join(parts)})"

    def special(self, value: Any) -> str:  # noqa: ARG002 - infinity and nan are the same here
        """Return the sheet's only word for what is no number."""
        return "NA()"

    def _call(self, node: Any) -> str:
        # ROUNDUP snaps near-integers by rules of its own in Calc
        if isinstance(node, symbolic.SnapFloor):
            return f"INT({self.text(node.args[0])}+{self.number(SNAP)})"
        if isinstance(node, symbolic.SnapCeil):
            return f"(-INT({self.number(SNAP)}-{self._bracketed(node.args[0], 2)}))"
        # the old name, which every sheet knows
        if isinstance(node, (symbolic.PoissonPmf, symbolic.PoissonCdf)):
            count, mean = (self.text(part) for part in node.args)
            summed = "TRUE" if isinstance(node, symbolic.PoissonCdf) else "FALSE"
            return f"POISSON({count},{mean},{summed})"
        return super()._call(node)


def _body(formula: Formula, names: Mapping[str, str]) -> str:
    return f"IFERROR({SheetPrinter(formula.name, names).guarded(formula)},NA())"


def cell_text(formula: Formula, cells: Mapping[str, str] | None = None) -> str:
    """Return the text of a cell that computes a formula.

    Parameters
    ----------
    formula : Formula
        A registered formula.
    cells : mapping of str to str, optional
        The cell or defined name of each parameter: ``{"tokens": "B3"}``. A parameter that is left
        out is a defined name, as `defined_name` gives it.

    Returns
    -------
    str
        Starting with ``=``; ``#N/A`` where Python gives nan or infinity.

    Raises
    ------
    InvalidValueError
        If a key is no parameter, or a value no cell or name.
    NotExpressibleError
        If sheets have no words for an operation.
    """
    names = {name: defined_name(name) for name in formula.parameters}
    for name, cell in (cells or {}).items():
        if name not in names:
            raise InvalidValueError(
                field="cells",
                value=name,
                bound=f"is no parameter of {formula.name}",
                remedy=f"use {', '.join(formula.parameters)}",
            )
        if not (isinstance(cell, str) and _CELL.fullmatch(cell)):
            raise InvalidValueError(
                field=f"cells[{name}]",
                value=cell,
                bound="is no cell and no defined name",
                remedy="write it as B3, $B$3, Inputs!B3 or a defined name",
            )
        names[name] = cell
    return "=" + _body(formula, names)


def lambda_text(formula: Formula, *, in_file: bool = False) -> str:
    """Return a formula as a LAMBDA for Excel 365.

    Parameters
    ----------
    formula : Formula
        A registered formula.
    in_file : bool
        Write the prefixes ``_xlfn.`` and ``_xlpm.`` that files carry and the formula bar hides.

    Returns
    -------
    str
        ``LAMBDA(first,second,body)``, without ``=``.

    Raises
    ------
    NotExpressibleError
        If sheets have no words for an operation.
    """
    prefix = "_xlpm." if in_file else ""
    names = {name: f"{prefix}{name}" for name in formula.parameters}
    word = "_xlfn.LAMBDA" if in_file else "LAMBDA"
    return f"{word}({','.join(names.values())},{_body(formula, names)})"
