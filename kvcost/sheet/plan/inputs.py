"""The inputs: what the user may change, with what the facts say beside."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from kvcost.formula import GLOSSARY
from kvcost.sheet.facts import DTYPES, PEAKS
from kvcost.sheet.nodes import Given, Value
from kvcost.sheet.plan.bursts import burst_inputs
from kvcost.sheet.question import ModelFigures

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kvcost.sheet.nodes import Table
    from kvcost.sheet.question import Question

__all__ = ["NO_LIMIT", "inputs"]

NO_LIMIT = 1e30
"""Rate of what does not limit: cells have no infinity."""

_EXAMPLE = "assumed: an example, change it"


def _quantity(
    name: str,
    yours: Value | None,
    source: str,
    *,
    key: str = "",
    found: str | float | None = None,
    section: str = "",
    label: str = "",
) -> Given:
    known = GLOSSARY[name]
    return Given(
        key=key or name,
        label=label or known.text,
        unit=known.unit,
        yours=yours,
        found=found,
        source=source,
        low=known.low,
        high=known.high,
        whole=known.whole,
        section=section,
    )


def _rounded(value: float) -> float:
    return float(f"{value:.2g}")


def inputs(
    question: Question, *, tables: Mapping[str, Table], model_name: str, store_name: str
) -> tuple[Given, ...]:
    """Return the inputs of a workbook as it ships.

    Parameters
    ----------
    question : Question
        The deployment that it is about.
    tables : mapping of str to Table
        Facts that names are chosen from.
    model_name, store_name : str
        Rows of the tables that stand for the deployment's own.

    Returns
    -------
    tuple of Given
        In the order of sheet Inputs.
    """
    usual = (
        *_choices(question, tables=tables, model_name=model_name, store_name=store_name),
        *_prompt(question),
        *_prefill(question),
        *_fetch(question),
        *_memory(question),
        *_traffic(question),
    )
    known = question.stated
    given = tuple(
        replace(
            node,
            yours=known[node.key].yours,
            found=node.found if known[node.key].found is None else known[node.key].found,
            source=known[node.key].source,
        )
        if node.key in known
        else node
        for node in usual
    )
    return given if question.burst is None else (*given, *burst_inputs(question.burst))


def _choices(
    question: Question, *, tables: Mapping[str, Table], model_name: str, store_name: str
) -> tuple[Given, ...]:
    dtype = str(question.size_options.get("kv_dtype", "bf16"))
    stores = tables["stores"].rows
    store = store_name if stores[0][0] == store_name else stores[0][0]
    chosen = "choose from the list; the facts follow"
    return (
        Given(
            key="model",
            label="model",
            yours=model_name,
            source=chosen,
            choices="list_models",
            section="Choices",
        ),
        Given(
            key="kv_dtype",
            label="KV dtype",
            yours=dtype if dtype in DTYPES else "bf16",
            source=chosen,
            choices="list_dtypes",
        ),
        Given(
            key="accelerator",
            label="accelerator",
            yours=question.accelerator,
            source=chosen,
            choices="list_accelerators",
        ),
        Given(
            key="compute_dtype",
            label="dtype of the arithmetic",
            yours="bf16",
            source=chosen,
            choices=",".join(PEAKS),
        ),
        Given(
            key="store", label="store or tier", yours=store, source=chosen, choices="list_stores"
        ),
        Given(
            key="prefill_source",
            label="prefill times from",
            yours="stated",
            source="stated: the coefficients below; hardware: FLOP over FLOP/s",
            choices="stated,hardware",
        ),
    )


def _prompt(question: Question) -> tuple[Given, ...]:
    path = question.path
    dtype = question.size_options.get("kv_dtype", "bf16")
    growing: float | None = None
    fixed: float | None = None
    if dtype not in DTYPES and not isinstance(question.model, ModelFigures):
        from kvcost.model import kv_size  # noqa: PLC0415 - seldom needed

        size = kv_size(question.model, **question.size_options)
        growing, fixed = float(size.bytes_per_token), float(size.fixed_bytes_per_request)
    return (
        _quantity("tokens", float(question.tokens), "the question", section="Prompt"),
        _quantity("hit_tokens", None, "blank: the whole prompt is stored", found="tokens"),
        _quantity("local_tokens", 0.0, "blank or 0: none"),
        Given(
            key="last_token",
            label="the last token is computed even if it is stored: 1, as engines do, or 0",
            unit="token",
            yours=float(question.last_token),
            source="0: times and closed forms agree",
            high=1.0,
            whole=True,
        ),
        _quantity("chunk_tokens", float(path.chunk_tokens or 1), "1: no rounding to whole chunks"),
        _quantity(
            "kv_bytes_per_token", growing, "blank: as sheet Model counts", found="model_bytes"
        ),
        _quantity(
            "fixed_bytes",
            fixed,
            "blank: as sheet Model counts, at a full window",
            found="model_fixed_bytes",
        ),
        _quantity("kv_copies", float(path.copies), "the question; kvcost kv NAME --tp N"),
    )


def _prefill(question: Question) -> tuple[Given, ...]:
    curve = question.prefill
    source = f"{curve.provenance}: {curve.method}"
    stated = "stated_"
    return (
        _quantity(
            "prefill_constant",
            curve.constant,
            source,
            key=f"{stated}constant",
            section="Prefill, stated",
        ),
        _quantity("prefill_per_token", curve.per_token, source, key=f"{stated}per_token"),
        _quantity(
            "prefill_per_token_squared",
            curve.per_token_squared,
            source,
            key=f"{stated}per_token_squared",
        ),
        _quantity("prefill_floor", curve.floor, source),
        _quantity(
            "accelerators",
            float(question.accelerators),
            "the question",
            section="Prefill, hardware",
        ),
        _quantity("mfu", question.mfu, "assumed: measure yours"),
        _quantity("peak_flops", None, "blank: sheet Facts", found="fact_peak_flops"),
        _quantity("active_parameters", None, "blank: sheet Facts", found="fact_active_parameters"),
        _quantity(
            "layers",
            None,
            "blank: sheet Facts; 0 leaves attention's arithmetic out",
            key="attention_layers",
            found="fact_alike_layers",
            label="layers whose attention counts in prefill",
        ),
    )


def _fetch(question: Question) -> tuple[Given, ...]:
    path = question.path
    rest = path.descriptors_per_token
    return (
        _quantity(
            "store_bandwidth",
            None if path.store_bandwidth is not None else NO_LIMIT,
            "blank: sheet Facts, whose own rows give all shards together: leave shards at 1",
            found="fact_store_bandwidth",
            section="Fetch",
        ),
        _quantity(
            "overhead_seconds",
            None if path.store_bandwidth is not None else path.overhead_seconds,
            "blank: sheet Facts",
            found="fact_overhead",
        ),
        _quantity("lookup_seconds", path.lookup_seconds, "the question"),
        _quantity("link_bandwidth", path.link_bandwidth, "blank: no limit", found=NO_LIMIT),
        _quantity("client_bandwidth", path.client_bandwidth, "blank: no limit", found=NO_LIMIT),
        _quantity("ranks", float(path.ranks), "the question"),
        _quantity("rank_balance", path.rank_balance, "the question"),
        _quantity("shards", float(path.shards), "the question"),
        _quantity(
            "shard_efficiency",
            1.0 if path.shard_efficiency is None else path.shard_efficiency,
            "the question; 1 for one shard",
        ),
        _quantity("active_engines", float(path.active_engines), "the question"),
        _quantity("keys_per_chunk", float(path.keys_per_chunk), "the question"),
        _quantity("per_key_seconds", path.per_key_seconds, "the question"),
        Given(
            key="descriptors_per_token",
            label="pieces of memory that a token adds to a fetch",
            unit="descriptor/token",
            yours=rest,
            source="the question",
        ),
        _quantity("per_descriptor_seconds", path.per_descriptor_seconds, "the question"),
        _quantity("compression_ratio", path.compression_ratio, "the question"),
        _quantity("encode_rate", path.encode_rate, "blank: free", found=NO_LIMIT),
        _quantity("decode_rate", path.decode_rate, "blank: free", found=NO_LIMIT),
        Given(
            key="coding",
            label="coding and moving",
            yours="pipelined" if path.pipelined else "in turn",
            source="in turn, or pipelined: pieces are coded and moved at once",
            choices="in turn,pipelined",
        ),
        _quantity(
            "blocking",
            float(question.loading == "sync"),
            "vLLM's connectors load async, LMCache's default is sync",
        ),
    )


def _memory(question: Question) -> tuple[Given, ...]:
    known = question.model.total_parameters
    weights = 2.0 * known if known else 1e11
    return (
        _quantity(
            "hbm_bytes", None, "blank: sheet Facts", found="fact_hbm_bytes", section="Memory"
        ),
        _quantity("hbm_share", 0.9, "assumed: vLLM's default"),
        _quantity(
            "weight_bytes",
            weights,
            "assumed: parameters in bf16, 2 bytes each" if known else _EXAMPLE,
        ),
        _quantity("weight_copies", 1.0, "assumed: tensor parallel, one copy over all"),
        _quantity("requests", 32.0, _EXAMPLE),
    )


def _traffic(question: Question) -> tuple[Given, ...]:
    servers, burst = 4.0, 100.0
    service = float(question.prefill.seconds(question.tokens)) or 1.0
    return (
        _quantity("servers", servers, _EXAMPLE, section="Traffic"),
        _quantity("service_seconds", None, "blank: the recompute", found="recompute_seconds"),
        _quantity("service_scv", 2.0, _EXAMPLE),
        _quantity("arrival_rate", _rounded(0.7 * servers / service), f"{_EXAMPLE}: 70% busy"),
        _quantity("arrival_scv", 1.0, "1: Poisson arrivals"),
        _quantity("percentile", 0.95, _EXAMPLE),
        _quantity("batch_mean", 4.0, f"{_EXAMPLE}: requests that come together"),
        _quantity("batch_pairs", 12.0, "batches of equal size: mean times mean less one"),
        _quantity("burst_requests", burst, _EXAMPLE, section="Burst"),
        _quantity(
            "burst_seconds",
            _rounded(burst * service / servers / 4),
            f"{_EXAMPLE}: four times what the servers can do",
        ),
        _quantity("background_utilization", 0.3, _EXAMPLE),
        _quantity("waiting_requests", 50.0, _EXAMPLE),
        _quantity("earlier_requests", 20.0, _EXAMPLE, section="Routing"),
        _quantity("cold_seconds", None, "blank: the recompute", found="recompute_seconds"),
        _quantity("warm_seconds", _rounded(service / 2), f"{_EXAMPLE}: half the recompute"),
        _quantity(
            "copy_ready_seconds",
            None,
            "blank: computed once, then fetched",
            found="computed_then_fetched",
        ),
    )
