"""What sheet and Vega text have in common: a walk over a traced tree that writes infix text."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import sympy

from kvcost.errors import NotExpressibleError
from kvcost.ops import symbolic

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.formula.core import Formula

__all__ = ["SERIES_BELOW", "InfixPrinter"]

SERIES_BELOW = 1e-5
"""`expm1` and `log1p` are printed as a series where their argument is smaller than this.

The subtraction would lose digits there; the series is exact to 1e-15.
"""

_SUM, _PRODUCT, _ATOM = 1, 2, 3


class InfixPrinter(ABC):
    """Writes an expression; subclasses give the words of a language.

    Parameters
    ----------
    formula : str
        Name for error messages.
    names : mapping of str to str
        What to write for each symbol.
    """

    functions: ClassVar[dict[Any, str]]
    relations: ClassVar[dict[str, str]]

    def __init__(self, formula: str, names: Mapping[str, str]) -> None:
        self.formula = formula
        self.names = names

    # What a language must say

    @abstractmethod
    def number(self, value: float) -> str:
        """Return a finite number."""

    @abstractmethod
    def power(self, base: str, exponent: str) -> str:
        """Return a power, safe to put anywhere."""

    @abstractmethod
    def choice(self, condition: str, chosen: str, otherwise: str) -> str:
        """Return a conditional value, safe to put anywhere."""

    @abstractmethod
    def joined(self, word: str, parts: list[str]) -> str:
        """Return conditions joined by ``and`` or ``or``."""

    @abstractmethod
    def special(self, value: Any) -> str:
        """Return infinity or nan."""

    def guarded(self, formula: Formula) -> str:
        """Return the text of a formula that is no number outside its parameters' domain."""
        bounds = []
        for name, quantity in formula.parameters.items():
            for word, bound in ((">=", quantity.low), ("<=", quantity.high)):
                if math.isfinite(bound):
                    limit = self.text(sympy.Float(bound))
                    bounds.append(f"{self.names[name]}{self.relations[word]}{limit}")
        text = self.text(formula.trace())
        if not bounds:
            return text
        condition = self.joined("and", bounds) if len(bounds) > 1 else bounds[0]
        return self.choice(condition, text, self.special(sympy.nan))

    # The walk

    def text(self, node: Any) -> str:
        """Return the text of an expression."""
        return self._write(node)[0]

    def _fail(self, node: Any) -> None:
        raise NotExpressibleError(
            formula=self.formula,
            problem=f"{type(self).__name__} has no words for {type(node).__name__}",
        )

    def _bracketed(self, node: Any, level: int) -> str:
        text, own = self._write(node)
        return text if own >= level else f"({text})"

    def _write(self, node: Any) -> tuple[str, int]:  # noqa: PLR0911 - one return a kind of node
        if isinstance(node, symbolic.Constant):
            return self._number(node.number)
        if node.is_Symbol:
            return self.names[node.name], _ATOM
        if node in (sympy.oo, -sympy.oo, sympy.zoo, sympy.nan):
            return self.special(node), _ATOM
        if node.is_Number or node.is_NumberSymbol:
            return self._number(node)
        if node.is_Add:
            return self._sum(node), _SUM
        if node.is_Mul:
            return self._product(node)
        if node.is_Pow:
            return self._power(node)
        if node.is_Piecewise:
            return self._piecewise(node), _ATOM
        return self._call(node), _ATOM

    def _number(self, node: Any) -> tuple[str, int]:
        if node.is_Rational and not node.is_Integer:
            text = f"{self.number(float(node.p))}/{self.number(float(node.q))}"
            return text, _PRODUCT if node > 0 else _SUM
        return self.number(float(node)), _ATOM if node >= 0 else _SUM

    def _sum(self, node: Any) -> str:
        text = ""
        for part in sorted(node.args, key=lambda a: (a.could_extract_minus_sign(), str(a))):
            negative = part.could_extract_minus_sign()
            piece = self._bracketed(-part if negative else part, _PRODUCT)
            text += ("-" if negative else "+" if text else "") + piece
        return text

    def _product(self, node: Any) -> tuple[str, int]:
        coefficient, rest = node.as_coeff_Mul()
        negative = bool(coefficient < 0)
        top: list[str] = []
        bottom: list[str] = []
        size = -coefficient if negative else coefficient
        if size.is_Rational:
            if size.p != 1:
                top.append(self.number(float(size.p)))
            if size.q != 1:
                bottom.append(self.number(float(size.q)))
        elif size != 1:
            top.append(self.number(float(size)))
        for part in sympy.Mul.make_args(rest):
            if part.is_Pow and part.exp.is_Rational and part.exp < 0:
                bottom.append(self._bracketed(sympy.Pow(part.base, -part.exp), _ATOM))
            else:
                top.append(self._bracketed(part, _ATOM))
        text = "*".join(top) or self.number(1.0)
        for part in bottom:
            text += f"/{part}"
        return (f"-{text}", _SUM) if negative else (text, _PRODUCT)

    def _power(self, node: Any) -> tuple[str, int]:
        base, exponent = node.args
        if exponent == sympy.Rational(1, 2):
            return f"{self.functions[sympy.sqrt]}({self.text(base)})", _ATOM
        if exponent.is_Rational and exponent < 0:
            inverse = self._bracketed(sympy.Pow(base, -exponent), _ATOM)
            return f"{self.number(1.0)}/{inverse}", _PRODUCT
        if base == sympy.E:
            return f"{self.functions[sympy.exp]}({self.text(exponent)})", _ATOM
        return self.power(self._bracketed(base, _ATOM), self._bracketed(exponent, _ATOM)), _ATOM

    def _piecewise(self, node: Any) -> str:
        pieces = list(node.args)
        last = pieces[-1]
        text = self.text(last[0]) if last[1] == sympy.true else self.special(sympy.nan)
        if last[1] == sympy.true:
            pieces.pop()
        for value, condition in reversed(pieces):
            text = self.choice(self._condition(condition), self.text(value), text)
        return text

    def _condition(self, node: Any) -> str:
        if node.is_Relational:
            left, right = self._bracketed(node.lhs, _SUM), self._bracketed(node.rhs, _SUM)
            return f"{left}{self.relations[node.rel_op]}{right}"
        if isinstance(node, sympy.And):
            return self.joined("and", [self._condition(part) for part in _ordered(node)])
        if isinstance(node, sympy.Or):
            return self.joined("or", [self._condition(part) for part in _ordered(node)])
        if isinstance(node, sympy.Not):
            return self._condition(sympy.Not(node.args[0], evaluate=True))
        self._fail(node)
        return ""

    def _call(self, node: Any) -> str:
        if isinstance(node, (symbolic.expm1, symbolic.log1p)):
            return self._near_zero(node)
        word = self.functions.get(type(node))
        if word is None:
            self._fail(node)
        arguments = [self.text(part) for part in _ordered(node)]
        return f"{word}({','.join(arguments)})"

    def _near_zero(self, node: Any) -> str:
        x = node.args[0]
        if isinstance(node, symbolic.expm1):
            series, plain = x + x**2 / 2 + x**3 / 6, sympy.exp(x, evaluate=False) - 1
        else:
            series, plain = x - x**2 / 2 + x**3 / 3, sympy.log(1 + x, evaluate=False)
        small = f"{self.functions[sympy.Abs]}({self.text(x)})<{self.number(SERIES_BELOW)}"
        return self.choice(small, self.text(series), self.text(plain))


def _ordered(node: Any) -> list[Any]:
    """Return the arguments in an order that does not change from run to run."""
    if isinstance(node, (sympy.Min, sympy.Max, sympy.And, sympy.Or)):
        return sorted(node.args, key=str)
    return list(node.args)
