"""Latency against load: closed forms as lines, simulated means as points with their intervals."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost.charts.engine import alt
from kvcost.charts.style import DASHES, SHAPES, finished, heading, scale_of, table, tip
from kvcost.errors import InvalidValueError

if TYPE_CHECKING:
    from kvcost.charts.sweeps import LoadSweep

__all__ = ["latency_load"]

_MOST_POLICIES = 8
_WIDE = 20


def latency_load(sweep: LoadSweep, *, width: int = 320, height: int = 220) -> Any:
    """Return mean TTFT against load, one curve a policy.

    Parameters
    ----------
    sweep : LoadSweep
        Comparisons at several loads, from `load_sweep`.
    width, height : int
        Size [px].

    Returns
    -------
    altair.LayerChart
        Closed forms as lines; simulated means as points with 95% intervals, where there are any.

    Raises
    ------
    InvalidValueError
        If there is no load, or more than 8 policies.
    """
    names = list(dict.fromkeys(a.policy for _, found in sweep.points for a in found.answers))
    if not 1 <= len(names) <= _MOST_POLICIES:
        raise InvalidValueError(
            field="policies",
            value=len(names),
            bound=f"must be from 1 to {_MOST_POLICIES}",
            remedy="charts tell so many apart",
        )
    lines, dots = [], []
    for load, found in sweep.points:
        for answer in found.answers:
            row: dict[str, Any] = {"load": load, "policy": answer.policy}
            if answer.closed is not None:
                told = {"seconds": answer.closed.mean, "method": answer.closed.method}
                lines.append({**row, **told, "error": answer.closed.error.text})
            if answer.simulated is not None:
                run = answer.simulated
                told = {"seconds": run.mean, "low": run.low, "high": run.high}
                dots.append({**row, **told, "runs": run.runs})
    values = [row["seconds"] for row in (*lines, *dots)]
    scale = (
        alt.Scale(type="log")
        if min(values) > 0 and max(values) > _WIDE * min(values)
        else alt.Scale(zero=True)
    )
    x = alt.X("load:Q", title=sweep.title, scale=alt.Scale(zero=False))
    y = alt.Y("seconds:Q", title="mean TTFT, seconds", scale=scale, axis=alt.Axis(format="~g"))
    legend = alt.Legend(orient="bottom", columns=2, labelLimit=160)
    color = alt.Color("policy:N", sort=names, scale=scale_of(names), title="policy", legend=legend)
    layers: list[Any] = []
    if lines:
        layers.append(
            alt.Chart(table(lines))
            .mark_line(strokeWidth=2.5)
            .encode(
                x=x,
                y=y,
                color=color,
                strokeDash=alt.StrokeDash(
                    "policy:N",
                    sort=names,
                    scale=alt.Scale(domain=names, range=list(DASHES[: len(names)])),
                    title="policy",
                    legend=legend,
                ),
                tooltip=[
                    tip("policy:N", "policy"),
                    tip("load:Q", sweep.title, ".4~g"),
                    tip("seconds:Q", "mean TTFT, seconds", ".4~g"),
                    tip("method:N", "method"),
                    tip("error:N", "error"),
                ],
            )
        )
    if dots:
        tips = [
            tip("policy:N", "policy"),
            tip("load:Q", sweep.title, ".4~g"),
            tip("seconds:Q", "simulated mean, seconds", ".4~g"),
            tip("low:Q", "95% interval from", ".4~g"),
            tip("high:Q", "to", ".4~g"),
            tip("runs:Q", "runs", ",d"),
        ]
        simulated = alt.Chart(table(dots)).encode(x=x, color=color, tooltip=tips)
        whiskers = simulated.mark_rule(strokeWidth=1.5).encode(
            y=alt.Y("low:Q", title="mean TTFT, seconds", scale=scale), y2="high:Q"
        )
        points = simulated.mark_point(filled=True, size=50, opacity=1).encode(
            y=y,
            shape=alt.Shape(
                "policy:N",
                sort=names,
                scale=alt.Scale(domain=names, range=list(SHAPES[: len(names)])),
                title="policy",
                legend=legend,
            ),
        )
        layers += [whiskers, points]
    shown = [
        *(["lines: closed forms"] if lines else []),
        *(["points: simulated, with 95% intervals"] if dots else []),
    ]
    return finished(
        alt.layer(*layers).properties(
            width=width,
            height=height,
            title=heading("Mean time to first token against load", "; ".join(shown)),
        ),
        description=f"Mean time to first token of each policy over {sweep.title}.",
    )
