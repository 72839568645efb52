"""What a workbook asks of a scenario: its inputs, its burst, and its policies."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import facts
from kvcost.compute import PrefillCurve
from kvcost.errors import InvalidValueError
from kvcost.planning.compare import compare, policy_params
from kvcost.routing import registry
from kvcost.routing.closed import why_not
from kvcost.scenario import (
    BurstWork,
    MixedWork,
    Scenario,
    SteadyWork,
    TraceWork,
    WindowWork,
    load_scenario,
)
from kvcost.sheet.facts import PEAKS
from kvcost.sheet.plan.inputs import NO_LIMIT
from kvcost.sheet.question import (
    ModelFigures,
    PolicyFigures,
    PolicyTable,
    Question,
    RoutedBurst,
    Stated,
)
from kvcost.transfer import TransferPath

if TYPE_CHECKING:
    from kvcost.model import ModelSpec
    from kvcost.sheet.nodes import Value

__all__ = ["policy_table", "scenario_question"]

_MOST_LETTERS = 200
_REPLICATING = "replicate_on_burst"
_ANY_RATE = 1e12
_EXAMPLE = "assumed: an example, change it"


def scenario_question(name: str) -> Question:
    """Return what a workbook is about, for a scenario.

    Parameters
    ----------
    name : str
        A shipped scenario, or the path of a TOML file.

    Returns
    -------
    Question
        Its inputs state where they come from; what the scenario does not state stays an example.

    Raises
    ------
    ConfigError, CapacityError, MissingFactError, UnknownNameError, UnstableError
        If the scenario cannot be read, or not be served as stated.
    InvalidValueError
        If an entry is out of range, or the workload is a recorded trace.
    """
    scenario = load_scenario(name)
    work = scenario.workload
    if isinstance(work, TraceWork):
        raise InvalidValueError(
            field="--scenario",
            value=name,
            bound="is a recorded trace, and states no length, rate or burst for cells to hold",
            remedy=f"ask kvcost route {name} or kvcost report {name}",
        )
    title = scenario.title[:_MOST_LETTERS] or str(name)[:_MOST_LETTERS]
    source = f"scenario: {title}"
    costs = scenario.costs()
    replica = scenario.replica
    tokens = work.moments()[0] if isinstance(work, SteadyWork) else _prompt(work)
    stated = {
        **_prefill_inputs(scenario, source),
        **_path_inputs(scenario, source),
        **_work_inputs(scenario, work, source),
    }
    return Question(
        title=title,
        model=_model(scenario),
        size_options={"kv_dtype": scenario.model.kv_dtype},
        prefill=PrefillCurve(
            constant=costs.prefill_fixed,
            per_token=costs.prefill_slope,
            per_token_squared=costs.prefill_quadratic,
            floor=0.0,
        ),
        path=_path(scenario),
        tokens=tokens,
        accelerator=facts.get("accelerator", replica.accelerator).name,
        accelerators=replica.accelerators,
        mfu=replica.mfu,
        loading=scenario.behaviour.loads,
        notes=(
            f"From a {source}. Live rows leave decode steps out; the policies' table does not.",
        ),
        stated=stated,
        burst=None if isinstance(work, SteadyWork) else _burst(scenario, work, source),
        policies=policy_table(scenario),
    )


def _prompt(work: BurstWork | WindowWork | MixedWork) -> float:
    return float(work.shared_tokens + work.suffix_tokens)


def _spec(scenario: Scenario) -> ModelSpec | None:
    if scenario.model.name is None:
        return None
    from kvcost.model import load  # noqa: PLC0415 - the catalogue is large

    return load(scenario.model.name)


def _model(scenario: Scenario) -> ModelSpec | ModelFigures:
    spec, part = _spec(scenario), scenario.model
    if spec is not None:
        return spec
    return ModelFigures(
        name="figures of the scenario",
        total_parameters=float(part.parameters or 0.0),
        active_parameters=float(part.active_parameters or 0.0),
        kv_bytes_per_token=float(part.kv_bytes_per_token or 0.0),
    )


def _prefill_inputs(scenario: Scenario, source: str) -> dict[str, Stated]:
    costs, part, replica, spec = (
        scenario.costs(),
        scenario.model,
        scenario.replica,
        _spec(scenario),
    )
    counted = part.name is not None if part.count_attention is None else part.count_attention
    hardware = replica.compute_dtype in PEAKS
    total = part.parameters or (spec.total_parameters if spec else None) or 0.0
    given: dict[str, Value] = {
        "prefill_source": "hardware" if hardware else "stated",
        "stated_constant": costs.prefill_fixed,
        "stated_per_token": costs.prefill_slope,
        "stated_per_token_squared": costs.prefill_quadratic,
        "accelerator": facts.get("accelerator", replica.accelerator).name,
        "accelerators": float(replica.accelerators),
        "mfu": replica.mfu,
        "hbm_share": replica.hbm_share,
        "servers": float(replica.count),
        "weight_bytes": total * part.bytes_per_weight,
    }
    if hardware:
        given["compute_dtype"] = replica.compute_dtype
    if not counted:
        active = part.active_parameters or (spec.active_parameters if spec else None) or 0.0
        given |= {"active_parameters": active, "attention_layers": 0.0}
    if part.kv_bytes_per_token is not None:
        given |= {"kv_bytes_per_token": part.kv_bytes_per_token, "fixed_bytes": 0.0}
    return {key: Stated(yours=value, source=source) for key, value in given.items()}


def _rate(scenario: Scenario) -> float | None:
    """Return the bandwidth of one accelerator: of the network, else to host memory."""
    network, cache = scenario.network, scenario.cache
    if network.bandwidth is not None:
        return network.bandwidth
    return cache.host_bandwidth if cache.host_memory > 0 else None


def _path(scenario: Scenario) -> TransferPath:
    rate = _rate(scenario)
    if rate is None:
        # stands in for a store of sheet Facts, which the inputs say is used
        return TransferPath(link_bandwidth=_ANY_RATE)
    return TransferPath(
        client_bandwidth=rate,
        ranks=scenario.replica.accelerators,
        overhead_seconds=scenario.network.latency,
        chunk_tokens=scenario.cache.block_tokens,
    )


def _path_inputs(scenario: Scenario, source: str) -> dict[str, Stated]:
    blocks = Stated(yours=float(scenario.cache.block_tokens), source=source)
    rate = _rate(scenario)
    if rate is None:
        return {
            "chunk_tokens": blocks,
            "store_bandwidth": Stated(source="blank: sheet Facts; the scenario states no network"),
            "overhead_seconds": Stated(source="blank: sheet Facts"),
            "link_bandwidth": Stated(source="blank: no limit"),
        }
    if scenario.network.bandwidth is None:
        over = "host memory"
        found = {
            "overhead_seconds": Stated(yours=0.0, source=source),
            "client_bandwidth": Stated(yours=rate, source=f"{source}; {over}"),
        }
    elif isinstance(scenario.workload, SteadyWork):
        over = "the network between replicas"
        found = {
            "overhead_seconds": Stated(yours=scenario.network.latency, source=source),
            "client_bandwidth": Stated(yours=rate, source=f"{source}; {over}"),
        }
    else:
        over = "the network between replicas"
        found = {
            "overhead_seconds": Stated(found="copy_latency", source="blank: as a copy"),
            "client_bandwidth": Stated(found="copy_bandwidth", source="blank: as a copy"),
        }
    return found | {
        "chunk_tokens": blocks,
        "store_bandwidth": Stated(yours=NO_LIMIT, source=f"no store: the KV comes over {over}"),
        "ranks": Stated(found="accelerators", source="blank: the accelerators of a replica"),
    }


def _work_inputs(
    scenario: Scenario, work: BurstWork | WindowWork | MixedWork | SteadyWork, source: str
) -> dict[str, Stated]:
    if isinstance(work, SteadyWork):
        return _steady_inputs(work, source)
    busy = 0.7 * scenario.replica.count / scenario.costs().prefill(_prompt(work))
    requests = work.requests if isinstance(work, BurstWork) else work.burst_requests
    span = work.span if isinstance(work, BurstWork) else work.burst_span
    found = {
        "tokens": Stated(found="prompt_tokens", source="blank: the prompt of the burst"),
        "hit_tokens": Stated(found="shared_tokens", source="blank: the prefix that is shared"),
        "burst_requests": Stated(yours=float(requests), source=source),
        "burst_seconds": Stated(yours=float(span), source=source),
        "earlier_requests": Stated(yours=float(min(20, requests - 1)), source=_EXAMPLE),
        "arrival_rate": Stated(yours=float(f"{busy:.2g}"), source=f"{_EXAMPLE}: 70% busy"),
        "cold_seconds": Stated(
            found="cold_prefill_seconds", source="blank: prefill of the prompt, sheet Routing"
        ),
        "warm_seconds": Stated(
            found="suffix_prefill_seconds", source="blank: prefill beside the prefix, sheet Routing"
        ),
        "copy_ready_seconds": Stated(found=_ready(scenario), source="blank: sheet Routing"),
    }
    if isinstance(work, BurstWork):
        found["background_utilization"] = Stated(yours=0.0, source=f"{source}; the burst is alone")
    elif isinstance(work, MixedWork):
        each = scenario.costs().prefill(work.background_tokens)
        found["background_utilization"] = Stated(
            yours=work.background_rate * each / scenario.replica.count,
            source=f"{source}; decode steps left out",
        )
    return found


def _steady_inputs(work: SteadyWork, source: str) -> dict[str, Stated]:
    mean, second = work.moments()
    return {
        "tokens": Stated(yours=mean, source=source),
        "service_seconds": Stated(source="blank: the recompute; decode steps left out"),
        "service_scv": Stated(
            yours=max(second / mean**2 - 1, 0.0), source=f"{source}; of the prompts' lengths"
        ),
        "arrival_rate": Stated(yours=work.rate, source=source),
        "arrival_scv": Stated(yours=work.gap_scv, source=source),
    }


def _ready(scenario: Scenario) -> str:
    if scenario.network.pipelined_layers > 0:
        return "following_copy_ready"
    computed = scenario.behaviour.copy_visibility == "computed"
    return "computed_copy_ready" if computed else "admitted_copy_ready"


def _burst(
    scenario: Scenario, work: BurstWork | WindowWork | MixedWork, source: str
) -> RoutedBurst:
    rule = registry.policy(_REPLICATING).values(policy_params(scenario, _REPLICATING))
    spec = _spec(scenario)
    layers = scenario.network.pipelined_layers or (spec.total_layers if spec else None)
    return RoutedBurst(
        shared_tokens=float(work.shared_tokens),
        private_tokens=float(work.suffix_tokens),
        spacing=work.spacing,
        copy_bandwidth=scenario.network.bandwidth,
        copy_latency=scenario.network.latency,
        repeats=float(rule["repeats"]),
        within=float(rule["within"]),
        copies=float(max(min(int(rule["copies"]), scenario.replica.count) - 1, 1)),
        layers=None if layers is None else float(layers),
        ready=_ready(scenario),
        source=source,
    )


def policy_table(scenario: Scenario) -> PolicyTable:
    """Return what Python finds for the policies of a scenario.

    Parameters
    ----------
    scenario : Scenario
        Replicas and workload.

    Returns
    -------
    PolicyTable
        Closed forms; simulated runs where no policy has one.

    Raises
    ------
    CapacityError, InvalidValueError, UnstableError
        If the scenario cannot be served as stated.
    """
    linked = scenario.network.bandwidth is not None
    moving = [name for name in registry.names() if registry.policy(name).needs_network]
    unserved = [] if linked else moving
    reasons = {
        name: why_not(scenario, name, policy_params(scenario, name))
        for name in registry.names()
        if name not in unserved
    }
    covered = [name for name, reason in reasons.items() if reason is None]
    found = compare(scenario, covered or "all")
    how = "closed forms" if covered else "simulated: no policy has a closed form here"
    left = {name: reason for name, reason in reasons.items() if reason is not None}
    apart = [f"{name}: left out, the scenario states no network to move KV" for name in unserved]
    return PolicyTable(
        title=f"Policies, computed by Python ({how}); #N/A once an input is changed",
        rows=tuple(
            PolicyFigures(
                policy=answer.policy,
                mean=answer.best.mean,
                p50=answer.best.p50,
                p95=answer.best.p95,
                p99=answer.best.p99,
                method=answer.closed.method if answer.closed else "simulated",
                error=answer.closed.error.text
                if answer.closed
                else "95% interval of the simulated mean",
            )
            for answer in found.answers
        ),
        notes=(
            *(
                f"{name}: no closed form ({reason}); kvcost route simulates it"
                if covered
                else f"{name}: simulated ({reason})"
                for name, reason in left.items()
            ),
            *apart,
        ),
    )
