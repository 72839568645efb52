"""The law of the requests present at phase-type servers before a burst comes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from kvcost.queueing.burst.occupancy import Occupancy
    from kvcost.queueing.service.base import Array

__all__ = ["first_passage", "steady_levels"]

_TAIL = 1e-15


def first_passage(servers: Occupancy, rate: float) -> Array:
    """Return in which full state the servers are when the number present first falls by one.

    Parameters
    ----------
    servers : Occupancy
        The busy servers.
    rate : float
        Poisson arrivals [1/s].

    Returns
    -------
    array
        Stochastic matrix.

    Notes
    -----
    Logarithmic reduction: each step doubles the number of levels that a path may climb.

    References
    ----------
    Latouche and Ramaswami 1993, doi:10.2307/3214773.
    """
    one = np.eye(servers.stay.shape[0])
    leave = rate * one - servers.stay.toarray()
    up = np.linalg.solve(leave, rate * one)
    down = np.linalg.solve(leave, servers.depart.toarray())
    found, climbed = down.copy(), up.copy()
    while np.abs(climbed).max() > 1e-18:
        back = one - up @ down - down @ up
        up = np.linalg.solve(back, up @ up)
        down = np.linalg.solve(back, down @ down)
        step = climbed @ down
        found += step
        climbed = climbed @ up
        if np.abs(step).max() < 1e-16:
            break
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def steady_levels(servers: Occupancy, rate: float) -> list[Array]:
    """Return the stationary law by the number present, until nothing is left.

    Parameters
    ----------
    servers : Occupancy
        The busy servers.
    rate : float
        Poisson arrivals [1/s]; the load is below 1.

    Returns
    -------
    list of array
        Item n: law of the phases with n requests present; all items sum to 1.

    Notes
    -----
    Censored on n or fewer requests, level n leaves for n - 1 only; the balance of each level then
    gives it from the one below, without subtractions.
    """
    c = servers.servers
    passage = first_passage(servers, rate)
    steps: list[Array] = []
    for n in range(c, 0, -1):
        inside = servers.inside[n].toarray()
        back = passage if n == c else servers.up[n] @ passage
        local = rate * np.eye(inside.shape[0]) - inside - rate * back
        passage = np.linalg.solve(local, servers.down[n].toarray())
        climb = servers.up[n - 1].toarray()
        steps.append(rate * np.linalg.solve(local.T, climb.T).T)
        if n == c:
            wait = rate * np.linalg.inv(local)
    laws = [np.ones(1)]
    for step in reversed(steps):
        laws.append(laws[-1] @ step)
    total = sum(float(law.sum()) for law in laws)
    while True:
        laws.append(laws[-1] @ wait)
        mass = float(laws[-1].sum())
        total += mass
        if mass * (len(laws) - c) < _TAIL * total:
            return [np.asarray(law / total) for law in laws]
