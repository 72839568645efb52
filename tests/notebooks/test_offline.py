"""What a chart's output holds: its scripts, its own names, and nothing of the user's that runs."""

from __future__ import annotations

import re
import sys

import altair as alt
import pandas as pd
import pytest

from kvcost.charts.engine import MissingExtraError
from kvcost.charts.notebook import enable_offline

EVIL = "</script><script>alert(1)</script>"


@pytest.fixture
def html():
    """Return what a notebook shows of a chart."""
    with alt.renderers.enable("default"):
        enable_offline()
        chart = alt.Chart(pd.DataFrame({"a": [EVIL]})).mark_point().encode(x="a")
        shown = chart._repr_mimebundle_()
    shown = shown[0] if isinstance(shown, tuple) else shown
    assert set(shown) == {"text/html"}
    return shown["text/html"]


def test_no_name_is_declared_for_the_whole_page(html):
    [script] = re.findall(r"<script[^>]*>\n(.*?)</script>", html, re.DOTALL)
    assert script.startswith("(() => {\n")
    assert script.endswith("\n})();\n")
    assert "window.vegaEmbed=" in script


def test_data_cannot_end_the_script(html):
    assert html.count("</script") == 1
    assert "alert(1)" in html


def test_no_link_leads_to_another_host(html):
    assert '"editor": false' in html
    assert not re.search(r"""<(?:script|link)[^<>]*(?:src|href)=""", html.partition("<script")[0])


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingExtraError, match=r'vl_convert.*pip install "kvcost\[notebook\]"'):
        enable_offline()
