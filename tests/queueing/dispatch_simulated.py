"""Simulated dispatch laws: the rows of the table, and how to make one of them again.

``python tests/queueing/dispatch_simulated.py 12`` runs row 12 (from 0) and prints mean, half-width
and overflow.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from kvcost.queueing.service import (
    Deterministic,
    Erlang,
    Exponential,
    Gamma,
    HyperExponential,
    Lognormal,
    Uniform,
)
from kvcost.simulation.dispatch import simulate_dispatch

TABLE = Path(__file__).parents[2] / "data" / "queueing" / "dispatch_simulated.csv"
LAWS = {
    "D": Deterministic(mean=1.0),
    "E4": Erlang(stages=4, mean=1.0),
    "M": Exponential(mean=1.0),
    "U": Uniform(low=0.0, high=2.0),
    "G2": Gamma(mean=1.0, scv=2.0),
    "G4": Gamma(mean=1.0, scv=4.0),
    "LN2": Lognormal(mean=1.0, scv=2.0),
    "LN4": Lognormal(mean=1.0, scv=4.0),
    "H2b4": HyperExponential.balanced(mean=1.0, scv=4.0),
    "H2b9": HyperExponential.balanced(mean=1.0, scv=9.0),
}


def rows():
    """Return the rows of the table, as text."""
    with TABLE.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def hot_shares(*, servers, utilization, hot_home):
    """Return shares of homes, the first of which asks for so many servers' work; None if alike."""
    if not hot_home:
        return None
    return [hot_home] + [(servers * utilization - hot_home) / (servers - 1)] * (servers - 1)


def run(row, *, requests=None, seed=None):
    """Simulate a row, as long and with the seed that it states unless told otherwise."""
    servers, utilization = int(row["servers"]), float(row["utilization"])
    return simulate_dispatch(
        row["policy"],
        servers=servers,
        service=LAWS[row["service"]],
        utilization=utilization,
        requests=requests or int(row["requests"]),
        seed=int(row["seed"]) if seed is None else seed,
        choices=int(row["choices"] or 2),
        threshold=int(row["threshold"] or 1),
        home_shares=hot_shares(
            servers=servers, utilization=utilization, hot_home=float(row["hot_home"] or 0)
        ),
    )


if __name__ == "__main__":
    found = run(rows()[int(sys.argv[1])])
    print(found.mean, found.half_width_95, found.overflow)
