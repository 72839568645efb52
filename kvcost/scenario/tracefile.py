"""Find the file of a trace that a scenario names, and read it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kvcost.errors import ConfigError

if TYPE_CHECKING:
    from kvcost.workload.requests import Requests

__all__ = ["load_trace"]

_VARIABLE = "KVCOST_TRACES"


def load_trace(path: str, format: str | None = None) -> Requests:
    """Return the requests of a trace.

    Parameters
    ----------
    path : str
        The file; a relative path is also looked up in the folder that the environment variable
        ``KVCOST_TRACES`` names.
    format : str, optional
        Its format, where its first line does not tell.

    Returns
    -------
    Requests
        Sorted by arrival, the first at 0 s.

    Raises
    ------
    ConfigError
        If there is no such file, or it is not as its format wants it.
    """
    from kvcost.workload.traces import read_trace  # noqa: PLC0415 - loaded only where needed

    return read_trace(_found(path), format=format)


def _found(path: str) -> Path:
    folder = os.environ.get(_VARIABLE)
    places = [Path(path)] + ([Path(folder, path)] if folder else [])
    for place in places:
        if place.is_file():
            return place
    looked = " and ".join(str(place) for place in places)
    hint = (
        f"put it into {folder}, the folder that {_VARIABLE} names"
        if folder
        else f"set {_VARIABLE}, which is not set, to the folder that holds it"
    )
    raise ConfigError(path=path, problem=f"there is no such file (looked at {looked})", remedy=hint)
