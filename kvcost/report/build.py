"""From a scenario to the page about it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import __version__
from kvcost.planning import compare
from kvcost.report.answer import answer_sentence, ranking, reasons, rules
from kvcost.report.assumptions import assumptions
from kvcost.report.blocks import Heading, Items, Page, Paragraph
from kvcost.report.equations import equations
from kvcost.report.pictures import pictures
from kvcost.report.scene import Scene
from kvcost.units import format_seconds

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kvcost.planning import Comparison
    from kvcost.scenario import Scenario

__all__ = ["build_report"]


def build_report(
    scenario: Scenario,
    policies: str | Sequence[str] | None = "all",
    *,
    simulate: bool = False,
    replications: int | None = None,
    seed: int | None = None,
    max_ttft: float | None = None,
    progress: Callable[[int], object] | None = None,
) -> Page:
    """Answer a scenario, and gather what the answer stands on.

    Parameters
    ----------
    scenario : Scenario
        Replicas and workload.
    policies : str or sequence of str, optional
        As `kvcost.planning.compare` takes them.
    simulate, replications, seed, progress
        As `kvcost.planning.compare` takes them.
    max_ttft : float, optional
        Budget for the best mean TTFT [s].

    Returns
    -------
    Page
        For `to_html` or `to_markdown`.

    Raises
    ------
    KvcostError
        If the scenario cannot be served as stated, or Altair is not installed.
    """
    found = compare(
        scenario,
        policies,
        simulate=simulate,
        replications=replications,
        seed=seed,
        progress=progress,
    )
    return _page(scenario, found, max_ttft)


def _page(scenario: Scenario, found: Comparison, max_ttft: float | None) -> Page:
    scene = Scene(scenario)
    own = scenario.policy.name
    best = found.answers[0]
    answer = answer_sentence(found, own)
    missed = None
    if max_ttft is not None and best.mean > max_ttft:
        missed = (
            f"BUDGET MISSED: the best mean TTFT is {format_seconds(best.mean)}, "
            f"{format_seconds(max_ttft)} is allowed."
        )
    return Page(
        title=scenario.title or "A scenario without a title",
        answer=answer,
        missed=missed,
        blocks=(
            Heading(level=2, text="The answer"),
            Paragraph(text=answer, lead=True),
            Paragraph(
                text="TTFT is the time from a request's arrival to its first token; p95 is what "
                "95% of the requests stay under. Every figure is of the model that this page "
                "states, not of a measurement."
            ),
            ranking(found, own),
            Heading(level=2, text="Why"),
            Items(texts=reasons(found)),
            Heading(level=2, text="Charts"),
            *pictures(scene, found),
            Heading(level=2, text="Assumptions"),
            *assumptions(scene, found),
            Heading(level=3, text="What each policy does"),
            Items(texts=rules(found)),
            Heading(level=2, text="Equations"),
            *equations(scene),
            Paragraph(text=f"Made by kvcost {__version__}."),
        ),
    )
