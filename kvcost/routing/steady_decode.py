"""What decode steps do to a replica that prefers to prefill."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kvcost.routing.cases import Steady

__all__ = ["Decoding", "decoding"]

_FAR = 60.0
_MOST = 2_000_000


@dataclass(frozen=True, kw_only=True)
class Decoding:
    """Effects of decode steps at one replica.

    Attributes
    ----------
    wait : float
        Mean rest of a decode step that an arrival waits for [s].
    ratio : float
        Time that a request decodes over its prefill; 0 for a single output token, whose step ends
        all requests of the batch.
    each : float
        Decode time that an admission costs while the KV slots are full [s].
    full : float
        Share of the backlog that meets full slots.
    """

    wait: float
    ratio: float
    each: float
    full: float


def decoding(case: Steady) -> Decoding:
    """Return the effects of decode steps at one of a case's replicas.

    Parameters
    ----------
    case : Steady
        Checked, the load of prefill below 1.

    Returns
    -------
    Decoding
        Effects.

    Notes
    -----
    Prefill goes first, so decode steps run only while nobody can be admitted: they are the
    vacations of an M/G/1 queue, whose decomposition gives the wait for the rest of one (Fuhrmann
    and Cooper). On the clock that runs only then, a busy period of prefill brings a batch and each
    request decodes for a constant time: an infinite-server queue gives the batch and how often
    there is one. Once the busy period has filled the slots, each admission waits for a completion:
    the share of the backlog past that point follows the law of requests in a busy period (Borel).

    References
    ----------
    .. [1] S. W. Fuhrmann, R. B. Cooper (1985), Stochastic decompositions in the M/G/1 queue with
       generalized vacations, https://doi.org/10.1287/opre.33.5.1117
    .. [2] E. Borel (1942), Sur l'emploi du theoreme de Bernoulli pour faciliter le calcul d'une
       infinite de coefficients, C. R. Acad. Sci. Paris 214, 452-456.
    """
    rate = case.rate / case.replicas
    rho = rate * case.prefill_mean
    slots = max(case.slots, 1.0)
    tokens = case.output_tokens
    each = tokens * (case.step_fixed + case.step_each * slots) / slots
    if tokens == 1:
        batch = min(1 / (1 - rho), slots)
        step = case.step_fixed + case.step_each * batch
        idle = math.exp(-rate * step) / rate
        wait = step**2 / 2 / (step + idle)
        ratio = held = 0.0
    else:
        rest = 1 - rho - rate * tokens * case.step_each
        held = rate * tokens * case.step_fixed / rest if rest > 0 else slots
        held = min(held, slots)
        busy = -math.expm1(-rate * tokens * (case.step_fixed + case.step_each * held))
        step = case.step_fixed + case.step_each * min(held / busy if busy > 0 else 0.0, slots)
        wait = busy * step / 2
        ratio = tokens * step / case.prefill_mean
    room = max(slots - held, 0.0) / (1 + case.prefill_scv)
    return Decoding(wait=wait, ratio=ratio, each=each, full=_past(rho, room))


def _past(rho: float, room: float) -> float:
    """Return the mean place in a busy period beyond `room`, over the mean place."""
    if room < 1:
        return 1.0
    decay = rho - 1 - math.log(rho)
    if room * decay > _FAR or room > _MOST:
        return 0.0
    from scipy.special import gammaln  # noqa: PLC0415 - loaded when asked

    last = int(min(room + _FAR / decay, _MOST)) + 1
    n = np.arange(1, last + 1, dtype=float)
    law = np.exp(-rho * n + (n - 1) * np.log(rho * n) - gammaln(n + 1))
    beyond = np.maximum(n - room, 0.0)
    return float(law @ (beyond * (beyond + 1))) / float(law @ (n * (n + 1)))
