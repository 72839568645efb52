"""Elasticities and inverse forms, derived from the traced expression."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy
from scipy.optimize import brentq

from kvcost import ops
from kvcost.errors import InvalidValueError, UnknownNameError, nearest_names
from kvcost.ops import poisson, symbolic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from kvcost.formula.core import Formula

__all__ = ["Inverse", "Sensitivity", "inverse", "numeric_function", "sensitivity"]

_SCAN_POINTS = 512
_ROOT_TOLERANCE = 1e-9


_WORDS: dict[str, Callable[..., Any]] = {
    "SnapFloor": ops.floor,
    "SnapCeil": ops.ceil,
    "NoSlope": lambda count: np.nan * count,
    "PoissonPmf": poisson.pmf,
    "PoissonCdf": poisson.cdf,
    "Heaviside": lambda x, at_zero=0.5: np.heaviside(x, at_zero),
    "exp": ops.exp,
    "expm1": ops.expm1,
    "log": ops.log,
    "log1p": ops.log1p,
    "sqrt": ops.sqrt,
    "abs": ops.absolute,
}
"""What the names in a printed expression call; none of them raises on a value."""


def numeric_function(
    formula: Formula, expression: Any, extra: tuple[Any, ...] = ()
) -> Callable[..., Any]:
    """Return a function of numbers for an expression in a formula's symbols.

    Parameters
    ----------
    formula : Formula
        Gives the order of the arguments.
    expression : sympy.Expr
        In the symbols of the formula's trace.
    extra : tuple of sympy.Symbol
        Symbols that come after the formula's own.

    Returns
    -------
    callable
        Taking numpy floats, which follow IEEE in divisions, in the order of the parameters.
    """
    constants = expression.atoms(symbolic.Constant)
    plain = expression.xreplace({constant: constant.number for constant in constants})
    symbols = [sympy.Symbol(name, real=True) for name in formula.parameters]
    made: Callable[..., Any] = sympy.lambdify([*symbols, *extra], plain, modules=[_WORDS, "math"])
    return made


@dataclass(frozen=True, kw_only=True)
class Sensitivity:
    """How a result answers to a small relative change of each parameter.

    Attributes
    ----------
    formula : str
        Name of the formula.
    value : float
        The result at the point.
    elasticity : dict of str to float
        Percent change of the result for one percent more of the parameter; nan where the result is
        zero, infinite or not defined.
    """

    formula: str
    value: float
    elasticity: dict[str, float]


def sensitivity(formula: Formula, **at: float) -> Sensitivity:
    """Return the elasticities of a formula at a point, by symbolic differentiation.

    Parameters
    ----------
    formula : Formula
        A registered formula.
    **at : float
        A value for each parameter.

    Returns
    -------
    Sensitivity
        The value and the elasticities ``(x/f) df/dx``.

    Notes
    -----
    Between the steps of a floor or ceiling the slope is zero; on a kink of a minimum, maximum or
    branch the slope is that of one side or their mean.
    """
    value = float(formula(**at))
    point = [float(at[name]) for name in formula.parameters]
    slopes: dict[str, float] = {}
    for name, where in zip(formula.parameters, point, strict=True):
        slope = sympy.diff(formula.trace(), sympy.Symbol(name, real=True))
        with np.errstate(all="ignore"):
            gradient = float(numeric_function(formula, slope)(*map(np.float64, point)))
        defined = value != 0 and math.isfinite(value) and math.isfinite(gradient)
        slopes[name] = gradient * where / value if defined else math.nan
    return Sensitivity(formula=formula.name, value=value, elasticity=slopes)


@dataclass(frozen=True, kw_only=True)
class Inverse:
    """A formula solved for one of its parameters.

    Attributes
    ----------
    formula : Formula
        The formula.
    name : str
        The parameter that is solved for.
    closed_forms : tuple of sympy.Expr
        Solutions in the other parameters and the symbol ``result``; empty where sympy finds none.
    """

    formula: Formula
    name: str
    closed_forms: tuple[Any, ...]

    @property
    def method(self) -> str:
        """How roots are found: ``closed form`` or ``numeric root``."""
        return "closed form" if self.closed_forms else "numeric root"

    def __call__(self, *, result: float, **others: float) -> tuple[float, ...]:
        """Return every root in the parameter's domain, ascending.

        Parameters
        ----------
        result : float
            The value that the formula is to have.
        **others : float
            The other parameters.

        Returns
        -------
        tuple of float
            Roots; without a closed form, those in the parameter's typical range widened a
            thousandfold, where the formula crosses the value.

        Raises
        ------
        InvalidValueError
            If `result` is not finite.
        """
        if not math.isfinite(result):
            raise InvalidValueError(
                field="result",
                value=result,
                bound="must be finite",
                remedy=f"give a value that {self.formula.name} can take",
            )
        if self.closed_forms:
            return self._from_closed_forms(result, others)
        return self._from_crossings(result, others)

    def _residual(self, result: float, others: Mapping[str, float]) -> Callable[[float], float]:
        def residual(x: float) -> float:
            value: float = self.formula(**{**others, self.name: x})
            return value - result

        return residual

    def _from_closed_forms(self, result: float, others: Mapping[str, float]) -> tuple[float, ...]:
        quantity = self.formula.parameters[self.name]
        values = [np.float64(others.get(name, math.nan)) for name in self.formula.parameters]
        target = sympy.Symbol("result", real=True)
        residual = self._residual(result, others)
        roots = set()
        for expression in self.closed_forms:
            with np.errstate(all="ignore"):
                root = float(numeric_function(self.formula, expression, (target,))(*values, result))
            inside = math.isfinite(root) and quantity.low <= root <= quantity.high
            # a closed form may hold on another branch of the formula only
            if inside and abs(residual(root)) <= _ROOT_TOLERANCE * max(abs(result), 1e-300):
                roots.add(root)
        return tuple(sorted(roots))

    def _from_crossings(self, result: float, others: Mapping[str, float]) -> tuple[float, ...]:
        quantity = self.formula.parameters[self.name]
        low = max(quantity.low, quantity.typical[0] / 1000)
        high = min(quantity.high, quantity.typical[1] * 1000)
        start = low if low > 0 else high * 1e-12
        grid = np.geomspace(start, high, _SCAN_POINTS)
        if low <= 0:
            grid = np.concatenate([[low], grid])
        residual = self._residual(result, others)
        values = [residual(float(x)) for x in grid]
        roots: list[float] = []
        for (left, a), (right, b) in pairwise(zip(grid, values, strict=True)):
            if a == 0:
                roots.append(float(left))
            elif math.isfinite(a) and math.isfinite(b) and a * b < 0:
                roots.append(float(brentq(residual, left, right, xtol=1e-300, rtol=1e-14)))
        if values[-1] == 0:
            roots.append(float(grid[-1]))
        return tuple(roots)


def inverse(formula: Formula, name: str) -> Inverse:
    """Return a formula solved for one parameter, by sympy where it can.

    Parameters
    ----------
    formula : Formula
        A registered formula.
    name : str
        The parameter to solve for.

    Returns
    -------
    Inverse
        Callable with ``result=`` and the other parameters.

    Raises
    ------
    UnknownNameError
        If the formula has no such parameter.
    """
    if name not in formula.parameters:
        raise UnknownNameError(
            kind="parameter",
            name=name,
            nearest=nearest_names(name, formula.parameters),
            remedy=f"{formula.name} takes {', '.join(formula.parameters)}",
        )
    unknown = sympy.Symbol(name, real=True)
    expression = formula.trace()
    # sympy answers these only on one branch, or slowly
    hard = (sympy.Piecewise, sympy.Min, sympy.Max, symbolic.SnapFloor, symbolic.SnapCeil, sympy.Abs)
    solutions: tuple[Any, ...] = ()
    if not expression.has(*hard):
        try:
            found = sympy.solve(expression - sympy.Symbol("result", real=True), unknown)
        except NotImplementedError:
            found = []
        solutions = tuple(solution for solution in found if not solution.has(unknown))
    return Inverse(formula=formula, name=name, closed_forms=solutions)
