"""KV dtypes and their scales."""

from __future__ import annotations

import math

import pytest

from kvcost.errors import InvalidValueError, MissingFactError, UnknownNameError
from kvcost.model.dtypes import KV_DTYPES, index_dtype, kv_dtype, state_element_bytes
from kvcost.model.records import FP8_DS_MLA, NVFP4_DS_MLA, V4_ENTRY, index_record


@pytest.mark.parametrize(
    ("name", "element_bytes"),
    [
        ("fp32", 4),
        ("bf16", 2),
        ("fp16", 2),
        ("fp8", 1),
        ("int8", 1),
        ("nvfp4", 0.5625),  # 4 bits and one FP8 scale per 16: NVIDIA, arXiv 2509.25149
        ("mxfp4", 0.53125),  # 4 bits and one E8M0 scale per 32: OCP MX specification v1.0
    ],
)
def test_bytes_of_an_element(name, element_bytes):
    assert kv_dtype(name).element_bytes == element_bytes
    assert kv_dtype(name).head_scale_bytes == 0


@pytest.mark.parametrize("name", ["int8_per_token_head", "fp8_per_token_head"])
def test_scales_per_token_and_head_are_one_fp32_for_k_and_one_for_v(name):
    assert (kv_dtype(name).element_bytes, kv_dtype(name).head_scale_bytes) == (1, 8)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("bfloat16", "bf16"),
        ("torch.bfloat16", "bf16"),
        ("BF16", "bf16"),
        (" half ", "fp16"),
        ("float16", "fp16"),
        ("fp8_e4m3", "fp8"),
        ("fp8_e5m2", "fp8"),
        ("float8_e4m3fn", "fp8"),
        ("float32", "fp32"),
    ],
)
def test_aliases(alias, name):
    assert kv_dtype(alias) == kv_dtype(name)


def test_int4_needs_its_group():
    with pytest.raises(MissingFactError, match="group_size"):
        kv_dtype("int4")
    with pytest.raises(MissingFactError, match="group_scale_bytes"):
        kv_dtype("int4", group_size=32)
    # llama.cpp's q4_0: 18 bytes for 32 elements
    assert kv_dtype("int4", group_size=32, group_scale_bytes=2).element_bytes == 18 / 32


@pytest.mark.parametrize(
    ("field", "fields"),
    [
        ("group_size", {"group_size": 0, "group_scale_bytes": 2}),
        ("group_size", {"group_size": 1.5, "group_scale_bytes": 2}),
        ("group_size", {"group_size": True, "group_scale_bytes": 2}),
        ("group_scale_bytes", {"group_size": 32, "group_scale_bytes": -1}),
        ("group_scale_bytes", {"group_size": 32, "group_scale_bytes": math.nan}),
        ("group_scale_bytes", {"group_size": 32, "group_scale_bytes": "2"}),
    ],
)
def test_int4_groups_are_checked(field, fields):
    with pytest.raises(InvalidValueError) as caught:
        kv_dtype("int4", **fields)
    assert caught.value.field == field


def test_groups_say_nothing_about_other_dtypes():
    with pytest.raises(InvalidValueError, match="int4 only"):
        kv_dtype("fp8", group_size=32)


def test_unknown_names_list_the_nearest():
    with pytest.raises(UnknownNameError) as caught:
        kv_dtype("fp9")
    assert len(caught.value.nearest) == 3
    assert "fp8" in caught.value.nearest
    for ask in (index_dtype, state_element_bytes):
        with pytest.raises(UnknownNameError):
            ask("int4")
    with pytest.raises(UnknownNameError):
        kv_dtype("fp4")  # nvfp4 and mxfp4 differ in their scales


@pytest.mark.parametrize("bad", [None, 8, "", "  ", b"fp8", ["fp8"]], ids=repr)
def test_names_are_texts(bad):
    for ask in (kv_dtype, index_dtype, state_element_bytes):
        with pytest.raises(InvalidValueError):
            ask(bad)


def test_every_name_is_listed():
    assert {kv_dtype(name).name for name in KV_DTYPES if name != "int4"} == set(KV_DTYPES) - {
        "int4"
    }


def test_records_of_engines():
    # vLLM and FlashMLA document 656, 132 and 584; vLLM's NVFP4 record is 256 + 32 + 64.
    assert FP8_DS_MLA.size == 656
    assert NVFP4_DS_MLA.size == 352
    assert V4_ENTRY.size == 584
    assert index_record(128).size == 132
