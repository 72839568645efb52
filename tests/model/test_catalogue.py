"""The catalogue: every reference model, exact to the byte, by name and by file alike."""

from __future__ import annotations

import csv
import json
import time

import pytest

from kvcost.errors import UnknownNameError
from kvcost.facts import Provenance, data_path
from kvcost.model import kv_size, load, parse_config
from kvcost.model.config import catalogue_entries, catalogue_names
from kvcost.model.spec import RecurrentLayers

# Figures that differ from the table, each of a row with one source, and why.
EXPECTED_TO_DIFFER = {
    ("microsoft/Phi-3-mini-4k", "growing_bf16_bytes"): "its config states a window of 2,047",
    ("microsoft/Phi-3-mini-4k", "growing_fp8_bytes"): "its config states a window of 2,047",
    ("microsoft/Phi-3-mini-4k", "windows_bf16_bytes"): "its config states a window of 2,047",
    ("tiiuae/Falcon-H1-7B", "state_elements"): "the table leaves it open; the config states it",
    ("tiiuae/Falcon-H1-7B", "conv_elements"): "the table leaves it open; the config states it",
    ("MiniMaxAI/MiniMax-M2", "mtp_layers"): "the table leaves it open; the config states 3 modules",
}


def table():
    with data_path("models", "reference_sizes.csv").open(encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def figures(spec, *, with_records):
    size = kv_size(spec)
    recurrent = [group for group in spec.groups if isinstance(group, RecurrentLayers)]
    with_index = kv_size(spec).bytes_per_token
    return {
        "growing_bf16_bytes": kv_size(spec, index_dtype="bf16").bytes_per_token,
        "growing_bf16_with_fp8_index_bytes": with_index,
        "growing_fp8_bytes": kv_size(spec, kv_dtype="fp8").bytes_per_token,
        "growing_fp8_ds_mla_bytes": kv_size(spec, kv_dtype="fp8", layout="vllm").bytes_per_token
        if with_records
        else None,
        "windows_bf16_bytes": sum(part.fixed_bytes for part in size.parts if part.window),
        "state_elements": sum(group.layers * group.state_elements for group in recurrent),
        "conv_elements": sum(group.layers * group.conv_elements for group in recurrent),
        "mtp_layers": max((group.layers for group in spec.mtp_groups), default=0),
    }


@pytest.mark.parametrize("row", table(), ids=lambda row: row["model"])
def test_figures_of_the_reference_table(row):
    found = figures(load(row["model"]), with_records=bool(row["growing_fp8_ds_mla_bytes"]))
    for column, value in found.items():
        optional = column in ("growing_bf16_with_fp8_index_bytes", "growing_fp8_ds_mla_bytes")
        if optional and not row[column]:
            continue
        stated = float(row[column] or 0)
        if (row["model"], column) in EXPECTED_TO_DIFFER:
            assert row["grade"] in ("1", "0") or not row[column]
            assert value != stated
        else:
            assert value == stated, column


def test_table_holds_all_grades():
    rows = table()
    assert len(rows) == 58
    assert {row["grade"] for row in rows} == {"M", "2", "1", "0"}


def test_index_and_files_agree():
    entries = catalogue_entries()
    files = {entry.file for entry in entries}
    assert len(files) == len(entries)
    shipped = {path.name for path in data_path("models").glob("*__*.json")}
    assert files == shipped
    for entry in entries:
        assert entry.sources
        assert entry.grade in ("M", "2", "1", "0")


@pytest.mark.parametrize("entry", catalogue_entries(), ids=lambda entry: entry.name)
def test_file_and_name_give_the_same_answer(entry):
    named = load(entry.name)
    path = data_path("models", entry.file)
    read = load(path)
    assert read.groups == named.groups
    assert read.mtp_groups == named.mtp_groups
    mapping = json.loads(path.read_text(encoding="utf-8"))
    assert parse_config(mapping, name="x").groups == named.groups
    for alias in entry.aliases:
        assert load(alias.upper()).name == entry.name


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        ("glm-5.3", "zai-org/GLM-5.3"),
        ("GLM-5.3-FP8", "zai-org/GLM-5.3"),
        ("llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct"),
        ("Llama-3.3-70B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"),
        ("gpt-oss-120b", "openai/gpt-oss-120b"),
        ("DeepSeek-V4-Flash", "deepseek-ai/DeepSeek-V4-Flash"),
        ("deepseek-r1", "deepseek-ai/DeepSeek-V3"),
        ("glm-4.6", "zai-org/GLM-4.6"),
        ("glm-5.1", "zai-org/GLM-5"),
        ("kimi-k2.6", "moonshotai/Kimi-K2.5"),
        ("minimax-m2.7", "MiniMaxAI/MiniMax-M2"),
        ("minimax-m1", "MiniMaxAI/MiniMax-Text-01"),
        ("nvidia/Llama-3_3-Nemotron-Super-49B-v1", "nvidia/Llama-3_3-Nemotron-Super-49B-v1"),
    ],
)
def test_short_names(alias, name):
    assert load(alias).name == name


def test_names_that_mean_the_same_kv_may_differ_in_context():
    # GLM-4.6 and Kimi-K2.5: longer contexts on the KV of GLM-4.5 and Kimi-K2.
    assert load("glm-4.5").groups == load("glm-4.6").groups
    assert (load("glm-4.5").max_context, load("glm-4.6").max_context) == (131072, 202752)
    assert (load("kimi-k2").max_context, load("kimi-k2.5").max_context) == (131072, 262144)


def test_parameters_and_provenance():
    spec = load("gpt-oss-120b")
    assert spec.total_parameters == pytest.approx(116.8e9)
    assert spec.active_parameters == pytest.approx(5.1e9)
    assert spec.provenance is Provenance.MEASURED
    assert load("llama-3.1-8b").provenance is Provenance.DATA_SHEET
    assert load("phi-4").provenance is Provenance.ASSUMED
    assert load("deepseek-v4-pro").total_parameters is None


def test_unrecorded_heads_stay_unknown():
    assert load("qwen3.5-9b").q_heads is None
    assert load("qwen3.5-27b").q_heads == 24


def test_unknown_name_lists_the_nearest():
    with pytest.raises(UnknownNameError) as caught:
        load("glm-5.33")
    assert "glm-5.3" in caught.value.nearest
    assert len(caught.value.nearest) == 3


def test_names_are_sorted_and_complete():
    names = catalogue_names()
    assert len(names) == len(set(names)) == len(catalogue_entries())
    assert {row["model"] for row in table()} <= set(names)


def test_published_sizes_with_mtp():
    # GLM-5.3 study: 79 x 576 + 22 x 132 bytes; workingset 0.2.0: 6,540 for GLM-5.3-Flash;
    # LMCache #3339: 79 latents and 79 indexes for GLM-5.
    assert kv_size(load("glm-5.3"), kv_dtype="fp8", mtp=True).bytes_per_token == 48408
    assert kv_size(load("glm-5.3-flash"), kv_dtype="fp8", mtp=True).bytes_per_token == 6540
    assert kv_size(load("glm-5"), kv_dtype="fp8", mtp=True).bytes_per_token == 79 * (576 + 132)
    # DeepSeek-V3: the MTP layer adds 1,152 bytes in bf16; MiniMax-M2: each module 4,096.
    v3, m2 = load("deepseek-v3"), load("minimax-m2")
    assert kv_size(v3, mtp=True).bytes_per_token - kv_size(v3).bytes_per_token == 1152
    assert kv_size(m2, mtp=True).bytes_per_token - kv_size(m2).bytes_per_token == 3 * 4096


def test_loading_is_quick():
    load("glm-5.3")
    best = min(_seconds(lambda: load("nemotron-super-49b")) for _ in range(5))
    assert best < 0.5  # far above what it takes, so that a busy machine passes


def _seconds(action):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
