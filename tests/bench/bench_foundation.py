"""Speed of the foundation, against named baselines in the same run (``make bench``)."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import kvcost as kv

POINTS = 1_000_000
SOURCE = np.random.default_rng(1)
TOKENS = SOURCE.uniform(1e3, 2e5, POINTS)
BANDWIDTH = SOURCE.uniform(1e8, 1e11, POINTS)
PER_TOKEN, OVERHEAD, BYTES = 19.375e-6, 0.33, 48_408.0


@pytest.mark.benchmark(group="break-even grid of 1,000,000 points")
def test_break_even_grid_by_hand_in_numpy(benchmark):
    def by_hand():
        gain = PER_TOKEN - BYTES / BANDWIDTH
        with np.errstate(all="ignore"):
            return np.where(gain > 0, OVERHEAD / gain, np.nan)

    benchmark(by_hand)


@pytest.mark.benchmark(group="break-even grid of 1,000,000 points")
def test_break_even_grid_by_kvcost(benchmark):
    benchmark(
        kv.breakeven.break_even_tokens_linear,
        prefill_per_token=PER_TOKEN,
        overhead_seconds=OVERHEAD,
        kv_bytes_per_token=BYTES,
        bandwidth=BANDWIDTH,
    )


@pytest.mark.benchmark(group="quadratic break-even grid of 1,000,000 points")
def test_quadratic_grid_by_hand_in_numpy(benchmark):
    constant, squared, floor = 0.028, 0.294e-9, 0.05

    def by_hand():
        with np.errstate(all="ignore"):
            gain = PER_TOKEN - BYTES / BANDWIDTH
            lack = OVERHEAD - constant
            root = np.sqrt(gain**2 + 4 * squared * lack)
            rising = np.where(lack >= 0, 2 * lack / (gain + root), np.nan)
            falling = np.where(squared > 0, (root - gain) / (2 * squared), np.nan)
            crossing = np.where(gain > 0, rising, falling)
            return np.where((constant > OVERHEAD) | (floor > OVERHEAD), 0.0, crossing)

    benchmark(by_hand)


@pytest.mark.benchmark(group="quadratic break-even grid of 1,000,000 points")
def test_quadratic_grid_by_kvcost(benchmark):
    benchmark(
        kv.breakeven.break_even_tokens,
        prefill_constant=0.028,
        prefill_per_token=PER_TOKEN,
        prefill_per_token_squared=0.294e-9,
        prefill_floor=0.05,
        overhead_seconds=OVERHEAD,
        kv_bytes_per_token=BYTES,
        bandwidth=BANDWIDTH,
    )


@pytest.mark.benchmark(group="KV bytes per token from a loaded spec")
@pytest.mark.parametrize("model", ["llama-3.3-70b", "glm-5.3", "gemma-3-27b", "deepseek-v4-flash"])
def test_kv_bytes_per_token(benchmark, model):
    spec = kv.model.load(model)
    benchmark(kv.model.kv_bytes_per_token, spec)


def _python(*words):
    subprocess.run([sys.executable, *words], check=True, capture_output=True)


@pytest.mark.benchmark(group="start of a process")
def test_bare_python(benchmark):
    benchmark(_python, "-c", "pass")


@pytest.mark.benchmark(group="start of a process")
def test_import_numpy(benchmark):
    benchmark(_python, "-c", "import numpy")


@pytest.mark.benchmark(group="start of a process")
def test_import_kvcost(benchmark):
    benchmark(_python, "-c", "import kvcost")


@pytest.mark.benchmark(group="start of a process")
def test_command_kv(benchmark):
    benchmark(_python, "-m", "kvcost", "kv", "glm-5.3")
