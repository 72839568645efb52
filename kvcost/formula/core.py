"""Formulas: plain functions that give numbers and can be traced into equations."""

from __future__ import annotations

import inspect
import re
import threading
from functools import cached_property
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import FormulaError, InvalidValueError, UnknownNameError, nearest_names
from kvcost.formula.glossary import GLOSSARY, Quantity
from kvcost.formula.units import parse_unit
from kvcost.ops import is_symbolic, tracing

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import sympy

    from kvcost.formula.calculus import Inverse, Sensitivity
    from kvcost.formula.docs import Documentation

__all__ = ["Formula", "formula", "get", "registry"]

_REGISTRY: dict[str, Formula] = {}

_inside = threading.local()
"""Whether this thread is evaluating a formula: a formula called by another is part of it."""

_CELL_REFERENCE = re.compile(r"[A-Za-z]{1,3}[0-9]+|[rRcC]")


class Formula:
    """A closed form: a function of keyword-only arguments with a symbol, a unit and an equation.

    Calling it gives a number, or an array by broadcasting. Values never raise: outside the domain
    the result is nan, saturated it is inf.

    Attributes
    ----------
    name : str
        The function's name; unique.
    function : callable
        The plain function.
    symbol : str
        LaTeX of the result.
    unit : str
        Unit of the result.
    parameters : mapping of str to Quantity
        Glossary entries of the arguments, in order.
    """

    def __init__(self, function: Callable[..., Any], *, symbol: str, unit: str) -> None:
        self.function = function
        self.name = function.__name__
        self.symbol = symbol
        self.unit = unit
        self.__name__ = function.__name__
        self.__qualname__ = function.__qualname__
        self.__module__ = function.__module__
        self.__doc__ = function.__doc__
        self.__wrapped__ = function
        self.__signature__ = inspect.signature(function)
        self.parameters: Mapping[str, Quantity] = MappingProxyType(self._known_parameters())
        self._names = frozenset(self.parameters)
        self._domains = tuple((name, (q.low, q.high)) for name, q in self.parameters.items())
        parse_unit(unit)

    def _known_parameters(self) -> dict[str, Quantity]:
        known: dict[str, Quantity] = {}
        for name, parameter in self.__signature__.parameters.items():
            if parameter.kind is not parameter.KEYWORD_ONLY:
                self._fail(f"parameter {name} must be keyword-only")
            if parameter.default is not parameter.empty:
                self._fail(f"parameter {name} must have no default")
            if _CELL_REFERENCE.fullmatch(name):
                self._fail(f"parameter {name} reads as a cell reference in a sheet")
            if name not in GLOSSARY:
                self._fail(f"parameter {name} is not in the glossary")
            known[name] = GLOSSARY[name]
        return known

    def _fail(self, problem: str) -> None:
        raise FormulaError(formula=self.name, problem=problem)

    def __reduce__(self) -> tuple[Any, ...]:
        return (get, (self.name,))

    def __repr__(self) -> str:
        return f"<formula {self.name}({', '.join(self.parameters)}) [{self.unit}]>"

    def __call__(self, **arguments: Any) -> Any:
        """Return the value for numbers or arrays; scalars in, float out.

        Outside the glossary's domain of any argument the value is nan.
        """
        scalar = True
        for name, value in arguments.items():
            kind = type(value)
            if kind is float:
                continue
            if is_symbolic(value):
                return self._traced_call(arguments)
            arguments[name] = number = self._number(name, value)
            scalar = scalar and not isinstance(number, np.ndarray)
        if arguments.keys() != self._names:
            self._refuse_names(arguments)
        if getattr(_inside, "formula", False):
            # the domain is that of the formula which was asked for, as in its cell and its chart
            return self._value(arguments, scalar=scalar)
        _inside.formula = True
        try:
            value = self._value(arguments, scalar=scalar)
        finally:
            _inside.formula = False
        return self._in_domain(arguments, value)

    def _value(self, arguments: dict[str, Any], *, scalar: bool) -> Any:
        if scalar:
            return self._scalar_value(arguments)
        with np.errstate(all="ignore"):
            result = self.function(**arguments)
        shape = np.broadcast_shapes(*(np.shape(value) for value in arguments.values()))
        if np.shape(result) != shape:
            result = np.broadcast_to(result, shape).copy()
        return result

    def _in_domain(self, arguments: dict[str, Any], value: Any) -> Any:
        for name, (low, high) in self._domains:
            given = arguments[name]
            if isinstance(given, np.ndarray):
                # one comparison an array where all is well; nan fails both
                if given.size and not (given.min() >= low and given.max() <= high):
                    value = np.where((given >= low) & (given <= high), value, np.nan)
            elif not low <= given <= high:
                value = np.full(np.shape(value), np.nan) if np.ndim(value) else np.nan
        return value

    def _scalar_value(self, arguments: dict[str, Any]) -> float:
        try:
            result = self.function(**arguments)
        except (ZeroDivisionError, OverflowError):
            # numpy's floats follow IEEE where Python's raise
            exact = {name: np.float64(value) for name, value in arguments.items()}
            with np.errstate(all="ignore"):
                result = self.function(**exact)
        if isinstance(result, complex):
            return np.nan
        return float(result)

    def _traced_call(self, arguments: dict[str, Any]) -> Any:
        if arguments.keys() != self._names:
            self._refuse_names(arguments)
        if tracing.shallow:
            from kvcost.ops import symbolic  # noqa: PLC0415 - sympy is loaded only while tracing

            return symbolic.make_call(self, arguments)
        return self.function(**arguments)

    def _number(self, name: str, value: Any) -> Any:
        if isinstance(value, Real) and not isinstance(value, bool):
            try:
                return float(value)
            except OverflowError:
                pass
        elif not isinstance(value, (bool, str, bytes)):
            array = np.asarray(value)
            if array.dtype.kind in "fiu":
                return array.astype(float) if array.ndim else float(array)
        raise InvalidValueError(
            field=name,
            value=value,
            bound=f"is no number in {self.parameters[name].unit}"
            if name in self.parameters
            else "is no number",
            remedy="give a number or an array of numbers in base units",
        )

    def _refuse_names(self, arguments: Mapping[str, Any]) -> None:
        missing = [name for name in self.parameters if name not in arguments]
        unknown = [name for name in arguments if name not in self.parameters]
        raise TypeError(
            f"{self.name}() takes {', '.join(self.parameters)} by keyword"
            + (f"; missing: {', '.join(missing)}" if missing else "")
            + (f"; unknown: {', '.join(unknown)}" if unknown else "")
        )

    # What is derived by tracing

    def trace(self, *, shallow: bool = False) -> sympy.Expr:
        """Return the expression that the function computes.

        Parameters
        ----------
        shallow : bool
            Keep calls to other formulas as calls, as an equation in a text would.

        Returns
        -------
        sympy.Expr
            In symbols named as the parameters.

        Raises
        ------
        FormulaError
            If the function branches on values or leaves `kvcost.ops`.
        """
        return self._shallow_trace if shallow else self._deep_trace

    @cached_property
    def _deep_trace(self) -> Any:
        return self._run_trace(shallow=False)

    @cached_property
    def _shallow_trace(self) -> Any:
        return self._run_trace(shallow=True)

    def _run_trace(self, *, shallow: bool) -> Any:
        import sympy  # noqa: PLC0415 - numbers never need it

        symbols = {name: sympy.Symbol(name, real=True) for name in self.parameters}
        try:
            with tracing.tracing(shallow=shallow):
                return sympy.sympify(self.function(**symbols))
        except TypeError as error:
            raise FormulaError(
                formula=self.name,
                problem=f"cannot be traced ({error}): write branches as ops.where",
            ) from error

    def latex(self, *, shallow: bool = True) -> str:
        """Return the equation in LaTeX, without dollar signs."""
        from kvcost.formula.printing.latex import equation  # noqa: PLC0415

        return equation(self, shallow=shallow)

    def excel(self, cells: Mapping[str, str] | None = None) -> str:
        """Return the cell text; see `kvcost.formula.printing.sheet.cell_text`."""
        from kvcost.formula.printing.sheet import cell_text  # noqa: PLC0415

        return cell_text(self, cells)

    def excel_lambda(self, *, in_file: bool = False) -> str:
        """Return a LAMBDA; see `kvcost.formula.printing.sheet.lambda_text`."""
        from kvcost.formula.printing.sheet import lambda_text  # noqa: PLC0415

        return lambda_text(self, in_file=in_file)

    def vega(self, names: Mapping[str, str | float] | None = None) -> str:
        """Return a Vega expression; see `kvcost.formula.printing.vega.vega_text`."""
        from kvcost.formula.printing.vega import vega_text  # noqa: PLC0415

        return vega_text(self, names)

    def check_units(self) -> None:
        """Check that the units close; see `kvcost.formula.units.check_units`."""
        from kvcost.formula.units import check_units  # noqa: PLC0415

        check_units(self)

    def sensitivity(self, **at: Any) -> Sensitivity:
        """Return the elasticity to each parameter; see `kvcost.formula.calculus.sensitivity`."""
        from kvcost.formula.calculus import sensitivity  # noqa: PLC0415

        return sensitivity(self, **at)

    def inverse(self, name: str) -> Inverse:
        """Return the formula solved for a parameter; see `kvcost.formula.calculus.inverse`."""
        from kvcost.formula.calculus import inverse  # noqa: PLC0415

        return inverse(self, name)

    @cached_property
    def documentation(self) -> Documentation:
        """The docstring, taken apart."""
        from kvcost.formula.docs import read_docstring  # noqa: PLC0415

        return read_docstring(self)

    def _repr_markdown_(self) -> str:
        from kvcost.formula.docs import markdown  # noqa: PLC0415

        return markdown(self)


def formula(*, symbol: str, unit: str) -> Callable[[Callable[..., Any]], Formula]:
    """Register a function as a formula.

    Parameters
    ----------
    symbol : str
        LaTeX of the result; unique, and the glossary's where the glossary knows the name.
    unit : str
        Unit of the result.

    Returns
    -------
    callable
        The decorator; it returns a `Formula`.

    Raises
    ------
    FormulaError
        If a parameter is not in the glossary, is positional or has a default; if the name or the
        symbol is taken.
    """

    def register(function: Callable[..., Any]) -> Formula:
        made = Formula(function, symbol=symbol, unit=unit)
        entry = GLOSSARY.get(made.name)
        if entry is not None and (entry.symbol, entry.unit) != (symbol, unit):
            raise FormulaError(
                formula=made.name,
                problem=f"the glossary says {entry.symbol} in {entry.unit}, not {symbol} in {unit}",
            )
        known = _REGISTRY.get(made.name)
        if known is not None and known.__module__ != made.__module__:
            raise FormulaError(formula=made.name, problem=f"is defined in {known.__module__} too")
        taken = [f.name for f in _REGISTRY.values() if f.symbol == symbol and f.name != made.name]
        taken += [q.name for q in GLOSSARY.values() if q.symbol == symbol and q.name != made.name]
        if taken:
            raise FormulaError(formula=made.name, problem=f"its symbol {symbol} is {taken[0]}'s")
        _REGISTRY[made.name] = made
        return made

    return register


def registry() -> Mapping[str, Formula]:
    """Return every registered formula, sorted by name.

    Returns
    -------
    mapping of str to Formula
        Read-only; importing is what registers, so the modules of formulas are imported first.
    """
    from kvcost.formula.modules import import_all  # noqa: PLC0415 - they import this module

    import_all()
    return MappingProxyType(dict(sorted(_REGISTRY.items())))


def get(name: str) -> Formula:
    """Return a formula by name.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    Formula
        The formula.

    Raises
    ------
    UnknownNameError
        Listing the nearest names.
    """
    known = registry()
    if not isinstance(name, str) or name not in known:
        raise UnknownNameError(
            kind="formula",
            name=str(name),
            nearest=nearest_names(str(name), known),
            remedy="kvcost.formula.registry() lists them all",
        )
    return known[name]
