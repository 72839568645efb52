"""What a deployment's keys say of its bytes, its prefill and its path."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from kvcost.errors import MissingFactError

if TYPE_CHECKING:
    from kvcost.checks.table import Table
    from kvcost.compute import PrefillCurve, Weighting
    from kvcost.hardware import Accelerator
    from kvcost.model import ModelSpec
    from kvcost.transfer import TransferPath

__all__ = [
    "BYTES_KEYS",
    "HARDWARE_KEYS",
    "KEYS",
    "MEASURED_KEYS",
    "MODEL_KEYS",
    "PATH_KEYS",
    "SIZE_KEYS",
    "model_of",
    "prefill_of",
    "size_of",
    "size_options",
    "transfer_path",
]

SIZE_KEYS = ("kv_dtype", "index_dtype", "state_dtype", "conv_dtype", "layout")
MODEL_KEYS = ("model", "assume", *SIZE_KEYS, "group_size", "group_scale", "source_tokens", "mtp")
BYTES_KEYS = ("kv_bytes_per_token", "fixed_bytes_per_request")
MEASURED_KEYS = ("prefill", "weighting")
HARDWARE_KEYS = (
    "accelerator", "gpus", "mfu", "compute_dtype", "bytes_per_weight", "active_parameters",
    "no_attention",
)  # fmt: skip
PATH_KEYS = (
    "bandwidth", "overhead", "link", "client", "shards", "shard_efficiency", "ranks", "copies",
    "engines", "chunk", "per_key",
)  # fmt: skip
_REST = ("tokens", "last_token", "loading", "floor")

KEYS = frozenset(
    (*MODEL_KEYS, *BYTES_KEYS, *MEASURED_KEYS, *HARDWARE_KEYS, *PATH_KEYS, *_REST, "deployment")
)
"""The keys of a deployment: those of a file for ``kvcost breakeven``, and plain sizes."""


@cache
def _load(name: str, assume: str | None, _changed: int) -> ModelSpec:
    from kvcost.model import load  # noqa: PLC0415 - loaded only when asked for

    return load(name, assume=assume)


def model_of(table: Table) -> ModelSpec:
    """Return the model that a table names, which must be there.

    Parameters
    ----------
    table : Table
        With the key ``model``: a name of the catalogue, or a config file beside the budgets.

    Returns
    -------
    ModelSpec
        The model.

    Raises
    ------
    KvcostError
        If there is none, or it is not understood.
    """
    name = table.text("model")
    if name is None:
        table.need("model", example='"glm-5.3"')
    assert name is not None
    changed = 0
    if name.endswith(".json"):
        path = table.files.folder / name
        name, changed = str(path), path.stat().st_mtime_ns if path.exists() else 0
    return _load(name, table.text("assume", choices=("gqa",)), changed)


def size_options(table: Table) -> dict[str, Any]:
    """Return the keyword arguments of `kvcost.model.kv_size` that a table states.

    Parameters
    ----------
    table : Table
        With the key ``kv_dtype``.

    Returns
    -------
    dict
        Names and values.

    Raises
    ------
    MissingFactError
        If ``kv_dtype`` is not stated.
    """
    table.need("kv_dtype", example='"fp8"')
    options: dict[str, Any] = {key: table.text(key) for key in SIZE_KEYS}
    options |= {
        "group_size": table.whole("group_size"),
        "group_scale_bytes": table.size("group_scale"),
        "source_tokens": table.tokens("source_tokens"),
        "mtp": table.boolean("mtp"),
    }
    return {key: value for key, value in options.items() if value is not None}


def size_of(table: Table) -> tuple[ModelSpec | None, dict[str, Any]]:
    """Return the model that a table names, if it does, and the sizes of its KV.

    Parameters
    ----------
    table : Table
        With a model, or with the bytes themselves.

    Returns
    -------
    tuple of ModelSpec or None, and dict
        The model, and arguments of `kvcost.checks.Deployment`.

    Raises
    ------
    KvcostError
        If a fact is missing or wrong.
    """
    from kvcost.facts import Provenance  # noqa: PLC0415 - loaded only when asked for
    from kvcost.model import kv_size  # noqa: PLC0415

    if "kv_bytes_per_token" not in table:
        spec = model_of(table)
        size = kv_size(spec, **size_options(table))
        return spec, {
            "kv_bytes_per_token": size.bytes_per_token,
            "fixed_bytes_per_request": size.fixed_bytes_per_request,
            "kv_provenance": size.provenance,
            "notes": size.notes,
        }
    table.need("fixed_bytes_per_request", example='"0 B"')
    return None, {
        "kv_bytes_per_token": table.size("kv_bytes_per_token"),
        "fixed_bytes_per_request": table.size("fixed_bytes_per_request", allow_zero=True),
        "kv_provenance": Provenance.ASSUMED,
    }


def transfer_path(table: Table, bandwidth: float | None) -> TransferPath:
    """Return the way of the KV that a table states.

    Parameters
    ----------
    table : Table
        With an overhead, and with a rate unless `bandwidth` is given.
    bandwidth : float or None
        Rate of the whole path, in place of what the table states [byte/s].

    Returns
    -------
    TransferPath
        The way.

    Raises
    ------
    KvcostError
        If a fact is missing or wrong.
    """
    from kvcost.transfer import TransferPath  # noqa: PLC0415 - loaded only when asked for

    table.need("overhead", example='"0.33 s", or "0 s" if there is none')
    given: dict[str, Any] = {
        "overhead_seconds": table.seconds("overhead", allow_zero=True),
        "ranks": table.whole("ranks"),
        "copies": table.ratio("copies", maximum=1e6),
        "chunk_tokens": table.tokens("chunk"),
        "per_key_seconds": table.seconds("per_key", allow_zero=True),
    }
    if bandwidth is not None:
        given["link_bandwidth"] = bandwidth
    else:
        if not {"bandwidth", "link", "client"} & table.values.keys():
            table.need("bandwidth", example='"1.71 GB/s"')
        given |= {
            "store_bandwidth": table.rate("bandwidth"),
            "link_bandwidth": table.rate("link"),
            "client_bandwidth": table.rate("client"),
            "shards": table.whole("shards"),
            "shard_efficiency": table.ratio("shard_efficiency"),
            "active_engines": table.whole("engines"),
        }
    return TransferPath(**{name: value for name, value in given.items() if value is not None})


def prefill_of(table: Table, spec: ModelSpec | None) -> PrefillCurve:
    """Return the prefill that a table states, by measured points or by hardware.

    Parameters
    ----------
    table : Table
        With ``prefill``, or with an accelerator, its number, MFU and dtype.
    spec : ModelSpec or None
        The model; hardware needs it.

    Returns
    -------
    PrefillCurve
        Time to compute.

    Raises
    ------
    KvcostError
        If a fact is missing or wrong.
    """
    from kvcost.compute import PrefillCurve  # noqa: PLC0415 - loaded only when asked for
    from kvcost.units import parse_assignment  # noqa: PLC0415

    floor = table.seconds("floor", allow_zero=True)
    texts = table.texts("prefill")
    if texts is not None:
        points = [parse_assignment(text, field=table.label("prefill")) for text in texts]
        how = table.text("weighting", choices=("unweighted", "relative")) or "unweighted"
        return PrefillCurve.from_points(points, weighting=cast("Weighting", how), floor=floor)
    name = table.text("accelerator")
    if name is None or spec is None:
        raise MissingFactError(
            fact="the prefill time",
            subject="the budget",
            remedy='add prefill = ["16000=0.31s"], or model, accelerator, gpus, mfu and '
            "compute_dtype",
        )
    for key, example in (("gpus", "8"), ("mfu", '"50%"'), ("compute_dtype", '"bf16"')):
        table.need(key, example=example)
    from kvcost.hardware import accelerator  # noqa: PLC0415

    parameters = table.number("active_parameters")
    if parameters is not None:
        spec = replace(spec, active_parameters=parameters, total_parameters=None)
    part = accelerator(name)
    _check_fit(table, spec, part)
    return PrefillCurve.from_hardware(
        spec,
        part,
        accelerators=cast("int", table.whole("gpus")),
        mfu=cast("float", table.ratio("mfu")),
        compute_dtype=cast("str", table.text("compute_dtype")),
        floor=floor,
        count_attention=not table.boolean("no_attention"),
        source_tokens=table.tokens("source_tokens"),
    )


def _check_fit(table: Table, spec: ModelSpec, part: Accelerator) -> None:
    """Refuse weights that do not fit, where their bytes are stated."""
    each = table.ratio("bytes_per_weight", maximum=8)
    gpus = cast("int", table.whole("gpus"))
    if each is None or spec.total_parameters is None:
        return
    from kvcost.hardware import Replica  # noqa: PLC0415 - loaded only when asked for

    Replica(
        accelerator=part,
        count=gpus,
        tp=gpus,
        weight_bytes=spec.total_parameters * each,
        bytes_per_weight=each,
    ).check_fit()
