"""Where fetching beats computing, over prompt length and bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.breakeven import (
    break_even_bandwidth,
    break_even_bandwidth_without_overhead,
    break_even_tokens_infinite_bandwidth,
)
from kvcost.charts.break_even_text import BreakEvenText
from kvcost.charts.engine import alt
from kvcost.charts.style import finished, heading, table, tip
from kvcost.errors import InvalidValueError
from kvcost.transfer import TransferPath, moved_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.compute import PrefillCurve

__all__ = ["break_even_map"]

_CURVE_POINTS = 121
_COLUMNS, _ROWS = 32, 24


def break_even_map(
    *,
    prefill: PrefillCurve,
    kv_bytes_per_token: float,
    overhead_seconds: float = 0.0,
    fixed_bytes_per_request: float = 0.0,
    places: Mapping[str, tuple[float, float]] | None = None,
    lengths: tuple[float, float] = (1e3, 256e3),
    bandwidths: tuple[float, float] = (1e9, 1e12),
    sliders: bool = False,
    width: int = 340,
    height: int = 260,
) -> Any:
    """Return how many times longer recompute takes than a fetch, with the thresholds.

    Parameters
    ----------
    prefill : PrefillCurve
        Time to compute a prompt.
    kv_bytes_per_token : float
        Bytes that one token adds to the KV.
    overhead_seconds : float
        Fixed time of a fetch [s].
    fixed_bytes_per_request : float
        Bytes of a request that do not grow.
    places : mapping of str to (tokens, byte/s), optional
        Points to mark.
    lengths, bandwidths : tuple of float
        Ends of the axes [token], [byte/s].
    sliders : bool
        Whether overhead, bytes and prefill can be moved in the browser, which then evaluates the
        formulas itself.
    width, height : int
        Size [px].

    Returns
    -------
    altair.LayerChart
        On the solid curve both take as long; on the dotted one they would without the overhead;
        left of the dashed line no bandwidth wins.

    Raises
    ------
    InvalidValueError
        If an axis has no extent, or a cost is out of bounds.
    """
    for name, (low, high) in {"lengths": lengths, "bandwidths": bandwidths}.items():
        if not 0 < low < high < np.inf:
            raise InvalidValueError(
                field=name,
                value=(low, high),
                bound="must be two positive numbers, the smaller first",
                remedy="use e.g. (1e3, 256e3)",
            )
    n_edges = np.geomspace(*lengths, _COLUMNS + 1)
    rate_edges = np.geomspace(*bandwidths, _ROWS + 1)
    n_mid = np.sqrt(n_edges[:-1] * n_edges[1:])
    rate_mid = np.sqrt(rate_edges[:-1] * rate_edges[1:])
    curve_n = np.geomspace(*lengths, _CURVE_POINTS)
    squares = [
        {
            "n": n_edges[i],
            "n2": n_edges[i + 1],
            "rate": rate_edges[j],
            "rate2": rate_edges[j + 1],
            "tokens": n_mid[i],
            "bandwidth": rate_mid[j],
        }
        for j in range(_ROWS)
        for i in range(_COLUMNS)
    ]
    points = [{"tokens": n} for n in curve_n]
    texts = None
    least = float(
        break_even_tokens_infinite_bandwidth(
            prefill_constant=prefill.constant,
            prefill_per_token=prefill.per_token,
            prefill_per_token_squared=prefill.per_token_squared,
            prefill_floor=prefill.floor,
            overhead_seconds=overhead_seconds,
        )
    )
    if sliders:
        texts = BreakEvenText(
            prefill=prefill,
            kv_bytes_per_token=kv_bytes_per_token,
            overhead_seconds=overhead_seconds,
            fixed_bytes_per_request=fixed_bytes_per_request,
        )
    else:
        _add_values(
            squares,
            points,
            prefill=prefill,
            kv_bytes_per_token=kv_bytes_per_token,
            overhead_seconds=overhead_seconds,
            fixed_bytes=fixed_bytes_per_request,
        )
    x = alt.X(
        "n:Q",
        scale=alt.Scale(type="log", domain=list(lengths), nice=False),
        title="prompt length, tokens",
        axis=alt.Axis(format="~s", tickCount=5),
    )
    y = alt.Y(
        "rate:Q",
        scale=alt.Scale(type="log", domain=list(bandwidths), nice=False),
        title="bandwidth, bytes per second",
        axis=alt.Axis(format="~s", tickCount=4),
    )
    heat_data = alt.Chart(table(squares))
    line_data = alt.Chart(table(points))
    rule_data = alt.Chart(table([{"least": least}]))
    if texts is not None:
        for name, text in texts.cell.items():
            heat_data = heat_data.transform_calculate(**{name: text})
        for name, text in texts.curve.items():
            line_data = line_data.transform_calculate(**{name: text})
        rule_data = alt.Chart(table([{"at": 0}])).transform_calculate(least="least_tokens")
    heat = heat_data.mark_rect().encode(
        x=x,
        x2="n2:Q",
        y=y,
        y2="rate2:Q",
        color=alt.Color(
            "ratio:Q",
            scale=alt.Scale(
                type="log", domain=[0.25, 4], scheme="blueorange", reverse=True, clamp=True
            ),
            title="recompute over fetch time",
            legend=alt.Legend(
                orient="bottom", format="~g", values=[0.25, 0.5, 1, 2, 4], gradientLength=200
            ),
        ),
        tooltip=[
            tip("tokens:Q", "tokens", ",.0f"),
            tip("bandwidth:Q", "bytes per second", ".3~s"),
            tip("recompute:Q", "recompute, seconds", ".4~g"),
            tip("hit:Q", "fetch, seconds", ".4~g"),
            tip("ratio:Q", "recompute over fetch", ".3~g"),
        ],
    )
    layers: list[Any] = [heat]
    for field, dash, stroke in (("needed", [1, 0], 2.5), ("without", [2, 3], 2)):
        layers.append(
            line_data.transform_filter(f"isValid(datum.{field}) && isFinite(datum.{field})")
            .mark_line(color="black", strokeWidth=stroke, strokeDash=dash, clip=True)
            .encode(
                x=alt.X("tokens:Q"),
                y=alt.Y(f"{field}:Q"),
                tooltip=[
                    tip("tokens:Q", "tokens", ",.0f"),
                    tip(f"{field}:Q", "bytes per second needed", ".4~s"),
                ],
            )
        )
    layers.append(
        rule_data.transform_filter(
            f"isValid(datum.least) && datum.least >= {lengths[0]} && datum.least <= {lengths[1]}"
        )
        .mark_rule(strokeDash=[7, 4], strokeWidth=1.5, color="black")
        .encode(x="least:Q", tooltip=[tip("least:Q", "no bandwidth wins below", ",.0f")])
    )
    layers += _places(places or {})
    chart = alt.layer(*layers)
    if texts is not None:
        chart = chart.add_params(*texts.params)
    lines = (
        "blue: fetch; orange: compute; solid: as long;",
        "dotted: the same without the overhead;",
        "dashed: no bandwidth wins left of it",
    )
    title = heading("Fetch or compute", *lines)
    if texts is not None:
        title = alt.TitleParams(
            text=alt.ExprRef(texts.sentence), subtitle=list(lines), anchor="start"
        )
    return finished(
        chart.properties(width=width, height=height, title=title),
        description="Recompute time over fetch time for each prompt length and bandwidth, with "
        "the lines on which both take as long.",
    )


def _add_values(
    squares: list[dict[str, Any]],
    points: list[dict[str, Any]],
    *,
    prefill: PrefillCurve,
    kv_bytes_per_token: float,
    overhead_seconds: float,
    fixed_bytes: float,
) -> None:
    """Put into the rows what the library computes for them."""
    for rate in {row["bandwidth"] for row in squares}:
        path = TransferPath(overhead_seconds=overhead_seconds, store_bandwidth=float(rate))
        here = [row for row in squares if row["bandwidth"] == rate]
        n = np.array([row["tokens"] for row in here])
        computed = prefill.seconds(n)
        hits = path.seconds(n, kv_bytes_per_token=kv_bytes_per_token, fixed_bytes=fixed_bytes)
        for row, recompute, hit in zip(here, computed, hits, strict=True):
            row.update(recompute=recompute, hit=hit, ratio=recompute / hit)
    n = np.array([row["tokens"] for row in points])
    moved = moved_bytes(
        fetched_tokens=n,
        kv_bytes_per_token=kv_bytes_per_token,
        kv_copies=1.0,
        fixed_bytes=fixed_bytes,
    )
    facts = {
        "tokens": n,
        "kv_bytes_per_token": moved / n,
        "recompute_seconds": prefill.seconds(n),
    }
    needed = break_even_bandwidth(**facts, overhead_seconds=overhead_seconds)
    without = break_even_bandwidth_without_overhead(**facts)
    for row, with_it, without_it in zip(points, needed, without, strict=True):
        row.update(needed=with_it, without=without_it)


def _places(places: Mapping[str, tuple[float, float]]) -> list[Any]:
    if not places:
        return []
    rows = [{"name": name, "n": n, "rate": rate} for name, (n, rate) in places.items()]
    marks = alt.Chart(table(rows)).encode(
        x="n:Q",
        y="rate:Q",
        tooltip=[
            tip("name:N", "place"),
            tip("n:Q", "tokens", ",.0f"),
            tip("rate:Q", "bytes per second", ".4~s"),
        ],
    )
    layers = [
        marks.mark_point(filled=True, size=80, color="black", stroke="white", opacity=1),
    ]
    for number, name in enumerate(places):
        # near ones by turns above and below, and readable on any colour
        words = marks.transform_filter(alt.datum.name == name).encode(text="name:N")
        place: dict[str, Any] = {
            "align": "right",
            "dx": -8,
            "dy": 8 if number % 2 else -6,
            "fontWeight": "bold",
        }
        layers += [
            words.mark_text(**place, stroke="white", strokeWidth=4, strokeJoin="round"),
            words.mark_text(**place),
        ]
    return layers
