"""An argument parser that answers bad input in one line."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any, NoReturn

from kvcost.errors import InvalidValueError, KvcostError, nearest_names

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Parser", "UsageError", "add_output_flags", "count", "length"]

_MOST = 1_000_000


class UsageError(KvcostError):
    """A command line that does not fit the command's flags."""

    problem: str
    command: str

    def __init__(self, *, problem: str, command: str) -> None:
        super().__init__(problem=problem, command=command)

    def message(self) -> str:
        """Return the problem and where the flags are listed."""
        return f"{self.problem}: see {self.command} --help"


class Parser(argparse.ArgumentParser):
    """argparse, with errors raised as one line instead of printed with the usage."""

    def __init__(self, *args: Any, **options: Any) -> None:
        options.setdefault("formatter_class", argparse.RawDescriptionHelpFormatter)
        options.setdefault("allow_abbrev", False)
        super().__init__(*args, **options)

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` where argparse would print and exit."""
        raise UsageError(problem=" ".join(message.split()), command=self.prog)

    def refuse_flags(self, unknown: Sequence[str]) -> NoReturn:
        """Raise `UsageError` for words that no flag takes, naming the nearest flags."""
        problem = f"unrecognized arguments: {' '.join(unknown)}"
        wrong = [word.split("=")[0] for word in unknown if word.startswith("--")]
        if wrong:
            known = [flag for flag in self._option_string_actions if flag.startswith("--")]
            problem += f" (the nearest are {', '.join(nearest_names(wrong[0], known))})"
        self.error(problem)


def add_output_flags(parser: argparse.ArgumentParser) -> None:
    """Add ``--json`` and ``--csv``, of which one may be given."""
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="print JSON, in base units")
    group.add_argument("--csv", action="store_true", help="print CSV, in base units")


def count(text: str | None, field: str) -> int | None:
    """Return a flag that counts things (ranks, shards, accelerators), or None if not given.

    Parameters
    ----------
    text : str or None
        A whole number.
    field : str
        The flag.

    Returns
    -------
    int or None
        The number.

    Raises
    ------
    InvalidValueError
        If it is no whole number from 1 to 1,000,000.
    """
    if text is None:
        return None
    plain = text.strip().replace("_", "")
    number = int(plain) if plain.isascii() and plain.isdigit() and len(plain) < 10 else 0
    if not 1 <= number <= _MOST:
        raise InvalidValueError(
            field=field,
            value=text,
            bound=f"must be a whole number from 1 to {_MOST:,}",
            remedy="write e.g. 8",
        )
    return number


def length(text: str | None, field: str) -> int | None:
    """Return a flag that is a length in tokens, or None if not given.

    Parameters
    ----------
    text : str or None
        As `kvcost.units.parse_tokens` reads it.
    field : str
        The flag.

    Returns
    -------
    int or None
        The number of tokens.

    Raises
    ------
    InvalidValueError
        If it is no whole number of tokens above 0.
    """
    from kvcost.units import parse_tokens  # noqa: PLC0415 - loaded only when asked for

    return None if text is None else parse_tokens(text, field=field)
