"""A JSON object from a file that may be anything."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kvcost.errors import ConfigError

__all__ = ["CONFIG_NAME", "MOST_BYTES", "read_object", "too_deep"]

CONFIG_NAME = "config.json"
MOST_BYTES = 16 * 2**20
_MOST_LEVELS = 64

_REMEDY = "give the config.json of a Hugging Face model, or a name of the catalogue"


def read_object(path: str | Path) -> dict[str, Any]:
    """Return the JSON object of a file, or of the config.json in a folder.

    Parameters
    ----------
    path : str or pathlib.Path
        A file, or a folder that holds a ``config.json``.

    Returns
    -------
    dict
        The object as it stands, unchecked; ``NaN`` and ``Infinity`` are read as floats.

    Raises
    ------
    ConfigError
        If there is no such file, or it is empty, larger than 16 MiB, no text, no JSON, nested too
        deeply, states one name twice with two values, or holds no object.

    Examples
    --------
    >>> read_object("no/such/config.json")
    Traceback (most recent call last):
        ...
    kvcost.errors.ConfigError: no/such/config.json: there is no such file: ...
    """
    shown = str(path)
    value = _parse(_decode(_read(path, shown), shown), shown)
    if too_deep(value):
        raise ConfigError(path=shown, problem="is nested too deeply", remedy=_REMEDY)
    if not isinstance(value, dict):
        kind = {list: "a list", str: "a text", type(None): "null"}.get(type(value), "a number")
        raise ConfigError(path=shown, problem=f"holds {kind}, not a JSON object", remedy=_REMEDY)
    return value


def too_deep(value: object) -> bool:
    """Tell whether objects and lists are nested beyond what any config needs."""
    level: list[Any] = [value] if isinstance(value, Mapping | list) else []
    for _ in range(_MOST_LEVELS):
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, Mapping) else outer)
            if isinstance(inner, Mapping | list)
        ]
        if not level:
            return False
    return True


def _read(path: str | Path, shown: str) -> bytes:
    try:
        file = Path(path)
        if file.is_dir():
            file = file / CONFIG_NAME
            if not file.exists():
                raise ConfigError(
                    path=shown,
                    problem=f"is a folder without a {CONFIG_NAME}",
                    remedy=_REMEDY,
                )
        if not file.exists():
            raise ConfigError(path=shown, problem="there is no such file", remedy=_REMEDY)
        if not file.is_file():
            raise ConfigError(path=shown, problem="is no regular file", remedy=_REMEDY)
        with file.open("rb") as stream:
            content = stream.read(MOST_BYTES + 1)
    except ConfigError:
        raise
    except (OSError, ValueError) as failure:
        reason = getattr(failure, "strerror", None) or str(failure)
        raise ConfigError(
            path=shown, problem=f"cannot be read ({reason})", remedy=_REMEDY
        ) from None
    if len(content) > MOST_BYTES:
        raise ConfigError(
            path=shown,
            problem=f"is larger than {MOST_BYTES // 2**20} MiB, far more than a config holds",
            remedy=_REMEDY,
        )
    return content


def _decode(content: bytes, shown: str) -> str:
    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError:
        raise ConfigError(path=shown, problem="is not text in UTF-8", remedy=_REMEDY) from None
    if not text.strip():
        raise ConfigError(path=shown, problem="is empty", remedy=_REMEDY)
    return text


def _parse(text: str, shown: str) -> Any:
    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built = dict(pairs)
        if len(built) < len(pairs):
            for name, value in pairs:
                if built[name] != value:
                    raise ConfigError(
                        path=shown,
                        problem=f"states {name[:60]!r} twice, with two values",
                        remedy="keep the one that holds",
                    )
        return built

    try:
        return json.loads(text, object_pairs_hook=build)
    except json.JSONDecodeError as failure:
        where = f"line {failure.lineno}, column {failure.colno}"
        raise ConfigError(
            path=shown, problem=f"is no valid JSON ({failure.msg} at {where})", remedy=_REMEDY
        ) from None
    except RecursionError:
        raise ConfigError(path=shown, problem="is nested too deeply", remedy=_REMEDY) from None
    except ConfigError:
        raise
    except ValueError:
        # the only other one: an integer with more digits than Python reads
        raise ConfigError(
            path=shown, problem="is no valid JSON (a number of thousands of digits)", remedy=_REMEDY
        ) from None
