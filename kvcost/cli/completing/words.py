"""What may stand where on a command line, read off the parsers."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = ["Command", "Slot", "gather"]


@dataclass(frozen=True, kw_only=True)
class Slot:
    """A flag, or the place of a word that is no flag.

    Attributes
    ----------
    flags : tuple of str
        How it is spelled; empty for a place.
    help : str
        One line.
    takes_value : bool
        Whether a word follows; a place always is one.
    values : tuple of str
        Words that may stand there, as far as they are known.
    files : bool
        Whether a file may stand there.
    """

    flags: tuple[str, ...]
    help: str
    takes_value: bool
    values: tuple[str, ...]
    files: bool


@dataclass(frozen=True, kw_only=True)
class Command:
    """A command or an action of one.

    Attributes
    ----------
    path : tuple of str
        The words that lead to it; none for ``kvcost`` itself.
    help : str
        One line.
    flags : tuple of Slot
        In the order of ``--help``.
    places : tuple of Slot
        Words that are no flags, in their order.
    actions : tuple of Command
        What may follow as the next word.
    """

    path: tuple[str, ...]
    help: str
    flags: tuple[Slot, ...]
    places: tuple[Slot, ...]
    actions: tuple[Command, ...]

    def walk(self) -> Iterable[Command]:
        """Yield this command and all below it."""
        yield self
        for action in self.actions:
            yield from action.walk()


def _models() -> Iterable[str]:
    from kvcost.model.config.catalogue import catalogue_entries  # noqa: PLC0415

    # short names are typed in small letters; any case is understood
    return (
        name if "/" in name else name.lower()
        for entry in catalogue_entries()
        for name in (*entry.aliases, entry.name)
    )


def _deployments() -> Iterable[str]:
    from kvcost.cli.deployment import shipped_deployments  # noqa: PLC0415

    return shipped_deployments()


def _scenarios() -> Iterable[str]:
    from kvcost.scenario import shipped_scenarios  # noqa: PLC0415

    return shipped_scenarios()


def _kinds() -> Iterable[str]:
    from kvcost import facts  # noqa: PLC0415

    return ("model", *facts.kinds())


def _names() -> Iterable[str]:
    from kvcost import facts  # noqa: PLC0415

    return (*_models(), *(name for kind in facts.kinds() for name in facts.names(kind)))


def _accelerators() -> Iterable[str]:
    from kvcost import facts  # noqa: PLC0415

    return facts.names("accelerator")


def _policies() -> Iterable[str]:
    from kvcost.routing.registry import names  # noqa: PLC0415

    return ("all", *names())


def _laws() -> Iterable[str]:
    from kvcost.queueing.named import NAMES  # noqa: PLC0415

    return NAMES


def _formulas() -> Iterable[str]:
    from kvcost import formula  # noqa: PLC0415

    return sorted(formula.registry())


def _kv_dtypes() -> Iterable[str]:
    from kvcost.model.dtypes import KV_DTYPES  # noqa: PLC0415

    return KV_DTYPES


_SHIPPED: dict[str, Callable[[], Iterable[str]]] = {
    "accelerator": _accelerators,
    "deployment": _deployments,
    "distribution": _laws,
    "formula": _formulas,
    "kind": _kinds,
    "kv_dtype": _kv_dtypes,
    "model": _models,
    "name": _names,
    "policy": _policies,
    "scenario": _scenarios,
}
"""Names that kvcost knows, by the argument that takes them."""

_FILES = ("FILE", "config.json", ".toml", "SCENARIO")


def _slot(action: argparse.Action) -> Slot:
    values = [str(choice) for choice in action.choices or ()]
    takes_value = action.nargs != 0
    if not values and takes_value and action.dest in _SHIPPED:
        values = list(_SHIPPED[action.dest]())
    shown = action.metavar if isinstance(action.metavar, str) else ""
    # shells split at spaces, and a name that holds one is not worth its quotes
    plain = dict.fromkeys(value for value in values if value and not set(value) & set(" '\"$`\\"))
    return Slot(
        flags=tuple(action.option_strings),
        help=" ".join((action.help or "").split()).replace("%%", "%"),
        takes_value=takes_value,
        values=tuple(plain),
        files=takes_value and any(part in shown for part in _FILES),
    )


def gather(parser: argparse.ArgumentParser, path: tuple[str, ...] = (), about: str = "") -> Command:
    """Return all that a parser understands.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        With its subparsers configured.
    path : tuple of str
        The words that lead to it.
    about : str
        One line about it.

    Returns
    -------
    Command
        The parser's flags, places and actions.
    """
    flags, places, actions = [], [], []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            lines = {each.dest: each.help or "" for each in action._choices_actions}
            actions += [
                gather(inner, (*path, name), lines.get(name, ""))
                for name, inner in action.choices.items()
            ]
        elif action.option_strings:
            flags.append(_slot(action))
        else:
            places.append(_slot(action))
    return Command(
        path=path,
        help=about,
        flags=tuple(flags),
        places=tuple(places),
        actions=tuple(actions),
    )
