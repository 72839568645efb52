"""Writing a file whole or not at all, and never over another by accident."""

from __future__ import annotations

import os
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from kvcost.errors import ConfigError

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
        handle, name = tempfile.mkstemp(
            prefix=f".{target.stem}.", suffix=suffix, dir=target.parent or None
        )
    except OSError as error:
        raise ConfigError(
            path=str(target),
            problem=f"cannot be written ({error.strerror})",
            remedy="give a folder that exists and may be written",
        ) from None
    os.close(handle)
    draft = Path(name)
    try:
        yield draft
        draft.chmod(0o666 & ~_umask())
        _move(draft, target, force=force)
    finally:
        draft.unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _move(draft: Path, target: Path, *, force: bool) -> None:
    if force:
        draft.replace(target)
        return
    try:
        # a link fails where a file has come meanwhile; a rename would replace it
        os.link(draft, target)
    except FileExistsError:
        raise _refusal(target) from None
    except OSError:
        draft.replace(target)
