"""The planner as a file: what it holds, what it refuses, and that Python's side is right."""

from __future__ import annotations

import re
import sys
import time
from dataclasses import replace

import openpyxl
import pytest

from kvcost.breakeven import decide
from kvcost.cli import main
from kvcost.compute import PrefillCurve
from kvcost.errors import ConfigError, KvcostError
from kvcost.formula import get
from kvcost.hardware import accelerator
from kvcost.model import catalogue_names, kv_size, load
from kvcost.sheet import write_planner
from kvcost.sheet.facts import DTYPES
from kvcost.sheet.nodes import Result
from kvcost.sheet.plan import make_plan
from tests.sheets.shipped import SCENARIOS, example, other, routed, values_of

SHEETS = ["Start", "Inputs", "Model", "Break-even", "Waiting", "Routing", "Facts", "Check", "About"]
CLASSIC = {
    *("ABS", "AND", "EXP", "IF", "IFERROR", "INDEX", "INT", "ISBLANK", "ISERROR", "ISNUMBER"),
    *("LN", "MATCH", "MAX", "MIN", "NA", "OR", "POISSON", "SQRT", "SUM"),
}


@pytest.fixture(scope="module", params=["", *SCENARIOS])
def planner(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("planner") / "planner.xlsx"
    question = routed(request.param) if request.param else example()
    return write_planner(path, question), path


@pytest.fixture(scope="module")
def book(planner):
    made = openpyxl.load_workbook(planner[1])
    yield made
    made.close()


def _formulas(book):
    for sheet in book.worksheets:
        for row in sheet.iter_rows():
            for cell in row:
                if cell.data_type == "f":
                    yield sheet.title, cell.coordinate, cell.value


def test_sheets(book):
    assert book.sheetnames == SHEETS


def test_shipped_files_carry_python_values(planner):
    made, path = planner
    cells = values_of(path)
    assert len(made.formulas) > 1000
    for sheet, cell, value in made.formulas:
        assert cells[sheet, cell] == value, (sheet, cell)


def test_only_classic_functions_without_macros(planner, book):
    used = set()
    for _, _, text in _formulas(book):
        used |= set(re.findall(r"([A-Z][A-Z0-9.]*)\(", text))
        assert len(text) < 8192
        assert _depth(text) <= 64
    assert used <= CLASSIC
    assert not book.vba_archive
    for name, defined in book.defined_names.items():
        assert name.startswith("kv_")
        assert "#REF" not in defined.attr_text


def _depth(text):
    level = deepest = 0
    for letter in text:
        level += (letter == "(") - (letter == ")")
        deepest = max(deepest, level)
    return deepest


def test_every_result_is_printed_by_the_registry(planner, book):
    made, _ = planner
    cells = {(item.key): (item.sheet, item.cell) for item in made.results}
    names = {node.key: node for _, node in made.plan.nodes()}
    checked = 0
    for key, node in names.items():
        if isinstance(node, Result):
            sheet, cell = cells[key]
            known = get(node.formula)
            arguments = {name: node.arguments.get(name, name) for name in known.parameters}
            refs = {
                name: key if key.startswith("kv_") else f"kv_{key}"
                for name, key in arguments.items()
            }
            assert book[sheet][cell].value == known.excel(refs)
            checked += 1
    assert checked > 50


def test_every_result_follows_some_input_and_every_input_some_result(planner):
    """Walk the cells: whatever can change must reach a result, and nothing else is constant."""
    plan = planner[0].plan
    reads: dict[str, set[str]] = {}
    for _, node in plan.nodes():
        seen: set[str] = set()
        node.text(lambda key, seen=seen: seen.add(key) or "A1")
        found = getattr(node, "found", None)
        reads[node.key] = (seen - {"yours", "found"}) | (
            {found} if isinstance(found, str) else set()
        )
    inputs = {node.key for node in plan.inputs}

    def rests_on(key, path=frozenset()):
        if key in path or key not in reads:
            return set()
        below = set().union(*(rests_on(other, path | {key}) for other in reads[key]), set())
        return below | ({key} & inputs)

    fixed = {"nothing", "one", "none", "no_limit", "state_element_bytes", "conv_element_bytes"}
    reached = set()
    for page in plan.pages:
        for node in page.nodes:
            found = rests_on(node.key)
            reached |= found
            if node.key.startswith("python_"):
                assert "inputs_changed" in reads[node.key] or "NA()" in node.text(str)
                continue
            assert found or node.key in fixed, node.key
    assert reached == inputs


def test_charts_and_lists(planner, book):
    for page in planner[0].plan.pages:
        assert len(book[page.name]._charts) == len(page.sweeps) + len(page.grids)
    rules = {str(rule.sqref): rule for rule in book["Inputs"].data_validations.dataValidation}
    assert len(rules) == len(planner[0].inputs)
    assert {"=kv_list_models", "kv_list_models"} & {rule.formula1 for rule in rules.values()}


def _stored_otherwise(name, **options):
    return replace(example(), model=load(name), size_options=options)


QUESTIONS = [
    example(),
    other(),
    other(loading="sync"),
    _stored_otherwise("gemma-3-27b", kv_dtype="int4", group_size=32, group_scale_bytes=2),
    _stored_otherwise("deepseek-v4-flash", kv_dtype="fp8", layout="vllm"),
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_python_side_equals_the_decision(question):
    values = make_plan(question).values()
    size = kv_size(question.model, **question.size_options)
    found = decide(
        tokens=question.tokens,
        kv_bytes_per_token=size.bytes_per_token,
        fixed_bytes_per_request=size.fixed_bytes_per_request,
        prefill=question.prefill,
        path=question.path,
        loading=question.loading,
        recompute_last_token=question.last_token,
    )
    for name in (
        "recompute_seconds",
        "hit_seconds",
        "bandwidth",
        "suffix_seconds",
        "break_even_bandwidth",
        "break_even_bandwidth_without_overhead",
        "break_even_overhead",
        "margin",
        "hit_gpu_seconds",
        "fetched_tokens",
        "kv_bytes_per_token",
    ):
        wanted = getattr(found, name)
        if wanted is None:
            assert values[name] != values[name], name
        else:
            assert values[name] == pytest.approx(wanted, rel=1e-9, abs=1e-15), name
    assert values["verdict"] == found.verdict
    assert values["gpu_verdict"] == found.verdict_gpu_seconds
    if found.break_even_tokens is not None:
        assert values["break_even_tokens"] == pytest.approx(found.break_even_tokens, abs=1)


def test_model_sheet_equals_python_for_every_model_and_dtype():
    plan = make_plan(example())
    counted = 0
    for name in catalogue_names():
        spec = load(name)
        for dtype in DTYPES:
            try:
                size = kv_size(spec, kv_dtype=dtype)
            except KvcostError:
                continue
            values = plan.values(
                {"model": name, "kv_dtype": dtype}, keys=("model_bytes", "model_fixed_bytes")
            )
            if values["model_bytes"] != values["model_bytes"]:
                assert name not in dict(plan.tables["models"].rows), name
                continue
            assert values["model_bytes"] == pytest.approx(size.bytes_per_token, rel=1e-12)
            fixed = size.fixed_bytes_per_request
            assert values["model_fixed_bytes"] == pytest.approx(fixed, rel=1e-12)
            counted += 1
    assert counted > 400


def test_hardware_prefill_equals_python():
    plan = make_plan(example())
    counted = 0
    for name in catalogue_names():
        try:
            curve = PrefillCurve.from_hardware(
                load(name), accelerator("b300"), accelerators=8, mfu=0.5, compute_dtype="bf16"
            )
        except KvcostError:
            continue
        changed = {"model": name, "prefill_source": "hardware", "accelerator": "b300"}
        found = plan.values(changed, keys=("prefill_per_token", "prefill_per_token_squared"))
        assert found["prefill_per_token"] == pytest.approx(curve.per_token, rel=1e-12)
        squared = curve.per_token_squared
        assert found["prefill_per_token_squared"] == pytest.approx(squared, rel=1e-12)
        counted += 1
    assert counted > 30


@pytest.mark.parametrize("text", ["=1+1", "+A1", "-2", "@SUM(A1)", '=cmd|"/c calc"!A1', "~*?"])
def test_what_users_supply_is_text(tmp_path, text):
    question = example()
    spec = replace(question.model, name=text, notes=(text,), sources=(text,))
    made = write_planner(
        tmp_path / "x.xlsx", replace(question, title=text, notes=(text,), model=spec)
    )
    book = openpyxl.load_workbook(tmp_path / "x.xlsx")
    assert {(sheet, cell) for sheet, cell, _ in _formulas(book)} == {
        (sheet, cell) for sheet, cell, _ in made.formulas
    }
    assert book["Start"]["A1"].value == text
    assert book["Start"]["A1"].data_type == "s"
    book.close()
    # the name is found by its look-up all the same
    assert made.plan.values()["model_bytes"] == 48_408


def test_a_file_that_is_there_stays(tmp_path):
    path = tmp_path / "planner.xlsx"
    path.write_text("mine")
    with pytest.raises(ConfigError, match="is there already"):
        write_planner(path, example())
    assert path.read_text() == "mine"
    write_planner(path, example(), force=True)
    assert path.read_bytes()[:2] == b"PK"
    assert [item.name for item in tmp_path.iterdir()] == ["planner.xlsx"]


def test_without_xlsxwriter(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    assert main(["sheet", str(tmp_path / "planner.xlsx")]) == 2
    assert 'pip install "kvcost[sheet]"' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setattr("kvcost.sheet.planner.write_facts", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_planner(tmp_path / "planner.xlsx", example())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["planner.xls", "nowhere/planner.xlsx"])
def test_names_that_cannot_be(tmp_path, name):
    with pytest.raises(ConfigError):
        write_planner(tmp_path / name, example())


def test_it_is_written_in_under_three_seconds(tmp_path):
    started = time.process_time()
    write_planner(tmp_path / "planner.xlsx", example())
    assert time.process_time() - started < 3


def test_command(tmp_path, capsys):
    path = tmp_path / "planner.xlsx"
    assert main(["sheet", str(path)]) == 0
    assert "live results" in capsys.readouterr().out
    assert main(["sheet", str(path)]) == 2
    assert "--force" in capsys.readouterr().err
    assert main(["sheet", str(path), "--force", "--deployment", "glm-5.3-8xb300"]) == 0


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["x.xlsx", "--formula", "margin"],
        ["--formula", "margin", "--deployment", "glm-5.3-8xb300"],
        ["--formula", "margn"],
        ["--formula", "margin", "--cells", "hit_seconds"],
        ["--formula", "margin", "--cells", "hit_seconds=A1,hit_seconds=A2"],
        ["--formula", "margin", "--cells", "hit_seconds=A1+1"],
        ["--lambdas", "x.doc"],
        ["x.xlsx", "--deployment", "nothing"],
    ],
)
def test_bad_input(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["sheet", *words]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not list(tmp_path.iterdir())
