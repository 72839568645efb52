"""A simulated burst over time: arrivals, requests that wait at each replica, and their waits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.charts.engine import alt
from kvcost.charts.style import BLUE, GREY, ORANGE, finished, heading, table, tip
from kvcost.errors import InvalidValueError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from kvcost.simulation.cluster import ClusterRun

__all__ = ["backlog", "burst_timeline"]

_MOST_POINTS = 1500
_MOST_REPLICAS = 64
_COLD, _WARM = "computes the whole prompt", "finds some of it cached"


def backlog(
    *, arrival: NDArray[np.float64], start: NDArray[np.float64], edges: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the mean number of waiting requests in each time bin.

    Parameters
    ----------
    arrival, start : array of float
        From when to when each request waits [s].
    edges : array of float
        Ends of the bins, ascending [s].

    Returns
    -------
    array of float
        One number a bin: seconds waited in it over its length.
    """

    def until(times: NDArray[np.float64]) -> NDArray[np.float64]:
        # seconds after `times` and before each edge, summed: a walk over sorted times
        ordered = np.sort(times)
        count = np.searchsorted(ordered, edges, side="right")
        total = np.concatenate([[0.0], np.cumsum(ordered)])[count]
        found: NDArray[np.float64] = count * edges - total
        return found

    waited: NDArray[np.float64] = np.diff(until(arrival) - until(start)) / np.diff(edges)
    # differences of large sums leave a rounding error where nobody waits
    return np.where(waited < 1e-9, 0.0, waited)


def burst_timeline(run: ClusterRun, *, bins: int = 60, width: int = 320) -> Any:
    """Return arrivals, waiting requests of each replica, and TTFT, over time.

    Parameters
    ----------
    run : ClusterRun
        One simulated run.
    bins : int
        Time bins, 2 to 500.
    width : int
        Width [px].

    Returns
    -------
    altair.VConcatChart
        Three charts under each other, on one time axis. Of more than 1,500 requests evenly
        chosen ones are drawn as points, and the title says so.

    Raises
    ------
    InvalidValueError
        If there are fewer than 2 bins or more than 500, or more than 64 replicas.
    """
    for name, value, least, most in (
        ("bins", bins, 2, 500),
        ("replicas", run.replicas, 1, _MOST_REPLICAS),
    ):
        if not least <= value <= most:
            raise InvalidValueError(
                field=name,
                value=value,
                bound=f"must be from {least} to {most}",
                remedy=f"use {least} to {most}",
            )
    low, high = float(run.arrival.min()), float(max(run.start.max(), run.arrival.max()))
    edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
    domain = [float(edges[0]), float(edges[-1])]

    def time(field: str, *, last: bool = False) -> alt.X:
        return alt.X(
            field,
            title="time, seconds" if last else None,
            scale=alt.Scale(domain=domain, nice=False),
        )

    counts, _ = np.histogram(run.arrival, edges)
    came = [
        {"from": a, "to": b, "requests": n}
        for a, b, n in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    top = (
        alt.Chart(table(came))
        .mark_bar(color=GREY)
        .encode(
            x=time("from:Q"),
            x2="to:Q",
            y=alt.Y(
                "requests:Q",
                title="arrivals",
                scale=alt.Scale(domainMin=0),
                axis=alt.Axis(tickCount=2, format="d"),
            ),
            y2=alt.datum(0),
            tooltip=_span(tip("requests:Q", "arrivals", ",d")),
        )
        .properties(
            width=width,
            height=60,
            title=heading(
                f"{run.arrival.size:,} requests under {run.policy}",
                "arrivals; requests that wait at each replica; TTFT",
            ),
        )
    )
    waiting = []
    for replica in range(run.replicas):
        here = run.replica == replica
        mean = backlog(arrival=run.arrival[here], start=run.start[here], edges=edges)
        waiting += [
            {"from": a, "to": b, "replica": replica + 1, "waiting": n}
            for a, b, n in zip(edges[:-1], edges[1:], mean, strict=True)
        ]
    middle = (
        alt.Chart(table(waiting))
        .mark_rect()
        .encode(
            x=time("from:Q"),
            x2="to:Q",
            y=alt.Y("replica:O", title="replica"),
            color=alt.Color(
                "waiting:Q",
                title="requests that wait",
                scale=alt.Scale(scheme="blues"),
                legend=alt.Legend(orient="bottom", gradientLength=150),
            ),
            tooltip=_span(tip("replica:O", "replica"), tip("waiting:Q", "wait, mean", ".3~g")),
        )
        .properties(width=width, height=alt.Step(max(8, min(22, 200 // run.replicas))))
    )
    bottom = _waits(run, time("arrival:Q", last=True), width=width)
    return finished(
        alt.vconcat(top, middle, bottom, spacing=10).resolve_scale(color="independent"),
        description="Arrivals, requests that wait at each replica, and time to first token of "
        "each request over time, in one simulated run.",
    )


def _span(*more: alt.Tooltip) -> list[alt.Tooltip]:
    return [tip("from:Q", "from, s", ".4~g"), tip("to:Q", "to, s", ".4~g"), *more]


def _waits(run: ClusterRun, x: alt.X, *, width: int) -> Any:
    size = run.arrival.size
    chosen = np.unique(np.linspace(0, size - 1, min(size, _MOST_POINTS)).astype(int))
    rows = [
        {
            "arrival": run.arrival[i],
            "ttft": run.ttft[i],
            "wait": run.wait[i],
            "replica": run.replica[i] + 1,
            "found": _COLD if run.hit_tokens[i] == 0 else _WARM,
        }
        for i in chosen
    ]
    some = "" if size == chosen.size else f"; {chosen.size:,} of them drawn"
    return (
        alt.Chart(table(rows))
        .mark_point(filled=True, opacity=0.8)
        .encode(
            x=x,
            y=alt.Y("ttft:Q", title=["TTFT, seconds", *([some[2:]] if some else [])]),
            color=alt.Color(
                "found:N",
                scale=alt.Scale(domain=[_COLD, _WARM], range=[ORANGE, BLUE]),
                title="a request",
                legend=alt.Legend(orient="bottom", labelLimit=220, columns=1),
            ),
            shape=alt.Shape(
                "found:N",
                scale=alt.Scale(domain=[_COLD, _WARM], range=["diamond", "circle"]),
                title="a request",
                legend=alt.Legend(orient="bottom", labelLimit=220, columns=1),
            ),
            size=alt.Size(
                "found:N", scale=alt.Scale(domain=[_COLD, _WARM], range=[70, 18]), legend=None
            ),
            tooltip=[
                tip("arrival:Q", "arrival, s", ".4~g"),
                tip("ttft:Q", "TTFT, s", ".4~g"),
                tip("wait:Q", "wait, s", ".4~g"),
                tip("replica:O", "replica"),
                tip("found:N", "it"),
            ],
        )
        .properties(width=width, height=130)
    )
