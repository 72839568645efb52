"""What would change a verdict, in words."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from kvcost.breakeven.ranges import describe_ranges
from kvcost.units import format_rate, format_seconds, format_tokens

if TYPE_CHECKING:
    from kvcost.breakeven.decision import Decision, Loading

__all__ = ["change_sentence", "gpu_note"]

_DIGITS = 3


def _time(value: float) -> str:
    return format_seconds(value, digits=_DIGITS)


def _rate(value: float) -> str:
    return format_rate(value, digits=_DIGITS)


def change_sentence(decision: Decision) -> str:
    """Return the verdict and what would change it, in one sentence.

    Parameters
    ----------
    decision : Decision
        The decision.

    Returns
    -------
    str
        A sentence with its full stop.
    """
    at = f"At {format_tokens(decision.tokens)}"
    if not decision.fetched_tokens:
        return f"{at} nothing is fetched, since too little is stored: a longer hit would change it."
    if decision.break_even_bandwidth is None:
        return f"{at} no bandwidth wins, since {_hindrance(decision)}: {_ways_out(decision)}."
    against = f"({_time(decision.hit_seconds)} against {_time(decision.recompute_seconds)})"
    rate, needed = _rate(decision.bandwidth), _rate(decision.break_even_bandwidth)
    where = _where(decision)
    overhead = ""
    if decision.break_even_overhead is not None:
        limit = _time(decision.break_even_overhead)
        now = _time(decision.overhead_seconds)
        overhead = f", or an overhead below {limit} instead of {now}"
        if decision.verdict == "fetch":
            overhead = f", and while the overhead, now {now}, is below {limit}"
    if decision.verdict == "fetch":
        return (
            f"{at} fetching is faster {against}, and stays so above {needed}, now {rate}{overhead};"
            f" {where}."
        )
    if decision.verdict == "tie":
        return f"{at} both take as long within 1% {against}: fetching needs {needed}; {where}."
    return (
        f"{at} computing anew is faster {against}: fetching needs more than {needed} instead of "
        f"{rate}{overhead}; {where}."
    )


def _where(decision: Decision) -> str:
    lengths = describe_ranges(decision.fetch_ranges)
    wins = f"{lengths} wins" if lengths in {"never", "always"} else f"wins {lengths}"
    return f"at {_rate(decision.bandwidth)} it {wins}"


def _hindrance(decision: Decision) -> str:
    parts = {
        "overhead": decision.overhead_seconds,
        "coding": decision.coding_seconds,
        "computing of the rest": decision.suffix_seconds,
    }
    named = [f"the {_time(value)} {name}" for name, value in parts.items() if value]
    total = sum(parts.values())
    alone = " alone" if len(named) == 1 else ""
    verb = "exceed" if total > decision.recompute_seconds else "equal"
    plural = "s" if len(named) == 1 else ""
    return (
        f"{' and '.join(named)}{alone} {verb}{plural} the {_time(decision.recompute_seconds)} "
        "recompute"
    )


def _ways_out(decision: Decision) -> str:
    least = decision.break_even_tokens_infinite_bandwidth
    where = _where(decision)
    ways = []
    if least is None:
        ways.append("no prompt is long enough")
    elif least > decision.tokens:
        length = format_tokens(math.floor(least))
        ways.append(f"fetching needs prompts over {length} at any bandwidth ({where})")
    else:
        ways.append(f"stored whole, {where}")
    limit, needed = decision.break_even_overhead, decision.break_even_bandwidth_without_overhead
    if limit:
        ways.append(f"or an overhead below {_time(limit)} at {_rate(decision.bandwidth)}")
    elif needed is not None and not decision.coding_seconds:
        left = decision.recompute_seconds - decision.suffix_seconds
        ways.append(f"or an overhead below {_time(left)} and more than {_rate(needed)}")
    return ", ".join(ways)


def gpu_note(*, loading: Loading, recompute_seconds: float, hit_gpu_seconds: float) -> str:
    """Return what the verdict on GPU time compares.

    Parameters
    ----------
    loading : {'async', 'sync'}
        Whether the engine works on while it loads.
    recompute_seconds, hit_gpu_seconds : float
        Time that either keeps the GPU.

    Returns
    -------
    str
        A note.

    Examples
    --------
    >>> gpu_note(loading="async", recompute_seconds=0.31, hit_gpu_seconds=0.0)
    'GPU time: 0.31 s of recompute against 0 s of a hit that loads beside other work'
    """
    held = "loads beside other work" if loading == "async" else "stops the engine while it loads"
    recompute, hit = _time(recompute_seconds), _time(hit_gpu_seconds)
    return f"GPU time: {recompute} of recompute against {hit} of a hit that {held}"
