"""Specs refuse what no model is."""

from __future__ import annotations

import dataclasses
import math
import pickle

import pytest

from kvcost.errors import InvalidValueError
from kvcost.facts import Provenance
from kvcost.model.spec import (
    AttentionLayers,
    CompressedLayers,
    CrossAttentionLayers,
    IndexLayers,
    LatentLayers,
    ModelSpec,
    RecurrentLayers,
    WindowedLatentLayers,
)
from tests.model.specs import GLM_52, heads

GROUPS = [
    AttentionLayers(
        layers=2, kv_heads=2, head_dim_k=64, head_dim_v=64, window=8, window_kind="sliding"
    ),
    LatentLayers(layers=2, kv_lora_rank=512, rope_dim=64),
    IndexLayers(layers=2, head_dim=128, tokens_per_entry=4),
    CompressedLayers(layers=2, entry_dim=512, rope_dim=64, ratio=4),
    WindowedLatentLayers(layers=2, entry_dim=512, rope_dim=64, window=128),
    RecurrentLayers(layers=2, state_elements=10, conv_elements=3),
    CrossAttentionLayers(layers=2, kv_heads=2, head_dim_k=64, head_dim_v=64, source_tokens=9),
]
NUMBERS = [
    (group, field.name)
    for group in GROUPS
    for field in dataclasses.fields(group)
    if isinstance(getattr(group, field.name), int)
]


@pytest.mark.parametrize(
    ("group", "name"), NUMBERS, ids=[f"{type(g).__name__}.{n}" for g, n in NUMBERS]
)
@pytest.mark.parametrize("bad", [-1, True, 1.0, "1", math.nan, math.inf, 10**18, [1]], ids=repr)
def test_numbers_of_groups_are_checked(group, name, bad):
    with pytest.raises(InvalidValueError) as caught:
        dataclasses.replace(group, **{name: bad})
    assert caught.value.field == f"{type(group).__name__}.{name}"
    assert caught.value.value is bad
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: heads(0, 8, 128), "layers"),
        (lambda: AttentionLayers(layers=1, kv_heads=1, head_dim_k=1, head_dim_v=1, window=4),
         "window_kind"),
        (lambda: AttentionLayers(layers=1, kv_heads=1, head_dim_k=1, head_dim_v=1,
                                 window_kind="sliding"), "window_kind"),
        (lambda: heads(1, 1, 1, window=4, kind="odd"), "window_kind"),
        (lambda: IndexLayers(layers=1, head_dim=1, storage="fp8"), "storage"),
        (lambda: CompressedLayers(layers=1, entry_dim=4, rope_dim=8, ratio=4), "rope_dim"),
    ],
)  # fmt: skip
def test_groups_that_contradict_themselves(make, field):
    with pytest.raises(InvalidValueError) as caught:
        make()
    assert caught.value.field.endswith(f".{field}")


@pytest.mark.parametrize(
    ("field", "bad"),
    [
        ("name", ""),
        ("architecture", None),
        ("groups", ()),
        ("groups", (1,)),
        ("groups", "abc"),
        ("mtp_groups", (None,)),
        ("total_layers", 0),
        ("total_layers", 10**9),
        ("shared_layers", 79),
        ("q_heads", 0),
        ("hidden_size", -1),
        ("max_context", 1.5),
        ("total_parameters", 0),
        ("total_parameters", math.nan),
        ("total_parameters", True),
        ("active_parameters", math.inf),
        ("provenance", "guess"),
    ],
)
def test_fields_of_models_are_checked(field, bad):
    with pytest.raises(InvalidValueError) as caught:
        dataclasses.replace(GLM_52, **{field: bad})
    assert caught.value.field == f"ModelSpec.{field}"


def test_active_parameters_are_some_of_all():
    with pytest.raises(InvalidValueError, match=r"ModelSpec\.active_parameters"):
        dataclasses.replace(GLM_52, total_parameters=7e9, active_parameters=8e9)


def test_specs_are_values():
    assert pickle.loads(pickle.dumps(GLM_52)) == GLM_52
    assert hash(GLM_52) == hash(dataclasses.replace(GLM_52))
    listed = dataclasses.replace(GLM_52, groups=list(GLM_52.groups), provenance="measured")
    assert listed.groups == GLM_52.groups
    assert listed.provenance is Provenance.MEASURED
    with pytest.raises(dataclasses.FrozenInstanceError):
        GLM_52.name = "x"
    assert isinstance(GLM_52, ModelSpec)
