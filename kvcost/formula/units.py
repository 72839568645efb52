"""Unit expressions such as ``byte/token`` and the check that a formula's units close."""

from __future__ import annotations

import re
from fractions import Fraction
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from kvcost.formula.core import Formula

__all__ = ["COUNTS", "DIMENSIONS", "Unit", "check_units", "parse_unit", "unit_text"]

DIMENSIONS: Final = ("byte", "token", "s", "FLOP", "USD")
"""Quantities that do not mix."""

COUNTS: Final = frozenset(
    [
        "1",
        "accelerator",
        "block",
        "chunk",
        "copy",
        "descriptor",
        "element",
        "entry",
        "head",
        "key",
        "layer",
        "page",
        "parameter",
        "rank",
        "replica",
        "request",
        "server",
        "shard",
        "stage",
    ]
)
"""Names of things that are counted; they explain a unit and cancel in the check."""

Unit = dict[str, Fraction]
"""Exponent of each dimension; dimensionless is empty."""

_FACTOR = re.compile(r"(?P<name>[A-Za-z]+|1)(?:\^(?P<power>-?\d+))?")


@cache
def _parsed(text: str) -> tuple[tuple[str, Fraction], ...]:
    unit: Unit = {}
    parts = re.split(r"([*/])", text.replace(" ", ""))
    sign = 1
    for part in parts:
        if part in "*/":
            sign = 1 if part == "*" else -1
            continue
        match = _FACTOR.fullmatch(part)
        if match is None or not (match["name"] in DIMENSIONS or match["name"] in COUNTS):
            raise ValueError(f"unit {text!r}: {part!r} is no known dimension or count")
        if match["name"] in DIMENSIONS:
            power = Fraction(match["power"] or 1) * sign
            unit[match["name"]] = unit.get(match["name"], Fraction(0)) + power
    return tuple(sorted((name, power) for name, power in unit.items() if power))


def parse_unit(text: str) -> Unit:
    """Return the dimensions of a unit expression.

    Parameters
    ----------
    text : str
        Factors joined by ``*`` and ``/`` with whole powers: ``s/token^2``. A ``/`` divides by the
        next factor only.

    Returns
    -------
    dict
        Exponent of each dimension.

    Raises
    ------
    ValueError
        If a factor is neither a dimension nor a count.

    Examples
    --------
    >>> parse_unit("byte/token/layer")
    {'byte': Fraction(1, 1), 'token': Fraction(-1, 1)}
    """
    return dict(_parsed(text))


def unit_text(unit: Unit) -> str:
    """Return dimensions as text, ``1`` where there are none.

    Parameters
    ----------
    unit : dict
        Exponent of each dimension.

    Returns
    -------
    str
        Such as ``byte*token^-1``.
    """
    factors = [name if power == 1 else f"{name}^{power}" for name, power in sorted(unit.items())]
    return "*".join(factors) or "1"


def _times(left: Unit, right: Unit, power: Fraction = Fraction(1)) -> Unit:
    result = dict(left)
    for name, exponent in right.items():
        result[name] = result.get(name, Fraction(0)) + exponent * power
    return {name: exponent for name, exponent in result.items() if exponent}


class _Checker:
    """Walks a traced tree; `None` stands for a value of any unit (zero, infinity, nan)."""

    def __init__(self, formula: Formula) -> None:
        self.formula = formula

    def fail(self, problem: str) -> None:
        from kvcost.errors import FormulaError  # noqa: PLC0415 - only on failure

        raise FormulaError(formula=self.formula.name, problem=problem)

    def same(self, action: str, node: Any, parts: list[Any]) -> Unit | None:
        found: Unit | None = None
        for part in parts:
            unit = self.unit(part)
            if unit is None:
                continue
            if found is not None and unit != found:
                self.fail(f"{action} {unit_text(found)} and {unit_text(unit)} in {node}")
            found = unit
        return found

    def dimensionless(self, node: Any) -> Unit:
        for part in node.args:
            unit = self.unit(part)
            if unit:
                self.fail(f"{type(node).__name__} of {unit_text(unit)} in {node}")
        return {}

    def condition(self, node: Any) -> None:
        if node.is_Relational:
            self.same("compares", node, list(node.args))
        else:
            for part in node.args:
                self.condition(part)

    def power(self, node: Any) -> Unit | None:
        base, exponent = node.args
        unit = self.unit(base)
        if not unit:
            if self.unit(exponent):
                self.fail(f"raises to a power with a unit in {node}")
            return unit
        if not exponent.is_Rational:
            self.fail(f"raises {unit_text(unit)} to a power that is no number in {node}")
        return _times({}, unit, Fraction(int(exponent.p), int(exponent.q)))

    def product(self, node: Any) -> Unit | None:
        result: Unit = {}
        for part in node.args:
            unit = self.unit(part)
            if unit is None:
                return None
            result = _times(result, unit)
        return result

    def piecewise(self, node: Any) -> Unit | None:
        for _, condition in node.args:
            self.condition(condition)
        return self.same("chooses between", node, [value for value, _ in node.args])

    def unit(self, node: Any) -> Unit | None:  # noqa: PLR0911 - one return a kind of node
        import sympy  # noqa: PLC0415 - loaded already: the tree is made of it

        from kvcost.ops import symbolic  # noqa: PLC0415

        if isinstance(node, symbolic.Constant):
            return parse_unit(node.unit)
        if isinstance(node, symbolic.Call):
            return parse_unit(node.formula.unit)
        if node.is_Symbol:
            return parse_unit(self.formula.parameters[node.name].unit)
        if node in (sympy.oo, -sympy.oo, sympy.nan, sympy.zoo) or node == 0:
            return None
        if node.is_number:
            return {}
        if node.is_Add:
            return self.same("adds", node, list(node.args))
        if node.is_Mul:
            return self.product(node)
        if node.is_Pow:
            return self.power(node)
        if node.is_Piecewise:
            return self.piecewise(node)
        if isinstance(node, (sympy.Min, sympy.Max)):
            return self.same("compares", node, list(node.args))
        if isinstance(node, (sympy.Abs, symbolic.SnapFloor, symbolic.SnapCeil)):
            return self.unit(node.args[0])
        return self.dimensionless(node)


def check_units(formula: Formula) -> None:
    """Check over the traced tree that the units of a formula close.

    Parameters
    ----------
    formula : Formula
        A registered formula.

    Raises
    ------
    FormulaError
        Naming the sum, comparison or function where they do not, or the result's unit where it is
        not the declared one.
    """
    found = _Checker(formula).unit(formula.trace())
    declared = parse_unit(formula.unit)
    if found is not None and found != declared:
        _Checker(formula).fail(f"gives {unit_text(found)}, declared {unit_text(declared)}")
