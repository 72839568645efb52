"""Models from a Hugging Face ``config.json`` or from the catalogue, by one and the same reader."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError
from kvcost.facts.paths import data_path
from kvcost.model.config.catalogue import (
    Entry,
    catalogue_entries,
    catalogue_names,
    find_entry,
    is_known,
)
from kvcost.model.config.parse import parse_config, supported_model_types
from kvcost.model.config.reader import read_object

if TYPE_CHECKING:
    from kvcost.model.spec import ModelSpec

__all__ = [
    "Entry",
    "catalogue_entries",
    "catalogue_names",
    "load",
    "parse_config",
    "supported_model_types",
]


def load(name_or_path: str | Path, *, assume: str | None = None) -> ModelSpec:
    """Return a model of the catalogue, or of a ``config.json``.

    Parameters
    ----------
    name_or_path : str or pathlib.Path
        A name or alias of the catalogue, in any case; or a config file; or a folder with one. A
        text that the catalogue knows is a name, a `pathlib.Path` is always a path.
    assume : {"gqa"}, optional
        What to assume of a config that is not understood, as in `parse_config`.

    Returns
    -------
    ModelSpec
        The geometry; models of the catalogue also have parameter counts.

    Raises
    ------
    UnknownNameError
        If the text is neither a known name nor a path.
    ConfigError
        If the file cannot be read as a JSON object.
    UnsupportedModelError, MissingFactError, InvalidValueError
        As `parse_config` raises them.

    Examples
    --------
    >>> load("glm-5.3").total_layers
    78
    >>> load("LLAMA-3.3-70b").name
    'meta-llama/Llama-3.3-70B-Instruct'
    """
    if isinstance(name_or_path, str):
        if not name_or_path.strip():
            raise _no_name(name_or_path)
        if is_known(name_or_path):
            return _from_catalogue(find_entry(name_or_path), assume)
        if not _is_path(name_or_path):
            find_entry(name_or_path)
    elif not isinstance(name_or_path, Path):
        raise _no_name(name_or_path)
    shown = str(name_or_path)
    path = Path(name_or_path).expanduser()
    return parse_config(read_object(path), name=shown, assume=assume, source=shown)


def _no_name(value: object) -> InvalidValueError:
    return InvalidValueError(
        field="model",
        value=value,
        bound="must be a name or a path",
        remedy="give a name of the catalogue or the path of a config.json",
    )


def _is_path(text: str) -> bool:
    """Tell whether a text that is no known name means a file."""
    if text.endswith(".json") or text.startswith((".", "~", os.sep)) or "\0" in text:
        return True
    try:
        return text.count("/") > 1 or os.path.exists(text)
    except (OSError, ValueError):
        return True


def _from_catalogue(entry: Entry, assume: str | None) -> ModelSpec:
    mapping = read_object(data_path("models", entry.file))
    spec = parse_config(mapping, name=entry.name, assume=assume)
    return replace(
        spec,
        max_context=entry.max_context or spec.max_context,
        total_parameters=entry.total_parameters,
        active_parameters=entry.active_parameters,
        provenance=entry.provenance,
        sources=entry.sources,
        notes=(*entry.notes, *spec.notes),
    )
