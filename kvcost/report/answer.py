"""The answer: which policy, by how much, and the table behind it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.breakeven import margin
from kvcost.report.blocks import Table
from kvcost.routing import registry
from kvcost.units import format_ratio, format_seconds

if TYPE_CHECKING:
    from kvcost.planning import Comparison, PolicyAnswer

__all__ = ["answer_sentence", "ranking", "reasons", "rules", "trust"]

_ALIKE = 0.01  # a difference that no decision should hang on


def _saved(slower: PolicyAnswer, faster: PolicyAnswer) -> float:
    """Return the share of the slower policy's mean that the faster one saves."""
    return float(margin(recompute_seconds=slower.rank, hit_seconds=faster.rank))


def _list(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def answer_sentence(found: Comparison, own: str) -> str:
    """Return which policy is best and what it saves, in one sentence.

    Parameters
    ----------
    found : Comparison
        All policies that were compared.
    own : str
        The scenario's own policy.

    Returns
    -------
    str
        One sentence.
    """
    best = found.answers[0]
    mean = format_seconds(best.rank)
    alike = [a.policy for a in found.answers[1:] if _saved(a, best) < _ALIKE]
    text = f"Route by {best.policy}: requests wait {mean} for their first token on average"
    known = {answer.policy: answer for answer in found.answers}
    if len(known) == 1:
        return f"Under {best.policy}, requests wait {mean} for their first token on average."
    if own == best.policy:
        rivals = [a for a in found.answers[1:] if a.policy not in alike]
        text += ", which the scenario does already"
        if rivals:
            text += (
                f"; the next, {rivals[0].policy}, takes {format_seconds(rivals[0].rank)}, "
                f"{format_ratio(rivals[0].rank / best.rank - 1, digits=2)} more"
            )
    elif own in alike:
        text += f", and {own}, the scenario's own policy, is within {format_ratio(_ALIKE)} of it"
    elif own in known:
        saved = format_ratio(_saved(known[own], best), digits=2)
        text += (
            f", {saved} less than under {own}, the scenario's own policy "
            f"({format_seconds(known[own].rank)})"
        )
    others = [name for name in alike if name != own]
    if others:
        shown = _list(others) if len(others) <= 3 else f"{len(others)} others"
        text += f"; {shown} {'is' if len(others) == 1 else 'are'} within {format_ratio(_ALIKE)}"
    return f"{text}."


def trust(answer: PolicyAnswer) -> str:
    """Return how far an answer can be trusted, in a word or two."""
    if answer.closed is None:
        return "simulated"
    error = answer.closed.error
    if error.relative is None or error.kind == "exact":
        return error.kind
    return f"{error.kind}, {format_ratio(error.relative, digits=2)}"


def _row(answer: PolicyAnswer, best: PolicyAnswer, own: str, place: int) -> tuple[str, ...]:
    name = f"{answer.policy} (now)" if answer.policy == own else answer.policy
    told = answer.best if answer.simulated is None else answer.simulated
    over = answer.rank / best.rank - 1
    return (
        name,
        str(place),
        format_seconds(answer.rank),
        "best" if place == 1 else f"+{format_ratio(over, digits=2)}",
        format_seconds(told.p50),
        format_seconds(told.p95),
        format_seconds(told.p99),
        trust(answer),
    )


def ranking(found: Comparison, own: str) -> Table:
    """Return the policies as a table, the best mean first.

    Parameters
    ----------
    found : Comparison
        All policies that were compared.
    own : str
        The scenario's own policy.

    Returns
    -------
    Table
        One row a policy.
    """
    best = found.answers[0]
    return Table(
        caption="Time to first token under each policy",
        header=("policy", "rank", "mean", "over the best", "p50", "p95", "p99", "trust"),
        rows=tuple(_row(each, best, own, n) for n, each in enumerate(found.answers, start=1)),
        numbers=True,
    )


def reasons(found: Comparison) -> tuple[str, ...]:
    """Return where the time goes, policies of one reason together."""
    grouped: dict[str, list[str]] = {}
    for answer in found.answers:
        grouped.setdefault(answer.reason, []).append(answer.policy)
    return tuple(f"{', '.join(names)}: {reason}." for reason, names in grouped.items())


def rules(found: Comparison) -> tuple[str, ...]:
    """Return what each policy does, and where that is published."""
    known = (registry.policy(answer.policy) for answer in found.answers)
    return tuple(f"{each.name}: {each.summary}. Source: {each.source}." for each in known)
