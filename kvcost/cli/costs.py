"""Flags that say what a prompt costs to compute and to fetch, for several commands."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kvcost.cli.parser import count, length

if TYPE_CHECKING:
    import argparse

    from kvcost.compute import PrefillCurve
    from kvcost.model import ModelSpec
    from kvcost.transfer import TransferPath

__all__ = [
    "STUDY_MFU",
    "add_path_flags",
    "add_prefill_flags",
    "fit_notes",
    "prefill_curve",
    "transfer_path",
]

_BF16_BYTES = 2.0
_SHOWN_MISFIT = 1e-3
_FEWEST_PARAMETERS = 1e6
_MOST_PARAMETERS = 1e17

_HARDWARE = (
    "accelerator",
    "gpus",
    "mfu",
    "compute_dtype",
    "bytes_per_weight",
    "active_parameters",
    "no_attention",
)

STUDY_MFU = 0.5
"""Share of peak that *Biting the Bullet* assumes; used, and said, where no ``--mfu`` is given."""


def add_prefill_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the prefill: measured points, or hardware."""
    measured = parser.add_argument_group("prefill, measured")
    measured.add_argument(
        "--prefill",
        metavar="N=TIME",
        action="append",
        help="a measured prefill, as 16000=0.31s; repeat it for a fitted curve",
    )
    measured.add_argument(
        "--weighting",
        metavar="HOW",
        choices=["unweighted", "relative"],
        help="what the fit minimises: errors in seconds (unweighted, the default) or relative ones",
    )
    hardware = parser.add_argument_group("prefill, from hardware")
    hardware.add_argument("--accelerator", metavar="NAME", help="as kvcost facts list accelerator")
    hardware.add_argument("--gpus", metavar="N", help="accelerators that compute together")
    hardware.add_argument(
        "--mfu", metavar="SHARE", help=f"share of peak FLOP/s reached (assumed {STUDY_MFU})"
    )
    hardware.add_argument("--compute-dtype", metavar="DTYPE", help="dtype of the arithmetic (bf16)")
    hardware.add_argument(
        "--bytes-per-weight", metavar="X", help="to see whether the weights fit (2, as bf16)"
    )
    hardware.add_argument(
        "--active-parameters", metavar="N", help="parameters a token passes through, as 40e9"
    )
    hardware.add_argument(
        "--no-attention",
        action="store_true",
        help="leave attention's arithmetic out: a straight line, as Biting the Bullet has it",
    )
    parser.add_argument("--floor", metavar="TIME", help="least time that a prefill takes")


def add_path_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the way that KV takes."""
    group = parser.add_argument_group("fetch")
    group.add_argument("--bandwidth", metavar="RATE", help="of one store shard, as '1.71 GB/s'")
    group.add_argument("--overhead", metavar="TIME", help="fixed time of a fetch (0 s)")
    group.add_argument("--link", metavar="RATE", help="rate of the link, all ranks together")
    group.add_argument("--client", metavar="RATE", help="rate of one rank's client")
    group.add_argument("--shards", metavar="N", help="store shards (1)")
    group.add_argument(
        "--shard-efficiency", metavar="SHARE", help="rate of the shards over that of single ones"
    )
    group.add_argument("--ranks", metavar="N", help="ranks that all must finish (1)")
    group.add_argument("--copies", metavar="X", help="copies of the KV that are moved (1)")
    group.add_argument("--engines", metavar="N", help="engines that share the store (1)")
    group.add_argument("--chunk", metavar="N", help="store whole chunks of N tokens only")
    group.add_argument("--per-key", metavar="TIME", help="time that a key takes; needs --chunk")


def prefill_curve(args: argparse.Namespace, spec: ModelSpec) -> tuple[PrefillCurve, list[str]]:
    """Return the prefill that the flags describe, and notes on what was assumed."""
    from kvcost.errors import InvalidValueError, MissingFactError  # noqa: PLC0415
    from kvcost.units import parse_seconds  # noqa: PLC0415

    floor = None
    if args.floor is not None:
        floor = parse_seconds(args.floor, field="--floor", allow_zero=True)
    given, unused = ("--prefill", _HARDWARE) if args.prefill else ("hardware", ("weighting",))
    for name in unused if args.prefill or args.accelerator else ():
        if getattr(args, name) not in (None, False):
            raise InvalidValueError(
                field=f"--{name.replace('_', '-')}",
                value=getattr(args, name),
                bound=f"does not go with {given}",
                remedy="give measured points or hardware, not both",
            )
    if args.prefill:
        return _measured(args, floor), []
    if args.accelerator:
        return _from_hardware(args, spec, floor)
    raise MissingFactError(
        fact="the prefill time",
        subject=spec.name,
        remedy="measure it (--prefill 16000=0.31s) or name hardware (--accelerator b300 --gpus 8)",
    )


def _measured(args: argparse.Namespace, floor: float | None) -> PrefillCurve:
    from kvcost.compute import PrefillCurve  # noqa: PLC0415
    from kvcost.units import parse_assignment  # noqa: PLC0415

    points = [parse_assignment(text, field="--prefill") for text in args.prefill]
    return PrefillCurve.from_points(points, weighting=args.weighting or "unweighted", floor=floor)


def _from_hardware(
    args: argparse.Namespace, spec: ModelSpec, floor: float | None
) -> tuple[PrefillCurve, list[str]]:
    from kvcost.compute import PrefillCurve  # noqa: PLC0415
    from kvcost.errors import MissingFactError  # noqa: PLC0415
    from kvcost.facts import Provenance  # noqa: PLC0415
    from kvcost.hardware import accelerator  # noqa: PLC0415
    from kvcost.units import parse_ratio  # noqa: PLC0415

    gpus = count(args.gpus, "--gpus")
    if gpus is None:
        raise MissingFactError(
            fact="the number of accelerators", subject=spec.name, remedy="add --gpus N"
        )
    notes = []
    if args.active_parameters is not None:
        stated = _parameters(args.active_parameters)
        spec = replace(
            spec,
            active_parameters=stated,
            total_parameters=None,
            provenance=Provenance.ASSUMED,
        )
        notes.append(f"{stated:g} active parameters are yours")
    notes += _check_fit(args, spec, gpus)
    if args.mfu is None:
        notes.append(f"MFU {STUDY_MFU} is assumed; --mfu states what you measured")
    if args.compute_dtype is None:
        notes.append("compute in bf16 is assumed; --compute-dtype fp8 states another")
    mfu = STUDY_MFU if args.mfu is None else parse_ratio(args.mfu, field="--mfu")
    curve = PrefillCurve.from_hardware(
        spec,
        accelerator(args.accelerator),
        accelerators=gpus,
        mfu=mfu,
        compute_dtype=args.compute_dtype or "bf16",
        floor=floor,
        count_attention=not args.no_attention,
        source_tokens=length(args.source_tokens, "--source-tokens"),
    )
    return curve, notes


def _check_fit(args: argparse.Namespace, spec: ModelSpec, gpus: int) -> list[str]:
    """Refuse weights that do not fit, and return notes on what was assumed of them."""
    from kvcost.errors import CapacityError  # noqa: PLC0415
    from kvcost.hardware import Replica, accelerator  # noqa: PLC0415
    from kvcost.units import parse_ratio  # noqa: PLC0415

    if spec.total_parameters is None:
        return ["whether the weights fit was not checked: their number is not known"]
    each = _BF16_BYTES
    if args.bytes_per_weight is not None:
        each = parse_ratio(args.bytes_per_weight, field="--bytes-per-weight", maximum=8)
    replica = Replica(
        accelerator=accelerator(args.accelerator),
        count=gpus,
        tp=gpus,
        weight_bytes=spec.total_parameters * each,
        bytes_per_weight=each,
    )
    try:
        replica.check_fit()
    except CapacityError as error:
        remedy = f"{error.remedy} (--gpus, --bytes-per-weight)"
        raise CapacityError(what=error.what, limit=error.limit, remedy=remedy) from None
    if args.bytes_per_weight is None:
        return ["the weights fit in bf16; --bytes-per-weight checks another size"]
    return []


def _parameters(text: str) -> float:
    from kvcost.errors import InvalidValueError  # noqa: PLC0415

    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not _FEWEST_PARAMETERS <= number <= _MOST_PARAMETERS:
        raise InvalidValueError(
            field="--active-parameters",
            value=text,
            bound=f"must be a number from {_FEWEST_PARAMETERS:.0e} to {_MOST_PARAMETERS:.0e}",
            remedy="write parameters, not billions, as in 40e9",
        )
    return number


def transfer_path(args: argparse.Namespace) -> TransferPath:
    """Return the way of the KV that the flags describe."""
    from kvcost.errors import MissingFactError  # noqa: PLC0415
    from kvcost.transfer import TransferPath  # noqa: PLC0415
    from kvcost.units import parse_rate, parse_ratio, parse_seconds  # noqa: PLC0415

    if args.bandwidth is None and args.link is None and args.client is None:
        raise MissingFactError(
            fact="the bandwidth", subject="the fetch", remedy="add --bandwidth '1.71 GB/s'"
        )

    def seconds(value: str | None, field: str) -> float | None:
        return None if value is None else parse_seconds(value, field=field, allow_zero=True)

    def rate(value: str | None, field: str) -> float | None:
        return None if value is None else parse_rate(value, field=field)

    def ratio(value: str | None, field: str, maximum: float) -> float | None:
        return None if value is None else parse_ratio(value, field=field, maximum=maximum)

    given: dict[str, Any] = {
        "overhead_seconds": seconds(args.overhead, "--overhead"),
        "store_bandwidth": rate(args.bandwidth, "--bandwidth"),
        "link_bandwidth": rate(args.link, "--link"),
        "client_bandwidth": rate(args.client, "--client"),
        "shards": count(args.shards, "--shards"),
        "shard_efficiency": ratio(args.shard_efficiency, "--shard-efficiency", 1.0),
        "ranks": count(args.ranks, "--ranks"),
        "copies": ratio(args.copies, "--copies", 1e6),
        "active_engines": count(args.engines, "--engines"),
        "chunk_tokens": length(args.chunk, "--chunk"),
        "per_key_seconds": seconds(args.per_key, "--per-key"),
    }
    return TransferPath(**{name: value for name, value in given.items() if value is not None})


def fit_notes(curve: PrefillCurve) -> list[str]:
    """Say how far the fitted prefill is from the points that it was fitted to."""
    from kvcost.units import format_ratio  # noqa: PLC0415

    worst = max((abs(residual) for residual in curve.residuals), default=0.0)
    if worst < _SHOWN_MISFIT:
        return []
    return [f"prefill: the fit misses a measured point by {format_ratio(worst, digits=2)}"]
