"""Questions over whole scenarios: which policy, and why."""

from __future__ import annotations

from kvcost.planning.compare import Comparison, PolicyAnswer, compare, policy_params

__all__ = ["Comparison", "PolicyAnswer", "compare", "policy_params"]
