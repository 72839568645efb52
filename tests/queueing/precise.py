"""M/PH/c in fifty digits, written apart from the package.

``python -m tests.queueing.precise`` writes data/queueing/precise_waits.csv again; with 64 servers a
row takes minutes.
"""

from __future__ import annotations

import itertools
import sys

import mpmath as mp
import numpy as np

from tests.queueing.reference import DATA, LAWS

CASES = (
    ("erlang-2", 0.5, 1, 0.5),
    ("erlang-2", 0.5, 8, 0.9999),
    ("erlang-2", 0.5, 32, 0.3),
    ("erlang-4", 0.25, 3, 0.95),
    ("lognormal-like", 9.0, 8, 0.9999),
    ("gamma-like", 9.0, 16, 0.98),
    ("balanced", 4.0, 4, 0.98),
    ("balanced", 4.0, 32, 0.3),
    ("lognormal-like", 9.0, 32, 0.3),
    ("erlang-2", 0.5, 64, 0.3),
    ("balanced", 4.0, 64, 0.3),
    ("lognormal-like", 4.0, 64, 0.3),
)


def _states(services, phases):
    return [
        state
        for state in itertools.product(range(services + 1), repeat=phases)
        if sum(state) == services
    ]


def _matrix(rows, columns):
    made = np.empty((rows, columns), dtype=object)
    made[:] = mp.mpf(0)
    return made


def _eye(size):
    made = _matrix(size, size)
    for i in range(size):
        made[i, i] = mp.mpf(1)
    return made


def _solve(matrix, right):
    """Return X of ``matrix X = right``, by Gaussian elimination with pivots."""
    a, x = matrix.copy(), right.copy()
    size = len(a)
    for k in range(size):
        pivot = max(range(k, size), key=lambda i: abs(a[i, k]))
        a[[k, pivot]], x[[k, pivot]] = a[[pivot, k]], x[[pivot, k]]
        for i in range(k + 1, size):
            if a[i, k] != 0:
                factor = a[i, k] / a[k, k]
                a[i, k:] -= factor * a[k, k:]
                x[i] -= factor * x[k]
    for k in range(size - 1, -1, -1):
        if k < size - 1:
            x[k] = x[k] - a[k, k + 1 :] @ x[k + 1 :]
        x[k] = x[k] / a[k, k]
    return x


class _Block:
    """Rates between states, with diagonals from row sums in full precision."""

    def __init__(self, law):
        self.alpha = [mp.mpf(a) for a in law.initial]
        self.alpha[-1] = 1 - sum(self.alpha[:-1])
        self.rates = [[mp.mpf(rate) for rate in row] for row in law.generator]
        self.exits = [mp.mpf(max(0.0, rate)) for rate in law.exit_rates]
        self.phases = len(self.alpha)

    def _index(self, services):
        return {state: i for i, state in enumerate(_states(services, self.phases))}

    def removed(self, services):
        here, below = self._index(services), self._index(services - 1)
        made = _matrix(len(here), len(below))
        for state, i in here.items():
            for j in range(self.phases):
                if state[j]:
                    fewer = (*state[:j], state[j] - 1, *state[j + 1 :])
                    made[i, below[fewer]] += state[j] * self.exits[j]
        return made

    def added(self, services):
        here, below = self._index(services), self._index(services - 1)
        made = _matrix(len(below), len(here))
        for state, i in below.items():
            for j in range(self.phases):
                more = (*state[:j], state[j] + 1, *state[j + 1 :])
                made[i, here[more]] += self.alpha[j]
        return made

    def within(self, services):
        here = self._index(services)
        made = _matrix(len(here), len(here))
        for state, i in here.items():
            for a, b in itertools.permutations(range(self.phases), 2):
                if state[a] and self.rates[a][b]:
                    moved = list(state)
                    moved[a] -= 1
                    moved[b] += 1
                    made[i, here[tuple(moved)]] += state[a] * self.rates[a][b]
            made[i, i] = -made[i].sum() - sum(
                n * rate for n, rate in zip(state, self.exits, strict=True)
            )
        return made


def precise_wait(law, servers, utilization):
    """Return the mean wait and the probability to wait, by the plain algorithm."""
    block = _Block(law.phase_type())
    rate = mp.mpf(servers) * mp.mpf(utilization)
    between = block.within(servers)
    ends = block.removed(servers) @ block.added(servers)
    size = len(between)
    one = _eye(size)
    both = _solve(rate * one - between, np.hstack([rate * one, ends]))
    up, down = both[:, :size], both[:, size:]
    passage, reach = down.copy(), up.copy()
    while True:
        both = _solve(one - (up @ down + down @ up), np.hstack([up @ up, down @ down]))
        up, down = both[:, :size], both[:, size:]
        more = reach @ down
        passage, reach = passage + more, reach @ up
        if max(abs(x) for x in more.ravel()) < mp.mpf(10) ** -45:
            break
    decay = between + rate * passage
    lower, feedback = [], _matrix(1, 1)
    for busy in range(1, servers + 1):
        here = rate * _eye(len(feedback)) - feedback
        if busy > 1:
            here = here - block.within(busy - 1)
        lower.append(_solve(here.T, block.removed(busy).T).T)
        feedback = rate * (lower[-1] @ block.added(busy))
    system = (feedback + decay - rate * one).T.copy()
    system[-1] = mp.mpf(1)
    right = _matrix(size, 1)
    right[-1, 0] = mp.mpf(1)
    full = _solve(system, right)[:, 0]
    beyond = full + rate * _solve(-decay.T, full[:, None])[:, 0]
    weight, vector = beyond.sum(), full
    for step in reversed(lower):
        vector = vector @ step
        weight += vector.sum()
    beta = beyond / weight
    ones = _matrix(size, 1) + mp.mpf(1)
    return beta @ _solve(-decay, ones)[:, 0], beta.sum()


def main():
    """Write the table."""
    lines = ["law,service_scv,servers,utilization,mean_wait,probability_of_wait"]
    for name, scv, servers, utilization in CASES:
        with mp.workdps(50):
            found = precise_wait(LAWS[name](scv), servers, utilization)
            numbers = ",".join(mp.nstr(value, 17) for value in found)
        lines.append(f"{name},{scv:g},{servers},{utilization:g},{numbers}")
    (DATA / "precise_waits.csv").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
