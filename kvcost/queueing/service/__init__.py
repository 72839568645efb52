"""Laws of service times: moments, transforms, tails and samples of each."""

from __future__ import annotations

from kvcost.queueing.service.base import Service, require_finite_variance
from kvcost.queueing.service.discrete import Atoms, Deterministic, Empirical
from kvcost.queueing.service.heavy import BoundedPareto, Lognormal, Pareto, Weibull
from kvcost.queueing.service.hyperexponential import HyperExponential
from kvcost.queueing.service.light import Erlang, Exponential, Gamma, ShiftedExponential, Uniform
from kvcost.queueing.service.phasetype import PhaseType

__all__ = [
    "Atoms",
    "BoundedPareto",
    "Deterministic",
    "Empirical",
    "Erlang",
    "Exponential",
    "Gamma",
    "HyperExponential",
    "Lognormal",
    "Pareto",
    "PhaseType",
    "Service",
    "ShiftedExponential",
    "Uniform",
    "Weibull",
    "require_finite_variance",
]
