"""Altair, or one line that says how to get it."""

from __future__ import annotations

from kvcost.errors import KvcostError

__all__ = ["MissingExtraError", "alt"]


class MissingExtraError(KvcostError, ImportError):
    """A package that an extra of kvcost brings and that is not installed.

    Attributes
    ----------
    package : str
        The package.
    extra : str
        The extra that brings it.
    """

    package: str
    extra: str

    def __init__(self, *, package: str, extra: str) -> None:
        super().__init__(package=package, extra=extra)

    def message(self) -> str:
        """Return the one-line text of the error."""
        return (
            f"charts need {self.package}, which is not installed: "
            f'pip install "kvcost[{self.extra}]"'
        )


try:
    import altair as alt
except ImportError:
    raise MissingExtraError(package="altair", extra="notebook") from None
