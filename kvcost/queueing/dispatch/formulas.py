"""Join the shortest queue as a traced closed form, for cells and equations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvcost import ops
from kvcost.formula import formula
from kvcost.queueing.formulas import erlang_c, mmc_mean_wait

if TYPE_CHECKING:
    from kvcost.ops import Num

__all__ = ["shortest_queue_wait"]


@formula(symbol=r"W_{JSQ}", unit="s")
def shortest_queue_wait(*, servers: Num, utilization: Num, service_seconds: Num) -> Num:
    """Return the mean wait where each request joins the shortest of the servers' queues.

    Parameters
    ----------
    servers : Num
        Servers that share one queue [server].
    utilization : Num
        Share of the time that a server is busy [1].
    service_seconds : Num
        Mean service time [s].

    Returns
    -------
    Num
        Mean over all requests; infinite from utilization 1 on [s].

    Notes
    -----
    Poisson arrivals, exponential service. The wait in M/M/c plus, for the requests that wait, the
    rounding of the work to whole requests, ``(c - 1) / (2 c)`` services, which a fitted factor
    lowers at high load. Valid for whole numbers of servers up to 2,000. Fitted and compared at 2 to
    16 servers (error at most 4%); up to 5% high at 12 to 64 servers. `join_shortest_queue` is
    exact.

    References
    ----------
    .. [1] I. J. B. F. Adan, G. J. van Houtum, J. van der Wal (1994), Upper and lower bounds for
       the waiting time in the symmetric shortest queue system,
       https://doi.org/10.1007/BF02024665

    Examples
    --------
    >>> round(shortest_queue_wait(servers=8, utilization=0.8, service_seconds=1), 4)
    0.4561
    """
    high_load = ops.minimum(1, ops.maximum(0, (utilization - 0.5) / 0.3))
    share = 1 - 0.08 * (ops.log(servers) / ops.log(2.0) - 1) * high_load
    rounding = share * erlang_c(servers=servers, utilization=utilization) * (servers - 1)
    pooled = mmc_mean_wait(
        servers=servers, utilization=utilization, service_seconds=service_seconds
    )
    return pooled + rounding / (2 * servers) * service_seconds
