"""Generated workloads: times, lengths, popularity, and what they share."""

import math

import numpy as np
import pytest

from kvcost.errors import InvalidValueError
from kvcost.workload import (
    Fixed,
    GammaGaps,
    Geometric,
    Lognormal,
    OnOff,
    PoissonGaps,
    background,
    even_burst,
    poisson_burst,
    sharing_audit,
    uniform_burst,
    window,
    zipf_shares,
)


@pytest.mark.parametrize(("spacing", "gap"), [("inclusive", 60 / 499), ("exclusive", 60 / 500)])
def test_even_burst(spacing, gap):
    burst = even_burst(requests=500, span=60.0, shared_tokens=65_536, spacing=spacing)
    assert np.allclose(np.diff(burst.arrival), gap, rtol=1e-9)
    assert burst.arrival[0] == 0
    if spacing == "inclusive":
        assert burst.arrival[-1] == 60.0


@pytest.mark.parametrize("spacing", ["inclusive", "exclusive"])
def test_a_burst_of_one(spacing):
    assert even_burst(requests=1, span=9.0, shared_tokens=512, spacing=spacing).arrival == [0.0]
    assert poisson_burst(requests=1, span=9.0, shared_tokens=512, rng=1).arrival == [0.0]
    assert uniform_burst(requests=1, span=9.0, shared_tokens=512, rng=1).arrival == [0.0]


def test_poisson_burst_has_a_mean_gap_of_span_over_requests_less_one():
    spans = [
        poisson_burst(requests=201, span=50.0, shared_tokens=512, rng=seed).duration
        for seed in range(400)
    ]
    # the length is a sum of 200 gaps of 0.25 s: its deviation is 0.25 sqrt(200)
    assert np.mean(spans) == pytest.approx(50.0, abs=3.5 * 0.25 * math.sqrt(200 / 400))


def test_the_same_seed_gives_the_same_requests():
    one, two, other = (window(rng=seed) for seed in (1, 1, 2))
    assert one.arrival.tolist() == two.arrival.tolist()
    assert one.arrival.tolist() != other.arrival.tolist()


def test_a_window_of_the_study():
    # 8 x 500 requests and 120 decoys; starts from 20 s on, 40 s apart, give or take 2
    # (github.com/jwlaboratory/bite-the-bullet, 26dd06a)
    made = window(rng=7)
    assert len(made) == 4120
    starts = [made.arrival[made.group == j].min() for j in range(8)]
    assert np.all(np.abs(starts - (20 + 40 * np.arange(8))) <= 2)
    for j in range(8):
        assert np.allclose(np.diff(made.arrival[made.group == j]), 60 / 499)
    alone = made.arrival[made.group >= 8]
    assert alone.size == 120
    assert alone.min() >= 14
    assert alone.max() <= 340
    # each request: 256 shared blocks and one of its own
    assert sharing_audit(made).unique_blocks == 128 * 256 + 4120


def test_runs_and_blocks_share_the_same():
    runs, blocks = (
        window(bursts=2, burst_requests=30, decoys=4, rng=5, compact=c) for c in (True, False)
    )
    assert sharing_audit(runs) == sharing_audit(blocks)
    assert runs.blocks.tolist() == blocks.blocks.tolist()


def test_a_prefix_that_is_no_whole_number_of_blocks_shares_whole_blocks_only():
    burst = even_burst(requests=2, span=1.0, shared_tokens=600, suffix_tokens=100)
    found = sharing_audit(burst)
    # 700 tokens: 2 shared blocks, the rest is no whole block
    assert (found.blocks, found.unique_blocks) == (4, 2)
    assert burst.extra_blocks.tolist() == [1, 1]


@pytest.mark.parametrize("gaps", [PoissonGaps(), GammaGaps(scv=4.0), OnOff(on=0.3, off=0.5)])
def test_streams_have_their_rate(gaps):
    rates = [
        len(background(rate=20.0, duration=200.0, prompt=100, gaps=gaps, rng=seed)) / 200
        for seed in range(30)
    ]
    error = np.std(rates, ddof=1) / math.sqrt(30)
    assert np.mean(rates) == pytest.approx(20.0, abs=3.5 * error)


def test_variation_of_gaps():
    # interrupted Poisson process: a hyperexponential of two phases with these moments
    on, off, rate = 0.3, 0.5, 20.0
    peak = rate * (on + off) / on
    leave, back = 1 / on, 1 / off
    second = 2 * ((1 + leave / back) ** 2 / peak**2 + leave / (peak * back**2))
    expected = second * rate**2 - 1
    for gaps, scv in (
        (PoissonGaps(), 1.0),
        (GammaGaps(scv=4.0), 4.0),
        (OnOff(on=on, off=off), expected),
    ):
        stream = background(rate=rate, requests=400_000, prompt=100, gaps=gaps, rng=3)
        assert stream.summary().gap_scv == pytest.approx(scv, rel=0.03)


def test_zipf_popularity():
    shares = zipf_shares(groups=4, exponent=1.0)
    assert shares.tolist() == pytest.approx([12 / 25, 6 / 25, 4 / 25, 3 / 25])
    stream = background(
        rate=10.0, requests=50_000, prompt=256, shared_tokens=512, groups=4, exponent=1.0, rng=2
    )
    counts = np.bincount(stream.group) / 50_000
    assert counts.tolist() == pytest.approx(shares.tolist(), abs=0.01)
    # nobody shares: every prompt is its own
    assert sharing_audit(background(rate=1.0, requests=50, prompt=600, rng=1)).hit_ratio == 0


def test_lengths():
    rng = np.random.default_rng(1)
    assert set(Fixed(7).sample(rng, 10).tolist()) == {7}
    geometric = Geometric(mean=300).sample(rng, 200_000)
    assert geometric.min() >= 1
    assert geometric.mean() == pytest.approx(300, rel=0.01)
    law = Lognormal(mean=8192, sigma=1.0, low=64, high=131_072)
    drawn = law.sample(rng, 400_000).astype(float)
    assert drawn.min() >= 64
    assert drawn.max() <= 131_072
    mean, square = law.clipped_moments()
    assert drawn.mean() == pytest.approx(mean, rel=0.01)
    assert (drawn**2).mean() == pytest.approx(square, rel=0.03)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: even_burst(requests=0, span=1.0, shared_tokens=1), "requests"),
        (lambda: even_burst(requests=2, span=-1.0, shared_tokens=1), "span"),
        (lambda: even_burst(requests=2, span=1.0, shared_tokens=1, spacing="both"), "spacing"),
        (lambda: poisson_burst(requests=2, span=1.0, shared_tokens=1, rng="x"), "rng"),
        (lambda: window(first=1.0, jitter=2.0, rng=1), "jitter"),
        (lambda: window(decoy_low=9.0, decoy_high=2.0, rng=1), "decoy_high"),
        (lambda: background(rate=1.0, prompt=1, rng=1), "requests or duration"),
        (lambda: background(rate=0.0, requests=1, prompt=1, rng=1), "rate"),
        (lambda: background(rate=1.0, requests=1, prompt=1, groups=2, rng=1), "groups"),
        (lambda: background(rate=1.0, requests=1, prompt=1, shared_tokens=9, rng=1), "groups"),
        (lambda: Lognormal(mean=10, sigma=1.0, low=9, high=3), "high"),
        (lambda: Geometric(mean=0.5), "mean"),
        (lambda: GammaGaps(scv=0.0), "scv"),
    ],
)
def test_refusals(call, field):
    with pytest.raises(InvalidValueError) as caught:
        call()
    assert caught.value.field == field
