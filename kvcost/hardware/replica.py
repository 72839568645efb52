"""A replica: accelerators that serve one copy of a model, and the memory they leave for KV."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from kvcost.errors import CapacityError, InvalidValueError
from kvcost.facts import Provenance, weakest
from kvcost.hardware.accelerator import Accelerator
from kvcost.hardware.checks import MAX_BYTES, whole
from kvcost.hardware.formulas import kv_budget, kv_capacity, sequences_that_fit
from kvcost.units import parse_bytes, parse_ratio

__all__ = ["Replica"]

_WEIGHT_BYTES = (4.0, 2.0, 1.0, 0.5)


@dataclass(frozen=True, kw_only=True)
class Replica:
    """Accelerators that serve one model together.

    Parameters
    ----------
    accelerator : Accelerator
        The part.
    count : int
        How many of it; the product of the three degrees below.
    tp : int
        Tensor-parallel degree.
    pp : int
        Pipeline-parallel degree.
    dp : int
        Copies of the weights, each on ``tp`` times ``pp`` accelerators.
    weight_bytes : float
        Bytes of one copy of the weights.
    bytes_per_weight : float or None
        Bytes of one weight, if a message should say which smaller dtype would fit.
    hbm_share : float
        Share of the memory that the engine may use; 1 is all that the maker states.
    weights_provenance : Provenance
        How the size of the weights is known.

    Raises
    ------
    InvalidValueError
        If the degrees do not divide the number of accelerators, or a number is negative, not
        finite or absurd; texts with units are read.

    Notes
    -----
    A replica may be built that its weights do not fit; `check_fit` and everything about its KV
    refuse it with `CapacityError`.

    Examples
    --------
    >>> from kvcost.hardware import accelerator
    >>> node = Replica(accelerator=accelerator("h100"), count=4, tp=4, weight_bytes=141.2e9)
    >>> node.sequences_that_fit(kv_bytes_per_token=327_680, tokens=65_793)
    8
    """

    accelerator: Accelerator
    count: int
    tp: int
    pp: int = 1
    dp: int = 1
    weight_bytes: float
    bytes_per_weight: float | None = None
    hbm_share: float = 1.0
    weights_provenance: Provenance = Provenance.ASSUMED

    def __post_init__(self) -> None:
        if not isinstance(self.accelerator, Accelerator):
            raise InvalidValueError(
                field="accelerator",
                value=self.accelerator,
                bound="must be an Accelerator",
                remedy="get one with kvcost.hardware.accelerator(name)",
            )
        for field in ("count", "tp", "pp", "dp"):
            object.__setattr__(self, field, whole(getattr(self, field), field=field))
        self._check_degrees()
        weights = parse_bytes(self.weight_bytes, field="weight_bytes", maximum=MAX_BYTES)
        object.__setattr__(self, "weight_bytes", weights)
        object.__setattr__(self, "hbm_share", parse_ratio(self.hbm_share, field="hbm_share"))
        object.__setattr__(self, "weights_provenance", Provenance(self.weights_provenance))
        if self.bytes_per_weight is not None:
            each = parse_bytes(self.bytes_per_weight, field="bytes_per_weight", maximum=8.0)
            object.__setattr__(self, "bytes_per_weight", each)

    def _check_degrees(self) -> None:
        for field in ("tp", "pp", "dp"):
            degree = getattr(self, field)
            if self.count % degree:
                divisors = [n for n in range(1, self.count + 1) if self.count % n == 0]
                raise InvalidValueError(
                    field=field,
                    value=degree,
                    bound=f"must divide the {self.count} accelerators",
                    remedy=f"use one of {', '.join(map(str, divisors[:12]))}",
                )
        if self.tp * self.pp * self.dp != self.count:
            raise InvalidValueError(
                field="tp x pp x dp",
                value=self.tp * self.pp * self.dp,
                bound=f"must be the {self.count} accelerators",
                remedy="raise dp to serve several copies, or lower count",
            )

    @property
    def provenance(self) -> Provenance:
        """Weakest of the accelerator's numbers and the size of the weights."""
        return weakest(self.accelerator, self.weights_provenance)

    @property
    def hbm_bytes(self) -> float:
        """Memory of all accelerators together, in bytes, before `hbm_share`."""
        return self.count * self.accelerator.hbm_bytes

    @property
    def hbm_bandwidth(self) -> float:
        """Memory bandwidth of all accelerators together, in bytes a second."""
        return self.count * self.accelerator.hbm_bandwidth

    def peak_flops(self, dtype: str) -> float:
        """Return the dense peak of all accelerators together, in FLOP/s.

        Raises
        ------
        MissingFactError
            If the maker states no peak for the dtype.
        """
        return self.count * self.accelerator.peak(dtype)

    def check_fit(self) -> None:
        """Refuse weights that do not fit the memory of one copy's accelerators.

        Raises
        ------
        CapacityError
            With how many accelerators, or which smaller weights, would fit.
        """
        usable = self.accelerator.hbm_bytes * self.hbm_share
        group = self.tp * self.pp
        if self.weight_bytes < group * usable:
            return
        share = "" if self.hbm_share == 1 else f"{self.hbm_share:.0%} of the "
        raise CapacityError(
            what=f"weights {_gb(self.weight_bytes)}",
            limit=f"{share}{_gb(group * self.accelerator.hbm_bytes)} of HBM on "
            f"{group} x {self.accelerator.label}",
            remedy=self._remedy(usable=usable, group=group),
        )

    def kv_budget_bytes(self) -> float:
        """Return the bytes that the weights leave for KV, on all accelerators together.

        Raises
        ------
        CapacityError
            If the weights do not fit.
        """
        self.check_fit()
        return float(
            kv_budget(
                accelerators=self.count,
                hbm_bytes=self.accelerator.hbm_bytes,
                hbm_share=self.hbm_share,
                weight_copies=self.dp,
                weight_bytes=self.weight_bytes,
            )
        )

    def kv_capacity_tokens(
        self,
        *,
        kv_bytes_per_token: float,
        fixed_bytes_per_request: float = 0.0,
        requests: int = 1,
    ) -> int:
        """Return how many tokens of KV the replica holds.

        Parameters
        ----------
        kv_bytes_per_token : float
            Bytes that one token adds, over all ranks and their copies.
        fixed_bytes_per_request : float
            Bytes of one request whatever its length.
        requests : int
            Requests that hold their fixed bytes at the same time.

        Returns
        -------
        int
            Whole tokens.

        Raises
        ------
        CapacityError
            If the weights, or the fixed bytes of the requests beside them, do not fit.
        """
        each, fixed = self._per_request(kv_bytes_per_token, fixed_bytes_per_request)
        requests = whole(requests, field="requests")
        budget = self.kv_budget_bytes()
        if requests * fixed > budget:
            raise CapacityError(
                what=f"fixed bytes of {requests} requests, {_gb(requests * fixed)},",
                limit=f"{_gb(budget)} left for KV",
                remedy=f"hold at most {math.floor(budget / fixed)} requests at once",
            )
        tokens: float = kv_capacity(
            kv_budget_bytes=budget,
            kv_bytes_per_token=each,
            requests=requests,
            state_bytes=fixed,
        )
        return math.floor(tokens)

    def sequences_that_fit(
        self, *, kv_bytes_per_token: float, tokens: int, fixed_bytes_per_request: float = 0.0
    ) -> int:
        """Return how many requests of one length the replica holds at once.

        Parameters
        ----------
        kv_bytes_per_token : float
            Bytes that one token adds, over all ranks and their copies.
        tokens : int
            Tokens for which a request reserves memory: prompt and answer.
        fixed_bytes_per_request : float
            Bytes of one request whatever its length.

        Returns
        -------
        int
            Requests; 0 when not even one fits.

        Raises
        ------
        CapacityError
            If the weights do not fit.
        """
        each, fixed = self._per_request(kv_bytes_per_token, fixed_bytes_per_request)
        return int(
            sequences_that_fit(
                kv_budget_bytes=self.kv_budget_bytes(),
                kv_bytes_per_token=each,
                tokens=whole(tokens, field="tokens", high=10**9),
                state_bytes=fixed,
            )
        )

    def with_count(self, count: int) -> Replica:
        """Return the same model on another number of accelerators, all tensor parallel."""
        return replace(self, count=count, tp=count, pp=1, dp=1)

    @staticmethod
    def _per_request(kv_bytes_per_token: float, fixed: float) -> tuple[float, float]:
        return (
            parse_bytes(kv_bytes_per_token, field="kv_bytes_per_token", maximum=1e12),
            parse_bytes(fixed, field="fixed_bytes_per_request", allow_zero=True, maximum=MAX_BYTES),
        )

    def _remedy(self, *, usable: float, group: int) -> str:
        needed = math.floor(self.weight_bytes / usable) + 1
        advice = f"use at least {needed} accelerators"
        if self.bytes_per_weight is None:
            return advice
        weights = self.weight_bytes / self.bytes_per_weight
        fitting = [
            each
            for each in _WEIGHT_BYTES
            if each < self.bytes_per_weight and weights * each < group * usable
        ]
        if not fitting:
            return advice
        plural = "" if fitting[0] == 1 else "s"
        return f"{advice} or {fitting[0]:g} byte{plural} per weight"


def _gb(size: float) -> str:
    return f"{size / 1e9:.1f} GB"
