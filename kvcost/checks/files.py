"""The deployment file that a table names, merged below the table's own keys."""

from __future__ import annotations

import tomllib
from functools import cache
from typing import TYPE_CHECKING, Any

from kvcost.checks.costs import BYTES_KEYS, HARDWARE_KEYS, KEYS, MEASURED_KEYS, MODEL_KEYS
from kvcost.errors import ConfigError, InvalidValueError, UnknownNameError, nearest_names

if TYPE_CHECKING:
    from pathlib import Path

    from kvcost.checks.table import Table

__all__ = ["merge_file"]

_ANNOTATIONS = frozenset({"title", "published", "require", "max_ttft"})
_MOST_BYTES = 1 << 20


def merge_file(table: Table) -> None:
    """Add the keys of the deployment file that a table names, where it does not state them.

    Parameters
    ----------
    table : Table
        With or without the key ``deployment``.

    Raises
    ------
    ConfigError, UnknownNameError, InvalidValueError
        If the file is not there, or not one.
    """
    name = table.text("deployment")
    if name is None:
        return
    path = _find(name, table.files.folder)
    content = _content(path, name if path.suffix == ".toml" and name.endswith(".toml") else None)
    for key, value in content.items():
        if key in _ANNOTATIONS:
            continue
        if key not in KEYS or key == "deployment":
            raise ConfigError(
                path=path.name,
                problem=f"unknown key {key!r}",
                remedy=f"the nearest are {', '.join(nearest_names(key, KEYS))}",
            )
        if key in table:
            continue
        beside = key == "model" and isinstance(value, str) and value.endswith(".json")
        table.values[key] = str(path.parent.absolute() / value) if beside else value
        table.origins[key] = path.name
    # a model or prefill of the budget's own leaves the file's other way to state it out
    ways = ((MEASURED_KEYS, HARDWARE_KEYS), (BYTES_KEYS, MODEL_KEYS))
    for own, others in (*ways, *((other, first) for first, other in ways)):
        if any(key in table and key not in table.origins for key in own):
            for key in others:
                if key in table.origins:
                    del table.values[key], table.origins[key]
    own_model = "model" in table and "model" not in table.origins
    if own_model and "prefill" in table.origins and table.values["model"] != content.get("model"):
        raise InvalidValueError(
            field="model",
            value=table.values["model"],
            bound=f"is not the model whose prefill {path.name} states",
            remedy="give its own prefill, or accelerator with gpus",
        )


def _find(name: str, folder: Path) -> Path:
    if name.endswith(".toml"):
        return folder / name
    from kvcost.facts import data_path  # noqa: PLC0415 - loaded only when asked for

    shipped = {path.stem: path for path in data_path("examples").glob("*.toml")}
    shipped.pop("budgets", None)
    if name in shipped:
        return shipped[name]
    raise UnknownNameError(
        kind="deployment",
        name=name,
        nearest=nearest_names(name, shipped),
        remedy="give one of these names, or the path of a .toml file",
    )


def _content(path: Path, shown: str | None) -> dict[str, Any]:
    try:
        stamp = path.stat()
        if stamp.st_size > _MOST_BYTES:
            raise ConfigError(
                path=shown or path.name, problem="is larger than 1 MiB", remedy="shorten it"
            )
        return _parsed(path, stamp.st_mtime_ns, stamp.st_size)
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        words = " ".join(str(error).split())[:120]
        problem = error.strerror if isinstance(error, OSError) else f"is not TOML ({words})"
        raise ConfigError(
            path=shown or path.name,
            problem=problem or "cannot be read",
            remedy="give a TOML file with the flags of kvcost breakeven as keys",
        ) from None


@cache
def _parsed(path: Path, _changed: int, _size: int) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8-sig"))
