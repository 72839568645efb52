import collections

import pytest

from kvcost import facts
from kvcost.errors import ConfigError, UnknownNameError
from kvcost.facts import tables

UNITS = {
    "s",
    "byte",
    "byte/s",
    "token",
    "token/s",
    "request",
    "request/s",
    "count",
    "ratio",
    "s/token",
    "s/token^2",
    "byte/token",
}
KINDS = {"measured", "reported", "simulated", "fitted", "model", "computed"}


def only(**filters):
    (row,) = facts.measurements(**filters)
    return row


def test_every_published_measurement_is_there():
    # as many as were gathered, by study
    counts = collections.Counter(row.study for row in facts.measurements())
    assert sum(counts.values()) == 402
    assert len(counts) == 39
    assert counts["mooncake-pd-qwen3-8b-h800"] == 36
    assert counts["llm-d-tiered-gpt-oss-16xh100"] == 32
    assert counts["llm-d-p2p-glm-5.2-h200"] == 17


def test_rows_are_in_base_units_with_source():
    statistics = {"", "mean", "p50", "p90", "p95", "p99", "max", "low", "high", "steady"}
    for row in facts.measurements():
        assert row.unit in UNITS, row
        assert row.kind in KINDS, row
        assert row.source, row
        assert row.quantity, row
        assert not (row.tier and row.policy), row
        assert row.tokens is None or row.tokens >= 1, row
        assert row.statistic in statistics, row


def test_sizes_that_were_printed_in_the_wrong_unit():
    """4.50 "GB" of Qwen3-8B at 32,768 tokens are 147,456 bytes a token, hence GiB (Mooncake)."""
    rows = facts.measurements(study="mooncake-pd-qwen3-8b-h800", quantity="kv_bytes")
    assert rows[-1].value / rows[-1].tokens == 147_456
    assert all("GiB" in row.note for row in rows)
    speeds = facts.measurements(study="mooncake-pd-qwen3-8b-h800", quantity="bandwidth")
    times = facts.measurements(study="mooncake-pd-qwen3-8b-h800", quantity="transfer_time")
    for size, speed, time in zip(rows, speeds, times, strict=True):
        assert speed.value == pytest.approx(size.value / time.value, rel=0.03)


@pytest.mark.parametrize(
    ("filters", "values"),
    [
        # llm-d/llm-d, guides/p2p-kv-cache-sharing/benchmark-results/glm-5.2-h200.md
        (
            {"study": "llm-d-p2p-glm-5.2-h200", "tier": "recompute"},
            {8070: 1.0, 13648: 1.74, 21617: 2.76, 34214: 4.51, 48109: 6.38, 65111: 8.78}
            | {98220: 13.75},
        ),
        # llm-d/llm-d, guides/p2p-kv-cache-sharing/benchmark-results/gpt-oss-120b-h200.md
        (
            {"study": "llm-d-p2p-gpt-oss-h200", "quantity": "prefill_time"},
            {2048: 0.0706, 8192: 0.2054, 16384: 0.4263, 32768: 0.983, 49152: 1.695},
        ),
        (
            {"study": "llm-d-p2p-gpt-oss-h200", "quantity": "load_time"},
            {2048: 0.049, 8192: 0.1201, 16384: 0.1962, 32768: 0.3763, 49152: 0.5505},
        ),
        # LMCache/LMCache PR 2790
        (
            {"study": "lmcache-valkey-p4de", "tier": "valkey", "quantity": "ttft"},
            {8192: 0.421, 65024: 2.527},
        ),
    ],
)
def test_times_by_length(filters, values):
    assert {row.tokens: row.value for row in facts.measurements(**filters)} == values


def test_spot_values():
    ssd = facts.measurements(study="pegaflow-prod", tier="nvme")
    assert [(row.statistic, row.value) for row in ssd] == [("max", 6.9e9), ("steady", 6.55e9)]
    square = only(
        study="preble-mistral7b-a6000", quantity="attention_time_per_token_squared", kind="fitted"
    )
    assert square.value == pytest.approx(2.16e-9, rel=1e-12)
    tie = facts.measurements(study="llm-d-p2p-glm-5.2-h200", quantity="break_even_tokens")
    assert [row.value for row in tie] == [13648]
    corrected = [row for row in facts.measurements(quantity="prefill_rate") if row.note]
    assert [row.value for row in corrected] == [15360]


def test_simulated_and_abstract_rows_say_so():
    assert {row.study for row in facts.measurements(kind="simulated")} == {
        "bite-the-bullet-bursted-art",
        "netkv",
    }
    assert {row.study for row in facts.measurements(kind="reported")} == {
        "objectcache",
        "lmetric",
        "lodestar",
        "move-the-query",
        "cake",
    }


@pytest.mark.parametrize("field", ["study", "quantity", "tier", "policy", "statistic", "kind"])
def test_unknown_values_list_the_nearest(field):
    with pytest.raises(UnknownNameError) as caught:
        facts.measurements(**{field: "nowhere"})
    assert field in caught.value.kind
    assert 1 <= len(caught.value.nearest) <= 3


def test_known_values_that_never_meet_give_nothing():
    assert facts.measurements(study="cake", tier="valkey") == ()


def test_the_seed_studies():
    assert facts.studies() == ("bite-the-bullet", "glm-5.3-remote-kv")
    assert len(facts.published("glm-5.3-remote-kv")) == 24
    assert len(facts.published("bite-the-bullet")) == 67
    kinds = {row.kind for study in facts.studies() for row in facts.published(study)}
    assert kinds == {"measured", "simulated", "computed", "model", "rounded", "definition"}
    units = {row.unit for study in facts.studies() for row in facts.published(study)}
    assert units <= UNITS


def test_the_rounded_figure_says_so():
    (row,) = facts.published("bite-the-bullet", quantity="kv_bytes")
    assert row.kind == "rounded"
    assert row.value == 2.5 * 2**30
    (each,) = facts.published("bite-the-bullet", quantity="kv_bytes_per_token")
    assert round(row.tokens * each.value / 2**30, 2) == 2.44
    assert "2.44 GiB" in row.note


def test_words_instead_of_a_number():
    rows = facts.published("bite-the-bullet", quantity="deep_sync_fanout")
    assert [(row.value, row.text) for row in rows] == [
        (2, ""),
        (25, ""),
        (None, "not measurable"),
    ]


def test_the_published_ladder_is_consistent():
    for tokens in (500, 1000, 2000, 8000, 16000, 32000):
        (prefill,) = facts.published("bite-the-bullet", quantity="prefill_time", tokens=tokens)
        ratios = {
            row.condition: row.value
            for row in facts.published("bite-the-bullet", quantity="prefill_over_transfer")
        }
        moves = facts.published("bite-the-bullet", quantity="transfer_time", tokens=tokens)
        assert len(moves) == 4
        for row in moves:
            assert prefill.value / row.value == pytest.approx(ratios[row.condition], rel=1e-12)


def test_unknown_study_and_quantity():
    with pytest.raises(UnknownNameError) as caught:
        facts.published("biting-the-bullet")
    assert "bite-the-bullet" in caught.value.nearest
    with pytest.raises(UnknownNameError):
        facts.published("bite-the-bullet", quantity="happiness")


def test_a_table_with_other_columns_is_a_typed_error(tmp_path):
    path = tmp_path / "wrong.csv"
    path.write_text("study,value\na,1\n")
    with pytest.raises(ConfigError, match="columns"):
        tables._read(path, facts.Measurement, {})
