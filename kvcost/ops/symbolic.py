"""The symbolic side of `kvcost.ops`: what each operation becomes in a traced expression."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import sympy
from sympy.codegen.cfunctions import expm1, log1p

if TYPE_CHECKING:
    from kvcost.formula.core import Formula

__all__ = [
    "Call",
    "Constant",
    "NoSlope",
    "PoissonCdf",
    "PoissonPmf",
    "SnapCeil",
    "SnapFloor",
    "absolute",
    "all_of",
    "any_of",
    "ceil",
    "equal",
    "exp",
    "expm1",
    "floor",
    "log",
    "log1p",
    "make_call",
    "make_constant",
    "maximum",
    "minimum",
    "poisson_cdf",
    "poisson_pmf",
    "sqrt",
    "where",
]


class Constant(sympy.Symbol):
    """A number that keeps its unit through a trace; prints as the number."""

    value: float
    unit: str

    def __new__(cls, value: float, unit: str) -> Constant:
        """Return the symbol of a number with a unit."""
        made: Constant = sympy.Symbol.__xnew__(cls, f"{value!r} {unit}", real=True)
        made.value = float(value)
        made.unit = unit
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.value, self.unit), {}

    @property
    def number(self) -> sympy.Number:
        """Return the value as a sympy number, an integer where it is one."""
        if self.value.is_integer() and abs(self.value) < 2**53:
            return sympy.Integer(int(self.value))
        return sympy.Float(self.value)

    def _latex(self, printer: Any, **_: Any) -> str:
        text: str = printer._print(self.number)
        return text


class SnapFloor(sympy.Function):
    """Floor with the tolerance of `kvcost.ops.floor`."""

    nargs = 1

    def fdiff(self, _argindex: int = 1) -> sympy.Expr:
        """Return the slope between the steps."""
        return sympy.S.Zero

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"\left\lfloor {printer._print(self.args[0])} \right\rfloor"


class SnapCeil(sympy.Function):
    """Ceiling with the tolerance of `kvcost.ops.ceil`."""

    nargs = 1

    def fdiff(self, _argindex: int = 1) -> sympy.Expr:
        """Return the slope between the steps."""
        return sympy.S.Zero

    def _latex(self, printer: Any, **_: Any) -> str:
        return rf"\left\lceil {printer._print(self.args[0])} \right\rceil"


class NoSlope(sympy.Function):
    """The slope in a quantity that is whole: none. Its number is nan."""

    nargs = 1

    def _eval_is_extended_real(self) -> bool:
        return True


class PoissonPmf(sympy.Function):
    """Poisson probability of a count at a mean."""

    nargs = 2

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        """Return the slope in the mean; in the count, which is whole, there is none."""
        count, mean = self.args
        return NoSlope(self.args[0]) if argindex == 1 else self * (count / mean - 1)

    def _latex(self, printer: Any, **_: Any) -> str:
        count, mean = (printer._print(part) for part in self.args)
        return (
            rf"\frac{{\left({mean}\right)^{{{count}}} e^{{-{mean}}}}}"
            rf"{{\left({count}\right)!}}"
        )


class PoissonCdf(sympy.Function):
    """Poisson probability of at most a count at a mean."""

    nargs = 2

    def fdiff(self, argindex: int = 1) -> sympy.Expr:
        """Return the slope in the mean; in the count, which is whole, there is none."""
        return NoSlope(self.args[0]) if argindex == 1 else -PoissonPmf(*self.args)

    def _latex(self, printer: Any, **_: Any) -> str:
        count, mean = (printer._print(part) for part in self.args)
        return rf"\sum_{{j=0}}^{{{count}}} \frac{{\left({mean}\right)^{{j}} e^{{-{mean}}}}}{{j!}}"


class Call(sympy.Symbol):
    """A call to another formula that a shallow trace keeps as it is."""

    formula: Formula
    arguments: dict[str, Any]

    def __new__(cls, formula: Formula, arguments: dict[str, Any]) -> Call:
        """Return the symbol of a call."""
        inner = ", ".join(f"{name}={value}" for name, value in arguments.items())
        made: Call = sympy.Symbol.__xnew__(cls, f"{formula.name}({inner})", real=True)
        made.formula = formula
        made.arguments = arguments
        return made

    def _latex(self, printer: Any, **_: Any) -> str:
        changed = [
            printer._print(sympy.sympify(value))
            for name, value in self.arguments.items()
            if str(value) != name
        ]
        if not changed:
            return self.formula.symbol
        return rf"{self.formula.symbol}\left({', '.join(changed)}\right)"


def make_constant(value: float, unit: str) -> Constant:
    """Return the constant that `ops.constant` stands for in a trace."""
    return Constant(value, unit)


def make_call(formula: Formula, arguments: dict[str, Any]) -> Call:
    """Return the call that a shallow trace shows."""
    return Call(formula, arguments)


def _expression(value: Any) -> Any:
    if isinstance(value, float):
        if math.isnan(value):
            return sympy.nan
        if value.is_integer() and abs(value) < 2**53:
            return sympy.Integer(int(value))
    return sympy.sympify(value)


def where(condition: Any, chosen: Any, otherwise: Any) -> Any:
    """Return the piecewise expression of `ops.where`."""
    return sympy.Piecewise((_expression(chosen), condition), (_expression(otherwise), True))


def all_of(*conditions: Any) -> Any:
    """Return the conjunction."""
    return sympy.And(*conditions)


def any_of(*conditions: Any) -> Any:
    """Return the disjunction."""
    return sympy.Or(*conditions)


def equal(left: Any, right: Any) -> Any:
    """Return the equation as a condition."""
    return sympy.Eq(left, right)


def minimum(*values: Any) -> Any:
    """Return the minimum."""
    return sympy.Min(*[_expression(value) for value in values])


def maximum(*values: Any) -> Any:
    """Return the maximum."""
    return sympy.Max(*[_expression(value) for value in values])


def exp(value: Any) -> Any:
    """Return the exponential."""
    return sympy.exp(value)


def log(value: Any) -> Any:
    """Return the natural logarithm."""
    return sympy.log(value)


def sqrt(value: Any) -> Any:
    """Return the square root."""
    return sympy.sqrt(value)


def absolute(value: Any) -> Any:
    """Return the absolute value."""
    return sympy.Abs(value)


def floor(value: Any) -> Any:
    """Return the floor with tolerance."""
    return SnapFloor(value)


def ceil(value: Any) -> Any:
    """Return the ceiling with tolerance."""
    return SnapCeil(value)


def poisson_pmf(count: Any, mean: Any) -> Any:
    """Return the Poisson probability of a count."""
    return PoissonPmf(_expression(count), _expression(mean))


def poisson_cdf(count: Any, mean: Any) -> Any:
    """Return the Poisson probability of at most a count."""
    return PoissonCdf(_expression(count), _expression(mean))
