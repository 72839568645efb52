"""The shipped models: an index of names, and a trimmed config for each."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from kvcost.errors import UnknownNameError, nearest_names
from kvcost.facts.paths import data_path
from kvcost.facts.provenance import Provenance

__all__ = [
    "Entry",
    "catalogue_entries",
    "catalogue_names",
    "find_entry",
    "is_known",
    "normal_name",
]

_GRADES = {
    "M": Provenance.MEASURED,
    "2": Provenance.DATA_SHEET,
    "1": Provenance.DATA_SHEET,
    "0": Provenance.ASSUMED,
}


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One model of the catalogue, without its geometry.

    Parameters
    ----------
    name : str
        Full Hugging Face name.
    file : str
        Its trimmed config below ``data/models``.
    aliases : tuple of str
        Other names.
    grade : {"M", "2", "1", "0"}
        M: an engine's log agrees; 2, 1: that many sources; 0: from memory.
    total_parameters, active_parameters : float or None
        Parameters, and those that one token passes through.
    max_context : int or None
        Where it differs from what the config states.
    sources, notes : tuple of str
        Where the facts stand, and what a reader must know.
    """

    name: str
    file: str
    aliases: tuple[str, ...]
    grade: str
    total_parameters: float | None
    active_parameters: float | None
    max_context: int | None
    sources: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def provenance(self) -> Provenance:
        """How the geometry is known."""
        return _GRADES[self.grade]


def normal_name(name: str) -> str:
    """Return a name as it is looked up: lower case, hyphens for spaces and underscores.

    Examples
    --------
    >>> normal_name(" Llama 3.3_70B ")
    'llama-3.3-70b'
    """
    return name.strip().lower().replace("_", "-").replace(" ", "-")


@cache
def _index() -> tuple[dict[str, Any], ...]:
    text = data_path("models", "index.json").read_text(encoding="utf-8")
    models: list[dict[str, Any]] = json.loads(text)["models"]
    return tuple(models)


@cache
def _names() -> dict[str, int]:
    names: dict[str, int] = {}
    for position, model in enumerate(_index()):
        for name in (model["name"], *model["aliases"]):
            names.setdefault(normal_name(name), position)
    for position, model in enumerate(_index()):
        for name in (model["name"], *model["aliases"]):
            names.setdefault(normal_name(name.rpartition("/")[2]), position)
    return names


def _entry(model: dict[str, Any]) -> Entry:
    billions = {key: model.get(f"{key}_billion") for key in ("total", "active")}
    return Entry(
        name=model["name"],
        file=model["file"],
        aliases=tuple(model["aliases"]),
        grade=model["grade"],
        total_parameters=None if billions["total"] is None else billions["total"] * 1e9,
        active_parameters=None if billions["active"] is None else billions["active"] * 1e9,
        max_context=model.get("max_context"),
        sources=tuple(model["sources"]),
        notes=tuple(model.get("notes", ())),
    )


def catalogue_entries() -> tuple[Entry, ...]:
    """Return the models of the catalogue, in its order."""
    return tuple(_entry(model) for model in _index())


def catalogue_names() -> tuple[str, ...]:
    """Return the full names of the models in the catalogue, in alphabetical order.

    Examples
    --------
    >>> "zai-org/GLM-5.3" in catalogue_names()
    True
    """
    return tuple(sorted((model["name"] for model in _index()), key=str.lower))


def find_entry(name: str) -> Entry:
    """Return the model of a name or alias, whatever its case.

    Raises
    ------
    UnknownNameError
        If there is no such model, with the nearest names.
    """
    position = _names().get(normal_name(name))
    if position is None:
        raise UnknownNameError(
            kind="model",
            name=name,
            nearest=nearest_names(name, _known_names()),
            remedy="give a name of the catalogue or the path of a config.json",
        )
    return _entry(_index()[position])


def is_known(name: str) -> bool:
    """Tell whether the catalogue holds a name or alias."""
    return normal_name(name) in _names()


def _known_names() -> list[str]:
    return [name for model in _index() for name in (*model["aliases"], model["name"])]
