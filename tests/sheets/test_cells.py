"""Every formula's cell text, recalculated by LibreOffice and by Gnumeric, against Python."""

from __future__ import annotations

import math

import pytest

from kvcost.formula import registry
from tests.draws import drawn, edges, outside
from tests.sheets.engines import ENGINES, SENTINEL, Block, read, write

TOLERANCE = 1e-9
DRAWN = 100


def _blocks():
    made = {}
    for number, (name, formula) in enumerate(registry().items()):
        points = drawn(formula, DRAWN) + edges(formula) + outside(formula)
        rows = [[point[parameter] for parameter in formula.parameters] for point in points]
        made[name] = Block(f"f{number}", list(formula.parameters), rows)
    return made


def _texts(blocks, formulas=None):
    known = formulas or registry()
    return {
        name: [known[name].excel(cells=block.cells(row)) for row in range(len(block.rows))]
        for name, block in blocks.items()
    }


def disagreement(python: float, cell: object) -> str | None:
    """Say how a cell differs from Python, or return None."""
    if cell == SENTINEL:
        return "was not recalculated"
    if not math.isfinite(python):
        return None if cell == "#N/A" else f"is {cell}, Python gives {python}"
    if not isinstance(cell, (int, float)):
        return f"is {cell}, Python gives {python!r}"
    if abs(cell - python) <= TOLERANCE * abs(python):
        return None
    return f"is {cell!r}, Python gives {python!r}"


@pytest.fixture(scope="module", params=sorted(ENGINES))
def recalculated(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    source = folder / "in" / "cells.xlsx"
    source.parent.mkdir()
    blocks = _blocks()
    write(source, blocks, _texts(blocks))
    out = folder / "out"
    out.mkdir()
    return blocks, read(ENGINES[request.param](source, out), blocks)


def test_cells_equal_python(recalculated):
    blocks, values = recalculated
    wrong = []
    for name, block in blocks.items():
        formula = registry()[name]
        for row, cell in zip(block.rows, values[name], strict=True):
            point = dict(zip(block.columns, row, strict=True))
            problem = disagreement(formula(**point), cell)
            if problem:
                wrong.append(f"{name}({point}) {problem}")
    assert not wrong, "\n".join([f"{len(wrong)} cells differ", *wrong[:20]])


def test_every_formula_has_finite_cells(recalculated):
    blocks, values = recalculated
    for name in blocks:
        numbers = [cell for cell in values[name] if isinstance(cell, (int, float))]
        assert len(numbers) >= DRAWN / 4, f"{name}: too few drawn inputs give a number"
        assert len(set(numbers)) > 1, f"{name}: the same number everywhere"


def test_text_fits_a_cell():
    for formula in registry().values():
        assert len(formula.excel()) < 8192, formula.name


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_one_altered_formula_turns_red(engine, tmp_path):
    """Prove the proof: the comparison finds a factor that is off by one in a hundred million."""
    name, formula = next(iter(registry().items()))
    points = [
        # a factor leaves zero and what is no number as they are
        point
        for point in drawn(formula, 50)
        if formula(**point) and math.isfinite(formula(**point))
    ][:3]
    assert len(points) == 3
    rows = [[point[parameter] for parameter in formula.parameters] for point in points]
    blocks = {name: Block("f0", list(formula.parameters), rows)}
    altered = {
        name: [
            "=1.00000001*" + formula.excel(cells=blocks[name].cells(row))[1:]
            for row in range(len(rows))
        ]
    }
    source = tmp_path / "in" / "altered.xlsx"
    source.parent.mkdir()
    write(source, blocks, altered)
    (tmp_path / "out").mkdir()
    values = read(ENGINES[engine](source, tmp_path / "out"), blocks)[name]
    found = [
        disagreement(formula(**point), value) for point, value in zip(points, values, strict=True)
    ]
    assert all(found), found
