"""Mean TTFT of each policy, and where it comes from."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

from kvcost.charts.engine import alt
from kvcost.charts.style import finished, heading, scale_of, table, tip
from kvcost.routing.answer import Split

if TYPE_CHECKING:
    from kvcost.planning import Comparison

__all__ = ["policy_parts"]

_PARTS = {
    "own_head": "own burst's first request",
    "other_cold": "others' cold prefills",
    "suffix": "suffixes of other hits",
    "copy": "copies",
    "decode": "decode steps",
    "own_prefill": "own prefill",
}
_UNTOLD = "not told by the method"


def policy_parts(comparison: Comparison, *, width: int = 300, step: int = 20) -> Any:
    """Return the mean TTFT of each policy, cut into what the requests wait for.

    Parameters
    ----------
    comparison : Comparison
        What `kvcost.planning.compare` returns.
    width, step : int
        Width, and height of one policy [px].

    Returns
    -------
    altair.LayerChart
        One bar a policy, the best mean first.
    """
    rows = []
    for answer in comparison.answers:
        split = answer.split
        values = (
            {_UNTOLD: answer.mean}
            if split is None
            else {_PARTS[part.name]: getattr(split, part.name) for part in fields(Split)}
        )
        rows += [
            {
                "policy": answer.policy,
                "part": name,
                "place": place,
                "seconds": value,
                "mean": answer.mean,
            }
            for place, (name, value) in enumerate(values.items())
        ]
    names = [*_PARTS.values(), _UNTOLD]
    shown = [name for name in names if any(row["part"] == name and row["seconds"] for row in rows)]
    rows = [row for row in rows if row["part"] in shown]
    order = [answer.policy for answer in comparison.answers]
    bars = (
        alt.Chart(table(rows))
        .mark_bar(stroke="white", strokeWidth=0.5)
        .encode(
            x=alt.X("seconds:Q", title="mean TTFT, seconds", stack=True),
            y=alt.Y("policy:N", sort=order, title=None, axis=alt.Axis(labelLimit=160)),
            color=alt.Color(
                "part:N",
                sort=shown,
                scale=scale_of(shown),
                title="waiting for",
                legend=alt.Legend(orient="bottom", columns=2, labelLimit=180),
            ),
            order=alt.Order("place:O"),
            tooltip=[
                tip("policy:N", "policy"),
                tip("part:N", "waiting for"),
                tip("seconds:Q", "seconds", ".4~g"),
                tip("mean:Q", "mean TTFT, seconds", ".4~g"),
            ],
        )
    )
    return finished(
        bars.properties(
            width=width,
            height=alt.Step(step),
            title=heading("Mean time to first token, and its parts", "the best policy on top"),
        ),
        description="Mean time to first token of each policy, cut into what requests wait for.",
    )
