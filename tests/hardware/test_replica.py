import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvcost.errors import CapacityError, InvalidValueError
from kvcost.facts import Provenance
from kvcost.hardware import Replica, accelerator
from kvcost.hardware.formulas import kv_capacity

LLAMA_70B = 141.2e9  # 70.6e9 parameters at 2 bytes
REQUEST = 65_536 + 256 + 1  # prompt and one output token


def replica(**changes):
    stated = {"accelerator": accelerator("h100"), "count": 4, "tp": 4, "weight_bytes": LLAMA_70B}
    return Replica(**{**stated, **changes})


@pytest.mark.parametrize(
    ("name", "count", "weights", "kv", "fit"),
    # jwlaboratory/inference-sim, commit 547d2d5: set-ups, and the sequences that fit
    [
        ("h100", 4, 70.6e9 * 2, 2 * 80 * 8 * 128 * 2, 8),
        ("h100", 4, 8.19e9 * 2, 2 * 36 * 8 * 128 * 2, 31),
        ("h100", 8, 744e9 * 0.5, 2 * 78 * 1 * 288 * 0.5, 181),
        ("b300", 4, 1e12 * 1, 2 * 120 * 8 * 128 * 1, 9),
    ],
)
def test_sequences_that_fit(name, count, weights, kv, fit):
    node = replica(accelerator=accelerator(name), count=count, tp=count, weight_bytes=weights)
    assert node.sequences_that_fit(kv_bytes_per_token=kv, tokens=REQUEST) == fit


@pytest.mark.parametrize(
    ("gibibytes", "kv", "tokens", "block"),
    [
        # vLLM's log of gpt-oss-120b: 5.38 GiB, 78,384 tokens (hf-mem issue 60)
        (5.38, 73_728, 78_384, 16),
        # SGLang's log of DeepSeek-V3.2 with fp8 KV and index: 43.67 GiB, 975,424 tokens (PR 11309)
        (43.67, 48_068, 975_424, 64),
    ],
)
def test_capacity_that_engines_log(gibibytes, kv, tokens, block):
    """Engines print two decimals and whole blocks; within these the figures are the same."""
    low, high = (
        kv_capacity(
            kv_budget_bytes=(gibibytes + printed) * 2**30,
            kv_bytes_per_token=kv,
            requests=1,
            state_bytes=0,
        )
        for printed in (-0.005, 0.005)
    )
    assert low - block < tokens <= high


def test_aggregates():
    """Biting the Bullet: 13.4 TB/s and 3.956 PFLOP/s of a node of 4 x H100."""
    node = replica()
    assert node.hbm_bandwidth == 13.4e12
    assert node.peak_flops("bf16") == 3956e12
    assert node.hbm_bytes == 320e9
    assert node.kv_budget_bytes() == pytest.approx(178.8e9)


def test_weights_that_do_not_fit():
    alone = replica(count=1, tp=1, bytes_per_weight=2)
    with pytest.raises(CapacityError) as caught:
        alone.check_fit()
    assert str(caught.value) == (
        "weights 141.2 GB exceed 80.0 GB of HBM on 1 x H100: "
        "use at least 2 accelerators or 1 byte per weight"
    )
    alone.with_count(2).check_fit()
    for ask in (
        alone.kv_budget_bytes,
        lambda: alone.kv_capacity_tokens(kv_bytes_per_token=1),
        lambda: alone.sequences_that_fit(kv_bytes_per_token=1, tokens=1),
    ):
        with pytest.raises(CapacityError):
            ask()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, "use at least 2 accelerators"),
        ({"weight_bytes": 160e9, "bytes_per_weight": 2}, "3 accelerators or 0.5 bytes per weight"),
        ({"weight_bytes": 2e12, "bytes_per_weight": 0.5}, "use at least 26 accelerators"),
        ({"hbm_share": 0.9}, "exceed 90% of the 80.0 GB of HBM on 1 x H100"),
    ],
)
def test_what_the_message_says(changes, message):
    with pytest.raises(CapacityError) as caught:
        replica(count=1, tp=1, **changes).check_fit()
    assert message in str(caught.value)
    assert ("per weight" in str(caught.value)) == ("per weight" in message)


def test_each_copy_of_the_weights_must_fit_its_own_accelerators():
    with pytest.raises(CapacityError, match="on 1 x H100"):
        replica(count=4, tp=1, dp=4).check_fit()
    both = replica(count=4, tp=2, dp=2)
    assert both.kv_budget_bytes() == pytest.approx(320e9 - 2 * LLAMA_70B)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"tp": 3}, "tp"),
        ({"tp": 8}, "tp"),
        ({"tp": 2, "pp": 3}, "pp"),
        ({"tp": 2}, "tp x pp x dp"),
        ({"tp": 4, "dp": 2}, "tp x pp x dp"),
    ],
)
def test_degrees_that_do_not_divide(changes, field):
    with pytest.raises(InvalidValueError) as caught:
        replica(**changes)
    assert caught.value.field == field
    assert "4 accelerators" in caught.value.bound


@pytest.mark.parametrize("value", [0, -4, 2.5, math.nan, math.inf, True, "4", None, 10**7])
@pytest.mark.parametrize("field", ["count", "tp", "pp", "dp"])
def test_counts(field, value):
    with pytest.raises(InvalidValueError) as caught:
        replica(**{field: value})
    assert caught.value.field == field


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, True, "141 GB/s", 1e30])
@pytest.mark.parametrize("field", ["weight_bytes", "bytes_per_weight", "hbm_share"])
def test_sizes(field, value):
    with pytest.raises(InvalidValueError) as caught:
        replica(**{field: value})
    assert caught.value.field == field


def test_an_accelerator_is_a_spec_not_a_name():
    with pytest.raises(InvalidValueError, match="accelerator"):
        replica(accelerator="h100")


@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, "1 token"])
def test_bytes_per_token(value):
    with pytest.raises(InvalidValueError, match="kv_bytes_per_token"):
        replica().kv_capacity_tokens(kv_bytes_per_token=value)


def test_fixed_bytes_count_for_each_request():
    node = replica()
    room = node.kv_budget_bytes()
    free = node.kv_capacity_tokens(kv_bytes_per_token=1e3)
    held = node.kv_capacity_tokens(
        kv_bytes_per_token=1e3, fixed_bytes_per_request=1e9, requests=100
    )
    assert free - held == 100 * 1e9 / 1e3
    with pytest.raises(CapacityError, match="at most 178 requests"):
        node.kv_capacity_tokens(kv_bytes_per_token=1e3, fixed_bytes_per_request=1e9, requests=200)
    alone = node.sequences_that_fit(
        kv_bytes_per_token=1e3, tokens=1, fixed_bytes_per_request=0.75 * room
    )
    assert alone == 1


def test_provenance_is_the_weakest():
    assert replica().provenance is Provenance.ASSUMED
    stated = replica(weights_provenance=Provenance.MEASURED)
    assert stated.provenance is Provenance.DATA_SHEET


@given(
    count=st.integers(1, 64),
    weights=st.floats(1e9, 5e12),
    kv=st.floats(1e3, 4e6),
    tokens=st.integers(1, 1_000_000),
)
def test_what_is_said_to_fit_fits(count, weights, kv, tokens):
    node = replica(count=count, tp=count, weight_bytes=weights)
    try:
        held = node.sequences_that_fit(kv_bytes_per_token=kv, tokens=tokens)
    except CapacityError as error:
        needed = int(str(error.remedy).split()[3])
        assert needed > count
        node.with_count(needed).check_fit()
        with pytest.raises(CapacityError):
            node.with_count(needed - 1).check_fit()
        return
    free = node.kv_budget_bytes()
    # the floor snaps within 1e-9 of a whole number
    assert held * kv * tokens <= free * (1 + 1e-8)
    assert (held + 1) * kv * tokens > free * (1 - 1e-8)
    room = node.kv_capacity_tokens(kv_bytes_per_token=kv)
    assert held * tokens <= room * (1 + 1e-8) + 1
