"""Recompute against each tier, as a ladder of times."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.breakeven import RECOMPUTE
from kvcost.charts.engine import alt
from kvcost.charts.style import SHAPES, finished, heading, scale_of, table, tip
from kvcost.errors import InvalidValueError
from kvcost.units import format_tokens

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.breakeven import TierRow

__all__ = ["tier_ladder"]

_MOST_LENGTHS = 8


def tier_ladder(rows: Sequence[TierRow], *, width: int = 320, step: int = 26) -> Any:
    """Return the time to have a prompt's KV ready: from each tier, and computed anew.

    Parameters
    ----------
    rows : sequence of TierRow
        What `kvcost.breakeven.tier_ladder` returns.
    width, step : int
        Width, and height of one tier [px].

    Returns
    -------
    altair.LayerChart
        One row a tier, one mark a length, on a logarithmic axis.

    Raises
    ------
    InvalidValueError
        If there is no row, or more than 8 lengths.
    """
    lengths = sorted({row.tokens for row in rows})
    if not 1 <= len(lengths) <= _MOST_LENGTHS:
        raise InvalidValueError(
            field="lengths",
            value=len(lengths),
            bound=f"must be from 1 to {_MOST_LENGTHS}",
            remedy="charts tell so many apart",
        )
    names = [format_tokens(tokens) for tokens in lengths]
    tiers = [RECOMPUTE, *dict.fromkeys(row.tier for row in rows)]
    marks = []
    for tokens, name in zip(lengths, names, strict=True):
        here = [row for row in rows if row.tokens == tokens]
        computed = here[0].recompute_seconds
        marks.append(
            {
                "tier": RECOMPUTE,
                "prompt": name,
                "seconds": computed,
                "ratio": 1.0,
                "verdict": RECOMPUTE,
            }
        )
        marks += [
            {
                "tier": row.tier,
                "prompt": name,
                "seconds": row.hit_seconds,
                "ratio": row.ratio,
                "verdict": row.verdict,
            }
            for row in here
        ]
    base = alt.Chart(table(marks)).encode(
        x=alt.X(
            "seconds:Q",
            title="time until the prompt is ready, seconds",
            scale=alt.Scale(type="log"),
            axis=alt.Axis(format="~s", tickCount=5),
        ),
        y=alt.Y("tier:N", sort=tiers, title=None, axis=alt.Axis(grid=True, labelLimit=140)),
        tooltip=[
            tip("tier:N", "from"),
            tip("prompt:N", "prompt"),
            tip("seconds:Q", "seconds", ".4~g"),
            tip("ratio:Q", "recompute over this", ".3~g"),
            tip("verdict:N", "faster"),
        ],
    )
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        color=alt.Color(
            "prompt:N", sort=names, scale=scale_of(names), title="prompt of", legend=_legend()
        ),
        shape=alt.Shape(
            "prompt:N",
            sort=names,
            scale=alt.Scale(domain=names, range=list(SHAPES[: len(names)])),
            title="prompt of",
            legend=_legend(),
        ),
    )
    return finished(
        points.properties(
            width=width,
            height=alt.Step(step),
            title=heading("Fetch from where, or compute anew", "further left is faster"),
        ),
        description="Time until a prompt's KV is ready, from each tier and computed anew.",
    )


def _legend() -> alt.Legend:
    return alt.Legend(orient="bottom")
