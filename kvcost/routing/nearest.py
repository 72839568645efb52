"""Which closed form comes nearest to a policy that has none of its own, on an isolated burst.

Each policy states the measured distance as `Policy.nearest_error`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["BurstFacts", "nearest_form"]

_NO_LIMIT = 1e9
_WITHOUT = {"threshold_abs": _NO_LIMIT}
_ALWAYS = {"threshold_abs": 0.0}


@dataclass(frozen=True, kw_only=True)
class BurstFacts:
    """What the choice of a form looks at.

    Attributes
    ----------
    requests : int
        Requests of the burst.
    prompt, private : int
        Tokens of a prompt, and of what each request has alone.
    slots : int
        Requests that a replica's KV memory admits together.
    """

    requests: int
    prompt: int
    private: int
    slots: int


def nearest_form(  # noqa: PLR0911, PLR0912 - one return a policy
    policy: str, values: Mapping[str, float], facts: BurstFacts
) -> tuple[str, dict[str, Any]] | None:
    """Return the form nearest to a policy and what it is told, or None if none comes near.

    Parameters
    ----------
    policy : str
        The policy.
    values : mapping
        All its parameters.
    facts : BurstFacts
        Of the burst.

    Returns
    -------
    tuple of str and dict, or None
        Policy with a form of its own, and arguments of the form.
    """
    aware = "cache_aware"
    match policy:
        case "least_work" | "power_of_two":
            return "least_load", {}
        case "consistent_hash":
            return (aware, _WITHOUT) if values["by_prefix"] else ("random", {})
        case "session_affinity":
            return ("random" if values["assign"] == 0 else "least_load"), {}
        case "bounded_prefix_hash":
            return aware, _ALWAYS
        case "kv_cost":
            if values["overlap_credit"] == 0:
                return None
            return ("least_load", {}) if values["temperature"] else (aware, _ALWAYS)
        case "lmetric":
            ratio = facts.prompt / facts.private if facts.private else _NO_LIMIT
            return None if values["pending"] else (aware, {"threshold_abs": ratio})
        case "preble":
            # from here on it rebalances, and only a bound is known
            return (aware, _WITHOUT) if facts.requests <= values["rebalance_from"] else None
        case "sticky_until_saturated":
            return aware, _WITHOUT
        case "prefix_load_gate":
            relative = values["imbalance_rel"] > 0
            return aware, {"threshold_abs": 64.0 if relative else values["imbalance_abs"]}
        case "weighted_score":
            return aware, {"threshold_abs": facts.slots / 2}
        case "mooncake_conductor" | "p2p_pull":
            return "replicate_on_burst", {}
        case _:
            return None
