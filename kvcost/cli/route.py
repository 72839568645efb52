r"""What each routing policy makes requests wait, in closed form, and simulated if asked for.

Try:
  kvcost route bullet-70b-burst --policy all
  kvcost route bullet-70b-window --policy cache_aware,least_load,replicate_on_burst --simulate
  kvcost route bullet-70b-burst --policy replicate_on_burst --set visibility=admission --json
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvcost.cli.output import Report, show
from kvcost.cli.parser import add_output_flags, count
from kvcost.cli.scenarios import (
    Progress,
    add_flags,
    changed_scenario,
    policy_names,
    printable,
    seed_of,
)

if TYPE_CHECKING:
    import argparse

    from kvcost.planning.compare import Comparison, PolicyAnswer

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    add_flags(parser)
    parser.add_argument(
        "--policy",
        metavar="NAMES",
        help="all, or names with commas; the scenario's own if left out",
    )
    parser.add_argument(
        "--simulate", action="store_true", help="simulate what has a closed form, too"
    )
    parser.add_argument("--max-ttft", metavar="TIME", help="budget for the mean; exit code 1")
    add_output_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Print the policies, best first; return 1 if the best misses the budget."""
    from kvcost.planning import compare  # noqa: PLC0415
    from kvcost.units import format_seconds, parse_seconds  # noqa: PLC0415

    limit = None if args.max_ttft is None else parse_seconds(args.max_ttft, field="--max-ttft")
    scenario = changed_scenario(args.scenario, args.set)
    with Progress("runs") as progress:
        found = compare(
            scenario,
            policy_names(args.policy),
            simulate=args.simulate,
            replications=count(args.runs, "--runs"),
            seed=seed_of(args.seed),
            progress=progress,
        )
    best = found.answers[0]
    missed = limit is not None and best.mean > limit
    report = _report(found)
    if missed:
        note = f"BUDGET MISSED: the best mean TTFT is {format_seconds(best.mean)}"
        report = replace(report, notes=[*report.notes, note])
    show(report, args)
    return 1 if missed else 0


def _row(answer: PolicyAnswer) -> list[str]:
    from kvcost.units import format_seconds  # noqa: PLC0415

    shown = [
        format_seconds(value)
        for value in (
            answer.mean,
            answer.best.p50,
            answer.best.p95,
            answer.best.p99,
            answer.best.maximum,
        )
    ]
    row = [answer.policy, *shown]
    simulated = answer.simulated
    if simulated is None:
        return [*row, "", ""]
    interval = f"{format_seconds(simulated.low)} to {format_seconds(simulated.high)}"
    if simulated.runs == 1:
        interval = f"{format_seconds(simulated.mean)}, one run"
    if answer.difference is None:
        return [*row, interval, "simulated"]
    return [*row, interval, f"{answer.difference:+.1%}"]


def _notes(found: Comparison) -> list[str]:
    reasons: dict[str, list[str]] = {}
    for answer in found.answers:
        reasons.setdefault(answer.reason, []).append(answer.policy)
    notes = [f"{', '.join(names)}: {reason}." for reason, names in reasons.items()]
    methods: dict[str, list[str]] = {}
    for answer in found.answers:
        if answer.closed is not None:
            text = f"{answer.closed.method}; {answer.closed.error.text}"
        else:
            text = f"simulated: no closed form covers {answer.missing}"
        methods.setdefault(text, []).append(answer.policy)
    notes += [f"How ({', '.join(names)}): {text}." for text, names in methods.items()]
    warnings = {
        warning: None
        for answer in found.answers
        for warning in (answer.closed.warnings if answer.closed else ())
    }
    notes += [f"Note: {warning}." for warning in warnings]
    return [*notes, "Percentiles are over all requests of all runs; longest is the runs' mean."]


def _report(found: Comparison) -> Report:
    rows = [_row(answer) for answer in found.answers]
    header = ["policy", "mean TTFT", "p50", "p95", "p99", "longest", "simulated mean", "difference"]
    if not any(row[6] for row in rows):
        header, rows = header[:6], [row[:6] for row in rows]
    records = []
    for answer in found.answers:
        flat = answer.to_dict()
        flat.pop("warnings")
        records.append(flat)
    return Report(
        title=printable(found.title) or "routing policies",
        header=header,
        rows=rows,
        notes=_notes(found),
        data=found.to_dict(),
        records=records,
    )
