r"""Simulate a scenario under one routing policy, and tell where the time goes.

Try:
  kvcost simulate bullet-70b-window --policy cache_aware --runs 20
  kvcost simulate bullet-70b-burst --policy replicate_on_burst --requests-csv burst.csv
"""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from typing import TYPE_CHECKING

from kvcost.cli.output import Report, show
from kvcost.cli.parser import add_output_flags, count
from kvcost.cli.scenarios import Progress, add_flags, changed_scenario, printable, seed_of
from kvcost.files import refuse, write_file

if TYPE_CHECKING:
    import argparse

    from kvcost.simulation.cluster import ClusterRun, Simulated

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    add_flags(parser)
    parser.add_argument("--policy", metavar="NAME", help="the scenario's own if left out")
    parser.add_argument(
        "--requests-csv", metavar="FILE", help="write every request of the first run to a new file"
    )
    add_output_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Print what the runs gave."""
    from kvcost.planning.compare import policy_params  # noqa: PLC0415
    from kvcost.simulation.cluster import run_seeds, simulate, simulate_many  # noqa: PLC0415

    scenario = changed_scenario(args.scenario, args.set)
    name = scenario.policy.name if args.policy is None else args.policy
    params = policy_params(scenario, name)
    seed = seed_of(args.seed)
    if args.requests_csv is not None:
        refuse(args.requests_csv, force=False, remedy="name a new file")
    with Progress("runs") as progress:
        found = simulate_many(
            scenario,
            policy=name,
            params=params,
            replications=count(args.runs, "--runs"),
            seed=seed,
            progress=progress,
        )
    if args.requests_csv is not None:
        first = run_seeds(scenario.run.seed if seed is None else seed, 1)[0]
        one = simulate(scenario, policy=name, params=params, seed=first)
        write_file(args.requests_csv, lambda: _requests_csv(one))
    show(_report(scenario.title, found), args)
    return 0


def _requests_csv(one: ClusterRun) -> bytes:
    """Return every request of a run as CSV."""
    columns = {
        "arrival_s": one.arrival,
        "ttft_s": one.ttft,
        "wait_s": one.wait,
        "load_s": one.load,
        "prefill_s": one.prefill,
        "finish_s": one.finish,
        "replica": one.replica,
        "prompt_tokens": one.prompt_tokens,
        "hit_tokens": one.hit_tokens,
        "hbm_tokens": one.hbm_tokens,
        "group": one.group,
    }
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))
    return text.getvalue().encode()


def _report(title: str, found: Simulated) -> Report:
    from kvcost.units import format_ratio, format_seconds  # noqa: PLC0415

    split = {part.name: getattr(found.split, part.name) for part in fields(found.split)}
    interval = f"{format_seconds(found.low)} to {format_seconds(found.high)}"
    if found.runs == 1:
        interval = "not known from one run"
    rows = [
        ["mean TTFT", format_seconds(found.mean)],
        ["95% interval", interval],
        ["p50", format_seconds(found.p50)],
        ["p95", format_seconds(found.p95)],
        ["p99", format_seconds(found.p99)],
        ["longest, mean of the runs", format_seconds(found.maximum)],
        *([f"  {name.replace('_', ' ')}", format_seconds(value)] for name, value in split.items()),
        ["requests that found nothing cached", f"{found.cold_requests:.4g}"],
        ["cached share of the prompts", format_ratio(found.hit_share)],
        ["busy share of the replicas", format_ratio(found.utilization)],
        ["runs with loads out of balance", format_ratio(found.imbalance_share)],
    ]
    data = {
        "policy": found.policy,
        "mean_ttft": found.mean,
        "low": found.low,
        "high": found.high,
        "p50_ttft": found.p50,
        "p95_ttft": found.p95,
        "p99_ttft": found.p99,
        "max_ttft": found.maximum,
        "split": split,
        "cold_requests": found.cold_requests,
        "hit_share": found.hit_share,
        "utilization": found.utilization,
        "imbalance_share": found.imbalance_share,
        "runs": found.runs,
        "requests": found.requests,
        "method": "simulated",
        "error": "95% interval of the mean of independent runs",
    }
    notes = [
        f"{found.runs} runs of {found.requests // found.runs:,} requests each.",
        "The parts under the percentiles add up to the mean TTFT.",
    ]
    return Report(
        title=f"{printable(title)}: {found.policy}",
        header=[],
        rows=rows,
        notes=notes,
        data=data,
        records=[data],
    )
