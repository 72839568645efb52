"""The planner: a workbook of live formulas about one deployment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvcost.sheet.book import open_book
from kvcost.sheet.files import replacing
from kvcost.sheet.front import write_about, write_check, write_facts, write_start
from kvcost.sheet.pages import write_inputs, write_page
from kvcost.sheet.plan import make_plan

if TYPE_CHECKING:
    from pathlib import Path

    from kvcost.sheet.nodes import Value
    from kvcost.sheet.pages import Written
    from kvcost.sheet.plan import Plan
    from kvcost.sheet.question import Question

__all__ = ["Planner", "write_planner"]


@dataclass(frozen=True, kw_only=True)
class Planner:
    """What was written.

    Attributes
    ----------
    plan : Plan
        What the workbook computes.
    inputs, results : tuple of Written
        Where each input and each result stands, with Python's value.
    formulas : tuple of (str, str, float or str)
        Sheet, cell and cached value of every formula.
    """

    plan: Plan
    inputs: tuple[Written, ...]
    results: tuple[Written, ...]
    formulas: tuple[tuple[str, str, Value], ...]


def write_planner(
    path: Path | str, question: Question, *, force: bool = False, sentinel: float | None = None
) -> Planner:
    """Write the planner for a deployment.

    Parameters
    ----------
    path : Path or str
        An ``.xlsx`` file.
    question : Question
        The deployment.
    force : bool
        Whether a file that is there is replaced.
    sentinel : float, optional
        Cached value of every formula instead of Python's, for tests of recalculation.

    Returns
    -------
    Planner
        Where everything stands.

    Raises
    ------
    ConfigError
        If a file is there, it cannot be written, or XlsxWriter is not installed.
    """
    plan = make_plan(question)
    values = plan.values()
    with (
        replacing(path, suffix=".xlsx", force=force) as draft,
        open_book(draft, sentinel=sentinel) as book,
    ):
        book.made.set_properties({"title": "kvcost planner", "comments": question.title[:255]})
        start = book.sheet("Start", widths=(50, 24, 14, 60), tab="#595959")
        inputs = write_inputs(book, plan, values)
        results = [item for page in plan.pages for item in write_page(book, plan, page, values)]
        write_facts(book, plan)
        write_check(book, results, inputs)
        write_about(book, plan, question)
        write_start(book, start, plan, question, values)
        start.activate()
    return Planner(
        plan=plan,
        inputs=tuple(inputs),
        results=tuple(results),
        formulas=tuple(book.formulas),
    )
