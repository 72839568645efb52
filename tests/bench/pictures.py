"""Draw the pictures of README.md.

Usage: ``python -m tests.bench.pictures``, as ``make pictures`` does.
"""

from __future__ import annotations

from pathlib import Path

from kvcost.charts import break_even_map, policy_parts, save
from kvcost.compute import PrefillCurve
from kvcost.planning import compare
from kvcost.scenario import load_scenario

FOLDER = Path(__file__).parent.parent.parent / "notebooks" / "pictures"
POLICIES = ("random", "round_robin", "least_load", "cache_aware", "replicate_on_burst")


def main() -> None:
    """Write both pictures."""
    FOLDER.mkdir(exist_ok=True)
    study = break_even_map(
        prefill=PrefillCurve.from_points({16_000: 0.31}),
        kv_bytes_per_token=48_408,
        overhead_seconds=0.33,
        places={"the study": (16_000, 1.71e9)},
    )
    save(study, FOLDER / "break_even_map.png", force=True)
    burst = policy_parts(compare(load_scenario("bullet-70b-window"), POLICIES, replications=20))
    save(burst, FOLDER / "policies_in_a_window.svg", force=True)


if __name__ == "__main__":
    main()
