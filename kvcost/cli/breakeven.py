r"""Fetch the KV of a prompt from a store, or recompute it.

Try:
  kvcost breakeven glm-5.3 --kv-dtype fp8 --mtp --tokens 16000 --bandwidth "1.71 GB/s" \
      --overhead 0.33s --prefill "16000=0.31s"
  kvcost breakeven llama-3.3-70b --tokens 64k --bandwidth "10 GB/s" --accelerator h100 --gpus 4
  kvcost breakeven --deployment glm-5.3-8xb300
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.cli.costs import (
    add_path_flags,
    add_prefill_flags,
    fit_notes,
    prefill_curve,
    transfer_path,
)
from kvcost.cli.kv import add_size_flags, load_model, size_options
from kvcost.cli.output import Report, show
from kvcost.cli.parser import add_output_flags

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kvcost.breakeven import Decision
    from kvcost.cli.deployment import Published
    from kvcost.model import ModelSpec

__all__ = ["configure", "run"]

_UNITS = {
    "kv_bytes_per_token": "byte/token",
    "recompute_seconds": "s",
    "hit_seconds": "s",
    "break_even_bandwidth": "byte/s",
    "break_even_bandwidth_without_overhead": "byte/s",
    "break_even_tokens": "token",
    "break_even_tokens_infinite_bandwidth": "token",
    "margin": "1",
}
_WORDS = {
    "kv_bytes_per_token": "KV bytes per token",
    "recompute_seconds": "recompute",
    "hit_seconds": "hit",
    "break_even_bandwidth": "break-even bandwidth",
    "break_even_bandwidth_without_overhead": "break-even bandwidth without the overhead",
    "break_even_tokens": "break-even length",
    "break_even_tokens_infinite_bandwidth": "break-even length at infinite bandwidth",
    "margin": "margin",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument(
        "model", metavar="NAME|config.json", nargs="?", help="catalogue name or config file"
    )
    parser.add_argument(
        "--deployment", metavar="NAME|FILE.toml", help="a file with these flags; flags win over it"
    )
    parser.add_argument("--tokens", metavar="N", help="length of the prompt, as 16000 or 64k")
    add_prefill_flags(parser)
    add_path_flags(parser)
    parser.add_argument(
        "--last-token", action="store_true", help="count the last token, which engines recompute"
    )
    parser.add_argument(
        "--loading",
        choices=["async", "sync"],
        help="whether the GPU serves others while KV loads (async, the default) or waits (sync)",
    )
    add_size_flags(parser)
    budgets = parser.add_argument_group("budgets (exit code 1 where one is missed)")
    budgets.add_argument("--require", choices=["fetch", "recompute"], help="the verdict wanted")
    budgets.add_argument("--max-ttft", metavar="TIME", help="longest time of the faster way")
    add_output_flags(parser)
    choices = {action.dest: action.choices for action in parser._actions if action.choices}
    parser.set_defaults(flag_choices=choices)


def run(args: argparse.Namespace) -> int:
    """Print the decision; return 1 if a budget is missed."""
    from kvcost.breakeven import decide  # noqa: PLC0415 - loaded only when asked for
    from kvcost.cli.deployment import apply_deployment  # noqa: PLC0415
    from kvcost.errors import MissingFactError  # noqa: PLC0415
    from kvcost.model import kv_size  # noqa: PLC0415
    from kvcost.units import parse_seconds, parse_tokens  # noqa: PLC0415

    deployment = apply_deployment(args)
    for name, fact, remedy in (
        ("model", "the model", "name one, as in kvcost breakeven glm-5.3, or give --deployment"),
        ("tokens", "the length", "add --tokens N"),
    ):
        if getattr(args, name) is None:
            raise MissingFactError(fact=fact, subject="the question", remedy=remedy)
    tokens = parse_tokens(args.tokens, field="--tokens")
    longest = None if args.max_ttft is None else parse_seconds(args.max_ttft, field="--max-ttft")
    path = transfer_path(args)
    spec = load_model(args)
    size = kv_size(spec, **size_options(args))
    curve, assumed = prefill_curve(args, spec)
    decision = decide(
        tokens=tokens,
        kv_bytes_per_token=size.bytes_per_token,
        fixed_bytes_per_request=size.fixed_bytes_per_request,
        prefill=curve,
        path=path,
        loading=args.loading or "async",
        recompute_last_token=args.last_token,
        kv_provenance=size.provenance,
    )
    notes = [*deployment.notes, *assumed, *size.notes, *fit_notes(curve), *decision.notes]
    notes.append(
        f"bandwidths are of the whole path, which is limited by the {' and the '.join(path.limits)}"
    )
    missed = _missed(args, decision, longest)
    report = _report(
        spec,
        decision,
        title=deployment.title,
        notes=notes,
        published=deployment.published,
        missed=missed,
    )
    show(report, args)
    return 1 if missed else 0


def _missed(args: argparse.Namespace, decision: Decision, longest: float | None) -> list[str]:
    from kvcost.units import format_seconds  # noqa: PLC0415

    missed = []
    if args.require is not None and decision.verdict != args.require:
        missed.append(f"the verdict is {decision.verdict}, {args.require} is required")
    best = min(decision.recompute_seconds, decision.hit_seconds)
    if longest is not None and best > longest:
        missed.append(f"the faster way takes {format_seconds(best)}, {args.max_ttft} is allowed")
    return missed


def _report(
    spec: ModelSpec,
    decision: Decision,
    *,
    title: str,
    notes: Sequence[str],
    published: Sequence[Published],
    missed: Sequence[str],
) -> Report:
    from kvcost.units import format_quantity, format_ratio, format_tokens  # noqa: PLC0415

    answer = decision.as_dict()

    def shown(key: str, nothing: str) -> str:
        value = answer[key]
        return nothing if value is None else format_quantity(value, _UNITS[key])

    rows = [
        ("KV bytes per token", f"{decision.kv_bytes_per_token:,.0f} B"),
        ("recompute", shown("recompute_seconds", "")),
        ("hit", shown("hit_seconds", "")),
        ("break-even bandwidth", shown("break_even_bandwidth", "none: no bandwidth wins")),
        ("  without the overhead", shown("break_even_bandwidth_without_overhead", "none")),
        ("fetching wins", decision.fetch_wins),
        ("  at infinite bandwidth", _from(answer["break_even_tokens_infinite_bandwidth"])),
        ("margin", format_ratio(decision.margin)),
        ("verdict", decision.verdict.upper()),
        (f"verdict on GPU time ({decision.loading} load)", decision.verdict_gpu_seconds.upper()),
    ]
    comparison = [_compared(row, answer) for row in published]
    data = {
        "model": spec.name,
        **answer,
        "notes": list(notes),
        "published": comparison,
        "missed": list(missed),
    }
    lines = [decision.sentence, ""]
    lines += [line["text"] for line in comparison]
    lines += [f"Method: {decision.method}. Provenance: {decision.provenance}."]
    lines += [f"- {note}" for note in notes]
    lines += [f"BUDGET MISSED: {text}." for text in missed]
    flat = {
        key: value for key, value in data.items() if key not in ("notes", "published", "missed")
    }
    return Report(
        title=f"{title or spec.name}: fetch or recompute {format_tokens(decision.tokens)}?",
        header=(),
        rows=rows,
        notes=lines,
        data=data,
        records=[flat],
    )


def _from(tokens: float | None) -> str:
    from kvcost.breakeven import describe_ranges  # noqa: PLC0415

    return describe_ranges(() if tokens is None else ((tokens, None),))


def _compared(row: Published, answer: dict[str, Any]) -> dict[str, Any]:
    from kvcost.errors import UnknownNameError, nearest_names  # noqa: PLC0415
    from kvcost.units import format_quantity  # noqa: PLC0415

    if row.quantity not in _UNITS:
        raise UnknownNameError(
            kind="published quantity",
            name=row.quantity,
            nearest=nearest_names(row.quantity, _UNITS),
            remedy=f"use one of {', '.join(_UNITS)}",
        )
    unit, computed = _UNITS[row.quantity], answer[row.quantity]
    text = f"Published {_WORDS[row.quantity]}: {format_quantity(row.value, unit)} ({row.kind}"
    text += f"; {row.note})" if row.note else ")"
    difference = None
    if computed is None:
        text += ", computed: none."
    else:
        difference = computed / row.value - 1
        text += f", computed {format_quantity(computed, unit)}: {difference:+.1%}."
    return {
        "quantity": row.quantity,
        "published": row.value,
        "kind": row.kind,
        "computed": computed,
        "difference": difference,
        "text": text,
    }
