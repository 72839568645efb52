"""The numbers kvcost knows, with their sources.

Try:
  kvcost facts list
  kvcost facts list accelerator
  kvcost facts show accelerator b300
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.cli.output import Report, show
from kvcost.cli.parser import Parser, add_output_flags

if TYPE_CHECKING:
    import argparse

    from kvcost.facts import FactRow

__all__ = ["configure", "run"]

_LIST = """Names of every kind, or of one.

Try:
  kvcost facts list accelerator"""
_SHOW = """Every fact of one thing, with its source.

Try:
  kvcost facts show store valkey-1"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    actions = parser.add_subparsers(
        dest="action", metavar="ACTION", required=True, parser_class=Parser
    )
    listing = actions.add_parser("list", help="names of every kind, or of one", description=_LIST)
    listing.add_argument("kind", nargs="?", help="model, accelerator, link, tier, store, ...")
    add_output_flags(listing)
    listing.set_defaults(refuse=listing.refuse_flags)
    showing = actions.add_parser(
        "show", help="every fact of one thing, with its source", description=_SHOW
    )
    showing.add_argument("kind", help="model, accelerator, link, tier, store, ...")
    showing.add_argument("name", help="a name that list prints, or one of its aliases")
    add_output_flags(showing)
    showing.set_defaults(refuse=showing.refuse_flags)


def run(args: argparse.Namespace) -> int:
    """List or show facts."""
    if args.kind is not None:
        _check_kind(args.kind)
    report = _listing(args.kind) if args.action == "list" else _showing(args.kind, args.name)
    show(report, args)
    return 0


def _kinds() -> tuple[str, ...]:
    from kvcost import facts  # noqa: PLC0415 - read only when asked for

    return ("model", *facts.kinds())


def _check_kind(kind: str) -> None:
    from kvcost.errors import UnknownNameError, nearest_names  # noqa: PLC0415

    if kind not in _kinds():
        raise UnknownNameError(
            kind="kind of fact",
            name=kind,
            nearest=nearest_names(kind, _kinds()),
            remedy=f"use one of {', '.join(_kinds())}",
        )


def _names(kind: str) -> tuple[str, ...]:
    if kind == "model":
        from kvcost.model import catalogue_names  # noqa: PLC0415

        return tuple(catalogue_names())
    from kvcost import facts  # noqa: PLC0415

    return facts.names(kind)


def _listing(kind: str | None) -> Report:
    wanted = _kinds() if kind is None else (kind,)
    records = [{"kind": each, "name": name} for each in wanted for name in _names(each)]
    return Report(
        title=f"{len(records)} names",
        header=("name", "kind"),
        rows=[(record["name"], record["kind"]) for record in records],
        notes=["kvcost facts show KIND NAME prints the numbers and their sources."],
        data=records,
        records=records,
    )


def _showing(kind: str, name: str) -> Report:
    return _model(name) if kind == "model" else _entry(kind, name)


def _entry(kind: str, name: str) -> Report:
    from kvcost import facts  # noqa: PLC0415
    from kvcost.units import format_quantity  # noqa: PLC0415

    entry = facts.get(kind, name)
    found = facts.rows(kind, entry.name)
    records = [_record(row) for row in found]
    sources = list(dict.fromkeys(f"{row.source} (read {row.date})" for row in found))
    return Report(
        title=f"{entry.name}: {entry.title}",
        header=(),
        rows=[
            (
                row.fact,
                format_quantity(row.value, row.unit),
                str(row.provenance),
                f"[{sources.index(f'{row.source} (read {row.date})') + 1}] {row.note}".strip(),
            )
            for row in found
        ],
        notes=[
            *entry.notes,
            *(f"[{number}] {source}" for number, source in enumerate(sources, start=1)),
        ],
        data={
            "kind": kind,
            "name": entry.name,
            "title": entry.title,
            "attributes": dict(entry.attributes),
            "notes": list(entry.notes),
            "facts": records,
        },
        records=records,
    )


def _record(row: FactRow) -> dict[str, Any]:
    return {
        "fact": row.fact,
        "value": row.value,
        "unit": row.unit,
        "provenance": str(row.provenance),
        "source": row.source,
        "date": str(row.date),
        "note": row.note,
    }


def _model(name: str) -> Report:
    from kvcost.model import load  # noqa: PLC0415

    spec = load(name)
    facts: list[tuple[str, Any]] = [
        ("architecture", spec.architecture),
        ("total_layers", spec.total_layers),
        ("q_heads", spec.q_heads),
        ("hidden_size", spec.hidden_size),
        ("max_context", spec.max_context),
        ("total_parameters", spec.total_parameters),
        ("active_parameters", spec.active_parameters),
        *((f"layers[{number}]", str(group)) for number, group in enumerate(spec.groups, start=1)),
        *((f"mtp[{number}]", str(group)) for number, group in enumerate(spec.mtp_groups, start=1)),
    ]
    records = [{"fact": fact, "value": value} for fact, value in facts]
    return Report(
        title=f"{spec.name}: geometry from its config ({spec.provenance})",
        header=(),
        rows=[
            (
                fact,
                "not stated"
                if value is None
                else f"{value:,}"
                if isinstance(value, int)
                else str(value),
            )
            for fact, value in facts
        ],
        notes=[*spec.notes, *(f"Source: {source}" for source in spec.sources)],
        data={
            "kind": "model",
            "name": spec.name,
            "provenance": str(spec.provenance),
            "notes": list(spec.notes),
            "sources": list(spec.sources),
            "facts": records,
        },
        records=records,
    )
