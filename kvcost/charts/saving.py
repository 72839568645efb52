"""Charts as files and as SVG, drawn without a browser and without a network."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kvcost.charts.engine import MissingExtraError
from kvcost.errors import InvalidValueError
from kvcost.files import write_file

if TYPE_CHECKING:
    import os

__all__ = ["save", "svg_text"]

_KINDS = (".png", ".svg", ".html")
_NAMED = re.compile(r'\bid="([^"]+)"')


class InScript(json.JSONEncoder):
    """JSON inside a script element, which a name such as ``</script>`` must not end."""

    def encode(self, o: Any) -> str:
        return super().encode(o).replace("<", "\\u003c")


def svg_text(chart: Any) -> str:
    """Return a chart as SVG.

    Parameters
    ----------
    chart : altair.TopLevelMixin
        A chart.

    Returns
    -------
    str
        One ``svg`` element.

    Raises
    ------
    MissingExtraError
        If vl-convert is not installed.
    """
    try:
        import vl_convert  # noqa: PLC0415 - loads a whole engine
    except ImportError:
        raise MissingExtraError(package="vl-convert-python", extra="notebook") from None
    # nothing that a specification names is fetched
    text: str = vl_convert.vegalite_to_svg(chart.to_dict(), allowed_base_urls=[])
    # the engine counts on from chart to chart; equal charts are to be equal files
    for place, name in enumerate(dict.fromkeys(_NAMED.findall(text))):
        new = f"part{place}"
        text = text.replace(f'id="{name}"', f'id="{new}"').replace(f"url(#{name})", f"url(#{new})")
    return text


def _content(chart: Any, kind: str, scale: float) -> bytes:
    if kind == ".svg":
        return svg_text(chart).encode()
    if kind == ".png":
        try:
            import vl_convert  # noqa: PLC0415
        except ImportError:
            raise MissingExtraError(package="vl-convert-python", extra="notebook") from None
        drawn: bytes = vl_convert.vegalite_to_png(
            chart.to_dict(), scale=scale, allowed_base_urls=[]
        )
        return drawn
    page = io.StringIO()
    chart.save(
        page,
        format="html",
        inline=True,
        json_kwds={"cls": InScript},
        embed_options={"renderer": "svg", "actions": {"export": True, "editor": False}},
    )
    return page.getvalue().encode()


def save(
    chart: Any, path: str | os.PathLike[str], *, force: bool = False, scale: float = 2.0
) -> Path:
    """Write a chart to a file that needs no network: PNG, SVG or HTML.

    Parameters
    ----------
    chart : altair.TopLevelMixin
        A chart.
    path : str or path
        Its ending says the kind: ``.png``, ``.svg``, or ``.html`` with the scripts inside.
    force : bool
        Whether to replace a file that exists.
    scale : float
        Pixels of a PNG for each of the chart.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InvalidValueError
        If the ending is none of these, or the scale is not above 0 and at most 10.
    ConfigError
        If the file exists, or cannot be written.
    MissingExtraError
        If vl-convert is not installed.
    """
    kind = Path(path).suffix.lower()
    if kind not in _KINDS:
        raise InvalidValueError(
            field="path",
            value=str(path),
            bound="has no known ending",
            remedy=f"use one of {', '.join(_KINDS)}",
        )
    if not 0 < scale <= 10:
        raise InvalidValueError(
            field="scale", value=scale, bound="must be above 0 and at most 10", remedy="use 2"
        )
    return write_file(path, lambda: _content(chart, kind, scale), force=force)
