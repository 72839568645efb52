"""Hardware: accelerators, links, tiers, stores and replicas, as stated and as calibrated."""

from kvcost.hardware.accelerator import COMPUTE_DTYPES, Accelerator, accelerator
from kvcost.hardware.links import Efficiency, Link, efficiency, link
from kvcost.hardware.replica import Replica
from kvcost.hardware.tiers import Store, Tier, store, tier_sets, tiers

__all__ = [
    "COMPUTE_DTYPES",
    "Accelerator",
    "Efficiency",
    "Link",
    "Replica",
    "Store",
    "Tier",
    "accelerator",
    "efficiency",
    "link",
    "store",
    "tier_sets",
    "tiers",
]
