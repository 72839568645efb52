"""The table of exact waits, and the law that each row names."""

from __future__ import annotations

import csv
from pathlib import Path

from kvcost.queueing import Deterministic, Erlang, Exponential, HyperExponential

DATA = Path(__file__).parents[2] / "data" / "queueing"

LAWS = {
    "deterministic": lambda scv: Deterministic(mean=1.0),
    "exponential": lambda scv: Exponential(mean=1.0),
    "erlang-2": lambda scv: Erlang(stages=2, mean=1.0),
    "erlang-4": lambda scv: Erlang(stages=4, mean=1.0),
    "balanced": lambda scv: HyperExponential.balanced(mean=1.0, scv=scv),
    "gamma-like": lambda scv: HyperExponential.gamma_like(mean=1.0, scv=scv),
    "lognormal-like": lambda scv: HyperExponential.lognormal_like(mean=1.0, scv=scv),
}


def rows(name):
    """Return the rows of a table, numbers as numbers, with the law of each."""
    with (DATA / name).open(newline="") as file:
        found = []
        for row in csv.DictReader(file):
            made = {
                key: value if key == "law" else float(value) if value else None
                for key, value in row.items()
            }
            made["service"] = LAWS[row["law"]](made["service_scv"])
            made["servers"] = int(made["servers"])
            found.append(made)
    return found
