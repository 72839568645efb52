"""Formulas as Vega expressions, for charts whose sliders need no kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import sympy

from kvcost.errors import InvalidValueError
from kvcost.formula.printing.infix import InfixPrinter
from kvcost.ops import SNAP, symbolic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.formula.core import Formula

__all__ = ["VegaPrinter", "vega_text"]


class VegaPrinter(InfixPrinter):
    """Writes the Vega expression language."""

    functions: ClassVar[dict[Any, str]] = {
        sympy.Min: "min",
        sympy.Max: "max",
        sympy.exp: "exp",
        sympy.log: "log",
        sympy.sqrt: "sqrt",
        sympy.Abs: "abs",
    }
    relations: ClassVar[dict[str, str]] = {
        "<": "<",
        "<=": "<=",
        ">": ">",
        ">=": ">=",
        "==": "===",
        "!=": "!==",
    }

    def number(self, value: float) -> str:
        """Return a finite number."""
        text = repr(float(value))
        return text[:-2] if text.endswith(".0") else text

    def power(self, base: str, exponent: str) -> str:
        """Return a power as a call."""
        return f"pow({base},{exponent})"

    def choice(self, condition: str, chosen: str, otherwise: str) -> str:
        """Return a ternary in brackets."""
        return f"(({condition})?({chosen}):({otherwise}))"

    def joined(self, word: str, parts: list[str]) -> str:
        """Return joined conditions in brackets."""
        sign = "&&" if word == "and" else "||"
        return "(" + sign.join(f"({part})" for part in parts) + ")"

    def special(self, value: Any) -> str:
        """Return infinity or nan, which Vega knows only as quotients."""
        if value == sympy.nan:
            return "(0/0)"
        return "(-1/0)" if value == -sympy.oo else "(1/0)"

    def _call(self, node: Any) -> str:
        if isinstance(node, symbolic.SnapFloor):
            return f"floor({self.text(node.args[0])}+{self.number(SNAP)})"
        if isinstance(node, symbolic.SnapCeil):
            return f"(-floor({self.number(SNAP)}-{self._bracketed(node.args[0], 2)}))"
        return super()._call(node)


def vega_text(formula: Formula, names: Mapping[str, str | float] | None = None) -> str:
    """Return a formula as a Vega expression.

    Parameters
    ----------
    formula : Formula
        A registered formula.
    names : mapping of str to str or float, optional
        What to write for a parameter, such as ``datum.tokens`` or a number; by default its name,
        which a chart's parameter can carry.

    Returns
    -------
    str
        A Vega expression.

    Raises
    ------
    InvalidValueError
        If a key of `names` is no parameter.
    NotExpressibleError
        If Vega has no words for an operation.
    """
    written = {name: name for name in formula.parameters}
    for name, text in (names or {}).items():
        if name not in written:
            raise InvalidValueError(
                field="names",
                value=name,
                bound=f"is no parameter of {formula.name}",
                remedy=f"use {', '.join(formula.parameters)}",
            )
        written[name] = f"({text if isinstance(text, str) else repr(float(text))})"
    return VegaPrinter(formula.name, written).guarded(formula)
