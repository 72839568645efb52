"""The commands ``kvcost breakeven`` and ``kvcost tiers``, called as a shell would."""

from __future__ import annotations

import csv
import io

import pytest

STUDY = (
    "breakeven",
    "glm-5.3",
    "--kv-dtype",
    "fp8",
    "--mtp",
    "--tokens",
    "16000",
    "--overhead",
    "0.33s",
    "--prefill",
    "16000=0.31s",
    "--bandwidth",
)
TIERS = ("tiers", "glm-5.3", "--prefill", "1k=1s")
PLAIN = ("breakeven", "glm-5.3", "--tokens", "1k", "--bandwidth", "1 GB/s")
KEYS = {
    "kv_bytes_per_token",
    "recompute_seconds",
    "hit_seconds",
    "break_even_bandwidth",
    "break_even_bandwidth_without_overhead",
    "break_even_tokens",
    "fetch_ranges",
    "break_even_tokens_infinite_bandwidth",
    "margin",
    "verdict",
    "verdict_gpu_seconds",
}


def test_the_glm_5_3_study(answer):
    found = answer(*STUDY, "1.71 GB/s")
    assert found.keys() >= KEYS
    assert found["kv_bytes_per_token"] == 48_408
    assert found["recompute_seconds"] == pytest.approx(0.31, rel=1e-12)
    # 0.33 s and 16,000 x 48,408 B over 1.71 GB/s; the study measured 0.88 s
    assert found["hit_seconds"] == pytest.approx(0.78294, abs=5e-6)
    assert found["break_even_bandwidth"] is None
    # the study prints 2.53 GB/s, from 49,019 B a token
    assert found["break_even_bandwidth_without_overhead"] == pytest.approx(2.53e9, rel=0.0125)
    assert found["break_even_tokens"] is None
    assert found["fetch_ranges"] == []
    # the study prints 17,000
    assert round(found["break_even_tokens_infinite_bandwidth"]) == 17_032
    assert found["margin"] == pytest.approx((0.31 - 0.78294) / 0.31, rel=1e-4)
    assert found["verdict"] == "recompute"
    assert found["verdict_gpu_seconds"] == "fetch"
    assert "no bandwidth wins" in found["sentence"]


@pytest.mark.parametrize(
    ("bandwidth", "tokens"), [("5 GB/s", 34.0e3), ("10 GB/s", 22.7e3), ("25 GB/s", 18.9e3)]
)
def test_lengths_of_the_study_at_other_bandwidths(answer, bandwidth, tokens):
    found = answer(*STUDY, bandwidth)
    assert found["break_even_tokens"] == pytest.approx(tokens, abs=50)
    ((first, last),) = found["fetch_ranges"]
    assert (first, last) == (found["break_even_tokens"], None)


def test_the_shipped_deployment_is_the_same_question(answer, run):
    shipped = answer("breakeven", "--deployment", "glm-5.3-8xb300")
    typed = answer(*STUDY, "1.71 GB/s")
    assert {key: shipped[key] for key in KEYS} == {key: typed[key] for key in KEYS}
    (hit, *_) = shipped["published"]
    assert hit["difference"] == pytest.approx(-0.11, abs=0.005)
    code, out, _ = run("breakeven", "--deployment", "glm-5.3-8xb300")
    assert code == 0
    assert "2.53 GB/s" in out
    assert "-11.0%" in out


def test_flags_win_over_the_deployment(answer):
    found = answer("breakeven", "--deployment", "glm-5.3-8xb300", "--bandwidth", "5 GB/s")
    assert round(found["break_even_tokens"]) == 34_044


def test_another_question_loses_title_and_published_figures(run, answer):
    found = answer("breakeven", "--deployment", "glm-5.3-8xb300", "--tokens", "32k")
    assert found["published"] == []
    assert any("--tokens" in note for note in found["notes"])
    words = ("--shards", "4", "--shard-efficiency", "0.9")
    assert answer("breakeven", "--deployment", "glm-5.3-8xb300", *words)["published"] == []
    again = answer("breakeven", "--deployment", "glm-5.3-8xb300", "--bandwidth", "1.71GB/s")
    assert len(again["published"]) == 3
    code, _, err = run("breakeven", "llama-3.3-70b", "--deployment", "glm-5.3-8xb300")
    assert code == 2
    assert "whose prefill glm-5.3-8xb300.toml states" in err


def test_the_narrowest_part_of_the_path_is_named(answer):
    words = ("breakeven", "llama-3.3-70b", "--tokens", "16k", "--prefill", "16000=1s")
    found = answer(*words, "--bandwidth", "5 GB/s", "--link", "1 GB/s")
    assert found["bandwidth"] == 1e9
    assert any("limited by the link" in note for note in found["notes"])


def test_chunks_longer_than_the_prompt_fetch_nothing(run):
    words = ("breakeven", "llama-3.3-70b", "--tokens", "16k", "--prefill", "16000=1s")
    code, out, _ = run(*words, "--bandwidth", "50 GB/s", "--chunk", "100000")
    assert code == 0
    assert "too little of this prompt is stored" in out
    assert "always" not in out.split("fetching wins")[1].split("\n")[0]


def test_a_misfit_of_the_prefill_is_said(answer):
    words = ("breakeven", "qwen3-8b", "--tokens", "1k", "--bandwidth", "1 GB/s")
    found = answer(*words, "--prefill", "1000=1s", "--prefill", "1000=2s")
    assert any("misses a measured point by 50%" in note for note in found["notes"])


def test_repeated_lengths_are_one_row(answer):
    words = ("tiers", "llama-3.3-70b", "--prefill", "16000=0.31s", "--set", "bite-the-bullet")
    found = answer(*words, "--tokens", "8000,8k,8000")
    assert len(found["rows"]) == 4
    assert found["provenance"] == "assumed"
    assert found["notes"]


def test_always_is_zero_and_never_is_null(answer):
    words = ("breakeven", "llama-3.3-70b", "--tokens", "64k", "--prefill", "1000=0.07s")
    assert answer(*words, "--bandwidth", "10 GB/s")["break_even_tokens"] == 0
    assert answer(*words, "--bandwidth", "1 GB/s")["break_even_tokens"] is None


def test_a_tie_is_within_one_percent(answer):
    words = ("breakeven", "llama-3.3-70b", "--tokens", "1000", "--prefill", "1000=1s")
    # 327,680,000 bytes in one second, give or take
    assert answer(*words, "--bandwidth", "329 MB/s")["verdict"] == "tie"
    assert answer(*words, "--bandwidth", "335 MB/s")["verdict"] == "fetch"
    assert answer(*words, "--bandwidth", "320 MB/s")["verdict"] == "recompute"


def test_prefill_from_hardware_states_the_assumed_mfu(answer):
    words = ("breakeven", "llama-3.3-70b", "--tokens", "8000", "--bandwidth", "200 GB/s")
    words += ("--accelerator", "h100", "--gpus", "4", "--no-attention")
    found = answer(*words)
    # Biting the Bullet, experiment 1: 8,000 tokens on 4 x H100
    assert found["recompute_seconds"] == pytest.approx(0.5710819009100101, rel=1e-12)
    assert found["provenance"] == "assumed"
    assert any("MFU 0.5 is assumed" in note for note in found["notes"])
    assert not any("assumed; --mfu" in note for note in answer(*words, "--mfu", "50%")["notes"])


def test_budgets_set_the_exit_code(run):
    words = (*STUDY, "1.71 GB/s")
    assert run(*words, "--require", "recompute", "--max-ttft", "0.31s")[0] == 0
    code, out, _ = run(*words, "--require", "fetch", "--max-ttft", "0.3s")
    assert code == 1
    assert out.count("BUDGET MISSED") == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("breakeven",), "the model of the question is not known"),
        (("breakeven", "glm-5.3", "--bandwidth", "1 GB/s"), "add --tokens N"),
        (("breakeven", "glm-5.3", "--tokens", "1k"), "add --bandwidth"),
        ((*STUDY, "1.71"), "has no unit"),
        ((*STUDY, "-1 GB/s"), "--bandwidth -1 GB/s"),
        ((*STUDY, "nan GB/s"), "--bandwidth"),
        ((*STUDY, "0 GB/s"), "must be above 0"),
        ((*STUDY, "1 GB"), "--bandwidth 1 GB"),
        ((*STUDY, "1 GB/s", "--tokens", "0"), "--tokens 0"),
        ((*STUDY, "1 GB/s", "--overhead", "0.33"), "--overhead 0.33"),
        ((*STUDY, "1 GB/s", "--prefill", "16000"), "--prefill"),
        ((*STUDY, "1 GB/s", "--accelerator", "h100"), "does not go with --prefill"),
        ((*STUDY, "1 GB/s", "--mfu", "0.5"), "does not go with --prefill"),
        ((*STUDY, "1 GB/s", "--ranks", "0"), "--ranks 0 must be a whole number"),
        (
            (*TIERS, "--tier", "lab=3 GB/s", "--tier", "lab=5 GB/s"),
            "must be a new name",
        ),
        (("kv", "store_bandwidth"), "model 'store_bandwidth' is not known"),
        (("kv", "group_size.json"), "group_size.json: there is no such file"),
        (("tiers", "glm-5.3", "--prefill", "1k=1s", "--tier", "lab=3"), "--tier 3 has no unit"),
        ((*STUDY, "1 GB/s", "--shards", "8"), "shard"),
        ((*STUDY, "1 GB/s", "--per-key", "1 ms"), "chunk"),
        (("breakeven", "--deployment", "glm"), "the nearest are glm-5.3-8xb300"),
        (("breakeven", "--deployment", "no.toml"), "No such file"),
        (PLAIN, "--prefill 16000=0.31s"),
        (
            (*PLAIN, "--accelerator", "b300"),
            "add --gpus N",
        ),
        (
            ("tiers", "llama-3.3-70b", "--accelerator", "h100", "--gpus", "1"),
            "weights 141.2 GB exceed 80.0 GB of HBM on 1 x H100: use at least 2 accelerators or "
            "1 byte per weight (--gpus, --bytes-per-weight)",
        ),
        ((*PLAIN, "--accelerator", "l4", "--gpus", "99", "--compute-dtype", "fp4"), "fp4 peak"),
        ((*PLAIN, "--accelerator", "b300", "--gpus", "8", "--mfu", "2"), "--mfu 2"),
        ((*PLAIN, "--gpuss", "8"), "the nearest are --gpus"),
        (("tiers", "glm-5.3", "--prefill", "1k=1s", "--set", "hbm"), "the nearest are"),
        (("tiers", "glm-5.3", "--prefill", "1k=1s", "--tier", "x"), "lab=3 GB/s"),
        (("tiers", "glm-5.3", "--prefill", "1k=1s", "--tokens", "1k,,2k"), "--tokens"),
    ],
)
def test_bad_input_is_one_clear_line(run, words, said):
    code, out, err = run(*words)
    assert code == 2, out + err
    assert out == ""
    assert err.startswith("kvcost: ")
    assert err.count("\n") == 1
    assert said in err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tokens = 16000", "'tokens' is 16000"),
        ('tokns = "16000"', "unknown key 'tokns'"),
        ("tokens = ", "is not TOML"),
        ("prefill = [1]", "'prefill' is [1]"),
        ('mtp = "yes"\ntokens="1k"', "'mtp' is 'yes'"),
        ("[[published]]\nvalue = 3", "is not understood"),
        ('[[published]]\nquantity="x"\nvalue=true\nkind="y"', "is not understood"),
        ('[[published]]\nquantity="hit_seconds"\nvalue=0\nkind="model"', "is not understood"),
        ('[[published]]\nquantity="hit_seconds"\nvalue=nan\nkind="model"', "is not understood"),
        ('[[published]]\nquantity="hit_seconds"\nvalue=1\nkind="bogus"', "is not understood"),
        ('require = "foo"', "use one of fetch, recompute"),
        ("title = 3", "the title is no text"),
        ("published = 3", "is not understood"),
        ("\x00", "is not TOML"),
    ],
)
def test_bad_deployment_files_are_one_clear_line(run, tmp_path, text, said):
    path = tmp_path / "deployment.toml"
    path.write_text(text, encoding="utf-8")
    code, out, err = run("breakeven", "glm-5.3", "--deployment", str(path))
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert said in err


def test_tiers_reproduce_the_ladder_of_biting_the_bullet(answer, run):
    words = ("tiers", "llama-3.3-70b", "--tokens", "8000", "--accelerator", "h100")
    words += ("--gpus", "4", "--no-attention", "--set", "bite-the-bullet")
    found = {row["tier"]: row["ratio"] for row in answer(*words)["rows"]}
    # the study's figures for HBM, host RAM, RDMA and NVMe
    assert list(found.values()) == pytest.approx(
        [2919.196118238119, 47.927100448685536, 43.57009131698685, 1.52495319609454], rel=1e-12
    )
    code, out, _ = run(*words)
    assert code == 0
    assert "HBM" in out
    assert "recompute" in out


def test_tiers_of_ones_own_and_csv(run):
    words = ("tiers", "glm-5.3", "--prefill", "16000=0.31s", "--tokens", "16k,64k")
    code, out, _ = run(*words, "--tier", "lab=3 GB/s,20 ms", "--csv")
    rows = list(csv.DictReader(io.StringIO(out)))
    assert code == 0
    assert [row["tier"] for row in rows] == ["lab", "lab"]
    assert float(rows[0]["hit_seconds"]) == pytest.approx(0.02 + 16_000 * 92_628 / 3e9)


def test_the_default_ladder_names_what_is_left_out(run):
    code, out, _ = run("tiers", "glm-5.3", "--prefill", "16000=0.31s")
    assert code == 0
    assert "object store" in out
    assert "fixed time of object store is not known" in out
