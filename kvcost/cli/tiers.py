"""Recompute against each tier, for a list of prompt lengths.

Try:
  kvcost tiers llama-3.3-70b --tokens 8000,64k --accelerator h100 --gpus 4
  kvcost tiers glm-5.3 --kv-dtype fp8 --tokens 16k,64k --prefill 16000=0.31s --tier "lab=3 GB/s"
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.cli.costs import add_prefill_flags, fit_notes, prefill_curve
from kvcost.cli.kv import add_size_flags, load_model, size_options
from kvcost.cli.output import Report, show
from kvcost.cli.parser import add_output_flags

if TYPE_CHECKING:
    import argparse

    from kvcost.transfer import TransferPath

__all__ = ["configure", "run"]

_LARGE_RATIO = 100
_DEFAULT_SETS = ("bite-the-bullet", "object-store")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("model", metavar="NAME|config.json", help="catalogue name or config file")
    parser.add_argument(
        "--tokens", metavar="N,N,...", default="1k,8k,16k,64k,128k", help="prompt lengths"
    )
    parser.add_argument(
        "--set",
        metavar="NAME",
        action="append",
        help=f"a ladder of the catalogue; repeat it ({' and '.join(_DEFAULT_SETS)})",
    )
    parser.add_argument(
        "--tier",
        metavar="NAME=RATE[,TIME]",
        action="append",
        help="a tier of your own: its bandwidth and its fixed time, as 'lab=3 GB/s,20 ms'",
    )
    add_prefill_flags(parser)
    add_size_flags(parser)
    add_output_flags(parser)


def run(args: argparse.Namespace) -> int:
    """Print the ladder."""
    from kvcost.breakeven import tier_ladder  # noqa: PLC0415 - loaded only when asked for
    from kvcost.facts import weakest  # noqa: PLC0415
    from kvcost.model import kv_size  # noqa: PLC0415
    from kvcost.units import format_seconds, format_tokens, parse_tokens  # noqa: PLC0415

    listed = [parse_tokens(text.strip(), field="--tokens") for text in args.tokens.split(",")]
    lengths = list(dict.fromkeys(listed))
    spec = load_model(args)
    size = kv_size(spec, **size_options(args))
    curve, assumed = prefill_curve(args, spec)
    paths, lacking = _paths(args)
    found = tier_ladder(
        lengths,
        paths,
        curve,
        kv_bytes_per_token=size.bytes_per_token,
        fixed_bytes_per_request=size.fixed_bytes_per_request,
    )
    notes = [*lacking, *assumed, *size.notes, *fit_notes(curve), *curve.notes]
    provenance = str(weakest(spec, curve, *paths.values()))
    records = [{**row.as_dict(), "provenance": provenance} for row in found]
    rows = []
    for tokens in lengths:
        cells = [row for row in found if row.tokens == tokens]
        rows.append(
            (
                format_tokens(tokens),
                format_seconds(cells[0].recompute_seconds),
                *(f"{format_seconds(row.hit_seconds)} ({_times(row.ratio)})" for row in cells),
            )
        )
    show(
        Report(
            title=f"{spec.name}: recompute, or fetch {size.bytes_per_token:,.0f} B a token",
            header=("prompt", "recompute", *paths),
            rows=rows,
            notes=[
                "In brackets: recompute time over fetch time; above 1 fetching is faster.",
                f"Prefill: {curve.method}. Provenance: {provenance}.",
                *(f"- {note}" for note in notes),
            ],
            data={
                "model": spec.name,
                "kv_bytes_per_token": size.bytes_per_token,
                "rows": records,
                "method": curve.method,
                "provenance": provenance,
                "notes": notes,
            },
            records=records,
        ),
        args,
    )
    return 0


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}x" if ratio >= _LARGE_RATIO else f"{ratio:.3g}x"


def _paths(args: argparse.Namespace) -> tuple[dict[str, TransferPath], list[str]]:
    from kvcost.errors import InvalidValueError  # noqa: PLC0415
    from kvcost.hardware import tiers  # noqa: PLC0415
    from kvcost.transfer import TransferPath  # noqa: PLC0415
    from kvcost.units import parse_rate, parse_seconds  # noqa: PLC0415

    sets = args.set or (() if args.tier else _DEFAULT_SETS)
    paths: dict[str, TransferPath] = {}
    lacking = []
    for tier in (tier for name in sets for tier in tiers(name)):
        if tier.overhead_seconds is None:
            lacking.append(f"the fixed time of {tier.medium} is not known and left out")
        paths[tier.medium] = TransferPath(
            store_bandwidth=tier.bandwidth,
            overhead_seconds=tier.overhead_seconds or 0.0,
            provenance=tier.provenance,
        )
    for text in args.tier or ():
        name, equals, rest = text.partition("=")
        bandwidth, _, overhead = rest.partition(",")
        if name.strip() in paths or not (name.strip() and equals and bandwidth.strip()):
            raise InvalidValueError(
                field="--tier",
                value=text,
                bound="must be a new name, a rate and, if there is one, a fixed time",
                remedy="write it as 'lab=3 GB/s' or 'lab=3 GB/s,20 ms'",
            )
        paths[name.strip()] = TransferPath(
            store_bandwidth=parse_rate(bandwidth.strip(), field="--tier"),
            overhead_seconds=parse_seconds(overhead.strip() or 0, field="--tier", allow_zero=True),
        )
    return paths, lacking
