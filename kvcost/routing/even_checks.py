"""Checks of an even burst and of a policy's numbers, before its closed form is used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from kvcost.errors import InvalidValueError, UnknownNameError, nearest_names
from kvcost.queueing.validation import not_negative, positive, whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvcost.queueing.service.base import Array
    from kvcost.routing.cases import Burst

__all__ = ["checked_costs", "checked_name", "checked_rule"]

_VISIBILITIES = ("admission", "computed")


def _invalid(field: str, value: Any, bound: str, remedy: str) -> InvalidValueError:
    return InvalidValueError(field=field, value=value, bound=bound, remedy=remedy)


def checked_name(policy: str, known: Sequence[str]) -> str:
    """Return a policy's name, or raise `UnknownNameError` with the nearest known ones."""
    if policy not in known:
        raise UnknownNameError(
            kind="policy",
            name=policy,
            nearest=nearest_names(policy, known),
            remedy=f"choose one of {', '.join(known)}",
        )
    return policy


def checked_costs(case: Burst, *, copied: bool) -> Array:
    """Return the costs of a replica as an array, after checking the case.

    Parameters
    ----------
    case : Burst
        The burst.
    copied : bool
        Whether the time of a copy matters.

    Returns
    -------
    array
        Cold prefill, hit, copy, slots, fixed and growing part of a decode step.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain, the arrivals are not even, or there is more than one
        output token.
    """
    whole("requests", case.requests)
    whole("replicas", case.replicas)
    span = not_negative("span", case.span, unit="s")
    if case.spacing not in {"inclusive", "exclusive"}:
        raise _invalid("spacing", case.spacing, "is no spacing", "use inclusive or exclusive")
    if case.arrivals != "even" and span > 0:
        raise _invalid(
            "arrivals", case.arrivals, "must be even", "use kvcost.routing.poisson for the others"
        )
    node = case.node
    if whole("output_tokens", node.output_tokens) > 1:
        raise _invalid(
            "output_tokens",
            node.output_tokens,
            "must be 1 in the closed form of an even burst",
            "simulate longer outputs",
        )
    cold = positive("cold", node.cold, unit="s")
    hit = not_negative("hit", node.hit, unit="s")
    if hit > cold:
        raise _invalid("hit", hit, f"must not exceed the cold prefill of {cold:g} s", "swap them")
    copy = not_negative("copy", node.copy, unit="s") if copied else 0.0
    slots = float(whole("slots", node.slots))
    fixed = not_negative("step_fixed", node.step_fixed, unit="s")
    each = not_negative("step_each", node.step_each, unit="s")
    return np.array([cold, hit, copy, slots, fixed, each])


def checked_rule(
    *,
    copies: int,
    repeats: int,
    window: float,
    threshold_abs: float,
    threshold_rel: float,
    visibility: str,
) -> Array:
    """Return the numbers of the policies as an array, after checking them.

    Parameters
    ----------
    copies, repeats, window, threshold_abs, threshold_rel, visibility
        See `kvcost.routing.even.burst_ttft`.

    Returns
    -------
    array
        In this order, the last as 0 or 1.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    """
    if visibility not in _VISIBILITIES:
        raise _invalid(
            "visibility", visibility, "is no visibility", f"use {' or '.join(_VISIBILITIES)}"
        )
    return np.array(
        [
            float(whole("copies", copies)),
            float(whole("repeats", repeats)),
            not_negative("window", window, unit="s"),
            not_negative("threshold_abs", threshold_abs, unit="1"),
            not_negative("threshold_rel", threshold_rel, unit="1"),
            float(visibility == "computed"),
        ]
    )
