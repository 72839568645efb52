"""What the tests of the routing forms share: the study's replicas, and rows beside their answers.

The rows are runs of jwlaboratory/inference-sim (commit 547d2d5) on the set-ups of
jwlaboratory/bite-the-bullet (commit 26dd06a), whose model follows in `costs`.
"""

from __future__ import annotations

import csv
from dataclasses import replace
from functools import cache

import numpy as np

from kvcost.facts import data_path
from kvcost.routing import even, poisson
from kvcost.routing.cases import Burst, NodeCosts

FORMS = {"even": even.burst_ttft, "poisson": poisson.burst_ttft}
SUFFIX = 256
# FLOP/s, bytes/s and bytes of HBM, bytes/s of the network, of one GPU
GPUS = {"h100": (989e12, 3.35e12, 80e9, 50e9), "b300": (2250e12, 8e12, 288e9, 100e9)}
# parameters, active ones, bytes per element, layers, KV heads, head size
MODELS = {
    "70b": (70.6e9, 70.6e9, 2, 80, 8, 128),
    "qwen3_8b": (8.19e9, 8.19e9, 2, 36, 8, 128),
    "glm52": (744e9, 40e9, 0.5, 78, 1, 288),
    "dense1t": (1e12, 1e12, 1, 120, 8, 128),
}


def costs(setup, shared):
    """Return what one replica of a set-up needs for requests with a shared prefix."""
    model, gpus = setup.rsplit("_", 1)
    gpu, count = gpus.split("x")
    flops, bandwidth, memory, network = (int(count) * each for each in GPUS[gpu])
    parameters, active, size, layers, heads, width = MODELS[model]
    token = 2 * layers * heads * width * size
    rate, read = flops * 0.5, bandwidth * 0.8
    tokens = shared + SUFFIX
    return NodeCosts(
        cold=2 * active * tokens / rate,
        hit=2 * active * SUFFIX / rate,
        copy=shared * token / network,
        slots=min(256, int((memory - parameters * size) / (token * (tokens + 1)))),
        step_fixed=active * size / read,
        step_each=token * tokens / read,
    )


def node(**changes):
    """Return a light replica without decode steps, with changes."""
    base = NodeCosts(cold=1.0, hit=0.05, copy=0.1, slots=10**6, step_fixed=0.0, step_each=0.0)
    return replace(base, **changes)


def burst(requests, span, replicas, costs=None, *, arrivals, **more):
    return Burst(
        requests=requests, span=span, arrivals=arrivals, replicas=replicas,
        node=costs or node(), **more,
    )  # fmt: skip


@cache
def answers(arrivals):
    """Return each row of the table with the answer to it."""
    found = []
    with data_path("routing", f"single_burst_{arrivals}.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            case = burst(
                int(row["requests"]),
                float(row["span_seconds"]),
                int(row["replicas"]),
                costs(row["setup"], int(row["shared_tokens"])),
                arrivals=arrivals,
            )
            more = {}
            if row["visibility"]:
                more = {"visibility": row["visibility"], "copies": int(row["copies"])}
            found.append((row, FORMS[arrivals](row["policy"], case, **more)))
    return found


def chosen(arrivals, policy, *, visibility="", all_copies=None):
    return [
        (row, answer)
        for row, answer in answers(arrivals)
        if row["policy"] == policy
        and row["visibility"] in {visibility, ""}
        and (all_copies is None or (row["copies"] != "4") == all_copies)
    ]


def errors(pairs, column="mean_ttft", attribute="mean"):
    return np.array(
        [abs(getattr(answer, attribute) / float(row[column]) - 1) for row, answer in pairs]
    )
