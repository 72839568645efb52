"""Rules that every registered formula keeps."""

from __future__ import annotations

import copy
import math
import pickle
import re

import mpmath
import numpy as np
import pytest
import sympy
from numpydoc.docscrape import NumpyDocString

from kvcost.errors import NotExpressibleError
from kvcost.formula import GLOSSARY, registry
from kvcost.ops import SNAP, symbolic
from tests.draws import drawn, outside

FORMULAS = list(registry().values())
each = pytest.mark.parametrize("formula", FORMULAS, ids=lambda formula: formula.name)


@each
def test_traces_and_prints(formula):
    assert formula.trace().free_symbols <= {
        sympy.Symbol(name, real=True) for name in formula.parameters
    } | formula.trace().atoms(symbolic.Constant)
    assert formula.excel().startswith("=IFERROR(")
    assert formula.excel_lambda().startswith(f"LAMBDA({','.join(formula.parameters)},")
    assert formula.latex().startswith(f"{formula.symbol} = ")
    assert "$$" in formula._repr_markdown_()


def test_vega_expresses_all_but_poisson_probabilities():
    unsaid = set()
    for formula in FORMULAS:
        try:
            assert formula.vega()
        except NotExpressibleError:
            unsaid.add(formula.name)
    assert unsaid == {
        "allen_cunneen_wait",
        "cosmetatos_deterministic_wait",
        "cosmetatos_wait",
        "erlang_b",
        "erlang_c",
        "kimura_wait",
        "mmc_mean_wait",
        "mmc_wait_percentile",
        "shortest_queue_wait",
    }


@each
def test_every_parameter_is_used(formula):
    used = {symbol.name for symbol in formula.trace().free_symbols}
    assert set(formula.parameters) <= used


@each
def test_units_close(formula):
    formula.check_units()


@each
def test_docstring_is_the_signature_and_the_glossary(formula):
    text = formula.__doc__
    parsed = NumpyDocString(text)
    assert re.match(r"\S.*\.$", text.split("\n")[0]), "one sentence on the first line"
    assert [entry.name for entry in parsed["Parameters"]] == list(formula.parameters)
    for entry in parsed["Parameters"]:
        said = " ".join(entry.desc)
        assert said.endswith(f"[{formula.parameters[entry.name].unit}]."), entry.name
    (result,) = parsed["Returns"]
    assert " ".join(result.desc).endswith(f"[{formula.unit}]."), "Returns ends with the unit"
    assert parsed["Notes"], "Notes say what is assumed and where it is valid"
    assert parsed["References"], "References name a source"
    assert parsed["Examples"], "Examples hold a doctest"


@each
def test_arrays_are_loops_of_scalars(formula):
    points = drawn(formula, 20)
    columns = {name: np.array([point[name] for point in points]) for name in formula.parameters}
    alone = [formula(**point) for point in points]
    assert all(type(value) is float for value in alone)
    np.testing.assert_allclose(formula(**columns), alone, rtol=1e-14)


@each
def test_agrees_with_mpmath(formula):
    words = {
        "SnapFloor": lambda x: mpmath.floor(x + SNAP),
        "SnapCeil": lambda x: -mpmath.floor(SNAP - x),
        "PoissonPmf": lambda k, m: m**k * mpmath.exp(-m) / mpmath.factorial(k),
        "PoissonCdf": lambda k, m: mpmath.gammainc(k + 1, m, regularized=True),
    }
    expression = formula.trace()
    plain = expression.xreplace(
        {constant: constant.number for constant in expression.atoms(symbolic.Constant)}
    )
    symbols = [sympy.Symbol(name, real=True) for name in formula.parameters]
    exact = sympy.lambdify(symbols, plain, modules=[words, "mpmath"])
    for point in drawn(formula, 50):
        value = formula(**point)
        with mpmath.workdps(50):
            truth = exact(*(mpmath.mpf(point[name]) for name in formula.parameters))
            if not math.isfinite(value):
                assert not mpmath.isfinite(truth), (point, value, truth)
            else:
                assert abs(value - truth) <= 1e-12 * abs(truth), (point, value, truth)


@each
def test_values_never_raise(formula):
    for bad in (0.0, -1.0, math.inf, -math.inf, math.nan, 1e308, 5e-324):
        value = formula(**dict.fromkeys(formula.parameters, bad))
        assert type(value) is float
        assert formula(**dict.fromkeys(formula.parameters, np.array([bad, 1.0]))).shape == (2,)


@each
def test_outside_the_domain_is_nan(formula):
    points = outside(formula)
    assert points
    for point in points:
        assert math.isnan(formula(**point)), point
        lifted = {name: np.array([value, value]) for name, value in point.items()}
        assert np.isnan(formula(**lifted)).all(), point


@each
def test_survives_pickling(formula):
    assert pickle.loads(pickle.dumps(formula)) is formula
    assert copy.deepcopy(formula) is formula


@each
def test_sensitivity_matches_a_difference(formula):
    compared = 0
    defined = [point for point in drawn(formula, 300) if math.isfinite(formula(**point))]
    for point in defined[:5]:
        found = formula.sensitivity(**point)
        for name, elasticity in found.elasticity.items():
            step = 1e-7
            up = formula(**{**point, name: point[name] * (1 + step)})
            down = formula(**{**point, name: point[name] * (1 - step)})
            slope = (up - down) / (2 * step * found.value) if found.value else math.nan
            kinked = not math.isfinite(slope) or abs(slope) > 1e4
            if math.isfinite(elasticity) and not kinked:
                compared += 1
                assert slope == pytest.approx(elasticity, rel=1e-3, abs=1e-5), (name, point)
    assert compared


def test_symbols_are_unique():
    symbols = {quantity.symbol: name for name, quantity in GLOSSARY.items()}
    assert len(symbols) == len(GLOSSARY)
    for formula in FORMULAS:
        assert symbols.setdefault(formula.symbol, formula.name) == formula.name


def test_no_glossary_entry_is_unused():
    used = {name for formula in FORMULAS for name in formula.parameters}
    assert set(GLOSSARY) <= used | {formula.name for formula in FORMULAS}
