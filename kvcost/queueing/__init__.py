"""How long requests wait: Erlang, M/D/c, M/PH/c, M/G/1 and M/G/c, each with its method and error.

Names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.queueing.deterministic import mdc
    from kvcost.queueing.erlang import erlang_b, erlang_c, mmc, mmc_mean_wait, mmc_wait_quantile
    from kvcost.queueing.general import mgc
    from kvcost.queueing.qbd import mphc
    from kvcost.queueing.renewal import gimc
    from kvcost.queueing.result import ErrorClass, Wait, WaitLaw
    from kvcost.queueing.service import (
        Atoms,
        BoundedPareto,
        Deterministic,
        Empirical,
        Erlang,
        Exponential,
        Gamma,
        HyperExponential,
        Lognormal,
        Pareto,
        PhaseType,
        Service,
        ShiftedExponential,
        Uniform,
        Weibull,
    )
    from kvcost.queueing.single import mg1
    from kvcost.queueing.tail import tail_rate

_WHERE = {
    "Atoms": "service",
    "BoundedPareto": "service",
    "Deterministic": "service",
    "Empirical": "service",
    "Erlang": "service",
    "ErrorClass": "result",
    "Exponential": "service",
    "Gamma": "service",
    "HyperExponential": "service",
    "Lognormal": "service",
    "Pareto": "service",
    "PhaseType": "service",
    "Service": "service",
    "ShiftedExponential": "service",
    "Uniform": "service",
    "Wait": "result",
    "WaitLaw": "result",
    "Weibull": "service",
    "erlang_b": "erlang",
    "erlang_c": "erlang",
    "gimc": "renewal",
    "mdc": "deterministic",
    "mg1": "single",
    "mgc": "general",
    "mmc": "erlang",
    "mmc_mean_wait": "erlang",
    "mmc_wait_quantile": "erlang",
    "mphc": "qbd",
    "tail_rate": "tail",
}

__all__ = [
    "Atoms",
    "BoundedPareto",
    "Deterministic",
    "Empirical",
    "Erlang",
    "ErrorClass",
    "Exponential",
    "Gamma",
    "HyperExponential",
    "Lognormal",
    "Pareto",
    "PhaseType",
    "Service",
    "ShiftedExponential",
    "Uniform",
    "Wait",
    "WaitLaw",
    "Weibull",
    "erlang_b",
    "erlang_c",
    "gimc",
    "mdc",
    "mg1",
    "mgc",
    "mmc",
    "mmc_mean_wait",
    "mmc_wait_quantile",
    "mphc",
    "tail_rate",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"kvcost.queueing.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'kvcost.queueing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
