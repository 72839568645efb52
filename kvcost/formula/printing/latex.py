"""Formulas as equations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import sympy
from sympy.printing.latex import LatexPrinter

if TYPE_CHECKING:
    from kvcost.formula.core import Formula

__all__ = ["equation"]


class _EquationPrinter(LatexPrinter):
    """LaTeX as a paper would set it: what is added before what is subtracted."""

    def _print_Add(self, expr: Any, order: Any = None) -> str:  # noqa: ARG002, N802 - sympy's hook
        parts = sorted(expr.args, key=lambda part: (part.could_extract_minus_sign(), str(part)))
        text: str = self._print(parts[0])
        for part in parts[1:]:
            negative = part.could_extract_minus_sign()
            text += (" - " if negative else " + ") + self._bracketed(-part if negative else part)
        return text

    def _bracketed(self, part: Any) -> str:
        text: str = self._print(part)
        return rf"\left({text}\right)" if part.is_Add else text

    def _print_expm1(self, expr: Any, **_: Any) -> str:
        return rf"\left(e^{{{self._print(expr.args[0])}}} - 1\right)"

    def _print_log1p(self, expr: Any, **_: Any) -> str:
        return rf"\log\left(1 + {self._print(expr.args[0])}\right)"


def equation(formula: Formula, *, shallow: bool = True) -> str:
    """Return the equation of a formula in LaTeX, without dollar signs.

    Parameters
    ----------
    formula : Formula
        A registered formula.
    shallow : bool
        Show calls to other formulas by their symbols; otherwise expand them.

    Returns
    -------
    str
        ``symbol = expression``.
    """
    symbols = {
        sympy.Symbol(name, real=True): quantity.symbol
        for name, quantity in formula.parameters.items()
    }
    printer = _EquationPrinter({"symbol_names": symbols})
    return f"{formula.symbol} = {printer.doprint(formula.trace(shallow=shallow))}"
