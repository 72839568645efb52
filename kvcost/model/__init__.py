"""What a token weighs: attention geometry, KV dtypes, engine layouts, ranks, sizes."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kvcost.model.config import catalogue_names, load, parse_config
    from kvcost.model.dtypes import INDEX_DTYPES, KV_DTYPES, STATE_DTYPES, KVDtype, kv_dtype
    from kvcost.model.parallel import Ranks, stage_layers
    from kvcost.model.pool import Pool, equal_page_pool
    from kvcost.model.records import FP8_DS_MLA, NVFP4_DS_MLA, V4_ENTRY, Record, index_record
    from kvcost.model.result import KVPart, KVSize
    from kvcost.model.size import kv_bytes_per_token, kv_size
    from kvcost.model.spec import (
        AttentionLayers,
        CompressedLayers,
        CrossAttentionLayers,
        IndexLayers,
        LatentLayers,
        LayerGroup,
        ModelSpec,
        RecurrentLayers,
        WindowedLatentLayers,
    )
    from kvcost.model.storage import LAYOUTS, Layout

__all__ = [
    "FP8_DS_MLA",
    "INDEX_DTYPES",
    "KV_DTYPES",
    "LAYOUTS",
    "NVFP4_DS_MLA",
    "STATE_DTYPES",
    "V4_ENTRY",
    "AttentionLayers",
    "CompressedLayers",
    "CrossAttentionLayers",
    "IndexLayers",
    "KVDtype",
    "KVPart",
    "KVSize",
    "LatentLayers",
    "LayerGroup",
    "Layout",
    "ModelSpec",
    "Pool",
    "Ranks",
    "Record",
    "RecurrentLayers",
    "WindowedLatentLayers",
    "catalogue_names",
    "equal_page_pool",
    "index_record",
    "kv_bytes_per_token",
    "kv_dtype",
    "kv_size",
    "load",
    "parse_config",
    "stage_layers",
]

_HOME = {
    "catalogue_names": "config",
    "load": "config",
    "parse_config": "config",
    "INDEX_DTYPES": "dtypes",
    "KV_DTYPES": "dtypes",
    "STATE_DTYPES": "dtypes",
    "KVDtype": "dtypes",
    "kv_dtype": "dtypes",
    "Ranks": "parallel",
    "stage_layers": "parallel",
    "Pool": "pool",
    "equal_page_pool": "pool",
    "FP8_DS_MLA": "records",
    "NVFP4_DS_MLA": "records",
    "V4_ENTRY": "records",
    "Record": "records",
    "index_record": "records",
    "KVPart": "result",
    "KVSize": "result",
    "kv_bytes_per_token": "size",
    "kv_size": "size",
    "AttentionLayers": "spec",
    "CompressedLayers": "spec",
    "CrossAttentionLayers": "spec",
    "IndexLayers": "spec",
    "LatentLayers": "spec",
    "LayerGroup": "spec",
    "ModelSpec": "spec",
    "RecurrentLayers": "spec",
    "WindowedLatentLayers": "spec",
    "LAYOUTS": "storage",
    "Layout": "storage",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
