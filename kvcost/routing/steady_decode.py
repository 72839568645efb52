"""What decode steps do to a replica that prefers to prefill."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kvcost.routing.cases import Steady

__all__ = ["Decoding", "decoding", "full_share"]

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
    held : float
        Mean number of requests that decode when a busy period of prefill begins.
    """

    wait: float
    ratio: float
    each: float
    held: float


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
    there is one.

    References
    ----------
    .. [1] S. W. Fuhrmann, R. B. Cooper (1985), Stochastic decompositions in the M/G/1 queue with
       generalized vacations, https://doi.org/10.1287/opre.33.5.1117
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
    return Decoding(wait=wait, ratio=ratio, each=each, held=held)


def full_share(*, utilization: float, slots: float, held: float, spread: float) -> float:
    """Return how far full KV slots take the wait to what it were with them always full.

    Parameters
    ----------
    utilization : float
        Load of prefill at a replica, below 1.
    slots : float
        Requests that the KV memory admits together.
    held : float
        Of them, requests that decode when a busy period begins.
    spread : float
        Mean wait over that in M/D/1 at the same load: how fast backlogs come and go.

    Returns
    -------
    float
        0 where slots never bind, 1 where they always do.

    Notes
    -----
    A busy period fills the slots with requests of which none decodes, so that admissions stop until
    all of them have: once every `slots` admissions, but for those that were held before, which
    leave one by one. What a request waits for that follows from its place in the busy period. The
    law of that is Borel's for equal services and Poisson arrivals; `spread` scales places for
    others.

    References
    ----------
    .. [1] E. Borel (1942), Sur l'emploi du theoreme de Bernoulli pour faciliter le calcul d'une
       infinite de coefficients, C. R. Acad. Sci. Paris 214, 452-456.
    """
    spread = max(spread, 1e-6)
    size, room = slots / spread, max(slots - held, 0.0) / spread
    decay = utilization - 1 - math.log(utilization)
    if room * decay > _FAR or room > _MOST:
        return 0.0
    if size <= 1:
        return 1.0
    from scipy.special import gammaln  # noqa: PLC0415 - loaded when asked

    last = int(min(room + _FAR / decay, _MOST)) + 1
    n = np.arange(1, last + 1, dtype=float)
    law = np.exp(-utilization * n + (n - 1) * np.log(utilization * n) - gammaln(n + 1))
    longer = np.cumsum(law[::-1])[::-1]
    past = np.maximum(n - room, 0.0)
    whole = np.floor(past / size)
    ramp = np.minimum((past - whole * size) / max(size - room, 1.0), 1.0)
    # always full, the n-th request of a busy period waits for n - 1 completions
    return min(float(longer @ ((whole + ramp) * size)) / float(longer @ (n - 1)), 1.0)
