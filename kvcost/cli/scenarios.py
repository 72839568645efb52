"""Scenarios on the command line: read, changed by flags, and a progress bar while they run."""

from __future__ import annotations

import sys
import time
import tomllib
from typing import TYPE_CHECKING, Any, Self

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import TracebackType

    from kvcost.scenario import Scenario

__all__ = ["Progress", "add_flags", "changed_scenario", "policy_names", "printable", "seed_of"]

_PATIENCE = 1.0  # seconds without a sign of life
_SHORT = {"visibility": "behaviour.visibility"}


def _value(text: str) -> Any:
    """Return a value as TOML has it; what is no TOML value is a text."""
    try:
        found = tomllib.loads(f"value = {text}")
    except ValueError:
        return text
    return found["value"] if len(found) == 1 else text


def add_flags(parser: argparse.ArgumentParser) -> None:
    """Add the scenario and the flags of every command that runs one."""
    parser.add_argument("scenario", metavar="SCENARIO", help="a .toml file, or a shipped scenario")
    parser.add_argument("--runs", metavar="N", help="independent simulated runs")
    parser.add_argument("--seed", metavar="N", help="of all random numbers")
    parser.add_argument(
        "--set",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="change an entry, such as replica.count=8 or workload.requests=200",
    )


def policy_names(text: str | None) -> str | list[str] | None:
    """Return the policies of a flag: ``all``, names between commas, or None if not given."""
    if text is None or text == "all":
        return text
    return [name.strip() for name in text.split(",")]


def printable(text: str) -> str:
    """Return a text without what would move a terminal's cursor."""
    return "".join(letter if letter.isprintable() else " " for letter in text)


def seed_of(text: str | None) -> int | None:
    """Return a seed, or None if none is given.

    Raises
    ------
    InvalidValueError
        If it is no whole number of at least 0.
    """
    from kvcost.errors import InvalidValueError  # noqa: PLC0415 - loaded only when asked for

    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise InvalidValueError(
            field="--seed",
            value=text,
            bound="must be a whole number of at least 0 and fewer than 19 digits",
            remedy="write e.g. 1",
        )
    return int(text)


def changed_scenario(name: str, changes: Sequence[str]) -> Scenario:
    """Return a scenario with some entries set.

    Parameters
    ----------
    name : str
        Path or shipped name.
    changes : sequence of str
        ``table.key=value`` each.

    Returns
    -------
    Scenario
        Checked as a whole again.

    Raises
    ------
    InvalidValueError
        If a change is not of that form.
    """
    from kvcost.errors import InvalidValueError  # noqa: PLC0415 - loaded only when asked for
    from kvcost.scenario import Scenario, load_scenario  # noqa: PLC0415

    scenario = load_scenario(name)
    if not changes:
        return scenario
    table = scenario.to_table()
    for change in changes:
        key, equals, text = change.partition("=")
        where, dot, entry = _SHORT.get(key.strip(), key.strip()).partition(".")
        if not equals or not dot or not where or not entry:
            raise InvalidValueError(
                field="--set",
                value=change,
                bound="must be of the form TABLE.KEY=VALUE",
                remedy="write e.g. replica.count=8",
            )
        table.setdefault(where, {})[entry] = _value(text.strip())
    return Scenario.from_table(table)


class Progress:
    """A count of finished runs on a terminal, from the first second of silence on."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._done = 0
        self._shown = False
        self._start = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __call__(self, more: int) -> None:
        """Note that more runs have ended."""
        self._done += more
        if sys.stderr.isatty() and time.monotonic() - self._start > _PATIENCE:
            print(f"\r{self._done:,} {self._what} done", end="", file=sys.stderr, flush=True)
            self._shown = True

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._shown:
            print("\r" + " " * 40 + "\r", end="", file=sys.stderr, flush=True)
