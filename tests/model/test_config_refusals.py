"""What is not understood is refused by name; what cannot be is refused with bound and remedy."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvcost.errors import (
    ConfigError,
    InvalidValueError,
    KvcostError,
    MissingFactError,
    UnknownNameError,
    UnsupportedModelError,
)
from kvcost.facts import Provenance, data_path
from kvcost.model import load, parse_config
from kvcost.model.config import catalogue_entries
from kvcost.model.spec import ModelSpec

LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 256,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "max_position_embeddings": 4096,
    "vocab_size": 32000,
    "rope_theta": 500000.0,
    "attention_bias": False,
}


def parsed(**config):
    return parse_config(config, name="a model")


# ------------------------------------------------------------------ fail closed


def test_unknown_architecture_names_the_fields():
    with pytest.raises(UnsupportedModelError) as caught:
        parsed(**LLAMA | {"model_type": "brand_new"}, kv_fold=2)
    assert caught.value.architecture == "brand_new"
    assert {"model_type", "kv_fold", "num_key_value_heads"} <= set(caught.value.fields)
    assert "gqa" in caught.value.remedy


@pytest.mark.parametrize("config", [{}, {"architectures": ["LlamaForCausalLM"]}, {"a": 1}])
def test_config_without_a_type(config):
    with pytest.raises(UnsupportedModelError):
        parse_config(config, name="a model")


@pytest.mark.parametrize(
    "field",
    [
        "num_kv_shared_layers", "kv_sharing_factor", "attention_pattern", "attention_window",
        "sliding_window", "attention_chunk_size", "index_topk", "kv_lora_rank", "compress_ratio",
        "cross_attention_layers", "mamba_d_state", "conv_kernel", "state_size", "use_cla",
        "full_attention_interval", "linear_num_heads", "latent_size", "v_head_dim", "swa_layers",
        "per_layer_config", "layer_group_size", "num_memory_tokens", "token_mixer",
        "hybrid_pattern", "reuse_kv_from", "num_sink_tokens", "block_types",
    ],
)  # fmt: skip
def test_field_of_a_known_family_that_concerns_kv(field):
    with pytest.raises(UnsupportedModelError) as caught:
        parsed(**LLAMA, **{field: 3})
    assert caught.value.fields == (field,)
    assert parsed(**LLAMA, **{field: None}).groups == parsed(**LLAMA).groups


def test_unknown_object_is_looked_into():
    with pytest.raises(UnsupportedModelError, match=r"extras\.kv_groups"):
        parsed(**LLAMA, extras={"kv_groups": 2, "color": "red"})


def test_harmless_fields_pass():
    extra = {
        "attention_dropout": 0.0,
        "initializer_range": 0.02,
        "moe_layer_freq": 1,
        "n_shared_experts": 1,
        "use_cache": True,
        "use_sliding_window": False,
        "rope_scaling": {"rope_type": "llama3", "factor": 8.0},
        "quantization_config": {"kv_cache_scheme": None, "config_groups": {"group_0": {}}},
        "something_else": 7,
    }
    assert parsed(**LLAMA, **extra).groups == parsed(**LLAMA).groups


def test_unknown_kind_of_layer():
    with pytest.raises(UnsupportedModelError, match="layer_types: spiral_attention"):
        parsed(**LLAMA, layer_types=["full_attention"] * 3 + ["spiral_attention"])


def test_wrapper_that_is_not_known():
    with pytest.raises(UnsupportedModelError):
        parsed(model_type="unheard_of_vl", text_config=LLAMA)


def test_assumption_is_said():
    unknown = LLAMA | {"model_type": "brand_new"}
    spec = parse_config(unknown, name="a model", assume="gqa")
    assert spec.provenance is Provenance.ASSUMED
    assert (spec.groups[0].layers, spec.groups[0].kv_heads, spec.groups[0].head_dim_k) == (4, 2, 32)
    assert any("assumed" in note for note in spec.notes)
    nested = {"model_type": "brand_new_vl", "text_config": unknown}
    assert parse_config(nested, name="a model", assume="gqa").groups == spec.groups
    understood = parse_config(LLAMA, name="a model", assume="gqa")
    assert understood.provenance is Provenance.DATA_SHEET


def test_assumption_still_needs_its_facts():
    for field in ("num_hidden_layers", "num_attention_heads", "num_key_value_heads"):
        config = {key: value for key, value in LLAMA.items() if key != field}
        with pytest.raises(MissingFactError, match=field):
            parse_config(config | {"model_type": "brand_new"}, name="a model", assume="gqa")
    with pytest.raises(InvalidValueError, match="assume"):
        parse_config(LLAMA, name="a model", assume="mla")


# ------------------------------------------------------------------ values


@pytest.mark.parametrize("field", ["num_hidden_layers", "num_attention_heads", "hidden_size"])
@pytest.mark.parametrize(
    "value",
    [0, -1, 10**9, 10**30, 2.5, 32.0, math.nan, math.inf, True, "32", [32], {"n": 32}],
    ids=repr,
)
def test_values_out_of_bounds(field, value):
    with pytest.raises(InvalidValueError) as caught:
        parsed(**LLAMA | {field: value})
    assert caught.value.field == field
    assert caught.value.bound
    assert caught.value.remedy


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"num_key_value_heads": 3}, "num_key_value_heads"),
        ({"num_key_value_heads": 16}, "num_key_value_heads"),
        ({"num_attention_heads": 7, "num_key_value_heads": 7}, "hidden_size"),
        ({"head_dim": -1}, "head_dim"),
        ({"layer_types": ["full_attention"]}, "layer_types"),
        ({"layer_types": "full_attention"}, "layer_types"),
        ({"layer_types": [1, 2, 3, 4]}, "layer_types[0]"),
        ({"max_position_embeddings": 0}, "max_position_embeddings"),
        ({"model_type": 3}, "model_type"),
    ],
)
def test_values_that_do_not_fit_together(change, field):
    with pytest.raises(InvalidValueError) as caught:
        parsed(**LLAMA | change)
    assert caught.value.field == field


def test_nested_field_is_named_with_its_path():
    with pytest.raises(InvalidValueError) as caught:
        parsed(model_type="llava", text_config=LLAMA | {"num_hidden_layers": -4})
    assert caught.value.field == "text_config.num_hidden_layers"


def test_synonyms_must_agree():
    base = {"model_type": "gpt2", "n_layer": 12, "n_embd": 768, "n_head": 12}
    with pytest.raises(InvalidValueError, match="n_layer"):
        parsed(**base, num_hidden_layers=24)


# ------------------------------------------------------------------ files


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (b"{", "no valid JSON"),
        (b"[1, 2]", "holds a list"),
        (b"null", "holds null"),
        (b'"llama"', "holds a text"),
        (b"3", "holds a number"),
        (b"\xff\xff\x00", "is not text"),
        (b"\x00\x01\x02\x03", "no valid JSON"),
        (b"[" * 200_000, "nested too deeply"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b'{"a": ' + b"9" * 5000 + b"}", "no valid JSON"),
    ],
    ids=lambda item: str(item)[:24],
)
def test_files_that_are_no_config(tmp_path, content, problem):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ConfigError) as caught:
        load(path)
    assert problem in caught.value.problem
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_missing_and_odd_paths(tmp_path):
    for path in (tmp_path / "none.json", tmp_path, str(tmp_path / "none.json"), "a\0b", "./none"):
        with pytest.raises(ConfigError):
            load(path)
    with pytest.raises(UnknownNameError):
        load("no-such-model")
    with pytest.raises(ConfigError):
        load("a" * 5000 + ".json")
    for value in ("", "  ", 3, None):
        with pytest.raises(InvalidValueError):
            load(value)


def test_nesting_that_json_still_reads(tmp_path):
    path = tmp_path / "config.json"
    deep = "[" * 400 + "]" * 400
    path.write_text(json.dumps(LLAMA)[:-1] + f', "num_experts": {deep}}}', encoding="utf-8")
    with pytest.raises(ConfigError, match="nested too deeply"):
        load(path)
    nested: dict[str, object] = {}
    for _ in range(5000):
        nested = {"a": nested}
    with pytest.raises(InvalidValueError, match="nested"):
        parsed(**LLAMA, extras=nested)


def test_huge_file(tmp_path):
    path = tmp_path / "config.json"
    path.write_bytes(b" " * (16 * 2**20 + 1))
    with pytest.raises(ConfigError, match="16 MiB"):
        load(path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_folder_and_encodings(tmp_path, encoding):
    text = json.dumps(LLAMA | {"time_step_limit": [0.0, math.inf]})
    (tmp_path / "config.json").write_text(text, encoding=encoding)
    assert load(tmp_path).groups == load(str(tmp_path / "config.json")).groups
    assert load(str(tmp_path)).groups == parsed(**LLAMA).groups


# ------------------------------------------------------------------ anything at all

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=8,
)
ENTRIES = [
    json.loads(data_path("models", entry.file).read_text(encoding="utf-8"))
    for entry in catalogue_entries()
]


def refused_or_spec(config, **options):
    try:
        found = parse_config(config, name="a model", **options)
    except KvcostError as failure:
        return "\n" not in str(failure)
    return isinstance(found, ModelSpec)


@given(st.dictionaries(st.text(max_size=12), VALUES, max_size=6))
@settings(max_examples=100, deadline=None)
def test_random_objects_are_specs_or_refused(config):
    assert refused_or_spec(config, assume="gqa")


@st.composite
def mutations(draw):
    config = json.loads(json.dumps(draw(st.sampled_from(ENTRIES))))
    for _ in range(draw(st.integers(1, 3))):
        target = config
        inner = [value for value in config.values() if isinstance(value, dict)]
        if inner and draw(st.booleans()):
            target = draw(st.sampled_from(inner))
        if not target:
            break
        key = draw(st.sampled_from(sorted(target)))
        if draw(st.booleans()):
            target.pop(key)
        else:
            target[key] = draw(VALUES)
    return config


@given(mutations())
@settings(max_examples=300, deadline=None)
def test_mutated_configs_are_specs_or_refused(config):
    assert refused_or_spec(config)
    assert refused_or_spec(config, assume="gqa")
