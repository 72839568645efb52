"""A deployment file: the flags of ``kvcost breakeven`` in TOML, with what was published beside."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvcost.errors import ConfigError, UnknownNameError, nearest_names

if TYPE_CHECKING:
    import argparse

__all__ = ["Published", "apply_deployment", "shipped_deployments"]

_SUFFIX = ".toml"
_MOST_BYTES = 1 << 20
_OWN_KEYS = frozenset({"title", "published"})
_NOT_FLAGS = frozenset({"command", "deployment", "run", "refuse", "json", "csv", "assume"})


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


def _folder() -> Path:
    from kvcost.facts import data_path  # noqa: PLC0415 - loaded only when asked for

    return data_path("examples")


def shipped_deployments() -> tuple[str, ...]:
    """Return the names of the deployments that ship with kvcost."""
    return tuple(sorted(path.stem for path in _folder().glob(f"*{_SUFFIX}")))


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
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        problem = error.strerror or "cannot be read"
        raise ConfigError(path=str(path), problem=problem, remedy=remedy) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        problem = f"is not TOML ({' '.join(str(error).split())[:120]})"
        raise ConfigError(path=str(path), problem=problem, remedy=remedy) from None


def apply_deployment(args: argparse.Namespace) -> tuple[str, tuple[Published, ...]]:
    """Fill flags that were not given from the deployment file, and return its title and figures.

    Parameters
    ----------
    args : argparse.Namespace
        Parsed flags; those that are None or False are filled.

    Returns
    -------
    tuple of str and tuple of Published
        Title, and published figures; empty without a file.

    Raises
    ------
    ConfigError
        If the file cannot be read, or a key is unknown or of the wrong kind.
    UnknownNameError
        If no such deployment ships.
    """
    if args.deployment is None:
        return "", ()
    path = _path(args.deployment)
    table = _read(path)
    flags = set(vars(args)) - _NOT_FLAGS
    for key, value in table.items():
        if key in _OWN_KEYS:
            continue
        if key not in flags:
            near = ", ".join(nearest_names(key, flags))
            raise ConfigError(
                path=str(path), problem=f"unknown key {key!r}", remedy=f"the nearest are {near}"
            )
        if getattr(args, key) in (None, False):
            setattr(args, key, _flag_value(path, key, value))
    return str(table.get("title", "")), _published(path, table.get("published", []))


def _flag_value(path: Path, key: str, value: Any) -> Any:
    if isinstance(value, list) and key == "prefill" and all(isinstance(v, str) for v in value):
        return value
    if isinstance(value, bool) and key in ("mtp", "last_token", "index_on_every_layer"):
        return value
    if isinstance(value, str) and key != "prefill":
        return value
    raise ConfigError(
        path=str(path),
        problem=f"key {key!r} is {value!r}",
        remedy='write it as text with its unit, as "16000" or "1.71 GB/s"; prefill as a list',
    )


def _published(path: Path, rows: Any) -> tuple[Published, ...]:
    try:
        found = tuple(Published(**row) for row in rows)
    except TypeError:
        found = (None,)  # type: ignore[assignment]
    for row in found:
        number = row and isinstance(row.value, (int, float)) and not isinstance(row.value, bool)
        if not number or not all(isinstance(t, str) for t in (row.quantity, row.kind, row.note)):
            raise ConfigError(
                path=str(path),
                problem="a [[published]] table is not understood",
                remedy="give quantity, value (a number in base units), kind and, if needed, note",
            )
    return found
