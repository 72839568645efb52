r"""A spreadsheet of live formulas, functions for Excel 365, or the text of one cell.

Try:
  kvcost sheet planner.xlsx
  kvcost sheet planner.xlsx --deployment my.toml --force
  kvcost sheet routing.xlsx --scenario bullet-70b-burst
  kvcost sheet --lambdas kvcost-lambdas.xlsx
  kvcost sheet --lambdas module.txt
  kvcost sheet --formula break_even_tokens --cells "bandwidth=B3,overhead_seconds=B4"
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.cli.parser import UsageError

if TYPE_CHECKING:
    import argparse

    from kvcost.sheet import Question

__all__ = ["configure", "read_question", "run"]

_EXAMPLE = "glm-5.3-8xb300"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument(
        "file", metavar="FILE.xlsx", nargs="?", help="the workbook to write, sheet by sheet"
    )
    parser.add_argument(
        "--deployment",
        metavar="NAME|FILE.toml",
        help=f"what it is about, as in kvcost breakeven --deployment ({_EXAMPLE})",
    )
    parser.add_argument(
        "--scenario",
        metavar="NAME|FILE.toml",
        help="a scenario that it is about instead, as in kvcost route: its inputs, burst and "
        "policies",
    )
    parser.add_argument("--force", action="store_true", help="replace a file that is there")
    parser.add_argument(
        "--lambdas",
        metavar="FILE",
        help="write every formula as a function KV.NAME for Excel 365: FILE.xlsx, or FILE.txt for "
        "the Advanced Formula Environment",
    )
    parser.add_argument("--formula", metavar="NAME", help="print the cell text of a formula")
    parser.add_argument(
        "--cells",
        metavar="ARG=CELL,...",
        help="cells of its arguments, as bandwidth=B3; others are names such as kv_tokens",
    )


def run(args: argparse.Namespace) -> int:
    """Write or print what is asked for."""
    from kvcost.errors import InvalidValueError  # noqa: PLC0415 - loaded only when asked for

    given = [name for name in ("file", "lambdas", "formula") if getattr(args, name) is not None]
    if not given:
        raise UsageError(
            problem="nothing to write: name FILE.xlsx, or give --lambdas FILE or --formula NAME",
            command="kvcost sheet",
        )
    allowed = {
        "file": {"deployment", "scenario", "force"},
        "lambdas": {"force"},
        "formula": {"cells"},
    }
    for name in (*given[1:], "deployment", "scenario", "force", "cells"):
        if getattr(args, name) not in (None, False) and name not in allowed[given[0]]:
            raise InvalidValueError(
                field="FILE" if name == "file" else f"--{name}",
                value=getattr(args, name),
                bound=f"does not go with {'FILE' if given[0] == 'file' else '--' + given[0]}",
                remedy="ask for one thing at a time",
            )
    if args.deployment is not None and args.scenario is not None:
        raise InvalidValueError(
            field="--scenario",
            value=args.scenario,
            bound="does not go with --deployment",
            remedy="a workbook is about one of them",
        )
    if args.formula is not None:
        from kvcost.sheet import excel  # noqa: PLC0415 - loaded only when asked for

        print(excel(args.formula, cells=args.cells))
    elif args.lambdas is not None:
        from kvcost.sheet import write_lambdas  # noqa: PLC0415

        write_lambdas(args.lambdas, force=args.force)
        print(f"{args.lambdas}: every formula as KV.NAME(...), for Excel 365")
    else:
        _write(args)
    return 0


def _write(args: argparse.Namespace) -> None:
    from kvcost.sheet import write_planner  # noqa: PLC0415 - loaded only when asked for

    if args.scenario is None:
        question = read_question(args.deployment or _EXAMPLE)
    else:
        from kvcost.sheet.scenario import scenario_question  # noqa: PLC0415

        question = scenario_question(args.scenario)
    made = write_planner(args.file, question, force=args.force)
    print(f"{args.file}: {question.title or question.model.name}")
    print(
        f"  {len(made.inputs)} inputs to edit on sheet Inputs, {len(made.results)} live results, "
        "each beside Python's value on sheet Check"
    )


def read_question(deployment: str) -> Question:
    """Return what a deployment file asks, for the workbook.

    Parameters
    ----------
    deployment : str
        Name of a shipped deployment, or the path of a file with the flags of ``kvcost breakeven``.

    Returns
    -------
    Question
        Its inputs.

    Raises
    ------
    ConfigError, InvalidValueError, MissingFactError, UnknownNameError
        As ``kvcost breakeven``.
    """
    from kvcost.cli import breakeven  # noqa: PLC0415 - loaded only when asked for
    from kvcost.cli.costs import STUDY_MFU, prefill_curve, transfer_path  # noqa: PLC0415
    from kvcost.cli.deployment import apply_deployment  # noqa: PLC0415
    from kvcost.cli.kv import load_model, size_options  # noqa: PLC0415
    from kvcost.cli.parser import Parser, count  # noqa: PLC0415
    from kvcost.errors import MissingFactError  # noqa: PLC0415
    from kvcost.sheet import Question  # noqa: PLC0415
    from kvcost.units import parse_ratio, parse_tokens  # noqa: PLC0415

    parser = Parser(prog="kvcost sheet")
    breakeven.configure(parser)
    asked = parser.parse_args(["--deployment", deployment])
    found = apply_deployment(asked)
    for name, fact in (("model", "the model"), ("tokens", "the length")):
        if getattr(asked, name) is None:
            raise MissingFactError(
                fact=fact, subject=deployment, remedy=f"add {name} to the deployment file"
            )
    spec = load_model(asked)
    curve, assumed = prefill_curve(asked, spec)
    hardware: dict[str, Any] = {}
    if asked.accelerator:
        from kvcost import facts  # noqa: PLC0415

        hardware = {
            "accelerator": facts.get("accelerator", asked.accelerator).name,
            "accelerators": count(asked.gpus, "gpus"),
            "mfu": STUDY_MFU if asked.mfu is None else parse_ratio(asked.mfu, field="mfu"),
        }
    return Question(
        title=found.title,
        model=spec,
        size_options=size_options(asked),
        prefill=curve,
        path=transfer_path(asked),
        tokens=parse_tokens(asked.tokens, field="tokens"),
        loading=asked.loading or "async",
        last_token=asked.last_token,
        notes=(*found.notes, *assumed, *curve.notes),
        **hardware,
    )
