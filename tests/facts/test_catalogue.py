import datetime
import math

import pytest

from kvcost import facts
from kvcost.errors import ConfigError, MissingFactError, UnknownNameError
from kvcost.facts import Calibration, Fact, Provenance, catalogue

UNITS = {"FLOP/s", "byte", "byte/s", "count", "W", "s", "ratio"}
ENTRIES = [(kind, name) for kind in facts.kinds() for name in facts.names(kind)]
STATED = ("accelerator", "link", "tier")


def test_kinds():
    assert facts.kinds() == (
        "accelerator",
        "link",
        "tier",
        "efficiency",
        "link efficiency",
        "store",
    )


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_every_fact_has_unit_source_date_and_grade(kind, name):
    entry = facts.get(kind, name)
    assert entry.title
    assert entry.facts
    for label, fact in entry.facts.items():
        assert fact.unit in UNITS, label
        assert math.isfinite(fact.value), label
        assert len(fact.source) > 10, label
        assert datetime.date(2026, 1, 1) <= fact.date <= datetime.date.today(), label
        assert isinstance(fact.provenance, Provenance)


@pytest.mark.parametrize(("kind", "name"), ENTRIES)
def test_data_sheets_and_calibrations_have_types_of_their_own(kind, name):
    wanted = Fact if kind in STATED else Calibration
    assert {type(fact) for fact in facts.get(kind, name).facts.values()} == {wanted}
    grades = {fact.provenance for fact in facts.get(kind, name).facts.values()}
    assert kind not in STATED or Provenance.MEASURED not in grades


@pytest.mark.parametrize("kind", facts.kinds())
def test_names_and_aliases_find_one_entry_each(kind):
    seen: dict[str, str] = {}
    for name in facts.names(kind):
        entry = facts.get(kind, name)
        assert entry.name == name
        for alias in (name, *entry.aliases):
            assert alias not in seen, (alias, seen[alias], name)
            seen[alias] = name
            assert facts.get(kind, alias.upper()).name == name


@pytest.mark.parametrize(
    "name",
    [
        *("a100", "h100", "h200", "h20", "h800", "b200", "b300", "gb200", "mi300x", "mi355x"),
        *("l40s", "a6000", "l20", "tpu-v6e", "tpu-v7x"),
    ],
)
def test_accelerators_that_the_measurements_name_are_there(name):
    assert facts.get("accelerator", name).value("hbm_bytes") > 0


# Read at the pages named, 2026-11-29; not the pages that the catalogue cites.
@pytest.mark.parametrize(
    ("name", "fact", "value"),
    [
        # FlashAttention-3, arXiv 2407.08608: 740 TFLOP/s are 75% of the peak
        ("h100", "peak_flops_bf16", pytest.approx(740e12 / 0.75, rel=0.005)),
        # jwlaboratory/inference-sim, config.py
        ("h100", "peak_flops_bf16", 989e12),
        ("h100", "hbm_bandwidth", 3.35e12),
        ("h100", "hbm_bytes", 80e9),
        ("b300", "peak_flops_bf16", 2250e12),
        ("b300", "hbm_bandwidth", 8e12),
        ("b300", "hbm_bytes", 288e9),
        # calculon-ai/calculon, systems/a100_80g.json
        ("a100", "peak_flops_bf16", 312e12),
        ("a100", "hbm_bandwidth", pytest.approx(2048e9, rel=0.01)),
        ("a100", "interconnect_bandwidth", 300e9),
        # NVIDIA DGX H100: 32 PFLOPS FP8 with sparsity for eight
        ("h100", "peak_flops_fp8", pytest.approx(32e15 / 8 / 2, rel=0.02)),
        # NVIDIA GB200 NVL72: 13.4 TB and 576 TB/s for 72 GPUs
        ("gb200", "hbm_bytes", pytest.approx(13.4e12 / 72, rel=0.005)),
        ("gb200", "hbm_bandwidth", pytest.approx(576e12 / 72, rel=0.005)),
        # NVIDIA GB300 NVL72: 360 PFLOPS FP8 dense for 72 GPUs
        ("gb300", "peak_flops_fp8", pytest.approx(360e15 / 72, rel=0.005)),
        # NVIDIA HGX B300: 36 PFLOPS BF16 with sparsity for eight
        ("b300", "peak_flops_bf16", pytest.approx(36e15 / 8 / 2, rel=0.005)),
        # alpharomercoma/MI300X-vs-H200, METHODOLOGY.md
        ("h200", "peak_flops_bf16", pytest.approx(989.4e12, rel=0.001)),
        ("mi300x", "peak_flops_fp8", 2614.9e12),
        # Google Cloud, TPU v6e pod of 256: 234.9 PFLOPs
        ("tpu-v6e", "peak_flops_bf16", pytest.approx(234.9e15 / 256, rel=0.001)),
        # Google Cloud, TPU v5e pod of 256: 50.63 PFLOPs
        ("tpu-v5e", "peak_flops_bf16", pytest.approx(50.63e15 / 256, rel=0.005)),
    ],
)
def test_data_sheet_numbers_against_other_pages(name, fact, value):
    assert facts.get("accelerator", name).value(fact) == value


@pytest.mark.parametrize("name", facts.names("accelerator"))
def test_no_peak_counts_sparsity(name):
    """FP8 and INT8 run at twice bf16 (or less), FP4 at no more than eight times it."""
    peaks = facts.get("accelerator", name).facts
    bf16 = peaks["peak_flops_bf16"].value
    for label, most in (("peak_flops_fp8", 2.03), ("peak_flops_int8", 4.01)):
        if label in peaks:
            assert peaks[label].value <= most * bf16
    if "peak_flops_fp4" in peaks:
        assert peaks["peak_flops_fp4"].value <= 8 * bf16
    balance = bf16 / peaks["hbm_bandwidth"].value
    assert 30 < balance < 600


@pytest.mark.parametrize(
    ("name", "gigabytes"),
    # PCI-SIG frequently asked questions and the 802.3 rates, as usually printed
    [("pcie3-x16", 15.75), ("pcie4-x16", 31.5), ("pcie5-x16", 63.0), ("400g", 50.0)],
)
def test_line_rates(name, gigabytes):
    assert facts.get("link", name).value("bandwidth") == pytest.approx(gigabytes * 1e9, rel=0.001)


def test_the_studys_tiers():
    # jwlaboratory/bite-the-bullet, 1-prefill-vs-transfer/results.json
    found = [facts.get("tier", f"bite-the-bullet-{n}") for n in ("hbm", "ram", "rdma", "nvme")]
    assert [tier.value("bandwidth") for tier in found] == [13.4e12, 220e9, 200e9, 7e9]
    assert [tier.attributes["shared"] for tier in found] == [False, False, False, True]


def test_the_studys_mfu_is_named_as_its_assumption():
    entry = facts.get("efficiency", "bite-the-bullet-mfu")
    assert entry.value("ratio") == 0.5
    assert entry.provenance is Provenance.ASSUMED


def test_stores_agree_with_the_published_measurements():
    published = facts.published("glm-5.3-remote-kv", quantity="bandwidth")
    assert [row.value for row in published] == [
        facts.get("store", name).value("bandwidth") for name in ("valkey-1", "valkey-8")
    ]
    rows = facts.measurements(study="lmcache-resp-redis82", quantity="bandwidth")
    names = ("redis-82-1mb", "redis-82-4mb", "redis-82-8mb", "redis-60")
    assert [row.value for row in rows] == [
        facts.get("store", name).value("bandwidth") for name in names
    ]


@pytest.mark.parametrize(
    ("kind", "name", "near"),
    [
        ("accelerator", "h1000", "h100"),
        ("accelerator", "B-300", "b300"),
        ("link", "pcie-5", "pcie5-x16"),
        ("store", "valky", "valkey"),
    ],
)
def test_unknown_names_list_the_nearest_three(kind, name, near):
    with pytest.raises(UnknownNameError) as caught:
        facts.get(kind, name)
    assert caught.value.kind == kind
    assert near in caught.value.nearest
    assert 1 <= len(caught.value.nearest) <= 3


@pytest.mark.parametrize("name", [None, 3, "", "../etc"])
def test_names_that_are_none(name):
    with pytest.raises(UnknownNameError):
        facts.get("accelerator", name)


def test_unknown_kind():
    with pytest.raises(UnknownNameError) as caught:
        facts.names("accelerators")
    assert "accelerator" in caught.value.nearest


def test_a_fact_that_nobody_stated():
    with pytest.raises(MissingFactError) as caught:
        facts.get("accelerator", "a100").value("peak_flops_fp8")
    assert caught.value.fact == "peak_flops_fp8"
    assert "a100-80gb-sxm" in caught.value.subject


def test_rows_list_everything_once():
    rows = facts.rows()
    assert len(rows) == len({(row.kind, row.name, row.fact) for row in rows})
    assert {row.kind for row in rows} == set(facts.kinds())
    assert facts.rows("link", "cx7")[0].value == 50e9


def test_missing_data_is_a_typed_error():
    with pytest.raises(ConfigError) as caught:
        facts.data_path("catalogue", "nowhere.toml")
    assert caught.value.path == "data/catalogue/nowhere.toml"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kind = 'link'",
        "kind = ",
        "kind = 'link'\nprovenance = 'rumour'\n[units]\nx = 's'\n[sources.a]\nname = 'n'\n"
        "address = 'a'\ndate = 2026-01-01\n[entries.b]\ntitle = 't'\nsource = 'a'\nx = 1",
        "kind = 'link'\nprovenance = 'assumed'\n[units]\nx = 's'\n[sources]\n[entries.b]\n"
        "title = 't'\nsource = 'a'\nx = 1",
    ],
)
def test_a_broken_catalogue_file_is_a_typed_error(tmp_path, monkeypatch, text):
    (tmp_path / "broken.toml").write_text(text)
    monkeypatch.setattr(catalogue, "data_path", lambda *_: tmp_path)
    with pytest.raises(ConfigError, match="not a catalogue file"):
        catalogue._catalogue.__wrapped__()


def test_no_source_names_a_path_of_a_machine():
    for row in facts.rows():
        for text in (row.source, row.note, row.title):
            assert not text.startswith("/")
            assert " /" not in text
