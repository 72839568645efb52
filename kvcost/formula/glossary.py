"""The words of kvcost: each quantity's symbol, unit, domain and typical range.

A formula may use only parameters that stand here, so the same thing has the same name, symbol and
unit everywhere.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from kvcost.formula.units import parse_unit

__all__ = ["GLOSSARY", "Quantity", "quantity"]


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """One quantity that formulas speak of.

    Attributes
    ----------
    name : str
        The parameter's name.
    symbol : str
        LaTeX; unique.
    unit : str
        Base unit, as a unit expression.
    text : str
        What it is, in one clause.
    typical : tuple of float
        Range met in practice; tests and charts draw from it.
    low, high : float
        Domain, bounds included.
    whole : bool
        Only whole numbers make sense.
    """

    name: str
    symbol: str
    unit: str
    text: str
    typical: tuple[float, float]
    low: float = 0.0
    high: float = math.inf
    whole: bool = False

    def __post_init__(self) -> None:
        parse_unit(self.unit)
        if not self.low <= self.typical[0] < self.typical[1] <= self.high:
            raise ValueError(f"{self.name}: typical range {self.typical} leaves its domain")


GLOSSARY: dict[str, Quantity] = {}


def quantity(
    name: str,
    symbol: str,
    unit: str,
    text: str,
    typical: tuple[float, float],
    *,
    low: float = 0.0,
    high: float = math.inf,
    whole: bool = False,
) -> None:
    """Add a quantity to the glossary.

    Parameters
    ----------
    name, symbol, unit, text, typical, low, high, whole
        See `Quantity`.

    Raises
    ------
    ValueError
        If the name or the symbol is taken.
    """
    taken = [q.name for q in GLOSSARY.values() if q.symbol == symbol]
    if name in GLOSSARY or taken:
        raise ValueError(f"glossary: {name} or its symbol {symbol} is taken by {taken or name}")
    GLOSSARY[name] = Quantity(
        name=name,
        symbol=symbol,
        unit=unit,
        text=text,
        typical=typical,
        low=low,
        high=high,
        whole=whole,
    )


# What a token weighs
quantity("layers", "L", "layer", "layers of this kind", (1, 128), whole=True)
quantity("kv_heads", r"H_{kv}", "head", "key-value heads of a layer", (1, 64), low=1, whole=True)
quantity("head_dim_k", r"d_k", "element/head/token", "width of a key head", (64, 512), whole=True)
quantity("head_dim_v", r"d_v", "element/head/token", "width of a value head", (64, 512), whole=True)
quantity("element_bytes", "e", "byte/element", "bytes of a stored element", (0.5, 4))
quantity("kv_lora_rank", r"d_c", "element/token", "width of the latent", (256, 1024), whole=True)
quantity("rope_dim", r"d_r", "element/token", "width of the rotary key", (0, 128), whole=True)
quantity("tokens", "n", "token", "length of the prompt", (16, 1_000_000), whole=True)

# Recompute
quantity("new_tokens", "s", "token", "tokens to compute", (16, 200_000), whole=True)
quantity("cached_tokens", "h", "token", "tokens whose KV is present", (0, 1_000_000), whole=True)
quantity("recompute_seconds", r"T_P", "s", "time to compute the prompt anew", (0.01, 100))
quantity("prefill_constant", "c", "s", "prefill time that no token causes", (0, 0.2))
quantity(
    "prefill_per_token", "a", "s/token", "prefill time of one token, attention aside", (2e-6, 1e-3)
)
quantity(
    "prefill_per_token_squared",
    "a_2",
    "s/token^2",
    "prefill time of one pair of tokens in attention",
    (0, 1e-9),
)
quantity("prefill_floor", "T_0", "s", "least time that a prefill takes", (0, 0.1))

# Transfer
quantity("bandwidth", "B", "byte/s", "rate at which KV arrives", (1e8, 1e12))
quantity("overhead_seconds", "F", "s", "fixed time of a fetch", (0, 2))
quantity("kv_bytes_per_token", "b", "byte/token", "bytes that one token adds to the KV", (1e3, 4e6))

# Break-even
quantity("hit_seconds", "T_H", "s", "time until a fetched prompt is ready", (0.001, 100))
quantity("load_seconds", "T_L", "s", "time during which KV arrives", (0.001, 100))
quantity("suffix_seconds", "T_S", "s", "time to compute what was not fetched", (0, 10))
quantity(
    "blocking",
    "w",
    "1",
    "share of the load that keeps the GPU from other work (1 synchronous, 0 asynchronous)",
    (0, 1),
    high=1,
)
quantity("measured_seconds", r"\hat{T}", "s", "time that was measured", (0.001, 100))
quantity("predicted_seconds", r"\tilde{T}", "s", "time that a model gives", (0.001, 100))

# Queueing: bursts
quantity("servers", "c_s", "server", "servers that share one queue", (1, 64), low=1, whole=True)
quantity("service_seconds", r"\bar{S}", "s", "mean service time", (0.1, 10))
quantity("service_scv", "C^2", "1", "squared coefficient of variation of a service", (0, 9))
quantity("utilization", r"\varrho", "1", "share of the time that a server is busy", (0.05, 0.98))
quantity("burst_requests", "n_B", "request", "requests of a burst", (2, 500), low=1, whole=True)
quantity("earlier_requests", "n_k", "request", "requests that came before", (0, 500), whole=True)
quantity("waiting_requests", "n_w", "request", "requests that wait", (1, 500))
quantity("arrival_gap", r"\delta", "s", "time from one arrival to the next", (0, 0.02))
quantity("burst_seconds", "W", "s", "time over which a burst arrives", (0.1, 10))
quantity("background_utilization", r"\varrho_0", "1", "share that other requests take", (0, 0.95))
quantity("cold_seconds", "S_0", "s", "first service at a server", (2, 20))
quantity("warm_seconds", "S_1", "s", "later service at a server", (0.1, 2))
quantity("copy_ready_seconds", "T_x", "s", "when a copy can be used elsewhere", (1, 60))
quantity("batch_mean", r"\bar{X}", "1", "mean number of requests of a batch", (1, 32), low=1)
quantity("batch_pairs", "X_2", "1", "mean of that number times itself less one", (0, 1000))

# Queueing: waits
quantity("arrival_rate", r"\Lambda", "request/s", "requests that arrive a second", (0.1, 60))
quantity("offered_load", "A", "server", "servers that are busy on average", (0.5, 60))
quantity("arrival_scv", "C_a^2", "1", "squared coefficient of variation of the gaps", (0, 9))
quantity("percentile", "q", "1", "share of the requests that wait no longer", (0.5, 0.999), high=1)
