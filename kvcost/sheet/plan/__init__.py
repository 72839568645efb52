"""The plan of the workbook: its inputs, and one page a subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.sheet.facts import (
    accelerator_table,
    dtype_table,
    figures_tables,
    lookup_name,
    model_tables,
    store_table,
)
from kvcost.sheet.plan import breakeven, model, routing, waiting
from kvcost.sheet.plan.inputs import inputs
from kvcost.sheet.plan.parts import Chart, Grid, Page, Plan, Sweep
from kvcost.sheet.question import ModelFigures

if TYPE_CHECKING:
    from kvcost.sheet.question import Question

__all__ = ["Chart", "Grid", "Page", "Plan", "Sweep", "make_plan"]


def make_plan(question: Question) -> Plan:
    """Return the plan of a workbook.

    Parameters
    ----------
    question : Question
        The deployment that it is about.

    Returns
    -------
    Plan
        Tables of facts, inputs and pages.
    """
    asked = question.model
    name = lookup_name(f"{asked.name} (as asked)")
    store = "the store asked for, one shard"
    path = question.path
    rate = path.store_bandwidth
    models = (
        figures_tables(name, asked)
        if isinstance(asked, ModelFigures)
        else model_tables((name, asked, question.size_options))
    )
    tables = {
        table.name: table
        for table in (
            *models,
            dtype_table(),
            accelerator_table(),
            store_table(None if rate is None else (store, rate, path.overhead_seconds)),
        )
    }
    given = inputs(question, tables=tables, model_name=name, store_name=store)
    pages = (model.page(tables), breakeven.page(tables))
    bursty = question.burst is not None
    last = routing.page(burst=bursty, policies=question.policies)
    rows = Plan(inputs=given, pages=(*pages, last), tables=tables)
    known = rows.values(keys=waiting.NEEDED)
    waits = waiting.page(known, gaps="burst_gaps" if bursty else "burst_requests")
    return Plan(inputs=given, pages=(*pages, waits, last), tables=tables)
