"""The queue of deterministic servers one service time apart, for single and for bulk arrivals."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kvcost.queueing.service.base import Array, ComplexArray

__all__ = ["roots", "unit_queue", "unit_queue_mean"]

_ITERATE_ABOVE = 0.3
_NOISE = 2e-16
_LARGEST = 1 << 22


def roots(*, servers: int, batches: float, sizes: Array) -> ComplexArray:
    """Return the c - 1 zeros of ``z^c - exp(b (X(z) - 1))`` inside the unit circle.

    Parameters
    ----------
    servers : int
        Servers, c.
    batches : float
        Batches a service time, b.
    sizes : array
        Chance of each batch size, from 0 on.

    Returns
    -------
    array
        Zeros other than 1.
    """
    turns = np.exp(2j * np.pi * np.arange(1, servers) / servers)
    falling = sizes[::-1]
    slope = (sizes * np.arange(sizes.size))[:0:-1]
    z = 0.9 * turns
    for step in range(500):
        value = turns * np.exp(batches / servers * (np.polyval(falling, z) - 1))
        moved = value
        if step >= 20:
            steep = value * batches / servers * np.polyval(slope, z)
            moved = z - (z - value) / (1 - steep)
        change = np.abs(moved - z).max(initial=0.0)
        z = moved
        if change < 1e-16 or (step > 30 and change < 4e-16):
            break
    return np.asarray(z)


def unit_queue_mean(*, servers: int, batches: float, sizes: Array) -> float:
    """Return the stationary mean number of waiting requests, from the zeros.

    Parameters
    ----------
    servers, batches, sizes
        See `roots`.

    Returns
    -------
    float
        Requests.

    References
    ----------
    Crommelin 1932; with bulk arrivals the generating function only changes the arrivals.
    """
    number = np.arange(sizes.size)
    mean, square = batches * (sizes @ number), batches * (sizes @ number**2)
    z = roots(servers=servers, batches=batches, sizes=sizes)
    inner = float(np.sum(1 / (1 - z)).real)
    return float(square / (2 * (servers - mean)) - (servers + mean - 1) / 2 + inner)


def unit_queue(*, servers: int, batches: float, sizes: Array) -> Array:
    """Return the stationary law of ``X = max(X + arrivals of a service time - c, 0)``.

    Parameters
    ----------
    servers, batches, sizes
        See `roots`; the load must be below 1.

    Returns
    -------
    array
        Chance that 0, 1, 2, ... requests wait; absolute errors near 1e-14.

    Notes
    -----
    Light load: the recursion itself, from an empty queue. Heavy load: the generating function from
    its zeros at the points of a discrete Fourier transform.
    """
    number = np.arange(sizes.size)
    common = math.gcd(servers, *np.nonzero(sizes)[0].tolist())
    if common > 1:  # the queue holds multiples only, and some zeros lie on the unit circle
        few = unit_queue(servers=servers // common, batches=batches, sizes=sizes[::common])
        law = np.zeros((few.size - 1) * common + 1)
        law[::common] = few
        return law
    mean = batches * float(sizes @ number)
    spread = batches * float(sizes @ number**2)
    light = (servers - mean) ** 2 / spread > _ITERATE_ABOVE
    width = servers + mean + 40 * spread / (servers - mean) + 12 * math.sqrt(spread) + sizes.size
    size = 1 << math.ceil(math.log2(width))
    solve = _iterated if light else _transformed
    while True:
        law = solve(servers=servers, batches=batches, sizes=sizes, size=size, mean=mean)
        law[law < _NOISE] = 0.0
        if law[size // 2 :].sum() < 1e-12 or size >= _LARGEST:
            return np.asarray(law / law.sum())
        size *= 2


def _iterated(*, servers: int, batches: float, sizes: Array, size: int, mean: float) -> Array:
    del mean
    law = np.zeros(size)
    law[0] = 1.0
    factor = np.exp(batches * (np.fft.rfft(sizes, size) - 1))
    for _ in range(100_000):
        present = np.maximum(np.fft.irfft(np.fft.rfft(law) * factor, size), 0.0)
        following = np.zeros(size)
        following[: size - servers] = present[servers:]
        following[0] += present[:servers].sum()
        following /= following.sum()
        change = float(np.abs(following - law).max())
        law = following
        if change < 1e-16:
            break
    return law


def _transformed(*, servers: int, batches: float, sizes: Array, size: int, mean: float) -> Array:
    z = np.exp(-2j * np.pi * np.arange(size // 2 + 1) / size)
    below = z**servers - np.exp(batches * (np.fft.rfft(sizes, size) - 1))
    above = (servers - mean) * (z - 1)
    for root in roots(servers=servers, batches=batches, sizes=sizes):
        above = above * ((z - root) / (1 - root))
    values = np.ones_like(z)
    values[1:] = above[1:] / below[1:]
    law = np.maximum(np.fft.irfft(values, size), 0.0)
    return np.asarray(law / law.sum())
