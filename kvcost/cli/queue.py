r"""How long requests wait for a server, in steady traffic or in a burst.

Try:
  kvcost queue --servers 8 --utilization 0.9 --service-mean 0.3 --service-scv 4
  kvcost queue --servers 8 --utilization 0.9 --service-mean 0.3 --service-scv 4 \
      --distribution lognormal
  kvcost queue --servers 4 --burst 100 --over 10s --service-mean 0.5 --distribution deterministic
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from kvcost.cli.output import Report, show
from kvcost.cli.parser import add_output_flags, count

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from kvcost.queueing import Service, Wait
    from kvcost.queueing.burst import BurstWait
    from kvcost.queueing.burst.case import Arrivals

__all__ = ["configure", "run"]

_PERCENTILES = {"p50": 0.5, "p95": 0.95, "p99": 0.99}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the flags of the command."""
    parser.add_argument("--servers", metavar="C", required=True, help="servers that share a queue")
    parser.add_argument(
        "--utilization", metavar="SHARE", help="offered load over servers (of a burst: background)"
    )
    parser.add_argument("--arrival-rate", metavar="RATE", help="requests a second instead")
    parser.add_argument(
        "--service-mean", metavar="TIME", required=True, help="mean service time; bare: seconds"
    )
    parser.add_argument("--service-scv", metavar="X", help="its variance over its squared mean")
    parser.add_argument("--third-moment", metavar="X", help="mean of its third power, in s^3")
    parser.add_argument(
        "--distribution", metavar="NAME", help="its law: deterministic, exponential, lognormal, ..."
    )
    parser.add_argument("--burst", metavar="B", help="requests of a burst")
    parser.add_argument("--over", metavar="TIME", help="time over which they arrive; bare: seconds")
    parser.add_argument(
        "--arrivals",
        choices=["even", "uniform", "poisson", "poisson_window", "batch"],
        help="how the burst arrives (even)",
    )
    parser.add_argument("--max-wait", metavar="TIME", help="budget for the mean wait; exit code 1")
    add_output_flags(parser)


def _number(text: str | None, field: str, *, example: str = "4") -> float | None:
    from kvcost.errors import InvalidValueError  # noqa: PLC0415 - loaded only when asked for

    if text is None:
        return None
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise InvalidValueError(
            field=field, value=text, bound="must be a finite number", remedy=f"write e.g. {example}"
        )
    return number


def _seconds(text: str | None, field: str, *, allow_zero: bool = False) -> float | None:
    from kvcost.units import parse_seconds  # noqa: PLC0415

    if text is None:
        return None
    try:
        bare: str | float = float(text)
    except ValueError:
        bare = text
    return parse_seconds(bare, field=field, allow_zero=allow_zero)


def _whole_or_real(number: float | None) -> float:
    assert number is not None
    return int(number) if number.is_integer() else number


def run(args: argparse.Namespace) -> int:
    """Print the wait; return 1 if the budget is missed."""
    from kvcost.units import format_seconds  # noqa: PLC0415

    limit = _seconds(args.max_wait, "--max-wait")
    wait, notes = _burst(args) if args.burst is not None else _steady(args)
    worst = wait.mean_high
    missed = limit is not None and worst > limit
    if missed:
        notes.append(f"BUDGET MISSED: the mean wait may be {format_seconds(worst)}")
    show(_report(wait, notes), args)
    return 1 if missed else 0


def _load(args: argparse.Namespace) -> dict[str, float]:
    from kvcost.errors import InvalidValueError, MissingFactError  # noqa: PLC0415

    rho = _number(args.utilization, "--utilization", example="0.9")
    rate = _number(args.arrival_rate, "--arrival-rate")
    if rho is not None and rate is not None:
        raise InvalidValueError(
            field="--arrival-rate",
            value=args.arrival_rate,
            bound="does not go with --utilization",
            remedy="give one of them",
        )
    if rho is not None:
        return {"utilization": rho}
    if rate is not None:
        return {"arrival_rate": rate}
    raise MissingFactError(
        fact="the load", subject="the servers", remedy="add --utilization 0.9 or --arrival-rate 12"
    )


def _steady(args: argparse.Namespace) -> tuple[Wait, list[str]]:
    from kvcost.queueing import mgc, moments_wait, named_law  # noqa: PLC0415

    servers = _whole_or_real(_number(args.servers, "--servers"))
    moments = _moments(args)
    if args.distribution is not None:
        law = named_law(args.distribution, **moments)
        return mgc(servers=servers, service=law, **_load(args)), []
    found = moments_wait(
        servers=servers,  # type: ignore[arg-type]  # it says what is no whole number
        mean_service=moments["mean"],
        scv=moments["scv"],
        third_moment=moments["third_moment"],
        **_load(args),
    )
    return found, []


def _moments(args: argparse.Namespace) -> dict[str, Any]:
    return {
        "mean": _seconds(args.service_mean, "--service-mean"),
        "scv": _number(args.service_scv, "--service-scv"),
        "third_moment": _number(args.third_moment, "--third-moment"),
    }


def _burst(args: argparse.Namespace) -> tuple[Wait, list[str]]:
    from kvcost.errors import MissingFactError  # noqa: PLC0415
    from kvcost.queueing.burst import burst  # noqa: PLC0415

    arrivals: Arrivals = args.arrivals or "even"
    requests = count(args.burst, "--burst")
    assert requests is not None
    window = _seconds(args.over, "--over", allow_zero=True)
    if window is None:
        if arrivals != "batch":
            raise MissingFactError(
                fact="the time over which they arrive",
                subject="the burst",
                remedy="add --over 10s, or --arrivals batch for all at once",
            )
        window = 0.0
    share = 0.0
    notes = [] if args.arrivals else ["the burst is taken to arrive evenly (--arrivals)"]
    if args.utilization is None:
        notes.append("no other requests run beside the burst (--utilization)")
    else:
        share = _load(args)["utilization"]

    def answer(law: Service) -> BurstWait:
        return burst(
            servers=_whole_or_real(_number(args.servers, "--servers")),  # type: ignore[arg-type]
            requests=requests,
            window_seconds=window,
            service=law,
            arrivals=arrivals,
            background_utilization=share,
        )

    return _over_laws(args, answer), notes


def _over_laws(args: argparse.Namespace, answer: Callable[[Service], BurstWait]) -> Wait:
    """Return the burst's wait, or its range where two moments do not fix the law."""
    from kvcost.errors import MissingFactError  # noqa: PLC0415
    from kvcost.queueing import HyperExponential, named_law  # noqa: PLC0415
    from kvcost.queueing.result import ErrorClass, Wait  # noqa: PLC0415

    moments = _moments(args)
    mean, scv, third = moments["mean"], moments["scv"], moments["third_moment"]
    if args.distribution is not None:
        return answer(named_law(args.distribution, **moments))
    if scv is None:
        raise MissingFactError(
            fact="the law of the service time",
            subject="the burst",
            remedy="add --distribution deterministic, or --service-scv X",
        )
    if scv in {0, 1}:
        return answer(named_law("deterministic" if scv == 0 else "exponential", mean=mean))
    if third is not None and scv > 1:
        return answer(HyperExponential.three_moments(mean=mean, scv=scv, third=third))
    if scv < 1:
        return answer(named_law("gamma", mean=mean, scv=scv))
    ends = sorted(
        float(answer(law).mean or 0.0)
        for law in (
            HyperExponential.gamma_like(mean=mean, scv=scv),
            HyperExponential.lognormal_like(mean=mean, scv=scv),
        )
    )
    return Wait(
        mean=None,
        mean_low=ends[0],
        mean_high=ends[1],
        probability_of_wait=None,
        method="bursts of two hyperexponential laws with these two moments",
        error=ErrorClass(
            kind="range",
            relative=None,
            text="range from a gamma-like to a lognormal-like third moment, not a bound",
        ),
        warnings=("two moments do not determine the wait; --distribution narrows it",),
    )


def _percentile(wait: Wait, p: float) -> float | None:
    from kvcost.errors import MissingFactError  # noqa: PLC0415

    try:
        return wait.quantile(p)
    except MissingFactError:
        return None


def _report(wait: Wait, notes: list[str]) -> Report:
    from kvcost.units import format_ratio, format_seconds  # noqa: PLC0415

    data: dict[str, Any] = {
        "mean_wait": wait.mean,
        "mean_wait_low": wait.mean_low,
        "mean_wait_high": wait.mean_high,
        **{name: _percentile(wait, p) for name, p in _PERCENTILES.items()},
        "probability_of_wait": wait.probability_of_wait,
        "method": wait.method,
        "error": {
            "kind": wait.error.kind,
            "relative": wait.error.relative,
            "text": wait.error.text,
        },
        "warnings": list(wait.warnings),
    }
    extremes = getattr(wait, "extremes", None)
    if extremes is not None:
        data |= {
            "maximum": extremes.maximum,
            "peak_backlog": extremes.peak_backlog,
            "drain_seconds": wait.drain_seconds,  # type: ignore[attr-defined]
        }
    mean = "not determined" if wait.mean is None else format_seconds(wait.mean)
    rows = [("mean wait", mean)]
    if wait.mean is None:
        rows.append(
            ("  between", f"{format_seconds(wait.mean_low)} and {format_seconds(wait.mean_high)}")
        )
    rows += [
        (f"{name} of the wait", format_seconds(data[name]))
        for name in _PERCENTILES
        if data[name] is not None
    ]
    if wait.probability_of_wait is not None:
        rows.append(("probability of a wait", format_ratio(wait.probability_of_wait)))
    if extremes is not None:
        rows += [
            ("longest wait, mean", format_seconds(extremes.maximum)),
            ("largest backlog, mean", f"{extremes.peak_backlog:.4g} requests"),
            ("drained after the end", format_seconds(data["drain_seconds"])),
        ]
    return Report(
        title="How long requests wait for a server",
        header=(),
        rows=rows,
        notes=[
            f"Method: {wait.method}. Error: {wait.error.text}.",
            *(f"- {text}" for text in (*wait.warnings, *notes)),
        ],
        data={**data, "notes": notes},
        records=[{key: value for key, value in data.items() if key != "warnings"}],
    )
