"""The set-ups of the public simulator's runs, as scenarios."""

import csv
from pathlib import Path

import numpy as np

from kvcost.scenario import BehaviourPart, PolicyPart, load_scenario

SETUPS = {
    "70b_h100x4": "70b",
    "qwen3_8b_h100x4": "qwen3-8b",
    "glm52_h100x8": "glm52",
    "dense1t_b300x4": "dense1t",
}
STUDY = {"preset": "study"}
POLICIES = {
    "early_rdma": ("replicate_on_burst", STUDY),
    "early_rdma_allcopies": ("replicate_on_burst", {**STUDY, "copies": 64}),
    "early_rdma_causal": ("replicate_on_burst", STUDY),
    "early_rdma_causal_variant": ("replicate_on_burst", STUDY),
    "cache_aware": ("cache_aware", STUDY),
}


def rows(name):
    text = (Path(__file__).parent / name).read_text().splitlines()
    return list(csv.DictReader(line for line in text if not line.startswith("#")))


def named(policy):
    return POLICIES.get(policy, (policy, {}))


def behaviour(policy):
    if "causal" in policy:
        return BehaviourPart()
    return BehaviourPart(visibility="admission")


def scenario(setup, kind, policy):
    name, params = named(policy)
    found = load_scenario(f"bullet-{SETUPS[setup]}-{kind}")
    return found.replace(
        behaviour=behaviour(policy), policy=PolicyPart(name=name, params=dict(params))
    )


def arrivals():
    """Starts of the bursts and arrivals of the decoys of each of the six windows."""
    found = {}
    for row in rows("windows.csv"):
        window = found.setdefault(int(row["window"]), {"burst": [], "decoy": []})
        window[row["kind"]].append(float(row["seconds"]))
    return {
        window: (np.array(kinds["burst"]), np.array(kinds["decoy"]))
        for window, kinds in found.items()
    }
