"""A page as a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError
from kvcost.files import refuse, write_file
from kvcost.report.html import to_html
from kvcost.report.markdown import to_markdown

if TYPE_CHECKING:
    import os

    from kvcost.report.blocks import Page

__all__ = ["check_target", "write_report"]

_RENDERERS = {".html": to_html, ".htm": to_html, ".md": to_markdown}


def check_target(path: str | os.PathLike[str], *, force: bool = False) -> None:
    """Raise where a report cannot be written, before it is made.

    Parameters
    ----------
    path : str or path
        The file.
    force : bool
        Whether one that exists may be replaced.

    Raises
    ------
    InvalidValueError
        If its ending is none of ``.html``, ``.htm`` and ``.md``.
    ConfigError
        If it exists, is a folder, or lies in none.
    """
    if Path(path).suffix.lower() not in _RENDERERS:
        raise InvalidValueError(
            field="the report's file",
            value=str(path),
            bound="has no known ending",
            remedy="use .html or .md",
        )
    refuse(path, force=force)


def write_report(page: Page, path: str | os.PathLike[str], *, force: bool = False) -> Path:
    """Write a page, whole or not at all.

    Parameters
    ----------
    page : Page
        From `build_report`.
    path : str or path
        Its ending says the kind: ``.html`` or ``.md``.
    force : bool
        Whether to replace a file that exists.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InvalidValueError
        If the ending is another.
    ConfigError
        If the file exists, or cannot be written.
    """
    check_target(path, force=force)
    render = _RENDERERS[Path(path).suffix.lower()]
    return write_file(path, lambda: render(page).encode(), force=force)
