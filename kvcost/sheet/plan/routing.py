"""Sheet Routing: what it costs to send requests where their prefix is, or elsewhere."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost.sheet.nodes import Node, result
from kvcost.sheet.plan.bursts import burst_rows, copies_sweep
from kvcost.sheet.plan.parts import AXIS, Chart, Page, Sweep
from kvcost.sheet.plan.policies import policy_grid

if TYPE_CHECKING:
    from kvcost.sheet.question import PolicyTable

__all__ = ["page"]

_EVENLY = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
_EARLY = (0.0, 0.005, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.15, 0.2, 0.4, 0.6, 0.8, 0.99)


def page(*, burst: bool = False, policies: PolicyTable | None = None) -> Page:
    """Return the page.

    Parameters
    ----------
    burst : bool
        Whether the inputs tell of a burst that shares a prefix.
    policies : PolicyTable, optional
        What Python finds for the policies of a scenario.

    Returns
    -------
    Page
        The page.
    """
    return Page(
        name="Routing",
        title="Which server gets a request",
        text="Servers that start cold, copies that come later, and queues of their own or shared.",
        rows=(*(burst_rows() if burst else ()), *_cold(), *_queues()),
        sweeps=(
            _by_place(_EARLY if burst else _EVENLY),
            *((copies_sweep(),) if burst else ()),
            _by_load(),
        ),
        grids=() if policies is None else (policy_grid(policies),),
    )


def _cold() -> tuple[Node | str, ...]:
    gap = {"arrival_gap": "burst_gap"}
    note = "exact if warm services are no shorter than (servers - 1) gaps"
    return (
        "A burst on servers without the prefix",
        result(
            "cold_then_warm_wait", "wait of the request after so many earlier", note=note, **gap
        ),
        result(
            "home_wait",
            "the same, all sent to one server that computes the prefix",
            "cold_then_warm_wait",
            servers="one",
            **gap,
        ),
        result(
            "copy_batch_mean_wait",
            "mean wait of a batch, the prefix copied when computed",
            note="a fluid limit, within 0.5% from eight requests a server",
        ),
    )


def _queues() -> tuple[Node | str, ...]:
    return (
        "A queue each, or one for all",
        result(
            "random_wait",
            "mean wait, server at random, exponential services",
            "mg1_mean_wait",
            service_scv="one",
        ),
        result("shortest_queue_wait", "mean wait, shortest queue", note="exponential services"),
        result("one_queue_wait", "mean wait, one queue for all", "mmc_mean_wait"),
    )


def _by_place(steps: tuple[float, ...]) -> Sweep:
    place = {"earlier_requests": AXIS, "arrival_gap": "burst_gap"}
    return Sweep(
        key="by_place",
        title="Wait by place in the burst",
        axis="earlier requests",
        base="burst_requests",
        steps=steps,
        columns=(
            result("by_place_spread", "spread over all", "cold_then_warm_wait", **place),
            result(
                "by_place_home", "all to one home", "cold_then_warm_wait", servers="one", **place
            ),
        ),
        chart=Chart(
            title="Wait by place in the burst",
            x_title="earlier requests",
            y_title="wait [s]",
            series=("by_place_spread", "by_place_home"),
        ),
    )


def _by_load() -> Sweep:
    load = {"utilization": AXIS}
    return Sweep(
        key="routing_by_load",
        title="Mean wait by utilization, exponential services",
        axis="utilization",
        steps=(0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
        columns=(
            result(
                "routing_random", "server at random", "mg1_mean_wait", service_scv="one", **load
            ),
            result("routing_shortest", "shortest queue", "shortest_queue_wait", **load),
            result("routing_one", "one queue", "mmc_mean_wait", **load),
        ),
        chart=Chart(
            title="Mean wait by utilization",
            x_title="utilization",
            y_title="wait [s]",
            series=("routing_random", "routing_shortest", "routing_one"),
        ),
    )
