"""Measures what data/routing/undecoded_load.csv holds; run it to write the table anew.

The rule alone, without decode times of its own: requests go to the replica with the fewest in
flight, of all or of two drawn at random; a replica prefills first come, first served, decodes only
while nobody waits, and a request is in flight until it has decoded for `decode` seconds.

    python -m tests.routing.undecoded data/routing/undecoded_load.csv
"""

from __future__ import annotations

import csv
import math
import sys
from pathlib import Path

import numpy as np

from kvcost.compiled import allocating

REPLICAS = {"all": (2, 3, 4, 6, 8, 16, 32), "two": (3, 4, 8, 16, 32)}
RATIOS = {"all": (0.0, 0.5, 1.5, 5.0, 20.0), "two": (0.0, 1.5, 10.0)}
LOADS = (0.15, 0.3, 0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
SCVS = (0.0, 0.5, 1.6, 4.0)
CLIP = 24.0  # of the mean, the longest prefill of a lognormal law
ROOM = 16384


@allocating
def follow(  # noqa: PLR0917
    replicas, two, gaps, services, decode, seed, waits
):
    """Fill in the waits; return False where a replica has too many in flight."""
    np.random.seed(seed)  # noqa: NPY002 - the loop draws as compiled code can
    ends = np.zeros((replicas, ROOM))
    first = np.zeros(replicas, np.int64)
    last = np.zeros(replicas, np.int64)
    free = np.zeros(replicas)
    clock = np.zeros(replicas)  # runs while a replica has nothing to prefill
    seen = np.zeros(replicas)
    now = 0.0
    for i in range(gaps.size):
        now += gaps[i]
        best = 1 << 60
        ties = 0
        chosen = 0
        a = np.random.randint(replicas)  # noqa: NPY002
        b = np.random.randint(replicas - 1)  # noqa: NPY002
        if b >= a:
            b += 1
        for look in range(2 if two else replicas):
            k = look
            if two:
                k = a if look == 0 else b
            if free[k] < now:
                clock[k] += now - max(free[k], seen[k])
                seen[k] = now
                while first[k] < last[k] and ends[k, first[k] % ROOM] <= clock[k]:
                    first[k] += 1
            load = last[k] - first[k]
            if load < best:
                best = load
                ties = 1
                chosen = k
            elif load == best:
                ties += 1
                if np.random.random() * ties < 1.0:  # noqa: NPY002
                    chosen = k
        begin = max(now, free[chosen])
        waits[i] = begin - now
        free[chosen] = begin + services[i]
        seen[chosen] = free[chosen]
        if last[chosen] - first[chosen] >= ROOM:
            return False
        ends[chosen, last[chosen] % ROOM] = clock[chosen] + decode
        last[chosen] += 1
    return True


def sigma_of(scv):
    """Return the deviation of the logarithm that gives a clipped law this scv."""
    normal = np.random.default_rng(0).normal(0, 1, 1_000_000)
    low, high = 0.01, 4.0
    for _ in range(40 if scv else 0):
        sigma = (low + high) / 2
        x = np.minimum(np.exp(sigma * normal - sigma**2 / 2), CLIP)
        low, high = (sigma, high) if x.var() / x.mean() ** 2 < scv else (low, sigma)
    return (low + high) / 2 if scv else 0.0


def measure(*, looks, replicas, utilization, sigma, ratio, requests, seed=7):
    """Return mean wait, its standard error, and p50, p95, p99 of wait plus prefill."""
    rng = np.random.default_rng([replicas, round(100 * utilization), seed])
    gaps = rng.exponential(1, requests)
    gaps *= 1 / (utilization * replicas) / gaps.mean()
    services = np.exp(sigma * rng.normal(0, 1, requests) - sigma**2 / 2)
    services = np.minimum(services, CLIP)
    services /= services.mean()
    waits = np.empty(requests)
    assert follow(replicas, looks == "two", gaps, services, ratio, seed, waits)
    warm = requests // 20
    kept = slice(warm, warm + (requests - warm) // 30 * 30)
    batches = waits[kept].reshape(30, -1).mean(axis=1)
    times = np.sort((waits + services)[kept][::5])
    points = [float(times[int(p * times.size)]) for p in (0.5, 0.95, 0.99)]
    return float(batches.mean()), float(batches.std(ddof=1) / math.sqrt(30)), *points


def write(path):
    """Measure the whole table: about 12 minutes on one core."""
    names = "looks,replicas,utilization,scv,decode_ratio,wait,wait_se,p50,p95,p99"
    with Path(path).open("w", newline="") as file:
        out = csv.writer(file, lineterminator="\n")
        out.writerow(names.split(","))
        for looks, counts in REPLICAS.items():
            for scv in SCVS:
                sigma = sigma_of(scv)
                for replicas in counts:
                    for load in LOADS:
                        for ratio in RATIOS[looks]:
                            found = measure(
                                looks=looks,
                                replicas=replicas,
                                utilization=load,
                                sigma=sigma,
                                ratio=ratio,
                                requests=1_000_000
                                if load < 0.76
                                else 2_500_000
                                if load < 0.86
                                else 5_000_000,
                            )
                            text = [f"{x:.5g}" for x in found]
                            out.writerow([looks, replicas, load, f"{scv:g}", f"{ratio:g}", *text])
                file.flush()


if __name__ == "__main__":
    write(sys.argv[1])
