"""Processor sharing at a store: all transfers run at once and share its rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kvcost.errors import InvalidValueError, MissingFactError
from kvcost.queueing.erlang import erlang_b
from kvcost.queueing.single import mg1
from kvcost.queueing.validation import fraction, load_of, positive

if TYPE_CHECKING:
    from kvcost.queueing.service import Service

__all__ = ["SharedStore", "shared_store"]

_NODES = 64


@dataclass(frozen=True, kw_only=True)
class SharedStore:
    """Transfers that share a store equally, each limited by its own client.

    Attributes
    ----------
    streams : float
        Clients at their own limit that the store can serve at once; 1 where a single client can
        take the whole rate.
    utilization : float
        Share of the store's rate that is used.
    slowdown : float
        Mean time of a transfer over its time alone, the same for every size.
    active : float
        Mean number of transfers under way.
    alone : Service or None
        Law of the time that a transfer takes alone [s].
    mean_alone : float
        Its mean [s].
    """

    streams: float
    utilization: float
    slowdown: float
    active: float
    mean_alone: float
    alone: Service | None = None

    @property
    def mean_time(self) -> float:
        """Mean time of a transfer [s]."""
        return self.slowdown * self.mean_alone

    def time_of(self, seconds_alone: float) -> float:
        """Return the mean time of a transfer of a given size.

        Parameters
        ----------
        seconds_alone : float
            Time that it would take alone [s].

        Returns
        -------
        float
            Seconds; in proportion to the size, whatever the law of sizes.
        """
        return self.slowdown * positive("seconds_alone", seconds_alone, unit="s")

    def spread_of(self, seconds_alone: float) -> float:
        """Return the standard deviation of the time of a transfer of a given size.

        Parameters
        ----------
        seconds_alone : float
            Time that it would take alone [s].

        Returns
        -------
        float
            Seconds: exact where the law of sizes is known, else its largest value over all laws,
            ``size sqrt(rho) / (1 - rho)``.

        Raises
        ------
        MissingFactError
            If clients are limited (`streams` above 1), where no formula is known.

        Notes
        -----
        ``Var T(x) = 2 / (1 - rho)^2 int_0^x (x - u) P(W > u) du`` with W the wait of the same
        requests in one queue, first come first served. Integrated to about 1e-6.

        References
        ----------
        .. [1] T. J. Ott (1984), The sojourn-time distribution in the M/G/1 queue with processor
           sharing, Journal of Applied Probability 21, 360-378.
        .. [2] S. F. Yashkov (1987), Processor-sharing queues: some progress in analysis,
           https://doi.org/10.1007/BF01182931
        """
        size = positive("seconds_alone", seconds_alone, unit="s")
        if self.streams != 1:
            raise MissingFactError(
                fact="the spread of the time",
                subject="a shared store with limited clients",
                remedy="use a store whose clients are not limited, or simulate",
            )
        rho = self.utilization
        if self.alone is None:
            return size * math.sqrt(rho) / (1 - rho)
        import numpy as np  # noqa: PLC0415 - only here

        wait = mg1(service=self.alone, utilization=rho)
        nodes, weights = np.polynomial.legendre.leggauss(_NODES)
        times = size * (nodes + 1) / 2
        tails = np.array([wait.survival(float(t)) for t in times])
        area = float(np.dot(weights, (size - times) * tails)) * size / 2
        return math.sqrt(2 * area) / (1 - rho)

    def time_bound(self, seconds_alone: float, p: float) -> float:
        """Return a time that at least a share `p` of the transfers of a size do not exceed.

        Parameters
        ----------
        seconds_alone : float
            Time that it would take alone [s].
        p : float
            Share, inside (0, 1).

        Returns
        -------
        float
            Seconds; an upper bound of the percentile, by Cantelli's inequality from the mean and
            the spread, or by Markov's where the spread is not known.

        References
        ----------
        .. [1] F. P. Cantelli (1928), Sui confini della probabilita, Atti del Congresso
           Internazionale dei Matematici 6, 47-59.
        """
        p = fraction("p", p)
        mean = self.time_of(seconds_alone)
        by_markov = mean / (1 - p)
        if self.streams != 1:
            return by_markov
        return min(by_markov, mean + self.spread_of(seconds_alone) * math.sqrt(p / (1 - p)))


def shared_store(
    *,
    alone: Service | float,
    arrival_rate: float | None = None,
    utilization: float | None = None,
    streams: float = 1.0,
) -> SharedStore:
    """Return what sharing a store equally does to transfers.

    Parameters
    ----------
    alone : Service or float
        Law, or mean, of the time that a transfer takes when no other is under way [s].
    arrival_rate : float, optional
        Transfers that start per second; this or `utilization`.
    utilization : float, optional
        Share of the store's rate that is used, below 1.
    streams : float
        Rate of the store over the largest rate of one client, 1 or more: fewer transfers than this
        do not disturb each other.

    Returns
    -------
    SharedStore
        Exact means for every law of sizes; bounds of percentiles.

    Raises
    ------
    InvalidValueError
        If a value is out of its domain.
    UnstableError
        If more bytes are asked for than the store can send.

    Notes
    -----
    Poisson arrivals, equal shares. M/G/1 processor sharing, or with limited clients a shared
    server whose rate grows with the transfers up to `streams`; the law of the number under way
    depends on sizes through their mean only, and the mean time of a transfer is in proportion to
    its size. The slowdown is ``1 / (1 - rho)`` without limits, and for whole `streams` that of the
    time in M/M/c. A store served in turn instead (M/G/1) does better for regular sizes (half the
    wait for equal ones) and worse for scv above 1.

    References
    ----------
    .. [1] L. Kleinrock (1967), Time-shared systems: a theoretical treatment,
       https://doi.org/10.1145/321386.321388
    .. [2] J. W. Cohen (1979), The multiple phase service network with generalized processor
       sharing, Acta Informatica 12, 245-284.

    Examples
    --------
    >>> round(shared_store(alone=0.5, utilization=0.75).slowdown, 9)
    4.0
    >>> round(shared_store(alone=0.5, utilization=0.75, streams=8).slowdown, 4)
    1.1785
    """
    law = None if isinstance(alone, int | float) else alone
    mean = positive("alone", alone, unit="s") if law is None else law.mean
    if positive("streams", streams, unit="1") < 1:
        raise InvalidValueError(
            field="streams",
            value=streams,
            bound="must be 1 or more",
            remedy="a client cannot be faster than the store: use 1",
        )
    load = load_of(
        servers=streams, mean_service=mean, arrival_rate=arrival_rate, utilization=utilization
    )
    active = _active(load.servers, load.utilization)
    return SharedStore(
        streams=load.servers,
        utilization=load.utilization,
        slowdown=active / load.offered_load,
        active=active,
        mean_alone=mean,
        alone=law,
    )


def _active(streams: float, rho: float) -> float:
    """Return the mean number under way; the rate is min(n, streams) with n of them."""
    whole = math.floor(streams)
    offered = streams * rho
    # weights over that of `whole` under way: below by Erlang's loss formula, above geometric
    below = 1 / erlang_b(servers=whole, offered_load=offered)
    beyond = rho / (1 - rho)
    many = whole * beyond + rho / (1 - rho) ** 2
    return float((offered * (below - 1) + many) / (below + beyond))
