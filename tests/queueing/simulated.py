"""Truth by long simulation for laws that have no exact method: its rows, and how to make them.

``python -m tests.queueing.simulated 3`` runs row 3 again and prints it;
``python -m tests.queueing.simulated all`` writes the table anew (some ten minutes on one core).
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

from kvcost.queueing import (
    BoundedPareto,
    Gamma,
    Lognormal,
    ShiftedExponential,
    Uniform,
    Weibull,
)

TABLE = Path(__file__).parents[2] / "data" / "queueing" / "mgc_simulated.csv"
COLUMNS = (
    "law",
    "parameter",
    "servers",
    "utilization",
    "mean_wait",
    "half_width_95",
    "probability_of_wait",
    "p95",
    "p99",
    "customers",
    "seed",
    "command",
)


def pareto(ratio):
    """Return the bounded Pareto law of exponent 1.5 and mean 1 whose ends have a ratio."""
    law = BoundedPareto(exponent=1.5, low=1.0, high=ratio)
    return law.scaled(1.0 / law.mean)


LAWS = {
    "uniform": lambda half: Uniform(low=1.0 - half, high=1.0 + half),
    "shifted-exponential": lambda shift: ShiftedExponential(shift=shift, mean=1.0),
    "lognormal": lambda scv: Lognormal(mean=1.0, scv=scv),
    "gamma": lambda scv: Gamma(mean=1.0, scv=scv),
    "weibull": lambda shape: Weibull(mean=1.0, shape=shape),
    "bounded-pareto": pareto,
}

_LIGHT = 40_000_000
_HEAVY = 100_000_000
_LONG = 400_000_000

CASES = (
    ("uniform", 1.0, 2, 0.9, _LIGHT),
    ("uniform", 1.0, 4, 0.8, _LIGHT),
    ("uniform", 1.0, 8, 0.7, _LIGHT),
    ("uniform", 1.0, 16, 0.9, _LIGHT),
    ("uniform", 1.0, 32, 0.8, _LIGHT),
    ("uniform", 0.5, 4, 0.9, _LIGHT),
    ("uniform", 0.5, 16, 0.8, _LIGHT),
    ("uniform", 0.5, 8, 0.5, _LIGHT),
    ("shifted-exponential", 0.5, 2, 0.7, _LIGHT),
    ("shifted-exponential", 0.5, 8, 0.9, _LIGHT),
    ("shifted-exponential", 0.5, 16, 0.8, _LIGHT),
    ("shifted-exponential", 0.2, 4, 0.8, _LIGHT),
    ("shifted-exponential", 0.2, 32, 0.9, _LIGHT),
    ("shifted-exponential", 0.8, 8, 0.8, _LIGHT),
    ("lognormal", 0.25, 4, 0.7, _LIGHT),
    ("lognormal", 0.25, 16, 0.9, _LIGHT),
    ("lognormal", 0.5, 2, 0.9, _LIGHT),
    ("lognormal", 0.5, 8, 0.8, _LIGHT),
    ("lognormal", 0.5, 16, 0.7, _LIGHT),
    ("lognormal", 0.8, 8, 0.9, _LIGHT),
    ("lognormal", 0.8, 32, 0.8, _LIGHT),
    ("weibull", 1.5, 8, 0.8, _LIGHT),
    ("weibull", 3.0, 4, 0.8, _LIGHT),
    ("lognormal", 2.0, 4, 0.9, _HEAVY),
    ("lognormal", 3.0, 6, 0.7, _HEAVY),
    ("lognormal", 4.0, 8, 0.8, _HEAVY),
    ("lognormal", 6.0, 12, 0.6, _HEAVY),
    ("lognormal", 9.0, 4, 0.9, _LONG),
    ("lognormal", 9.0, 8, 0.7, _LONG),
    ("lognormal", 9.0, 16, 0.8, _LONG),
    ("weibull", 0.5, 12, 0.7, _HEAVY),
    ("weibull", 0.6, 8, 0.8, _HEAVY),
    ("weibull", 0.7, 5, 0.9, _HEAVY),
    ("bounded-pareto", 1000.0, 8, 0.8, _HEAVY),
    ("gamma", 2.0, 4, 0.8, _HEAVY),
    ("gamma", 4.0, 8, 0.8, _HEAVY),
    ("gamma", 4.0, 16, 0.9, _HEAVY),
    ("lognormal", 2.0, 16, 0.8, _HEAVY),
    ("lognormal", 4.0, 4, 0.5, _HEAVY),
    ("lognormal", 4.0, 16, 0.9, _HEAVY),
    ("lognormal", 6.0, 4, 0.8, _LONG),
    ("lognormal", 9.0, 32, 0.9, _LONG),
    ("weibull", 0.5, 16, 0.9, _HEAVY),
    ("bounded-pareto", 1000.0, 16, 0.9, _HEAVY),
    ("bounded-pareto", 100.0, 4, 0.8, _HEAVY),
    ("lognormal", 3.0, 64, 0.9, _HEAVY),
    ("gamma", 9.0, 8, 0.8, _LONG),
)


def law_of(row):
    """Return the law of service that a row names."""
    return LAWS[row["law"]](float(row["parameter"]))


def rows():
    """Return the rows of the table, numbers as numbers."""
    with TABLE.open(newline="") as file:
        return [
            {
                key: value if key in ("law", "command") else float(value)
                for key, value in row.items()
            }
            for row in csv.DictReader(file)
        ]


def run(number):
    """Return one row, simulated."""
    from kvcost.simulation.kiefer_wolfowitz import simulate_queue

    law, parameter, servers, utilization, customers = CASES[number]
    seed = 20_000 + number
    wait = simulate_queue(
        servers=servers,
        service=LAWS[law](parameter),
        utilization=utilization,
        customers=customers,
        seed=seed,
    )
    return {
        "law": law,
        "parameter": parameter,
        "servers": servers,
        "utilization": utilization,
        "mean_wait": f"{wait.mean:.8g}",
        "half_width_95": f"{wait.mean_high - wait.mean:.3g}",
        "probability_of_wait": f"{wait.probability_of_wait:.6g}",
        "p95": f"{wait.p95:.6g}",
        "p99": f"{wait.p99:.6g}",
        "customers": customers,
        "seed": seed,
        "command": f"python -m tests.queueing.simulated {number}",
    }


def main(which):
    """Write all rows, or print one."""
    if which != "all":
        print(run(int(which)))
        return
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        for number in range(len(CASES)):
            writer.writerow(run(number))
            file.flush()


if __name__ == "__main__":
    main(sys.argv[1])
