"""Charts in a notebook: as many as there are cells, with no network.

Altair's own offline template declares its names for the whole page, so that a page shows its first
chart only. Here each chart keeps its names to itself.
"""

from __future__ import annotations

from typing import Any

from kvcost.charts.engine import MissingExtraError
from kvcost.charts.saving import InScript

__all__ = ["enable_offline"]

_TEMPLATE = """\
<style>
  #{{ output_div }}.vega-embed { width: 100%; display: flex; }
  #{{ output_div }}.vega-embed details,
  #{{ output_div }}.vega-embed details summary { position: relative; }
</style>
<div class="vega-visualization" id="{{ output_div }}"></div>
<script type="text/javascript">
(() => {
  const place = document.getElementById("{{ output_div }}");
  const spec = {{ spec }};
  // a page loads Vega once, but every output brings it: each may be the only one that is left
  if (!window.kvcostVegaEmbed) {
    (() => {
{{ bundle }}
    })();
    window.kvcostVegaEmbed = window.vegaEmbed;
  }
  window.kvcostVegaEmbed(place, spec, {{ embed_options }})
    .then((drawn) => { place.vegaView = drawn.view; })
    .catch((error) => { place.textContent = "This chart cannot be drawn: " + error.message; });
})();
</script>
"""


def enable_offline() -> None:
    """Let Altair show charts in this notebook with their scripts inside.

    Raises
    ------
    MissingExtraError
        If Altair or vl-convert, which holds the scripts, is not installed.
    """
    try:
        import altair as alt  # noqa: PLC0415 - an extra
        import jinja2  # noqa: PLC0415
        import vl_convert  # noqa: PLC0415
    except ImportError as error:
        raise MissingExtraError(package=str(error.name), extra="notebook") from None
    scripts: Any = vl_convert.javascript_bundle  # all of Vega, where no snippet is given
    bundle = scripts(vl_version=alt.SCHEMA_VERSION.removeprefix("v").rpartition(".")[0])
    template = jinja2.Template(_TEMPLATE)
    template.globals["bundle"] = bundle
    alt.renderers.enable(
        "html",
        template=template,
        embed_options={"actions": {"export": True, "source": False, "editor": False}},
        json_kwds={"cls": InScript},
    )
