"""How long requests wait: Erlang, M/D/c, M/PH/c, M/G/1 and M/G/c, each with its method and error.

Names load on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.queueing.coxian import fitted_coxian
    from kvcost.queueing.deterministic import mdc
    from kvcost.queueing.dispersion import TwoRates, effective_scv, index_of_dispersion
    from kvcost.queueing.erlang import erlang_b, erlang_c, mmc, mmc_mean_wait, mmc_wait_quantile
    from kvcost.queueing.facts import queue
    from kvcost.queueing.general import mgc
    from kvcost.queueing.general_arrivals import ggc, ggc_bound
    from kvcost.queueing.inverse import (
        Answer,
        Target,
        load_for_wait,
        servers_for_wait,
        service_time_for_wait,
    )
    from kvcost.queueing.large import large_servers
    from kvcost.queueing.moments import moments_wait
    from kvcost.queueing.named import named_law
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
    from kvcost.queueing.skew import scv_at_most_one
    from kvcost.queueing.tail import tail_rate

_WHERE = {
    "Answer": "inverse",
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
    "Target": "inverse",
    "TwoRates": "dispersion",
    "Uniform": "service",
    "Wait": "result",
    "WaitLaw": "result",
    "Weibull": "service",
    "effective_scv": "dispersion",
    "erlang_b": "erlang",
    "erlang_c": "erlang",
    "fitted_coxian": "coxian",
    "ggc": "general_arrivals",
    "ggc_bound": "general_arrivals",
    "gimc": "renewal",
    "index_of_dispersion": "dispersion",
    "large_servers": "large",
    "load_for_wait": "inverse",
    "mdc": "deterministic",
    "mg1": "single",
    "mgc": "general",
    "mmc": "erlang",
    "mmc_mean_wait": "erlang",
    "mmc_wait_quantile": "erlang",
    "moments_wait": "moments",
    "mphc": "qbd",
    "named_law": "named",
    "queue": "facts",
    "scv_at_most_one": "skew",
    "servers_for_wait": "inverse",
    "service_time_for_wait": "inverse",
    "tail_rate": "tail",
}

__all__ = [
    "Answer",
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
    "Target",
    "TwoRates",
    "Uniform",
    "Wait",
    "WaitLaw",
    "Weibull",
    "effective_scv",
    "erlang_b",
    "erlang_c",
    "fitted_coxian",
    "ggc",
    "ggc_bound",
    "gimc",
    "index_of_dispersion",
    "large_servers",
    "load_for_wait",
    "mdc",
    "mg1",
    "mgc",
    "mmc",
    "mmc_mean_wait",
    "mmc_wait_quantile",
    "moments_wait",
    "mphc",
    "named_law",
    "queue",
    "scv_at_most_one",
    "servers_for_wait",
    "service_time_for_wait",
    "tail_rate",
]


def __getattr__(name: str) -> Any:
    if name in _WHERE:
        return getattr(import_module(f"kvcost.queueing.{_WHERE[name]}"), name)
    raise AttributeError(f"module 'kvcost.queueing' has no attribute {name!r}")


def __dir__() -> list[str]:
    return list(__all__)
