"""Files written as a whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from kvcost.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["refuse", "write_file"]


def refuse(path: str | os.PathLike[str], *, force: bool) -> None:
    """Raise where a file cannot or must not be written, before any work is done for it.

    Parameters
    ----------
    path : str or path
        The file.
    force : bool
        Whether one that exists may be replaced.

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
        raise ConfigError(path=str(path), problem="exists", remedy="name a new file, or --force")


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
        handle, name = tempfile.mkstemp(
            prefix=f".{target.name[:40]}.", suffix=".part", dir=target.parent
        )
    except OSError as error:
        raise _unwritable(path, error) from None
    draft = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(made)
        draft.chmod(0o666 & ~_umask())
        if force:
            draft.replace(target)
        else:
            # a link does not replace what somebody else has written meanwhile
            _link(draft, target)
    except FileExistsError:
        refuse(path, force=False)
        raise
    except OSError as error:
        raise _unwritable(path, error) from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            draft.unlink()
    return target


def _link(draft: Path, target: Path) -> None:
    try:
        os.link(draft, target)
    except FileExistsError:
        raise
    except OSError:
        # a file system without links
        draft.replace(target)


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
