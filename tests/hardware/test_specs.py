import dataclasses
import math
import pickle

import pytest

from kvcost import facts
from kvcost.errors import (
    InvalidValueError,
    KvcostError,
    MissingFactError,
    UnitError,
    UnknownNameError,
)
from kvcost.facts import Provenance
from kvcost.hardware import (
    Accelerator,
    Efficiency,
    Link,
    Store,
    Tier,
    accelerator,
    efficiency,
    link,
    store,
    tier_sets,
    tiers,
)

BAD_NUMBERS = [0, -1, math.nan, math.inf, -math.inf, True, None, [1], 1e30]


def own_accelerator(**changes):
    stated = {
        "name": "mine",
        "peak_flops": {"bf16": 1e14},
        "hbm_bytes": 80e9,
        "hbm_bandwidth": 3e12,
        "provenance": Provenance.ASSUMED,
    }
    return Accelerator(**{**stated, **changes})


@pytest.mark.parametrize("name", facts.names("accelerator"))
def test_every_accelerator_of_the_catalogue_loads(name):
    part = accelerator(name)
    assert part.name == name
    assert part.peak("bf16") == part.peak("fp16") > 0
    assert part.provenance is Provenance.DATA_SHEET


@pytest.mark.parametrize("name", facts.names("link"))
def test_every_link_of_the_catalogue_loads(name):
    assert link(name).bandwidth > 1e9


@pytest.mark.parametrize("name", facts.names("store"))
def test_every_store_of_the_catalogue_loads(name):
    assert store(name).bandwidth > 1e8


@pytest.mark.parametrize("name", facts.names("link efficiency") + facts.names("efficiency"))
def test_every_calibration_loads_or_says_what_it_lacks(name):
    lacks_line_rate = (
        name in facts.names("link efficiency")
        and "of" not in facts.get("link efficiency", name).attributes
    )
    if lacks_line_rate:
        with pytest.raises(MissingFactError, match="the line rate"):
            efficiency(name)
    else:
        assert 0 < efficiency(name).ratio <= 1


def test_the_studys_node():
    """Biting the Bullet: 4 x H100, 13.4 TB/s of HBM, 1.98 PFLOP/s at half the peak."""
    part = accelerator("h100")
    assert 4 * part.hbm_bandwidth == tiers("bite-the-bullet")[0].bandwidth == 13.4e12
    share = efficiency("bite-the-bullet-mfu")
    assert 4 * part.peak("bf16") * share.ratio == 1978e12
    assert share.provenance is Provenance.ASSUMED


def test_a_label_is_the_name_that_was_asked_for():
    assert accelerator("h100").label == "H100"
    assert own_accelerator().label == "MINE"


def test_no_peak_is_taken_from_another_dtype():
    with pytest.raises(MissingFactError) as caught:
        accelerator("a100").peak("fp8")
    assert "fp8" in caught.value.fact
    assert "bf16" in caught.value.remedy


@pytest.mark.parametrize("dtype", ["fp32", "", "BF16", "float8"])
def test_unknown_compute_dtypes(dtype):
    with pytest.raises(InvalidValueError, match="compute dtype"):
        accelerator("h100").peak(dtype)
    with pytest.raises(InvalidValueError, match="compute dtype"):
        own_accelerator(peak_flops={dtype: 1e14})


@pytest.mark.parametrize("value", BAD_NUMBERS)
@pytest.mark.parametrize("field", ["hbm_bytes", "hbm_bandwidth", "interconnect_bandwidth"])
def test_accelerator_numbers(field, value):
    if field == "interconnect_bandwidth" and value is None:
        return  # not stated
    with pytest.raises(InvalidValueError) as caught:
        own_accelerator(**{field: value})
    assert caught.value.field == field
    assert caught.value.bound
    assert caught.value.remedy


@pytest.mark.parametrize("value", BAD_NUMBERS)
def test_accelerator_peaks(value):
    with pytest.raises(InvalidValueError, match="peak_flops bf16"):
        own_accelerator(peak_flops={"bf16": value})


def test_texts_with_units_are_read_and_wrong_ones_refused():
    assert own_accelerator(hbm_bytes="80 GB", hbm_bandwidth="3.35 TB/s").hbm_bandwidth == 3.35e12
    with pytest.raises(UnitError):
        own_accelerator(hbm_bytes="80 GB/s")
    with pytest.raises(UnitError):
        Link(name="mine", bandwidth="400 GB", provenance="assumed")


def test_specs_are_frozen_and_survive_copying():
    for spec in (link("cx7"), store("valkey"), *tiers("bite-the-bullet")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            spec.bandwidth = 1.0
        assert pickle.loads(pickle.dumps(spec)) == spec
    part = accelerator("h100")
    assert dataclasses.replace(part, hbm_bytes=94e9).hbm_bytes == 94e9
    with pytest.raises(TypeError):
        part.peak_flops["bf16"] = 1.0


def test_links_add_up():
    assert link("cx7").times(8).bandwidth == link("rdma-8x400g").bandwidth
    with pytest.raises(InvalidValueError, match="count"):
        link("cx7").times(0)


def test_line_rate_and_achieved_rate_stay_apart():
    """vLLM blog 2026-05-18: 194 GB/s on average over 8 x 400 Gb/s, which are 400 GB/s."""
    found = efficiency("rdma-8x400g-average")
    assert found.ratio == 194 / 400
    assert found.of == "rdma-8x400g"
    assert found.provenance is Provenance.DATA_SHEET  # weakest: the line rate
    assert link("rdma-8x400g").bandwidth == 400e9


@pytest.mark.parametrize("name", ["pcie5-both-ways-dma", "nvme-steady"])
def test_an_achieved_rate_without_line_rate(name):
    with pytest.raises(MissingFactError, match="line rate"):
        efficiency(name)


@pytest.mark.parametrize("ratio", [0, -0.5, 1.5, math.nan, True])
def test_efficiencies_are_shares(ratio):
    with pytest.raises(InvalidValueError, match="ratio"):
        Efficiency(name="mine", ratio=ratio, of="x", provenance="assumed")


def test_valkey_instances():
    """GLM-5.3 study: 1.71 GB/s with one instance, 10.76 with eight, 6.3 times."""
    one, eight = store("valkey-1"), store("valkey-8")
    assert one.shard_bandwidth == one.bandwidth == 1.71e9
    assert round(eight.bandwidth / one.bandwidth, 1) == 6.3
    assert eight.shard_bandwidth == 10.76e9 / 8
    assert one.overhead_seconds == 0.33
    assert one.provenance is Provenance.ASSUMED  # weakest: the overhead is the study's fit
    assert eight.provenance is Provenance.MEASURED


def test_a_shard_of_an_unknown_number():
    with pytest.raises(MissingFactError, match="number of shards"):
        _ = store("mooncake-rdma").shard_bandwidth


@pytest.mark.parametrize("value", [-1, math.nan, math.inf, True, 1e6])
@pytest.mark.parametrize("field", ["overhead_seconds", "key_seconds"])
def test_store_times(field, value):
    with pytest.raises(InvalidValueError) as caught:
        Store(name="mine", bandwidth=1e9, provenance="assumed", **{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize("shards", [0, -1, 2.5, math.nan, math.inf, True, "2", 10**9])
def test_store_shards(shards):
    with pytest.raises(InvalidValueError, match="shards"):
        Store(name="mine", bandwidth=1e9, provenance="assumed", shards=shards)


def test_tiers():
    assert tier_sets() == ("bite-the-bullet", "object-store")
    ladder = tiers("bite-the-bullet")
    assert [tier.medium for tier in ladder] == ["HBM", "host RAM", "RDMA", "NVMe"]
    assert sorted(ladder, key=lambda tier: -tier.bandwidth) == list(ladder)
    assert [tier.overhead() for tier in ladder] == [0, 0, 0, 0]
    assert [str(tier.provenance) for tier in ladder] == [
        "data sheet",
        "assumed",
        "data sheet",
        "assumed",
    ]


def test_an_overhead_that_nobody_stated():
    (tier,) = tiers("object-store")
    with pytest.raises(MissingFactError, match="fixed time"):
        tier.overhead()


def test_a_tier_says_whether_it_is_shared():
    with pytest.raises(InvalidValueError, match="shared"):
        Tier(name="mine", bandwidth=1e9, provenance="assumed", medium="NVMe", shared="yes")


@pytest.mark.parametrize("name", ["", " ", None, 3])
def test_names(name):
    with pytest.raises(InvalidValueError, match="name"):
        Link(name=name, bandwidth=1e9, provenance="assumed")


@pytest.mark.parametrize("load", [accelerator, link, store, efficiency, tiers])
@pytest.mark.parametrize("name", ["nowhere", "", "h-100 "])
def test_unknown_names(load, name):
    if load is accelerator and name == "h-100 ":
        name = "h-1000"
    with pytest.raises(UnknownNameError) as caught:
        load(name)
    assert isinstance(caught.value, KvcostError)
    assert len(caught.value.nearest) >= 1
