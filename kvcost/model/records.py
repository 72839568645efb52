"""Records that engines pack KV into, byte by byte."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from kvcost.model.formulas import record_bytes

__all__ = ["FP8_DS_MLA", "NVFP4_DS_MLA", "V4_ENTRY", "V4_PAGE_BYTES", "Record", "index_record"]


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record of an engine.

    Parameters
    ----------
    name : str
        What the engine calls it.
    size : float
        Bytes.
    made_of : str
        Its parts.
    source : str
        Where the layout stands.
    """

    name: str
    size: float
    made_of: str
    source: str


_FLASHMLA = "https://github.com/deepseek-ai/FlashMLA"
_VLLM = "https://github.com/vllm-project/vllm"

FP8_DS_MLA = Record(
    name="fp8_ds_mla",
    size=record_bytes(
        quantized_dim=512,
        value_bytes=1,
        quant_block=128,
        scale_bytes=4,
        plain_dim=64,
        plain_element_bytes=2,
        pad_bytes=0,
    ),
    made_of="512 FP8 latent, 4 FP32 scales, 64 BF16 rotary elements",
    source=_FLASHMLA,
)
"""656 bytes: the latent of sparse MLA models in vLLM with an FP8 cache."""

NVFP4_DS_MLA = Record(
    name="nvfp4_ds_mla",
    size=record_bytes(
        quantized_dim=512,
        value_bytes=0.5,
        quant_block=16,
        scale_bytes=1,
        plain_dim=64,
        plain_element_bytes=1,
        pad_bytes=0,
    ),
    made_of="512 FP4 latent, 32 FP8 scales, 64 FP8 rotary elements",
    source=_VLLM,
)
"""352 bytes: the latent in vLLM with an NVFP4 cache."""

V4_ENTRY = Record(
    name="DeepSeek-V4 entry",
    size=record_bytes(
        quantized_dim=448,
        value_bytes=1,
        quant_block=64,
        scale_bytes=1,
        plain_dim=64,
        plain_element_bytes=2,
        pad_bytes=1,
    ),
    made_of="448 FP8, 7 scales of one byte, 1 byte of padding, 64 BF16 rotary elements",
    source=_VLLM,
)
"""584 bytes: a shared entry of DeepSeek-V4 in vLLM; how its last 8 bytes split is inferred."""

V4_PAGE_BYTES = 576
"""Pages of DeepSeek-V4 in vLLM are multiples of so many bytes."""


@cache
def index_record(head_dim: int) -> Record:
    """Return the record of an index key: FP8 values and one FP32 scale for 128 of them.

    Parameters
    ----------
    head_dim : int
        Width of the index key.

    Returns
    -------
    Record
        132 bytes for a width of 128.

    Examples
    --------
    >>> index_record(128).size
    132.0
    """
    size = record_bytes(
        quantized_dim=head_dim,
        value_bytes=1,
        quant_block=128,
        scale_bytes=4,
        plain_dim=0,
        plain_element_bytes=1,
        pad_bytes=0,
    )
    return Record(
        name="FP8 index",
        size=size,
        made_of=f"{head_dim} FP8 elements, one FP32 scale for 128 of them",
        source=_VLLM,
    )
