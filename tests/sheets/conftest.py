"""One recalculation of the shipped planner and its edited copies per engine and session."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from kvcost.sheet import write_planner
from tests.sheets.engines import ENGINES, SENTINEL
from tests.sheets.shipped import (
    BURST,
    SCENARIOS,
    STEADY,
    edited,
    example,
    other,
    routed,
    values_of,
    yours,
)

if TYPE_CHECKING:
    from kvcost.sheet import Planner

CHANGES = {
    "another model on hardware": {
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "kv_dtype": "bf16",
        "accelerator": "h100-sxm",
        "compute_dtype": "fp8",
        "store": "valkey-8",
        "prefill_source": "hardware",
        "tokens": 64_000.0,
        "mfu": 0.4,
        "weight_bytes": 70.6e9,
        "servers": 6.0,
        "arrival_rate": 0.5,
    },
    "a hybrid, part of it stored": {
        "model": "Qwen/Qwen3.5-27B",
        "tokens": 32_000.0,
        "hit_tokens": 20_000.0,
        "local_tokens": 1_000.0,
        "last_token": 1.0,
        "chunk_tokens": 256.0,
        "store": "valkey-8",
        "overhead_seconds": 0.01,
        "stated_constant": 0.02,
        "stated_per_token": 3e-5,
        "stated_per_token_squared": 4e-10,
        "prefill_floor": 0.05,
        "blocking": 1.0,
        "service_scv": 0.5,
        "burst_seconds": 1.5,
        "background_utilization": 0.1,
    },
    "windows, and everything charged": {
        "model": "google/gemma-3-27b-it",
        "kv_dtype": "fp8_per_token_head",
        "tokens": 50_000.0,
        "store_bandwidth": 2e9,
        "shards": 4.0,
        "shard_efficiency": 0.8,
        "active_engines": 2.0,
        "link_bandwidth": 3e9,
        "client_bandwidth": 1e9,
        "ranks": 4.0,
        "rank_balance": 0.9,
        "lookup_seconds": 0.003,
        "per_key_seconds": 1e-5,
        "keys_per_chunk": 2.0,
        "chunk_tokens": 64.0,
        "descriptors_per_token": 0.5,
        "per_descriptor_seconds": 1e-6,
        "compression_ratio": 1.5,
        "decode_rate": 3e10,
        "coding": "pipelined",
        "kv_copies": 2.0,
        "stated_per_token": 1e-4,
        "servers": 8.0,
        "arrival_rate": 1.2,
    },
    "more traffic than the servers can do": {"arrival_rate": 50.0, "cold_seconds": 3.0},
}

ROUTED_CHANGES = {
    "a tighter burst on other replicas": (
        BURST,
        {
            "shared_tokens": 30_001.0,
            "private_tokens": 700.0,
            "burst_requests": 80.0,
            "burst_seconds": 1.3,
            "spacing": "exclusive",
            "accelerators": 8.0,
            "accelerator": "b300",
            "mfu": 0.4,
            "copy_bandwidth": 2e9,
            "copy_latency": 0.004,
            "repeats": 5.0,
            "prefix_copies": 6.0,
            "servers": 7.0,
        },
    ),
    "a batch that is noticed at once": (BURST, {"burst_seconds": 0.0, "earlier_requests": 90.0}),
    "longer prompts, more often": (STEADY, {"tokens": 9_000.0, "arrival_rate": 4.9}),
}


@dataclass(frozen=True)
class Recalculated:
    """What an engine makes of the test copies."""

    made: Planner
    more: Planner
    routed: dict[str, Planner]
    values: dict[str, dict[tuple[str, str], object]]
    seconds: float
    mutated: str


def _mutated(made: Planner) -> str:
    return next(item.cell for item in made.results if item.key == "hit_seconds")


@pytest.fixture(scope="session")
def copies(tmp_path_factory):
    """Return the test copies, all of whose cached values are sentinels."""
    folder = tmp_path_factory.mktemp("planner")
    source = folder / "shipped.xlsx"
    made = write_planner(source, example(), sentinel=SENTINEL)
    files = {"shipped": source, "other": folder / "other.xlsx"}
    more = write_planner(files["other"], other(), sentinel=SENTINEL)
    for number, (name, changes) in enumerate(CHANGES.items()):
        files[name] = edited(source, folder / f"changed{number}.xlsx", yours(made, changes))
    scenarios = {}
    for name in SCENARIOS:
        files[name] = folder / f"{name}.xlsx"
        scenarios[name] = write_planner(files[name], routed(name), sentinel=SENTINEL)
    for number, (name, (scenario, changes)) in enumerate(ROUTED_CHANGES.items()):
        files[name] = edited(
            files[scenario], folder / f"routed{number}.xlsx", yours(scenarios[scenario], changes)
        )
    files["mutated"] = edited(
        source,
        folder / "mutated.xlsx",
        {},
        formulas=[("Break-even", _mutated(made), lambda text: f"1.00000001*({text})")],
    )
    return made, more, scenarios, files


@pytest.fixture(scope="session", params=sorted(ENGINES))
def recalculated(request, copies, tmp_path_factory):
    """Return every value after a recalculation by an engine."""
    made, more, scenarios, files = copies
    recalculate = ENGINES[request.param]
    started = time.perf_counter()
    recalculate(files["shipped"], tmp_path_factory.mktemp(request.param))
    seconds = time.perf_counter() - started
    folder = tmp_path_factory.mktemp(request.param)
    first, *rest = files.values()
    recalculate(first, folder, *rest)
    return Recalculated(
        made=made,
        more=more,
        routed=scenarios,
        values={name: values_of(folder / source.name) for name, source in files.items()},
        seconds=seconds,
        mutated=_mutated(made),
    )
