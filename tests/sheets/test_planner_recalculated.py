"""The shipped planner, recalculated by LibreOffice and by Gnumeric, against Python."""

from __future__ import annotations

import math

import pytest

from tests.sheets.conftest import CHANGES, ROUTED_CHANGES
from tests.sheets.engines import SENTINEL
from tests.sheets.shipped import SCENARIOS, yours
from tests.sheets.test_cells import TOLERANCE, disagreement


def _problem(python, cell):
    if isinstance(python, str):
        return None if cell == python else f"is {cell!r}, Python gives {python!r}"
    return disagreement(python, cell)


def _python(made, changes):
    """Return Python's value of each result, with inputs changed."""
    values = made.plan.values(changes)
    found = dict(values)
    for page in made.plan.pages:
        for sweep in page.sweeps:
            for place, row in enumerate(made.plan.sweep_values(sweep, values)):
                for column, value in zip(sweep.columns, row[1:], strict=True):
                    found[f"{sweep.key}.{column.key}.{place}"] = value
    return found


def _differences(made, cells, changes):
    python = _python(made, changes)
    wrong = []
    for item in (*made.inputs, *made.results):
        problem = _problem(python[item.key], cells.get((item.sheet, item.cell)))
        if problem:
            wrong.append(f"{item.sheet}!{item.cell} {item.what} {problem}")
    return wrong


@pytest.mark.parametrize("copy", ["shipped", "other", *SCENARIOS])
def test_as_shipped_every_cell_equals_python(recalculated, copy):
    made = {"shipped": recalculated.made, "other": recalculated.more, **recalculated.routed}[copy]
    cells = recalculated.values[copy]
    wrong = []
    for sheet, cell, value in made.formulas:
        found = cells.get((sheet, cell))
        if sheet == "Check" and value == 0.0:
            # differences are rounding, or none
            off = isinstance(found, (int, float)) and abs(found) <= TOLERANCE
            problem = None if off else f"is {found!r}, must be near 0"
        else:
            problem = _problem(math.nan if value == "#N/A" else value, found)
        if problem:
            wrong.append(f"{sheet}!{cell} {problem}")
    assert not wrong, "\n".join([f"{len(wrong)} cells differ", *wrong[:20]])


def test_no_sentinel_survives(recalculated):
    for name, cells in recalculated.values.items():
        assert SENTINEL not in cells.values(), name


@pytest.mark.parametrize("name", CHANGES)
def test_inputs_changed_inside_the_file(recalculated, name):
    wrong = _differences(recalculated.made, recalculated.values[name], CHANGES[name])
    assert not wrong, "\n".join([f"{len(wrong)} cells differ", *wrong[:20]])


@pytest.mark.parametrize("name", ROUTED_CHANGES)
def test_scenario_inputs_changed_inside_the_file(recalculated, name):
    scenario, changes = ROUTED_CHANGES[name]
    made, cells = recalculated.routed[scenario], recalculated.values[name]
    wrong = _differences(made, cells, changes)
    assert not wrong, "\n".join([f"{len(wrong)} cells differ", *wrong[:20]])
    policies = [item for item in made.results if item.key.startswith("python_")]
    assert len(policies) > 20
    assert {cells[item.sheet, item.cell] for item in policies} == {"#N/A"}


@pytest.mark.parametrize("name", [*CHANGES, *ROUTED_CHANGES])
def test_check_says_that_inputs_are_changed(recalculated, name):
    cells = recalculated.values[name]
    states = [
        value for (sheet, cell), value in cells.items() if sheet == "Check" and cell[0] == "F"
    ]
    assert set(states) == {"state", "inputs changed"}
    assert str(cells["Start", "A3"]).startswith("inputs changed")


def test_one_altered_formula_turns_red(recalculated):
    """Prove the proof: a factor that is off by one in a hundred million is found."""
    cells = recalculated.values["mutated"]
    wrong = _differences(recalculated.made, cells, {})
    assert any(f"Break-even!{recalculated.mutated} " in text for text in wrong)
    # what rests on it differs too, and the workbook says so itself
    assert len(wrong) > 1
    assert "DIFFERS" in cells.values()
    assert "differ from Python" in str(cells["Start", "A3"])


def test_recalculation_takes_under_ten_seconds(recalculated):
    assert recalculated.seconds < 10


def test_an_edited_copy_differs_in_its_inputs_alone(copies):
    made, *_, files = copies
    assert {sheet for sheet, _ in yours(made, {"tokens": 1.0})} == {"Inputs"}
    assert all(path.exists() for path in files.values())
