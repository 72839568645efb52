r"""Write one page about a scenario: the answer, the margins, charts, assumptions, equations.

Try:
  kvcost report bullet-70b-burst -o report.html
  kvcost report bullet-70b-burst --policy cache_aware,least_load --max-ttft 250ms -o report.md
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from kvcost.cli.parser import count
from kvcost.cli.scenarios import (
    Progress,
    add_flags,
    changed_scenario,
    policy_names,
    seed_of,
)

if TYPE_CHECKING:
    import argparse

__all__ = ["configure", "run"]

_WIDTH = 100


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    add_flags(parser)
    parser.add_argument(
        "-o", "--output", metavar="FILE", required=True, help="file to write: .html or .md"
    )
    parser.add_argument("--force", action="store_true", help="replace the file if it exists")
    parser.add_argument(
        "--policy", metavar="NAMES", default="all", help="names with commas; all if left out"
    )
    parser.add_argument(
        "--simulate", action="store_true", help="simulate what has a closed form, too"
    )
    parser.add_argument("--max-ttft", metavar="TIME", help="budget for the mean; exit code 1")


def run(args: argparse.Namespace) -> int:
    """Write the page and print its answer; return 1 if the best misses the budget."""
    from kvcost.report.write import check_target, write_report  # noqa: PLC0415
    from kvcost.units import parse_seconds  # noqa: PLC0415

    check_target(args.output, force=args.force)
    limit = None if args.max_ttft is None else parse_seconds(args.max_ttft, field="--max-ttft")
    scenario = changed_scenario(args.scenario, args.set)
    from kvcost.report.build import build_report  # noqa: PLC0415 - loads the charts

    with Progress("runs") as progress:
        page = build_report(
            scenario,
            policy_names(args.policy),
            simulate=args.simulate,
            replications=count(args.runs, "--runs"),
            seed=seed_of(args.seed),
            max_ttft=limit,
            progress=progress,
        )
    written = write_report(page, args.output, force=args.force)
    print(textwrap.fill(page.answer, _WIDTH))
    if page.missed is not None:
        print(textwrap.fill(page.missed, _WIDTH))
    print(f"Written to {written}.")
    return 1 if page.missed is not None else 0
