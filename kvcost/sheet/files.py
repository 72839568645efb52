"""Writing a file whole or not at all, and never over another by accident."""

from __future__ import annotations

import os
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kvcost.errors import ConfigError
from kvcost.files import draft_beside, put_in_place

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["replacing"]


def _refusal(path: Path) -> ConfigError:
    return ConfigError(
        path=str(path), problem="is there already", remedy="give another name, or --force"
    )


@contextmanager
def replacing(path: Path | str, *, suffix: str, force: bool = False) -> Iterator[Path]:
    """Give a file to write, which takes the place of `path` when all is written.

    Parameters
    ----------
    path : Path or str
        Where the result goes.
    suffix : str
        What its name must end in.
    force : bool
        Whether a file that is there is replaced.

    Yields
    ------
    Path
        A file beside it.

    Raises
    ------
    ConfigError
        If the name is of another kind, a file is there, or the folder cannot be written.
    """
    target = Path(path)
    if target.suffix.lower() != suffix:
        raise ConfigError(
            path=str(target), problem=f"does not end in {suffix}", remedy=f"name it {suffix}"
        )
    if target.is_dir() or (not force and os.path.lexists(target)):
        raise _refusal(target)
    try:
        draft = draft_beside(target)
    except OSError as error:
        raise ConfigError(
            path=str(target),
            problem=f"cannot be written ({error.strerror})",
            remedy="give a folder that exists and may be written",
        ) from None
    try:
        yield draft
        try:
            put_in_place(draft, target, force=force)
        except FileExistsError:
            raise _refusal(target) from None
    finally:
        draft.unlink(missing_ok=True)
