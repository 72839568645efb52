"""Files written as a whole or not at all, and never over another by accident."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kvcost.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["draft_beside", "put_in_place", "refuse", "write_file"]


def draft_beside(target: Path) -> Path:
    """Return a new empty file in the folder of another, with the same ending.

    Raises
    ------
    OSError
        If the folder cannot be written.
    """
    handle, name = tempfile.mkstemp(
        prefix=f".{target.stem[:40]}.", suffix=target.suffix, dir=target.parent
    )
    os.close(handle)
    return Path(name)


def put_in_place(draft: Path, target: Path, *, force: bool) -> None:
    """Move a written draft to its place, readable as any new file is.

    Raises
    ------
    FileExistsError
        If a file has come there meanwhile, and `force` does not allow to replace it.
    """
    draft.chmod(0o666 & ~_umask())
    if force:
        draft.replace(target)
        return
    try:
        # a link fails where a file has come meanwhile; a rename would replace it
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:
        # a file system without links
        draft.replace(target)


def refuse(
    path: str | os.PathLike[str], *, force: bool, remedy: str = "name a new file, or --force"
) -> None:
    """Raise where a file cannot or must not be written, before any work is done for it.

    Parameters
    ----------
    path : str or path
        The file.
    force : bool
        Whether one that exists may be replaced.
    remedy : str
        What to do about one that exists.

    Raises
    ------
    ConfigError
        If it exists, is a folder, or lies in none.
    """
    target = Path(path)
    if target.is_dir():
        raise ConfigError(path=str(path), problem="is a folder", remedy="name a file in it")
    if not target.parent.is_dir():
        raise ConfigError(
            path=str(path), problem="lies in no folder", remedy="make the folder first"
        )
    if os.path.lexists(target) and not force:
        raise ConfigError(path=str(path), problem="exists", remedy=remedy)


def write_file(
    path: str | os.PathLike[str], content: Callable[[], bytes], *, force: bool = False
) -> Path:
    """Write a file beside its place and move it there.

    Parameters
    ----------
    path : str or path
        The file.
    content : callable
        Makes what goes in; called only if the file may be written.
    force : bool
        Whether one that exists is replaced.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    ConfigError
        If it exists, or cannot be written.
    """
    refuse(path, force=force)
    target = Path(path)
    made = content()
    try:
        draft = draft_beside(target)
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        draft.write_bytes(made)
        put_in_place(draft, target, force=force)
    except FileExistsError:
        refuse(path, force=False)
        raise
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        draft.unlink(missing_ok=True)
    return target


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _unwritable(path: str | os.PathLike[str], error: OSError) -> ConfigError:
    return ConfigError(
        path=str(path),
        problem=error.strerror or "cannot be written",
        remedy="name a file in a folder that you may write to",
    )
