"""Erlang's formulas in sheets with up to 2,000 servers, where factorials would overflow."""

from __future__ import annotations

import pytest

from kvcost.queueing import formulas
from tests.sheets.engines import ENGINES, Block, read, write
from tests.sheets.test_cells import disagreement

ROWS = [
    (float(servers), utilization)
    for servers in (1, 2, 170, 171, 500, 1000, 1999, 2000, 2001, 2.5)
    for utilization in (0.5, 0.8, 0.95, 0.999, 1.0)
]


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_many_servers(engine, tmp_path):
    columns = ["servers", "utilization", "service_seconds", "percentile"]
    rows = [(*row, 0.3, 0.95) for row in ROWS]
    chosen = {
        name: getattr(formulas, name)
        for name in ("erlang_c", "mmc_mean_wait", "mmc_wait_percentile")
    }
    blocks = {name: Block(f"f{i}", columns, rows) for i, name in enumerate(chosen)}
    texts = {
        name: [
            formula.excel(
                cells={k: v for k, v in blocks[name].cells(i).items() if k in formula.parameters}
            )
            for i in range(len(rows))
        ]
        for name, formula in chosen.items()
    }
    source = tmp_path / "in" / "many.xlsx"
    source.parent.mkdir()
    write(source, blocks, texts)
    (tmp_path / "out").mkdir()
    values = read(ENGINES[engine](source, tmp_path / "out"), blocks)
    wrong = []
    for name, formula in chosen.items():
        for row, cell in zip(rows, values[name], strict=True):
            point = {k: v for k, v in zip(columns, row, strict=True) if k in formula.parameters}
            problem = disagreement(formula(**point), cell)
            if problem:
                wrong.append(f"{name}({point}) {problem}")
    assert not wrong, "\n".join(wrong)
