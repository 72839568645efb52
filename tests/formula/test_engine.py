"""The formula engine on formulas of its own, which are taken out of the registry again."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

import kvcost.formula.core as registry_module
from kvcost import ops
from kvcost.errors import FormulaError, InvalidValueError, NotExpressibleError, UnknownNameError
from kvcost.formula import formula, get, registry
from kvcost.formula.printing.sheet import number_text
from kvcost.formula.units import parse_unit


@pytest.fixture(autouse=True)
def _clean_registry():
    registry()
    before = dict(registry_module._REGISTRY)
    yield
    registry_module._REGISTRY.clear()
    registry_module._REGISTRY.update(before)


def _bandwidth(*, tokens, kv_bytes_per_token, recompute_seconds, overhead_seconds):
    """Return the bandwidth above which a fetch wins."""
    spare = recompute_seconds - overhead_seconds
    return ops.where(spare > 0, tokens * kv_bytes_per_token / spare, ops.nan)


@pytest.fixture
def bandwidth():
    return formula(symbol=r"B_{test}", unit="byte/s")(_bandwidth)


AT = {
    "tokens": 16_000,
    "kv_bytes_per_token": 48_408,
    "recompute_seconds": 0.5,
    "overhead_seconds": 0.33,
}


def test_scalar_in_float_out(bandwidth):
    value = bandwidth(**AT)
    assert type(value) is float
    assert value == pytest.approx(16_000 * 48_408 / 0.17, rel=1e-15)


def test_arrays_broadcast_like_a_loop(bandwidth):
    tokens = np.array([[1.0], [2.0]])
    overhead = np.array([0.1, 0.2, 0.9])
    grid = bandwidth(**{**AT, "tokens": tokens, "overhead_seconds": overhead})
    assert grid.shape == (2, 3)
    for i in range(2):
        for j in range(3):
            one = bandwidth(**{**AT, "tokens": tokens[i, 0], "overhead_seconds": overhead[j]})
            np.testing.assert_equal(grid[i, j], one)


def test_constant_result_still_has_the_shape_of_its_input():
    def always_two(*, tokens):
        """Return two."""
        return ops.constant(2, "token")

    made = formula(symbol="t_2", unit="token")(always_two)
    assert made(tokens=[1.0, 2.0, 3.0]).tolist() == [2.0, 2.0, 2.0]


@pytest.mark.parametrize("bad", ["3", True, None, [1, "x"], object(), 1j, b"1", 10**400])
def test_what_is_no_number_is_refused(bandwidth, bad):
    with pytest.raises(InvalidValueError, match=r"tokens .* is no number in token"):
        bandwidth(**{**AT, "tokens": bad})


def test_wrong_names_are_listed(bandwidth):
    with pytest.raises(TypeError, match="missing: tokens; unknown: token"):
        bandwidth(**{**{k: v for k, v in AT.items() if k != "tokens"}, "token": 3})


def test_values_never_raise():
    def ratio(*, tokens, new_tokens):
        """Return a ratio."""
        return tokens / new_tokens

    def power(*, tokens, new_tokens):
        """Return a power."""
        return (tokens / new_tokens) ** 400

    def root(*, tokens, new_tokens):
        """Return a root."""
        return ((tokens - new_tokens) / tokens) ** 0.5

    def over_log(*, tokens, new_tokens):
        """Return a ratio to a logarithm."""
        return 1 / ops.log(tokens / new_tokens)

    divide = formula(symbol="r_1", unit="1")(ratio)
    assert formula(symbol="r_4", unit="1")(over_log)(tokens=2, new_tokens=2) == math.inf
    assert divide(tokens=1, new_tokens=0) == math.inf
    assert math.isnan(divide(tokens=0, new_tokens=0))
    assert formula(symbol="r_2", unit="1")(power)(tokens=10, new_tokens=1) == math.inf
    assert math.isnan(formula(symbol="r_3", unit="1")(root)(tokens=1, new_tokens=2))


def test_a_branch_on_values_cannot_be_traced():
    def branchy(*, tokens):
        """Return a branch."""
        return tokens if tokens > 3 else tokens * 2

    made = formula(symbol="x_1", unit="token")(branchy)
    with pytest.raises(FormulaError, match=r"write branches as ops\.where"):
        made.trace()


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (lambda tokens: tokens, "must be keyword-only"),
        (lambda *, tokens=3: tokens, "must have no default"),
        (lambda *, tp8: tp8, "cell reference"),
        (lambda *, r: r, "cell reference"),
        (lambda *, gremlins: gremlins, "not in the glossary"),
    ],
)
def test_parameters_follow_the_rules(function, problem):
    with pytest.raises(FormulaError, match=problem):
        formula(symbol="x_2", unit="token")(function)


def test_symbols_and_names_are_unique(bandwidth):
    def other(*, tokens):
        """Return tokens."""
        return tokens

    with pytest.raises(FormulaError, match=r"its symbol B_\{test\} is _bandwidth's"):
        formula(symbol=r"B_{test}", unit="token")(other)
    with pytest.raises(FormulaError, match="is tokens's"):
        formula(symbol="n", unit="token")(other)

    def tokens(*, new_tokens):
        """Return tokens."""
        return new_tokens

    with pytest.raises(FormulaError, match="the glossary says n in token"):
        formula(symbol="m", unit="token")(tokens)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (lambda *, tokens, overhead_seconds: tokens + overhead_seconds, "adds"),
        (lambda *, tokens, overhead_seconds: tokens + 1, "adds"),
        (
            lambda *, tokens, overhead_seconds: ops.minimum(tokens, overhead_seconds),
            "compares",
        ),
        (
            lambda *, tokens, overhead_seconds: ops.where(tokens > overhead_seconds, tokens, 0.0),
            "compares",
        ),
        (
            lambda *, tokens, overhead_seconds: ops.where(tokens > 0, tokens, overhead_seconds),
            "chooses between",
        ),
        (lambda *, tokens, overhead_seconds: ops.exp(overhead_seconds) * tokens, "exp of s"),
        (lambda *, tokens, overhead_seconds: tokens**overhead_seconds, "power"),
        (
            lambda *, tokens, overhead_seconds: tokens * overhead_seconds,
            "gives s\\*token, declared",
        ),
    ],
)
def test_units_that_do_not_close_are_found(body, problem):
    made = formula(symbol="u_1", unit="token")(body)
    with pytest.raises(FormulaError, match=problem):
        made.check_units()


def test_a_constant_carries_its_unit():
    def less_one(*, tokens):
        """Return one token less."""
        return ops.maximum(tokens - ops.constant(1, "token"), 0.0)

    made = formula(symbol="n_1", unit="token")(less_one)
    made.check_units()
    assert made(tokens=5) == 4.0
    assert made.excel(cells={"tokens": "B3"}) == "=IFERROR(IF(B3>=0,MAX(B3-1,0),NA()),NA())"
    assert made.inverse("tokens")(result=4.0) == (5.0,)


def test_unit_expressions():
    assert parse_unit("byte/token/layer") == parse_unit("byte/token")
    assert parse_unit("s/token^2")["token"] == -2
    with pytest.raises(ValueError, match="furlong"):
        parse_unit("furlong/s")


def test_sheet_text(bandwidth):
    cells = {"tokens": "B3", "recompute_seconds": "Inputs!$C$4"}
    assert bandwidth.excel(cells=cells) == (
        "=IFERROR(IF(AND(B3>=0,kv_bytes_per_token>=0,Inputs!$C$4>=0),"
        "IF(kv_overhead_seconds-Inputs!$C$4<0,kv_bytes_per_token*B3/"
        "(Inputs!$C$4-kv_overhead_seconds),NA()),NA()),NA())"
    )
    assert bandwidth.excel_lambda(in_file=True).startswith("_xlfn.LAMBDA(_xlpm.tokens,")


def test_powers_stand_in_brackets_in_sheets():
    def negated(*, tokens, new_tokens):
        """Return a negated square."""
        return -((tokens / new_tokens) ** 2)

    made = formula(symbol="q_1", unit="1")(negated)
    assert "-(tokens^2)" in made.excel(cells={"tokens": "tokens", "new_tokens": "s_1"})


@pytest.mark.parametrize("bad", ["B 3", "=1+1", "B3+1", "", 3, "A1:A2", "SUM(A1)", None])
def test_cells_that_are_no_cells_are_refused(bandwidth, bad):
    with pytest.raises(InvalidValueError, match=r"cells\[tokens\]"):
        bandwidth.excel(cells={"tokens": bad})


def test_unknown_cells_are_refused(bandwidth):
    with pytest.raises(InvalidValueError, match="is no parameter of _bandwidth"):
        bandwidth.excel(cells={"token": "B3"})
    with pytest.raises(InvalidValueError, match="is no parameter of _bandwidth"):
        bandwidth.vega({"token": "3"})


def test_vega_text(bandwidth):
    assert bandwidth.vega({"overhead_seconds": "datum.x"}) == (
        "((((tokens>=0)&&(kv_bytes_per_token>=0)&&(recompute_seconds>=0)))?("
        "(((datum.x)-recompute_seconds<0)?(kv_bytes_per_token*tokens/"
        "(recompute_seconds-(datum.x))):((0/0)))):((0/0)))"
    )


def test_vega_takes_numbers_too(bandwidth):
    assert "(0.33)" in bandwidth.vega({"overhead_seconds": 0.33})


def test_what_a_language_cannot_say_is_refused():
    import sympy

    def odd(*, tokens, new_tokens):
        """Return something odd."""
        return sympy.gamma(tokens / new_tokens) if ops.is_symbolic(tokens) else 1.0

    made = formula(symbol="g_1", unit="1")(odd)
    with pytest.raises(NotExpressibleError, match="SheetPrinter has no words for gamma"):
        made.excel()


@pytest.mark.parametrize(
    ("value", "text"),
    [(5e10, "50000000000"), (5e22, "5E+22"), (1e-9, "1E-09"), (-0.25, "-0.25"), (3.0, "3")],
)
def test_numbers_in_sheets(value, text):
    assert number_text(value) == text


def test_shallow_trace_keeps_calls(bandwidth):
    def share(*, tokens, kv_bytes_per_token, recompute_seconds, overhead_seconds, bandwidth):
        """Return a share."""
        needed = _made(
            tokens=tokens - ops.constant(1, "token"),
            kv_bytes_per_token=kv_bytes_per_token,
            recompute_seconds=recompute_seconds,
            overhead_seconds=overhead_seconds,
        )
        return bandwidth / needed

    _made = bandwidth
    made = formula(symbol="x_s", unit="1")(share)
    assert made.latex() == r"x_s = \frac{B}{B_{test}\left(n - 1\right)}"
    assert "cases" in made.latex(shallow=False)
    made.check_units()
    assert made(**AT, bandwidth=1e9) == pytest.approx(1e9 / bandwidth(**{**AT, "tokens": 15_999}))


def test_sensitivity_is_the_elasticity(bandwidth):
    found = bandwidth.sensitivity(**AT)
    assert found.elasticity["tokens"] == pytest.approx(1)
    assert found.elasticity["recompute_seconds"] == pytest.approx(-0.5 / 0.17)
    for name, elasticity in found.elasticity.items():
        step = 1e-6
        moved = bandwidth(**{**AT, name: AT[name] * (1 + step)})
        assert (moved / found.value - 1) / step == pytest.approx(elasticity, rel=1e-4)


def test_sensitivity_where_nothing_is_defined(bandwidth):
    found = bandwidth.sensitivity(**{**AT, "overhead_seconds": 0.6})
    assert all(math.isnan(value) for value in found.elasticity.values())


def test_inverse_in_closed_form():
    def load(*, tokens, kv_bytes_per_token, bandwidth, overhead_seconds):
        """Return a load time."""
        return overhead_seconds + tokens * kv_bytes_per_token / bandwidth

    made = formula(symbol="T_l", unit="s")(load)
    inverse = made.inverse("bandwidth")
    assert inverse.method == "closed form"
    others = {"tokens": 16_000, "kv_bytes_per_token": 48_408, "overhead_seconds": 0.33}
    (found,) = inverse(result=0.33 + 16_000 * 48_408 / 1.71e9, **others)
    assert found == pytest.approx(1.71e9, rel=1e-12)
    assert inverse(result=0.1, **others) == ()


def test_inverse_by_roots(bandwidth):
    inverse = bandwidth.inverse("overhead_seconds")
    assert inverse.method == "numeric root"
    others = {k: v for k, v in AT.items() if k != "overhead_seconds"}
    (found,) = inverse(result=bandwidth(**AT), **others)
    assert found == pytest.approx(0.33, rel=1e-12)
    with pytest.raises(UnknownNameError, match="parameter 'overhead' is not known"):
        bandwidth.inverse("overhead")
    with pytest.raises(InvalidValueError, match="result"):
        inverse(result=math.nan, **others)


def test_rich_display(bandwidth):
    shown = bandwidth._repr_markdown_()
    assert "$$B_{test} = " in shown
    assert "| $n$ | `tokens` | token |" in shown


def test_lookup_lists_the_nearest():
    with pytest.raises(UnknownNameError, match="the nearest are"):
        get("brake_even_bandwith")


def test_errors_survive_pickling():
    error = InvalidValueError(field="tokens", value=-1, bound="must be above 0", remedy="raise it")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.field, again.value) == (str(error), "tokens", -1)


def test_ops_edges():
    assert ops.minimum(1.0, math.nan) != ops.minimum(1.0, math.nan)
    assert ops.exp(1e4) == math.inf
    assert ops.expm1(1e4) == math.inf
    assert ops.log(0.0) == -math.inf
    assert math.isnan(ops.log(-1.0))
    assert ops.log1p(-1.0) == -math.inf
    assert math.isnan(ops.log1p(-2.0))
    assert math.isnan(ops.sqrt(-1.0))
    assert ops.floor(math.inf) == math.inf
    assert ops.ceil(-0.5) == 0.0
    assert ops.ceil(np.array([3 + 1e-12, 3.1])).tolist() == [3.0, 4.0]
    assert ops.floor(np.array([3 - 1e-12, 2.9])).tolist() == [3.0, 2.0]
