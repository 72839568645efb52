"""The plan of the workbook: its inputs, and one page a subject."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.sheet.facts import (
    accelerator_table,
    dtype_table,
    lookup_name,
    model_tables,
    store_table,
)
from kvcost.sheet.plan import breakeven, model, routing, waiting
from kvcost.sheet.plan.inputs import inputs
from kvcost.sheet.plan.parts import Chart, Page, Plan, Sweep

if TYPE_CHECKING:
    from kvcost.sheet.question import Question

__all__ = ["Chart", "Page", "Plan", "Sweep", "make_plan"]


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
    name = lookup_name(f"{question.model.name} (as asked)")
    store = "the store asked for, one shard"
    path = question.path
    rate = path.store_bandwidth
    tables = {
        table.name: table
        for table in (
            *model_tables((name, question.model, question.size_options)),
            dtype_table(),
            accelerator_table(),
            store_table(None if rate is None else (store, rate, path.overhead_seconds)),
        )
    }
    given = inputs(question, tables=tables, model_name=name, store_name=store)
    rows = Plan(inputs=given, pages=(model.page(tables), breakeven.page(tables)), tables=tables)
    known = rows.values()
    waits = waiting.page(known)
    return Plan(
        inputs=given,
        pages=(*rows.pages, waits, routing.page()),
        tables=tables,
    )
