"""What a result answers to most: its elasticities, the largest first."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kvcost import formula as formulas
from kvcost.charts.engine import alt
from kvcost.charts.style import BLUE, ORANGE, finished, heading, table, tip
from kvcost.units import format_quantity

if TYPE_CHECKING:
    from kvcost.formula.core import Formula

__all__ = ["tornado"]

_UP, _DOWN = "grows with it", "shrinks with it"


def tornado(formula: Formula | str, *, width: int = 260, **at: float) -> Any:
    """Return the elasticities of a formula at a point, the largest first.

    Parameters
    ----------
    formula : Formula or str
        A registered formula, or its name.
    width : int
        Width [px].
    **at : float
        A value for each parameter, in base units.

    Returns
    -------
    altair.LayerChart
        One bar a parameter: percent change of the result for one percent more of it. Where that
        is not defined there is no bar, and the subtitle names the parameter.

    Raises
    ------
    UnknownNameError
        If there is no such formula.
    TypeError
        If a parameter is missing or unknown.
    """
    chosen = formulas.get(formula) if isinstance(formula, str) else formula
    found = chosen.sensitivity(**at)
    rows: list[dict[str, Any]] = [
        {
            "parameter": name.replace("_", " "),
            "elasticity": value,
            "size": abs(value),
            "way": _DOWN if value < 0 else _UP,
            "value": format_quantity(float(at[name]), chosen.parameters[name].unit),
            "meaning": chosen.parameters[name].text,
        }
        for name, value in found.elasticity.items()
        if math.isfinite(value)
    ]
    rows.sort(key=lambda row: (-row["size"], row["parameter"]))
    undefined = [
        name.replace("_", " ")
        for name, value in found.elasticity.items()
        if not math.isfinite(value)
    ]
    lines = [f"{chosen.name.replace('_', ' ')}: {format_quantity(found.value, chosen.unit)}"]
    if undefined:
        lines.append(f"not defined here: {', '.join(undefined)}")
    order = [row["parameter"] for row in rows]
    base = alt.Chart(table(rows)).encode(
        y=alt.Y("parameter:N", sort=order, title=None, axis=alt.Axis(labelLimit=150)),
        x=alt.X(
            "elasticity:Q",
            title="% change of the result for 1% more",
            axis=alt.Axis(format="+.2~f", tickCount=5),
        ),
        tooltip=[
            tip("parameter:N", "parameter"),
            tip("meaning:N", "what it is"),
            tip("value:N", "here"),
            tip("elasticity:Q", "% for 1%", "+.4f"),
        ],
    )
    bars = base.mark_bar(height=14).encode(
        color=alt.Color(
            "way:N",
            scale=alt.Scale(domain=[_UP, _DOWN], range=[BLUE, ORANGE]),
            title="the result",
            legend=alt.Legend(orient="bottom"),
        )
    )
    zero = alt.Chart(table([{"zero": 0}])).mark_rule().encode(x="zero:Q")
    return finished(
        alt.layer(bars, zero).properties(
            width=width,
            height=alt.Step(24),
            title=heading("What it answers to most", *lines),
        ),
        description=f"Elasticities of {chosen.name} to each of its parameters, largest first.",
    )
