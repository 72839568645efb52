"""The LAMBDA library: its bodies through an engine for Excel formulas, against Python."""

from __future__ import annotations

import math
import re
import warnings

import numpy as np
import openpyxl
import pytest

import kvcost as kv
from kvcost.cli import main
from kvcost.formula import registry
from kvcost.sheet import excel, lambda_module, lambda_name, write_lambdas
from kvcost.sheet.lambdas import example_inputs
from tests.draws import drawn, edges, outside
from tests.sheets.test_cells import TOLERANCE

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import formulas

DRAWN = 20


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    path = tmp_path_factory.mktemp("lambdas") / "kvcost-lambdas.xlsx"
    write_lambdas(path)
    book = openpyxl.load_workbook(path)
    yield book
    book.close()


def _body(text, parameters):
    """Return the body of a LAMBDA over exactly these parameters."""
    head = f"LAMBDA({','.join(parameters)},"
    assert text.startswith(head)
    assert text.endswith(")")
    return text[len(head) : -1]


def _compiled(body):
    return formulas.Parser().ast(f"={body}")[1].compile()


def _disagreement(formula, function, point):
    python = formula(**point)
    given = {name.upper(): value for name, value in point.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cell = np.asarray(function(**given)).ravel()[0]
    if not math.isfinite(python):
        return None if str(cell) == "#N/A" else f"is {cell}, Python gives {python}"
    if not isinstance(cell, (int, float)):
        return f"is {cell}, Python gives {python}"
    close = abs(float(cell) - python) <= TOLERANCE * abs(python)
    return None if close else f"is {cell!r}, Python gives {python!r}"


def test_bodies_equal_python(library):
    wrong = []
    for name, formula in registry().items():
        stored = library.defined_names[lambda_name(formula)].attr_text
        shown = stored.replace("_xlfn.", "").replace("_xlpm.", "")
        assert shown == formula.excel_lambda()
        function = _compiled(_body(shown, formula.parameters))
        for point in drawn(formula, DRAWN) + edges(formula)[:6] + outside(formula):
            problem = _disagreement(formula, function, point)
            if problem:
                wrong.append(f"{name}({point}) {problem}")
    assert not wrong, "\n".join([f"{len(wrong)} values differ", *wrong[:20]])


def test_an_altered_body_turns_red():
    formula = kv.formula.get("margin")
    body = _body(formula.excel_lambda(), formula.parameters)
    altered = _compiled(f"1.00000001*{body}")
    points = drawn(formula, 5)
    assert all(_disagreement(formula, altered, point) for point in points)
    assert not any(_disagreement(formula, _compiled(body), point) for point in points)


def test_every_formula_is_a_name_with_prefixes_as_files_carry_them(library):
    assert set(library.defined_names) == {lambda_name(formula) for formula in registry().values()}
    for formula in registry().values():
        text = library.defined_names[lambda_name(formula)].attr_text
        assert text.startswith("_xlfn.LAMBDA(_xlpm.")
        assert len(text) < 8192
        assert len(lambda_name(formula)) < 255
        bare = re.sub(r"_xlpm\.\w+", "", text)
        assert not any(re.search(rf"\b{name}\b", bare) for name in formula.parameters)


def test_each_name_has_a_tooltip(library):
    for formula in registry().values():
        comment = library.defined_names[lambda_name(formula)].comment
        assert comment.startswith(formula.documentation.summary[:200])
        assert len(comment) <= 255


def test_the_sheet_explains_each_argument(library):
    sheet = library["Functions"]
    rows = {row[0].value: row for row in sheet.iter_rows(min_row=5)}
    for formula in registry().values():
        row = rows[lambda_name(formula)]
        for name, quantity in formula.parameters.items():
            assert f"{name}: {quantity.text} [{quantity.unit}]" in row[4].value
        python = formula(**example_inputs(formula))
        wanted = pytest.approx(python, rel=1e-14) if math.isfinite(python) else "no number"
        assert row[6].value == wanted


def test_module_text_holds_every_formula_with_help():
    text = lambda_module()
    found = dict(re.findall(r"^([A-Z0-9_]+) = (LAMBDA\(.*\));$", text, flags=re.MULTILINE))
    assert found == {name.upper(): formula.excel_lambda() for name, formula in registry().items()}
    comments = re.findall(r"/\*\*.*?\*/", text, flags=re.DOTALL)
    assert len(comments) == len(registry())
    for comment, formula in zip(comments, registry().values(), strict=True):
        assert re.findall(r"@param (\w+)", comment) == list(formula.parameters)


def test_command_writes_both_kinds(tmp_path, capsys):
    for name in ("kvcost-lambdas.xlsx", "module.txt"):
        assert main(["sheet", "--lambdas", str(tmp_path / name)]) == 0
        assert main(["sheet", "--lambdas", str(tmp_path / name)]) == 2
        assert main(["sheet", "--lambdas", str(tmp_path / name), "--force"]) == 0
    assert (tmp_path / "module.txt").read_text(encoding="utf-8") == lambda_module()
    capsys.readouterr()


def test_cell_text(capsys):
    cells = {"recompute_seconds": "B3", "hit_seconds": "'My times'!C4"}
    text = kv.formula.get("margin").excel(cells)
    assert kv.sheet.excel("margin", cells=cells) == text
    assert (
        excel(kv.formula.get("margin"), "recompute_seconds=B3, hit_seconds='My times'!C4") == text
    )
    words = ["sheet", "--formula", "margin", "--cells", "recompute_seconds=B3"]
    assert main(words) == 0
    assert capsys.readouterr().out == excel("margin", {"recompute_seconds": "B3"}) + "\n"


def test_a_sheet_name_with_a_comma():
    text = excel("margin", "hit_seconds='a,b'!C4,recompute_seconds=B3")
    assert "'a,b'!C4" in text
