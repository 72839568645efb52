"""The charts of a report, each with what it shows in words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kvcost import charts
from kvcost.breakeven import decide, tier_ladder
from kvcost.report.blocks import Heading, Paragraph, Picture
from kvcost.scenario import BurstWork
from kvcost.units import format_seconds, format_tokens

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kvcost.planning import Comparison
    from kvcost.report.blocks import Block
    from kvcost.report.scene import Scene

__all__ = ["pictures"]

_USUAL = ("round_robin", "least_load", "cache_aware", "replicate_on_burst", "random")
_CURVES = 5
_MOST_SIMULATED = 50_000  # requests of one run
_MOST_DRAWN = 200_000
_RUNS = 5


def _picture(chart: Any, alt: str, caption: str = "") -> Picture:
    return Picture(svg=charts.svg_text(chart), alt=alt, caption=caption)


def _policies(found: Comparison) -> Iterator[Block]:
    best, worst = found.answers[0], found.answers[-1]
    yield Heading(level=3, text="Where the time goes")
    yield _picture(
        charts.policy_parts(found, width=240),
        f"Bars of the mean time to first token of {len(found.answers)} policies, from "
        f"{format_seconds(best.mean)} under {best.policy} to {format_seconds(worst.mean)} under "
        f"{worst.policy}, cut into what requests wait for.",
        "Each bar is a policy's mean; its colours are what requests wait for.",
    )


def _loads(scene: Scene, found: Comparison) -> Iterator[Block]:
    own = scene.scenario.policy.name
    closed = [answer.policy for answer in found.answers if answer.closed is not None]
    wanted = dict.fromkeys((found.answers[0].policy, own, *_USUAL))
    chosen = [name for name in wanted if name in closed][:_CURVES]
    if not chosen:
        return
    small = (scene.requests or _MOST_SIMULATED) < _MOST_SIMULATED
    sweep = charts.load_sweep(scene.scenario, chosen, simulate=small, replications=_RUNS)
    if not sweep.points:
        return
    low, high = sweep.points[0][0], sweep.points[-1][0]
    yield Heading(level=3, text="If the load changes")
    yield _picture(
        charts.latency_load(sweep, width=290),
        f"Curves of the mean time to first token of {', '.join(chosen)}, for {low:g} to {high:g} "
        f"{sweep.title}.",
        "Lines are closed forms"
        + (f", points the means of {_RUNS} simulated runs with their intervals." if small else "."),
    )


def _timeline(scene: Scene) -> Iterator[Block]:
    if scene.requests is not None and scene.requests > _MOST_DRAWN:
        return
    from kvcost.simulation.cluster import simulate  # noqa: PLC0415 - compiles

    run = simulate(scene.scenario)
    if run.arrival.size > _MOST_DRAWN or run.replicas > 64:
        return
    yield Heading(level=3, text="One run, over time")
    yield _picture(
        charts.burst_timeline(run, width=290),
        f"Three charts over time of one simulated run under {run.policy}: arrivals, requests that "
        f"wait at each of {run.replicas} replicas, and the time to first token of each request, "
        f"at most {format_seconds(run.maximum)}.",
        f"One run with seed {run.seed}; {run.cold_requests:,} of {run.arrival.size:,} requests "
        "found nothing cached.",
    )


def _maps(scene: Scene, found: Comparison) -> Iterator[Block]:
    work = scene.scenario.workload
    if not isinstance(work, BurstWork):
        return
    closed = {answer.policy for answer in found.answers if answer.closed is not None}
    if "cache_aware" in closed:
        cells = charts.threshold_sweep(scene.scenario)
        if cells:
            yield Heading(level=3, text="When loads go out of balance")
            yield _picture(
                charts.threshold_map(cells),
                "A map of the share of the bursts in which cache-aware routing gives up the "
                f"cache, from {min(c.value for c in cells):.0%} to "
                f"{max(c.value for c in cells):.0%}, over the size of the burst and the threshold.",
                "Above the threshold requests go to the least loaded replica, which may not hold "
                "their prefix.",
            )
    if "replicate_on_burst" in closed and "another replica" in scene.paths and work.span > 0:
        cells = charts.replication_sweep(scene.scenario)
        low, high = (end(cells, key=lambda cell: cell.value) for end in (min, max))
        yield Heading(level=3, text="What copies of a hot prefix save")
        yield _picture(
            charts.replication_map(cells),
            "A map of the mean time to first token over copies and length of the burst: from "
            f"{format_seconds(low.value)} ({low.x:g} replicas, {low.y:g} s) to "
            f"{format_seconds(high.value)} ({high.x:g} replicas, {high.y:g} s).",
            f"One copy of the prefix takes {format_seconds(scene.costs.copy(work.shared_tokens))}.",
        )


def _fetching(scene: Scene) -> Iterator[Block]:
    prompt = scene.prompt
    if prompt is None or not scene.paths or scene.kv_bytes_per_token <= 0:
        return
    yield Heading(level=3, text="Fetch or compute a prompt")
    decisions = {}
    for name, path in scene.paths.items():
        decisions[name] = decide(
            tokens=prompt,
            kv_bytes_per_token=scene.kv_bytes_per_token,
            fixed_bytes_per_request=0.0,
            prefill=scene.prefill,
            path=path,
            loading="sync",
        )
        yield Paragraph(text=f"From {name}: {decisions[name].sentence}")
    lengths = sorted({max(1, prompt // 16), max(1, prompt // 4), prompt})
    rows = tier_ladder(
        lengths,
        scene.paths,
        scene.prefill,
        kv_bytes_per_token=scene.kv_bytes_per_token,
        fixed_bytes_per_request=0.0,
    )
    last = [row for row in rows if row.tokens == prompt]
    yield _picture(
        charts.tier_ladder(rows, width=270),
        f"Times until {format_tokens(prompt)} are ready: computed "
        f"{format_seconds(last[0].recompute_seconds)}; "
        + "; ".join(f"from {row.tier} {format_seconds(row.hit_seconds)}" for row in last)
        + ".",
    )
    yield from _thresholds(scene, prompt, decisions)


def _thresholds(scene: Scene, prompt: int, decisions: dict[str, Any]) -> Iterator[Block]:
    rates = {name: decision.bandwidth for name, decision in decisions.items()}
    needed = next(iter(decisions.values())).break_even_bandwidth_without_overhead
    if needed is None:
        return
    network = scene.scenario.network
    yield _picture(
        charts.break_even_map(
            prefill=scene.prefill,
            kv_bytes_per_token=scene.kv_bytes_per_token,
            overhead_seconds=network.latency,
            places={name: (float(prompt), rate) for name, rate in rates.items()},
            lengths=(max(16.0, prompt / 64), prompt * 4.0),
            bandwidths=(needed / 10, 4 * max(*rates.values(), needed)),
            width=300,
        ),
        "A map of recompute time over fetch time, over prompt length and bandwidth; without "
        f"overhead both take as long at {needed / 1e9:.3g} GB/s for {format_tokens(prompt)}.",
        "Blue: fetching is faster. Dots: the scenario's own bandwidths.",
    )
    if "another replica" in rates:
        yield _picture(
            charts.tornado(
                "split_seconds",
                tokens=float(prompt),
                prefill_constant=scene.prefill.constant,
                prefill_per_token=scene.prefill.per_token,
                prefill_per_token_squared=scene.prefill.per_token_squared,
                prefill_floor=scene.prefill.floor,
                overhead_seconds=network.latency,
                kv_bytes_per_token=scene.kv_bytes_per_token,
                bandwidth=rates["another replica"],
                width=220,
            ),
            "Bars of how much the time to have a prompt ready, fetched and computed at once, "
            "changes for 1% more of each parameter.",
            "The time to have the prompt ready if one part is fetched from another replica while "
            "the other is computed.",
        )


def pictures(scene: Scene, found: Comparison) -> tuple[Block, ...]:
    """Return the charts, each under a heading of level 3.

    Parameters
    ----------
    scene : Scene
        The scenario.
    found : Comparison
        What its policies give.

    Returns
    -------
    tuple of Block
        Headings and pictures; what the scenario does not determine is left out.
    """
    return (
        *_policies(found),
        *_loads(scene, found),
        *_timeline(scene),
        *_maps(scene, found),
        *_fetching(scene),
    )
