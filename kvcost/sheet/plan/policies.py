"""The table of routing policies on sheet Routing: numbers that need Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.sheet.nodes import Python
from kvcost.sheet.plan.parts import Grid, Row

if TYPE_CHECKING:
    from kvcost.sheet.question import PolicyTable

__all__ = ["policy_grid"]

_COLUMNS = {"mean": "mean TTFT [s]", "p50": "p50 [s]", "p95": "p95 [s]", "p99": "p99 [s]"}


def policy_grid(table: PolicyTable) -> Grid:
    """Return the table of policies.

    Parameters
    ----------
    table : PolicyTable
        What Python finds.

    Returns
    -------
    Grid
        A row a policy, the best mean first; its numbers hold for the inputs as shipped.
    """
    rows = tuple(
        Row(
            label=found.policy,
            cells=tuple(
                Python(
                    key=f"python_{found.policy}_{name}",
                    label=f"{found.policy}, {head}",
                    unit="s",
                    number=float(getattr(found, name)),
                )
                for name, head in _COLUMNS.items()
            ),
            texts=(found.method, found.error),
        )
        for found in table.rows
    )
    return Grid(
        key="policies",
        title=table.title,
        heads=("policy", *_COLUMNS.values(), "method", "how far to trust it"),
        rows=rows,
        notes=table.notes,
        chart_title="Time to first token by policy",
        drawn=(0, 2),
        axis_title="TTFT [s]",
    )
