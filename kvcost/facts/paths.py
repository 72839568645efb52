"""Where the shipped data stand."""

from __future__ import annotations

from pathlib import Path

from kvcost.errors import ConfigError

__all__ = ["data_path"]

_PACKAGE = Path(__file__).resolve().parent.parent


def data_path(*parts: str) -> Path:
    """Return the path of a shipped data file or folder.

    Parameters
    ----------
    *parts : str
        Components below the data folder; none gives the folder itself.

    Returns
    -------
    pathlib.Path
        An existing path: inside the package when installed from a wheel, beside the package in a
        checkout or an editable install.

    Raises
    ------
    ConfigError
        If there is no such file or folder.

    Examples
    --------
    >>> data_path("catalogue").is_dir()
    True
    """
    for root in (_PACKAGE / "data", _PACKAGE.parent / "data"):
        candidate = root.joinpath(*parts)
        if candidate.exists():
            return candidate
    raise ConfigError(
        path="/".join(("data", *parts)),
        problem="this shipped data file is missing",
        remedy="install kvcost again, or check that the checkout is complete",
    )
