"""A deployment file: the flags of ``kvcost breakeven`` in TOML, with what was published beside."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvcost.errors import ConfigError, InvalidValueError, UnknownNameError, nearest_names

if TYPE_CHECKING:
    import argparse
    from collections.abc import Mapping

__all__ = ["Deployment", "Published", "apply_deployment", "shipped_deployments"]

_SUFFIX = ".toml"
_NOT_DEPLOYMENTS = frozenset({"budgets"})
_MOST_BYTES = 1 << 20
_OWN_KEYS = frozenset({"title", "published"})
_NOT_FLAGS = frozenset({"command", "deployment", "run", "refuse", "json", "csv", "flag_choices"})
_LEAST = 1e-30
_NOT_THE_QUESTION = frozenset({"require", "max_ttft"})
_SWITCHES = frozenset({"mtp", "last_token", "no_attention"})
_KINDS = ("measured", "model", "simulated", "computed", "rounded")


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """What a deployment file holds beside flags.

    Attributes
    ----------
    title : str
        What it is; empty where flags have changed the question.
    published : tuple of Published
        Figures to set beside the answer.
    notes : tuple of str
        What was left out, and why.
    """

    title: str
    published: tuple[Published, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Published:
    """A published number to set beside the answer.

    Attributes
    ----------
    quantity : str
        Key of the answer's JSON.
    value : float
        As published, in base units.
    kind : str
        How the source knows it: measured, model, simulated.
    note : str
        What a reader must know.
    """

    quantity: str
    value: float
    kind: str
    note: str = ""

    @property
    def understood(self) -> bool:
        """Whether every entry is of its kind."""
        number = isinstance(self.value, (int, float)) and not isinstance(self.value, bool)
        texts = all(isinstance(text, str) for text in (self.quantity, self.kind, self.note))
        return (
            number
            and texts
            and math.isfinite(self.value)
            and abs(self.value) > _LEAST
            and self.kind in _KINDS
        )


def _folder() -> Path:
    from kvcost.facts import data_path  # noqa: PLC0415 - loaded only when asked for

    return data_path("examples")


def shipped_deployments() -> tuple[str, ...]:
    """Return the names of the deployments that ship with kvcost."""
    found = {path.stem for path in _folder().glob(f"*{_SUFFIX}")}
    return tuple(sorted(found - _NOT_DEPLOYMENTS))


def _path(name: str) -> Path:
    if name.endswith(_SUFFIX):
        return Path(name)
    if name in shipped_deployments():
        return _folder() / f"{name}{_SUFFIX}"
    raise UnknownNameError(
        kind="deployment",
        name=name,
        nearest=nearest_names(name, shipped_deployments()),
        remedy="give one of these names, or the path of a .toml file",
    )


def _read(path: Path) -> dict[str, Any]:
    remedy = "give a TOML file with the flags of kvcost breakeven as keys"
    try:
        if path.stat().st_size > _MOST_BYTES:
            raise ConfigError(path=str(path), problem="is larger than 1 MiB", remedy=remedy)
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        problem = error.strerror or "cannot be read"
        raise ConfigError(path=str(path), problem=problem, remedy=remedy) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"is not TOML ({' '.join(str(error).split())[:120]})"
        raise ConfigError(path=str(path), problem=problem, remedy=remedy) from None


def apply_deployment(args: argparse.Namespace) -> Deployment:
    """Fill flags that were not given from the deployment file, and return what else it holds.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed flags; those that are None or False are filled.

    Returns
    -------
    Deployment
        Title and published figures where the question is the file's own; empty without a file.

    Raises
    ------
    ConfigError
        If the file cannot be read, or a key is unknown or of the wrong kind.
    UnknownNameError
        If no such deployment ships.
    InvalidValueError
        If a flag names another model, but the prefill would be that of the file's model.
    """
    if args.deployment is None:
        return Deployment(title="", published=(), notes=())
    path = _path(args.deployment)
    table = _read(path)
    flags = set(vars(args)) - _NOT_FLAGS
    published = _published(path, table.get("published", []))
    title = table.get("title", "")
    if not isinstance(title, str):
        raise ConfigError(path=str(path), problem="the title is no text", remedy="write it as text")
    changed: list[str] = []
    for key, value in table.items():
        if key in _OWN_KEYS:
            continue
        if key not in flags:
            near = ", ".join(nearest_names(key, flags))
            raise ConfigError(
                path=str(path), problem=f"unknown key {key!r}", remedy=f"the nearest are {near}"
            )
        filled = _flag_value(path, key, value, args.flag_choices)
        if key == "prefill" and args.accelerator is not None:
            changed.append(key)
        elif getattr(args, key) in (None, False):
            setattr(args, key, filled)
        elif not _same(getattr(args, key), filled):
            changed.append(key)
    # a flag that the file does not state makes it another question too
    changed += [
        key
        for key in sorted(flags - set(table) - _NOT_THE_QUESTION)
        if getattr(args, key) not in (None, False)
    ]
    if "model" in changed and "prefill" in table and "prefill" not in changed:
        raise InvalidValueError(
            field="model",
            value=args.model,
            bound=f"is not the model whose prefill {path.name} states",
            remedy="give its own --prefill, or --accelerator with --gpus",
        )
    if not changed:
        return Deployment(title=title, published=published, notes=())
    words = ", ".join(f"--{key.replace('_', '-')}" for key in changed)
    note = f"not the question of {path.name} ({words}): its published figures are left out"
    return Deployment(title="", published=(), notes=(note,))


def _same(given: Any, filled: Any) -> bool:
    """Tell whether two texts of a flag are alike but for spaces."""
    if isinstance(given, str) and isinstance(filled, str):
        return "".join(given.split()) == "".join(filled.split())
    return bool(given == filled)


def _flag_value(path: Path, key: str, value: Any, choices: Mapping[str, Any]) -> Any:
    if key in choices:
        if isinstance(value, str) and value in choices[key]:
            return value
        remedy = f"use one of {', '.join(choices[key])}"
        raise ConfigError(path=str(path), problem=f"key {key!r} is {value!r}", remedy=remedy)
    if isinstance(value, list) and key == "prefill" and all(isinstance(v, str) for v in value):
        return value
    if isinstance(value, bool) and key in _SWITCHES:
        return value
    if isinstance(value, str) and key not in {"prefill", *_SWITCHES}:
        beside = path.parent / value
        return str(beside) if key == "model" and value.endswith(".json") else value
    raise ConfigError(
        path=str(path),
        problem=f"key {key!r} is {value!r}",
        remedy='write it as text with its unit, as "16000" or "1.71 GB/s"; prefill as a list',
    )


def _published(path: Path, rows: Any) -> tuple[Published, ...]:
    found = []
    for row in rows if isinstance(rows, list) else [rows]:
        try:
            made = Published(**row) if isinstance(row, dict) else None
        except TypeError:
            made = None
        if made is None or not made.understood:
            raise ConfigError(
                path=str(path),
                problem="a [[published]] table is not understood",
                remedy="give quantity, value (a finite number other than 0, in base units), "
                f"kind ({', '.join(_KINDS)}) and, if needed, note",
            )
        found.append(made)
    return tuple(found)
