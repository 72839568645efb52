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
quantity(
    "head_scale_bytes",
    r"\sigma_h",
    "byte/head/token",
    "bytes of scale kept for one head and token, K and V together",
    (0, 16),
)
quantity("value_bytes", "e_0", "byte/element", "bytes of an element without its scale", (0.5, 1))
quantity(
    "quant_block", "q", "element", "elements that share one scale", (16, 128), low=1, whole=True
)
quantity("scale_bytes", r"\sigma", "byte", "bytes of one scale", (1, 4))
quantity("entry_dim", "d_e", "element/entry", "width of a stored entry", (64, 1024), whole=True)
quantity(
    "tokens_per_entry",
    "m",
    "token/entry",
    "tokens that share one entry",
    (1, 128),
    low=1,
    whole=True,
)
quantity("record_bytes", r"\rho", "byte/entry", "bytes of an engine's record", (100, 1200))
quantity("quantized_dim", "d_q", "element/entry", "quantized elements of a record", (64, 512))
quantity("plain_dim", "d_p", "element/entry", "elements of a record kept as they are", (0, 128))
quantity("plain_element_bytes", "e_p", "byte/element", "bytes of an element kept as it is", (1, 4))
quantity("pad_bytes", r"\rho_0", "byte/entry", "bytes of a record that hold nothing", (0, 16))
quantity("block_tokens", "n_b", "token", "tokens of a block", (16, 256), low=1, whole=True)
quantity("chunk_tokens", "n_c", "token", "tokens of a store's chunk", (64, 512), low=1, whole=True)
quantity("page_bytes", r"\beta", "byte", "bytes that pages are multiples of", (256, 4096), low=1)
quantity("layer_groups", "G", "1", "groups of layers that share a pool", (1, 8), whole=True)
quantity("group_layers", "L_g", "layer", "layers of a group", (1, 64), whole=True)
quantity(
    "layer_bytes_per_token", "b_1", "byte/token/layer", "bytes of a token in one layer", (512, 8192)
)
quantity(
    "window", "W", "token", "tokens that a windowed layer keeps at most", (128, 8192), whole=True
)
quantity(
    "window_bytes_per_token",
    "b_W",
    "byte/token",
    "bytes of a token in the windowed layers",
    (1e3, 1e6),
)
quantity("window_bytes", "V_W", "byte", "bytes of the windowed layers", (0, 1e9))
quantity("state_bytes", "V_s", "byte", "bytes of a request that do not grow", (0, 1e9))
quantity(
    "state_elements", "N_s", "element/layer", "recurrent state of a layer", (1e5, 2e6), whole=True
)
quantity(
    "conv_elements", "N_c", "element/layer", "convolution state of a layer", (0, 1e5), whole=True
)
quantity("state_element_bytes", "e_s", "byte/element", "bytes of a recurrent state element", (2, 4))
quantity("conv_element_bytes", "e_c", "byte/element", "bytes of a convolution element", (2, 4))
quantity("source_tokens", "n_x", "token", "tokens of the encoder", (100, 10_000), whole=True)
quantity("tensor_ranks", "R_t", "rank", "ranks that split the heads", (1, 64), low=1, whole=True)
quantity("context_ranks", "R_c", "rank", "ranks that split the tokens", (1, 16), low=1, whole=True)
quantity("ranks", "R", "rank", "ranks that hold a request", (1, 64), low=1, whole=True)
quantity(
    "rank_bytes_per_token", "b_R", "byte/token/rank", "bytes of a token on one rank", (1e3, 1e6)
)

# What a replica holds
quantity("accelerators", "G_R", "accelerator", "accelerators of a replica", (1, 64), whole=True)
quantity("hbm_bytes", "M", "byte/accelerator", "memory of one accelerator", (16e9, 288e9))
quantity("hbm_share", r"\mu", "1", "share of the memory that the engine may use", (0.5, 1), high=1)
quantity("weight_bytes", r"\Omega", "byte/copy", "bytes of one copy of the weights", (1e9, 2e12))
quantity("weight_copies", r"g_\Omega", "copy", "copies of the weights", (1, 8), low=1, whole=True)
quantity("kv_budget_bytes", r"M_0", "byte", "memory left for KV", (1e9, 2e12))
quantity("requests", "n_r", "request", "requests that are held at once", (1, 1024), whole=True)

# Recompute
quantity("new_tokens", "s", "token", "tokens to compute", (16, 200_000), whole=True)
quantity("cached_tokens", "h", "token", "tokens whose KV is present", (0, 1_000_000), whole=True)
quantity("recompute_seconds", r"T_P", "s", "time to compute the prompt anew", (0.01, 100))
quantity("prefill_constant", "c", "s", "prefill time that no token causes", (0, 0.2), low=-math.inf)
quantity(
    "prefill_per_token", "a", "s/token", "prefill time of one token, attention aside", (2e-6, 5e-4)
)
quantity(
    "prefill_per_token_squared",
    "a_2",
    "s/token^2",
    "prefill time for the square of the length, which attention causes",
    (0, 1e-9),
)
quantity("prefill_floor", "T_0", "s", "least time that a prefill takes", (0, 0.1))
quantity("active_parameters", r"\Pi", "parameter", "parameters that a token meets", (1e9, 1e12))
quantity("q_heads", "H_q", "head", "query heads of a layer", (1, 128), whole=True)
quantity("pairs", "N_2", "token^2", "pairs of a token and one that it attends to", (1e6, 1e11))
quantity("flops", r"\Phi", "FLOP", "arithmetic to do", (1e12, 1e18))
quantity("peak_flops", r"\varphi", "FLOP/s/accelerator", "dense peak of one part", (1e14, 5e15))
quantity("mfu", r"\eta", "1", "share of the peak that is achieved", (0.1, 0.8), high=1)
quantity(
    "active_weight_bytes", r"\Omega_a", "byte", "bytes of weights that a step reads", (1e9, 1e12)
)
quantity("batch_kv_bytes", "V_b", "byte", "bytes of KV that a step reads", (0, 1e12))
quantity("hbm_bandwidth", "B_M", "byte/s/accelerator", "peak rate of the memory", (1e12, 8e12))
quantity("hbm_efficiency", r"\eta_M", "1", "share of it that is achieved", (0.5, 1), high=1)

# Transfer
quantity("bandwidth", "B", "byte/s", "rate at which KV arrives", (1e8, 1e12))
# fitted to measurements, both this and the constant of prefill may come out negative
quantity("overhead_seconds", "F", "s", "fixed time of a fetch", (1e-4, 2), low=-math.inf)
quantity("kv_bytes_per_token", "b", "byte/token", "bytes that one token adds to the KV", (1e3, 4e6))
quantity(
    "hit_tokens", "n_h", "token", "tokens of the prompt that a store holds", (256, 1e6), whole=True
)
quantity("local_tokens", "n_l", "token", "tokens that the replica holds", (0, 2048), whole=True)
quantity("fetched_tokens", "n_f", "token", "tokens that are moved", (0, 1e6), whole=True)
quantity("client_bandwidth", "B_c", "byte/s/rank", "rate of one rank's client", (1e9, 1e11))
quantity("rank_balance", r"\beta_R", "1", "slowest rank's rate over the mean", (0.8, 1), high=1)
quantity("link_bandwidth", "B_l", "byte/s", "rate of the narrowest link of the path", (1e9, 4e11))
quantity("store_bandwidth", "B_s", "byte/s/shard", "rate of one shard of the store", (1e9, 1e11))
quantity("shards", "S", "shard", "shards of the store", (1, 64), low=1, whole=True)
quantity(
    "shard_efficiency",
    r"\eta_S",
    "1",
    "share of as many single shards that the shards deliver together",
    (0.3, 1),
    high=1,
)
quantity(
    "scaling_exponent", r"\gamma", "1", "power of the shards that their rate grows with", (0.5, 1)
)
quantity("measured_shards", "S_m", "shard", "shards when it was measured", (2, 64), low=1)
quantity("measured_speedup", "x_S", "1", "rate of the shards over that of one", (1.1, 64), low=1)
quantity(
    "active_engines",
    "E",
    "replica",
    "engines that read the store at once",
    (1, 64),
    low=1,
    whole=True,
)
quantity("kv_copies", "C_R", "copy", "copies of the KV that the ranks hold together", (1, 16))
quantity("fixed_bytes", "V_f", "byte", "bytes of a fetch whatever its length", (0, 1e9))
quantity("moved_bytes", "V_m", "byte", "bytes that a fetch brings, uncompressed", (1e6, 1e12))
quantity("seconds_per_byte", r"\tau", "s/byte", "time that a byte of KV takes", (1e-12, 1e-8))
quantity("compression_ratio", r"\kappa", "1", "bytes before over after compression", (1, 8), low=1)
quantity("encode_rate", "r_e", "byte/s", "rate of the encoder, uncompressed", (1e9, 1e12))
quantity("decode_rate", "r_d", "byte/s", "rate of the decoder, uncompressed", (1e9, 1e12))
quantity("lookup_seconds", "t_q", "s", "time to ask what the store holds", (0, 0.05))
quantity("keys_per_chunk", "k_c", "key/chunk", "keys of a chunk", (1, 16), low=1, whole=True)
quantity("keys", "k", "key", "keys that a fetch asks for", (0, 10_000), whole=True)
quantity("per_key_seconds", "t_k", "s/key", "time that a key takes", (0, 1e-3))
quantity(
    "descriptors", r"\delta", "descriptor", "pieces of memory of a fetch", (0, 1e5), whole=True
)
quantity(
    "per_descriptor_seconds", r"t_\delta", "s/descriptor", "time that a piece takes", (0, 1e-4)
)

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
quantity("arrival_gap", r"\delta_a", "s", "time from one arrival to the next", (0, 0.02))
quantity("burst_seconds", "W_B", "s", "time over which a burst arrives", (0.1, 10))
quantity("background_utilization", r"\varrho_0", "1", "share that other requests take", (0, 0.95))
quantity("cold_seconds", "S_0", "s", "first service at a server", (2, 20))
quantity("warm_seconds", "S_1", "s", "later service at a server", (0.1, 2))
quantity("copy_ready_seconds", "T_x", "s", "when a copy can be used elsewhere", (1, 60))
quantity("batch_mean", r"\bar{X}", "1", "mean number of requests of a batch", (1, 32), low=1)
quantity("batch_pairs", "X_2", "1", "mean of that number times itself less one", (0, 1000))

# Replication of a prefix
quantity("repeats", "X_r", "request", "arrivals that make a burst", (2, 6), low=1, whole=True)
quantity("detection_window", "Z_r", "s", "time within which they have to come", (0.1, 5))
quantity("detection_seconds", "T_d", "s", "when a burst is noticed", (0.01, 2))
quantity("source_ready_seconds", "T_o", "s", "when the prefix is computed", (0.1, 10))
quantity("copy_seconds", "t_x", "s", "time of one copy at full bandwidth", (0.003, 2))
quantity("prefix_copies", "M_r", "copy", "copies beside the source", (1, 15), low=1, whole=True)
quantity("model_layers", "L_m", "layer", "layers of the model", (16, 128), low=1, whole=True)

# Queueing: waits
quantity("arrival_rate", r"\Lambda", "request/s", "requests that arrive a second", (0.1, 60))
quantity("offered_load", "A", "server", "servers that are busy on average", (0.5, 60))
quantity("arrival_scv", "C_a^2", "1", "squared coefficient of variation of the gaps", (0, 9))
quantity(
    "percentile", "p_q", "1", "share of the requests that wait no longer", (0.5, 0.999), high=1
)
