"""The commands ``kvcost kv`` and ``kvcost facts``, called as a shell would."""

from __future__ import annotations

import csv
import io
import subprocess
import sys

import pytest

KEYS = {
    "bytes_per_token",
    "fixed_bytes_per_request",
    "reserved_bytes_per_token",
    "bytes_at_tokens",
    "per_rank",
    "copies",
    "method",
    "provenance",
    "notes",
}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        # 79 x 576 + 22 x 132, workingset 0.2.0
        (("glm-5.3", "--kv-dtype", "fp8", "--mtp"), {"bytes_per_token": 48_408}),
        # vLLM's log of gpt-oss-120b in hf-mem issue 60 counts 73.7 kB a token
        (
            ("gpt-oss-120b", "--layout", "vllm"),
            {"bytes_per_token": 36_864, "reserved_bytes_per_token": 73_728},
        ),
        # vllm issue 21348: 4 KV heads over 8 ranks are kept twice
        (("Qwen/Qwen3-235B-A22B", "--tp", "8"), {"per_rank": 48_128, "copies": 2}),
        (("llama-3.3-70b", "--tokens", "64Ki"), {"bytes_at_tokens": 327_680 * 65_536}),
        (("deepseek-v3", "--tp", "8"), {"bytes_per_token": 70_272, "copies": 8}),
    ],
)
def test_kv_answers(answer, words, expected):
    found = answer("kv", *words)
    assert found.keys() >= KEYS
    assert {key: found[key] for key in expected} == expected


def test_kv_table_names_the_unit_and_the_provenance(run):
    code, out, _ = run("kv", "glm-5.3", "--tokens", "16000")
    assert code == 0
    assert "bytes at 16,000 tokens" in out
    assert "Provenance: data sheet." in out
    assert "MTP" in out


def test_kv_csv_is_one_row_in_base_units(run):
    code, out, _ = run("kv", "qwen3-8b", "--csv")
    (row,) = csv.DictReader(io.StringIO(out))
    assert code == 0
    assert row["bytes_per_token"] == "147456"


def test_a_missed_budget_is_exit_code_one(run):
    words = ("kv", "llama-3.3-70b", "--tokens", "64Ki", "--max-bytes")
    code, out, _ = run(*words, "19 GiB")
    assert code == 1
    assert "BUDGET MISSED" in out
    assert run(*words, "20 GiB")[0] == 0
    # 16 ranks hold the 8 heads twice
    assert run(*words, "39 GiB", "--tp", "16")[0] == 1


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("kv", "gml-5.3"), "the nearest are glm-5.3"),
        (("kv", "/no/such/config.json"), "there is no such file"),
        (("kv", "glm-5.3", "--kv-dtype", "fp9"), "the nearest are fp8"),
        (("kv", "glm-5.3", "--tokens", "-1"), "--tokens -1"),
        (("kv", "glm-5.3", "--tokens", "64K"), "--tokens 64K"),
        (("kv", "glm-5.3", "--tokens", "nan"), "--tokens"),
        (("kv", "glm-5.3", "--tp", "0"), "--tp 0 must be a whole number from 1"),
        (("kv", "phi-4", "--tp", "4"), "10"),
        (("kv", "glm-5.3", "--max-bytes", "1GiB"), "add --tokens"),
        (("kv", "glm-5.3", "--max-bytes", "1"), "--max-bytes"),
        (("kv", "qwen3-8b", "--kv-dtype", "int4"), "group"),
        (("kv", "glm-5.3", "--tp", "8k"), "--tp 8k must be a whole number"),
        (("kv", "qwen3-8b", "--tp", "3"), "--pad-heads"),
        (("kv", "glm-5.3", "--tpp", "3"), "the nearest are --tp"),
        (("kv",), "required: NAME|config.json"),
        (("facts", "show", "accelerator", "b30x"), "the nearest are b300"),
        (("facts", "list", "moddel"), "the nearest are model"),
        (("facts",), "required: ACTION"),
        (("kvv",), "invalid choice"),
        (("kv", "glm-5.3", "--json", "--csv"), "not allowed with"),
    ],
)
def test_bad_input_is_one_clear_line(run, words, said):
    code, out, err = run(*words)
    assert code == 2
    assert out == ""
    assert err.startswith("kvcost: ")
    assert err.count("\n") == 1
    assert said in err


def test_facts_list_and_show(run, answer):
    names = answer("facts", "list", "accelerator")
    assert {"kind": "accelerator", "name": "b300"} in names
    assert {"kind": "model", "name": "zai-org/GLM-5.3"} in answer("facts", "list")
    shown = answer("facts", "show", "accelerator", "h100")
    by_name = {fact["fact"]: fact for fact in shown["facts"]}
    # NVIDIA H100 data sheet: 3.35 TB/s
    assert by_name["hbm_bandwidth"]["value"] == 3.35e12
    assert all(fact["source"] and fact["date"] for fact in shown["facts"])
    code, out, _ = run("facts", "show", "model", "glm-5.3")
    assert code == 0
    assert "Source: " in out


def test_help_and_version(run):
    for words in (("--help",), ("kv", "--help"), ("--version",)):
        with pytest.raises(SystemExit) as stop:
            run(*words)
        assert stop.value.code == 0
    assert run()[0] == 0


def test_output_that_cannot_be_written_is_no_bug():
    for target, code in (("/dev/full", 2), ("&-", 0)):
        command = f"{sys.executable} -m kvcost kv glm-5.3 >{target}"
        done = subprocess.run(command, shell=True, capture_output=True, text=True, check=False)
        assert done.returncode == code, target
        assert "Traceback" not in done.stderr
