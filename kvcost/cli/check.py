"""Judge the budgets of a file.

Try:
  kvcost check data/examples/budgets.toml
  kvcost check kvcost.toml --junitxml budgets.xml
  kvcost check kvcost.toml --format github
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from kvcost.checks.budgets import BudgetFile
    from kvcost.checks.show import Result

__all__ = ["configure", "run"]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    from kvcost.checks.kinds import kind, kinds  # noqa: PLC0415 - loaded only when asked for

    parser.add_argument(
        "file",
        metavar="BUDGETS.toml",
        help="a file with [[budget]] tables, or a pyproject.toml with [[tool.kvcost.budget]]",
    )
    parser.add_argument(
        "--format",
        choices=["text", "json", "github"],
        default="text",
        help="for people (text, the default), for programs, or as GitHub's annotations",
    )
    parser.add_argument("--junitxml", metavar="FILE", help="write JUnit XML as well")
    parser.add_argument(
        "--list", action="store_true", help="list the budgets, validated but not judged"
    )
    width = max(map(len, kinds()))
    about = (f"  {name:<{width}}  {kind(name).SUMMARY}" for name in kinds())
    parser.epilog = "\n".join(
        ("kinds of budgets:", *about, "", "exit codes: 0 all met, 1 one is missed, 2 bad input")
    )


def run(args: argparse.Namespace) -> int:
    """Print what became of each budget; return 1 if one is missed, 2 if one is bad."""
    import os  # noqa: PLC0415 - loaded only when asked for

    from kvcost.checks.budgets import read_budgets  # noqa: PLC0415
    from kvcost.checks.show import judge_all  # noqa: PLC0415

    # threads make small matrices slower, many times so on a busy machine; numpy loads after this
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    file = read_budgets(args.file)
    if args.list:
        return _list(file, args)
    results = judge_all(file)
    if args.junitxml is not None:
        _write_xml(args.junitxml, results, file.path)
    _show(results, file.path, args)
    statuses = {result.status for result in results}
    if "bad" in statuses:
        return 2
    return 1 if "missed" in statuses else 0


def _show(results: Sequence[Result], path: str, args: argparse.Namespace) -> None:
    from kvcost.checks import show  # noqa: PLC0415 - loaded only when asked for

    if args.format == "json":
        _print_json(show.records(results, path))
    else:
        lines = show.github_lines if args.format == "github" else show.text_lines
        print("\n".join(lines(results, path)))


def _print_json(data: object) -> None:
    import json  # noqa: PLC0415 - loaded only when asked for

    from kvcost.cli.output import plain  # noqa: PLC0415

    print(json.dumps(plain(data), indent=2, allow_nan=False))


def _write_xml(target: str, results: Sequence[Result], path: str) -> None:
    from pathlib import Path  # noqa: PLC0415 - loaded only when asked for

    from kvcost.checks.show import junit_xml  # noqa: PLC0415
    from kvcost.errors import ConfigError  # noqa: PLC0415

    try:
        Path(target).write_text(junit_xml(results, path), encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            path=target,
            problem=error.strerror or "cannot be written",
            remedy="give --junitxml a file in a folder that exists",
        ) from None


def _list(file: BudgetFile, args: argparse.Namespace) -> int:
    from kvcost.checks.show import bad_results, github_lines  # noqa: PLC0415 - loaded when asked

    bad = bad_results(file)
    if args.format == "json":
        _print_json(
            [
                {"name": budget.name, "kind": budget.kind, "line": budget.line, "note": budget.note}
                for budget in file.budgets
            ]
        )
    else:
        width = max((len(budget.kind) for budget in file.budgets), default=0)
        for budget in file.budgets:
            print(f"{budget.kind:<{width}}  {budget.name}")
        if bad and args.format == "github":
            print("\n".join(github_lines(bad, file.path)))
    if bad and args.format != "github":
        import sys  # noqa: PLC0415

        print("\n".join(f"kvcost: {error}" for error in file.errors), file=sys.stderr)
    return 2 if bad else 0
