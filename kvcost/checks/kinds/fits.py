"""Memory budgets: weights and the KV of requests fit, or so many bytes into so many."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from kvcost.checks.costs import HARDWARE_KEYS, MODEL_KEYS, model_of, size_options
from kvcost.checks.files import merge_file
from kvcost.checks.outcome import Outcome, require
from kvcost.checks.words import computed_bytes, number, plural, relation
from kvcost.errors import CapacityError, InvalidValueError, MissingFactError
from kvcost.units import format_bytes, format_tokens, parse_bytes, parse_tokens

if TYPE_CHECKING:
    from collections.abc import Callable

    from kvcost.checks.table import Table
    from kvcost.hardware import Replica

__all__ = ["KEYS", "SUMMARY", "Requests", "assert_fits", "judge_bytes", "judge_requests", "read"]

SUMMARY = "weights and the KV of so many requests fit into memory"
_SPREAD = ("tp", "pp", "dp")
KEYS = frozenset(
    (
        *MODEL_KEYS,
        *HARDWARE_KEYS,
        *_SPREAD,
        *("deployment", "weights", "kv_bytes_per_token", "fixed_bytes_per_request"),
        *("hbm_share", "tokens", "requests", "needed", "available", "measured"),
    )
)


@dataclass(frozen=True, kw_only=True)
class Requests:
    """Requests that must fit at the same time.

    Attributes
    ----------
    requests : int
        How many.
    tokens : int
        Tokens of each, prompt and answer.
    kv_bytes_per_token : float
        Bytes that one token adds, over all ranks and their copies.
    fixed_bytes_per_request : float
        Bytes of one request whatever its length.
    """

    requests: int
    tokens: int
    kv_bytes_per_token: float
    fixed_bytes_per_request: float = 0.0

    @property
    def bytes_each(self) -> float:
        """Bytes of one request."""
        return self.kv_bytes_per_token * self.tokens + self.fixed_bytes_per_request


def judge_requests(replica: Replica, asked: Requests, *, notes: tuple[str, ...] = ()) -> Outcome:
    """Return whether requests fit on a replica beside its weights.

    Parameters
    ----------
    replica : Replica
        Accelerators and weights.
    asked : Requests
        What must fit.
    notes : tuple of str
        What was assumed of the bytes.

    Returns
    -------
    Outcome
        Met where so many fit at once.
    """
    sizes = {
        "kv_bytes_per_token": asked.kv_bytes_per_token,
        "fixed_bytes_per_request": asked.fixed_bytes_per_request,
    }
    where = f"{replica.count} x {replica.accelerator.label}"
    try:
        fitting = replica.sequences_that_fit(tokens=asked.tokens, **sizes)
    except CapacityError as error:
        return Outcome(
            met=False, text=str(error), value=0.0, limit=asked.requests, unit="request", notes=notes
        )
    met = fitting >= asked.requests
    length = format_tokens(asked.tokens)
    verb = "fits" if fitting == 1 else "fit"
    text = (
        f"{plural(fitting, 'request')} of {length} {verb} on {where}, "
        f"{number(asked.requests)} are required"
    )
    if not met:
        left = computed_bytes(replica.kv_budget_bytes())
        text += f": each takes {computed_bytes(asked.bytes_each)} of the {left} left for KV"
        text += f"; {_shorter(replica, asked)}"
    return Outcome(
        met=met, text=text, value=fitting, limit=asked.requests, unit="request", notes=notes
    )


def _shorter(replica: Replica, asked: Requests) -> str:
    try:
        tokens = replica.kv_capacity_tokens(
            kv_bytes_per_token=asked.kv_bytes_per_token,
            fixed_bytes_per_request=asked.fixed_bytes_per_request,
            requests=asked.requests,
        )
    except CapacityError as error:
        return str(error)
    longest = tokens // asked.requests
    return f"{number(asked.requests)} fit up to {format_tokens(longest)} each"


def judge_bytes(*, needed: float, available: float) -> Outcome:
    """Return whether bytes fit into bytes.

    Parameters
    ----------
    needed, available : float
        Bytes.

    Returns
    -------
    Outcome
        Met where no more are needed than there are.
    """
    where = f"{relation(needed, available)} the {format_bytes(available)} available"
    return Outcome(
        met=needed <= available,
        text=f"{format_bytes(needed)} needed is {where}",
        value=needed,
        limit=available,
        unit="byte",
    )


def _judge_capacity(capacity: int, *, requests: int, tokens: int) -> Outcome:
    needed = requests * tokens
    text = (
        f"measured KV capacity of {format_tokens(capacity)} is {relation(capacity, needed)} the "
        f"{format_tokens(needed)} that {plural(requests, 'request')} of {format_tokens(tokens)} "
        "take"
    )
    met = capacity >= needed
    if not met:
        text += f": {number(capacity // tokens)} fit, or {number(requests)} up to "
        text += f"{format_tokens(capacity // requests)} each"
    return Outcome(met=met, text=text, value=capacity, limit=needed, unit="token")


def assert_fits(
    what: Replica | float | str,
    available: float | str | None = None,
    *,
    requests: int | None = None,
    tokens: float | str | None = None,
    kv_bytes_per_token: float | str | None = None,
    fixed_bytes_per_request: float | str = 0.0,
) -> None:
    """Assert that requests fit on a replica, or bytes into bytes.

    Parameters
    ----------
    what : Replica, float or str
        Accelerators and weights, or a size that is needed.
    available : float or str, optional
        The size that there is, where `what` is a size.
    requests : int, optional
        Requests at the same time, where `what` is a replica.
    tokens : float or str, optional
        Tokens of each.
    kv_bytes_per_token : float or str, optional
        Bytes that one token adds, over all ranks and their copies.
    fixed_bytes_per_request : float or str
        Bytes of one request whatever its length.

    Raises
    ------
    AssertionError
        If they do not fit.
    InvalidValueError
        If a value is out of bounds or without its unit.
    MissingFactError
        If a value is not given.

    Examples
    --------
    >>> from kvcost.hardware import Replica, accelerator
    >>> node = Replica(accelerator=accelerator("h100"), count=4, tp=4, weight_bytes="141.2 GB")
    >>> assert_fits(node, requests=8, tokens="64Ki", kv_bytes_per_token="320 KiB")
    >>> assert_fits(node, requests=10, tokens="64Ki", kv_bytes_per_token="320 KiB")
    Traceback (most recent call last):
    AssertionError: 8 requests of 65,536 tokens fit on 4 x H100, 10 are required: each takes 21.5 GB
    of the 179 GB left for KV; 10 fit up to 54,565 tokens each
    """
    __tracebackhide__ = True
    from kvcost.hardware.checks import whole  # noqa: PLC0415 - loaded only when asked for

    if isinstance(what, (str, int, float)):
        if available is None:
            raise MissingFactError(
                fact="available", subject="the assertion", remedy='write e.g. "80 GB"'
            )
        require(
            judge_bytes(
                needed=parse_bytes(what, field="needed", allow_zero=True),
                available=parse_bytes(available, field="available"),
            )
        )
        return
    if requests is None or tokens is None or kv_bytes_per_token is None:
        raise MissingFactError(
            fact="what must fit",
            subject="the replica",
            remedy="give requests, tokens and kv_bytes_per_token",
        )
    asked = Requests(
        requests=whole(requests, field="requests"),
        tokens=parse_tokens(tokens, field="tokens"),
        kv_bytes_per_token=parse_bytes(kv_bytes_per_token, field="kv_bytes_per_token"),
        fixed_bytes_per_request=parse_bytes(
            fixed_bytes_per_request, field="fixed_bytes_per_request", allow_zero=True
        ),
    )
    require(judge_requests(what, asked))


def read(table: Table) -> Callable[[], Outcome]:
    """Return the function that judges a memory budget; see `kvcost.checks.kinds`."""
    if "needed" in table or "available" in table:
        table.need("needed", example='"95 GB"')
        table.need("available", example='"141 GB"')
        needed = cast("float", table.size("needed", allow_zero=True))
        available = cast("float", table.size("available"))
        return lambda: judge_bytes(needed=needed, available=available)
    merge_file(table)
    table.need("tokens", example='"64k"')
    table.need("requests", example="8")
    tokens, requests = cast("int", table.tokens("tokens")), cast("int", table.whole("requests"))
    measured = table.tokens("measured")
    if measured is not None:
        return lambda: _judge_capacity(measured, requests=requests, tokens=tokens)
    return _computed(table, requests=requests, tokens=tokens)


def _computed(table: Table, *, requests: int, tokens: int) -> Callable[[], Outcome]:
    from kvcost.hardware import Replica, accelerator  # noqa: PLC0415 - loaded only when asked for

    for key, example in (
        ("accelerator", '"h100"'),
        ("gpus", "8"),
        ("hbm_share", '"90%", the share that the engine may use'),
    ):
        table.need(key, example=example)
    gpus = cast("int", table.whole("gpus"))
    degrees = {key: table.whole(key) or 1 for key in _SPREAD}
    if "tp" not in table:
        degrees["tp"] = max(1, gpus // (degrees["pp"] * degrees["dp"]))
    weights, each = _weights(table)
    replica = Replica(
        accelerator=accelerator(cast("str", table.text("accelerator"))),
        count=gpus,
        weight_bytes=weights,
        bytes_per_weight=each,
        hbm_share=cast("float", table.ratio("hbm_share")),
        tp=degrees["tp"],
        pp=degrees["pp"],
        dp=degrees["dp"],
    )
    asked, notes = _kv(table, tp=degrees["tp"], requests=requests, tokens=tokens)
    notes = (f"tp {degrees['tp']}, pp {degrees['pp']}, dp {degrees['dp']}", *notes)
    return lambda: judge_requests(replica, asked, notes=notes)


def _weights(table: Table) -> tuple[float, float | None]:
    stated = table.size("weights")
    if stated is not None:
        return stated, None
    table.need("bytes_per_weight", example="2, or weights with their size")
    each = cast("float", table.ratio("bytes_per_weight", maximum=8))
    if "model" not in table:
        table.need("weights", example='"141.2 GB"')
    parameters = model_of(table).total_parameters
    if parameters is None:
        raise MissingFactError(
            fact="the number of parameters",
            subject=str(table.values["model"]),
            remedy='add weights = "141.2 GB"',
        )
    return parameters * each, each


def _kv(table: Table, *, tp: int, requests: int, tokens: int) -> tuple[Requests, tuple[str, ...]]:
    if "kv_bytes_per_token" in table:
        table.need("fixed_bytes_per_request", example='"0 B"')
        each = cast("float", table.size("kv_bytes_per_token"))
        fixed = cast("float", table.size("fixed_bytes_per_request", allow_zero=True))
        notes: tuple[str, ...] = ()
    else:
        from kvcost.model import kv_size  # noqa: PLC0415 - loaded only when asked for

        if "fixed_bytes_per_request" in table:
            raise InvalidValueError(
                field="fixed_bytes_per_request",
                value=table.values["fixed_bytes_per_request"],
                bound="goes with kv_bytes_per_token",
                remedy="add it, or leave both out and name the model",
            )
        size = kv_size(model_of(table), tp=tp, **size_options(table))
        each = size.bytes_per_token * size.copies
        fixed = size.fixed_bytes_per_request * size.copies
        notes = size.notes
    found = Requests(
        requests=requests,
        tokens=tokens,
        kv_bytes_per_token=each,
        fixed_bytes_per_request=fixed,
    )
    return found, notes
