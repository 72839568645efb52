"""The policies by name; each file is imported when its policy is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from kvcost.errors import UnknownNameError, nearest_names

if TYPE_CHECKING:
    from kvcost.routing.policy import Policy

__all__ = ["names", "policy"]

_NAMES = (
    "random",
    "round_robin",
    "least_load",
    "least_work",
    "power_of_two",
    "consistent_hash",
    "bounded_prefix_hash",
    "session_affinity",
    "cache_aware",
    "prefix_load_gate",
    "sticky_until_saturated",
    "weighted_score",
    "kv_cost",
    "lmetric",
    "preble",
    "replicate_on_burst",
    "mooncake_conductor",
    "p2p_pull",
)


def names() -> tuple[str, ...]:
    """Return the names of all policies, the simplest first.

    Returns
    -------
    tuple of str
        Names that `policy` knows.

    Examples
    --------
    >>> "cache_aware" in names()
    True
    """
    return _NAMES


def policy(name: str) -> Policy:
    """Return a policy.

    Parameters
    ----------
    name : str
        One of `names`.

    Returns
    -------
    Policy
        Its parameters, its rule, and what is known of it.

    Raises
    ------
    UnknownNameError
        If no policy has that name; the nearest names are listed.

    Examples
    --------
    >>> policy("least_load").summary
    'the replica with the fewest requests in flight, ties at random'
    """
    if name not in _NAMES:
        raise UnknownNameError(
            kind="policy",
            name=str(name),
            nearest=nearest_names(str(name), _NAMES),
            remedy="kvcost.routing.registry.names() lists them all",
        )
    found: Policy = import_module(f"kvcost.routing.policies.{name}").POLICY
    return found
