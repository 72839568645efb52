"""Sheet Waiting: how long requests wait for a server, in steady traffic and in a burst."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.errors import KvcostError
from kvcost.queueing import Deterministic, mgc, moments_wait
from kvcost.sheet.nodes import Node, Product, Python, result
from kvcost.sheet.plan.parts import AXIS, Chart, Page, Sweep

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.sheet.nodes import Value

__all__ = ["NEEDED", "page"]

NEEDED = ("servers", "service_seconds", "arrival_rate", "service_scv")
"""Inputs that Python computes exact waits from."""

_LOADS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.95)


def page(values: Mapping[str, Value], *, gaps: str = "burst_requests") -> Page:
    """Return the page.

    Parameters
    ----------
    values : mapping of str to float or str
        Python's values of the inputs as shipped, for what only Python computes.
    gaps : str
        Row that says how many gaps a burst has.

    Returns
    -------
    Page
        The page.
    """
    return Page(
        name="Waiting",
        title="How long requests wait for a server",
        text="First come, first served, one request a server at a time.",
        rows=(*_steady(), *_exact(values), *_batches(), *_burst(gaps)),
        sweeps=(_by_load(), _by_servers()),
    )


def _steady() -> tuple[Node | str, ...]:
    return (
        "Steady traffic",
        result("offered_load", "servers that are busy on average"),
        result("utilization", "share of the time that a server is busy", note="1 or more: no end"),
        result("erlang_c", "probability that a request waits, M/M/c"),
        result("erlang_b", "probability that all are busy where nobody waits"),
        result("mmc_mean_wait", "mean wait, M/M/c", note="exact for exponential services"),
        result("mmc_wait_percentile", "wait that this share does not exceed, M/M/c"),
        result("cosmetatos_deterministic_wait", "mean wait, M/D/c", note="approximation"),
        result("kimura_wait", "mean wait, M/G/c, Kimura", note="approximation"),
        result("cosmetatos_wait", "mean wait, M/G/c, Cosmetatos", note="approximation"),
        result("allen_cunneen_wait", "mean wait, G/G/c, Allen and Cunneen", note="approximation"),
        result("sakasegawa_wait", "mean wait, G/G/c, Sakasegawa", note="approximation"),
        result("mg1_mean_wait", "mean wait at one server of its own, M/G/1", note="exact"),
    )


def _exact(values: Mapping[str, Value]) -> tuple[Node | str, ...]:
    def number(key: str) -> float:
        value = values[key]
        return math.nan if isinstance(value, str) else value

    low = high = fixed = math.nan
    servers, service = int(number("servers")), number("service_seconds")
    rate = number("arrival_rate")
    try:
        found = moments_wait(
            servers=servers,
            mean_service=service,
            scv=number("service_scv"),
            arrival_rate=rate,
        )
        low, high = found.mean_low, found.mean_high
        exact = mgc(servers=servers, service=Deterministic(mean=service), arrival_rate=rate)
        fixed = math.nan if exact.mean is None else float(exact.mean)
    except KvcostError:
        # more arrives than the servers can do: no wait to tell
        pass
    note = "computed by Python for the inputs as shipped; #N/A once they are changed"

    def row(key: str, label: str, value: float) -> Python:
        return Python(key=key, label=label, unit="s", note=note, number=float(value))

    return (
        "Exact, by Python",
        row("python_low_wait", "mean wait, M/G/c with these two moments, low end", low),
        row("python_high_wait", "the same, high end", high),
        row("python_deterministic_wait", "mean wait, M/D/c, exact", fixed),
    )


def _batches() -> tuple[Node | str, ...]:
    return (
        "Batches, and a store that is shared",
        result("bulk_single_server_wait", "mean wait at one server, batches at Poisson times"),
        result(
            "store_utilization",
            "share of the time that a store is busy with these loads",
            "utilization",
            service_seconds="load_seconds",
            servers="one",
        ),
        result(
            "shared_store_seconds",
            "mean time of a load that shares the store",
            utilization="store_utilization",
            note="#N/A: the store cannot keep up",
        ),
    )


def _burst(gaps: str) -> tuple[Node | str, ...]:
    gap = {"arrival_gap": "burst_gap"}
    return (
        "Burst",
        Product(
            key="burst_gap",
            label="time from one arrival to the next",
            unit="s",
            times=("burst_seconds",),
            over=(gaps,),
        ),
        result("even_burst_mean_wait", "mean wait, even arrivals, equal services", **gap),
        result("even_burst_longest_wait", "longest wait, even arrivals, equal services", **gap),
        result(
            "fluid_burst_wait",
            "mean wait on background load, a corrected fluid",
            note="#N/A: the burst does not overload the servers",
        ),
        result("recovery_seconds", "time until a backlog is gone"),
    )


def _by_load() -> Sweep:
    load = {"utilization": AXIS}
    return Sweep(
        key="by_load",
        title="Mean wait by utilization",
        axis="utilization",
        steps=_LOADS,
        columns=(
            result("by_load_mmc", "M/M/c", "mmc_mean_wait", **load),
            result("by_load_kimura", "M/G/c, Kimura", "kimura_wait", **load),
            result("by_load_allen", "G/G/c, Allen and Cunneen", "allen_cunneen_wait", **load),
            result("by_load_percentile", "M/M/c, percentile", "mmc_wait_percentile", **load),
        ),
        chart=Chart(
            title="Mean wait by utilization",
            x_title="utilization",
            y_title="wait [s]",
            series=("by_load_mmc", "by_load_kimura", "by_load_allen"),
        ),
    )


def _by_servers() -> Sweep:
    load = {"utilization": "by_servers_load", "servers": AXIS}
    return Sweep(
        key="by_servers",
        title="Mean wait by number of servers, for this traffic",
        axis="servers",
        steps=(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 12.0, 16.0, 32.0),
        columns=(
            result("by_servers_load", "utilization", "utilization", servers=AXIS),
            result("by_servers_mmc", "M/M/c", "mmc_mean_wait", **load),
            result("by_servers_kimura", "M/G/c, Kimura", "kimura_wait", **load),
        ),
        chart=Chart(
            title="Mean wait by number of servers",
            x_title="servers",
            y_title="wait [s]",
            series=("by_servers_mmc", "by_servers_kimura"),
        ),
    )
