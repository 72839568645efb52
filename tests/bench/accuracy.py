"""Write the accuracy table of README.md: closed forms against a public simulator's runs.

Usage: ``python -m tests.bench.accuracy``, as ``make accuracy`` does.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kvcost.routing.closed import closed_form, why_not
from tests.simulation.cluster.setups import rows as test_rows
from tests.simulation.cluster.setups import scenario as window_scenario
from tests.simulation.cluster.test_single_burst import burst_rows, burst_scenario
from tests.simulation.cluster.test_windows import steady_scenario

README = Path(__file__).parent.parent.parent / "README.md"
START, END = "<!-- accuracy: written by make accuracy -->", "<!-- end of accuracy -->"


def _line(what: str, found: list[tuple[float, float, float, float]], simulated: int) -> str:
    """Return a row of the table from (form, truth) of the mean and of the p95."""
    if not found:
        return f"| {what} | 0 | {simulated} | | | | |"
    pairs = np.array(found)
    error = np.abs(pairs[:, 0] / pairs[:, 1] - 1)
    close = np.mean(np.abs(pairs[:, 2] / pairs[:, 3] - 1) <= 0.1)
    median, most, worst = np.quantile(error, [0.5, 0.9, 1.0])
    return (
        f"| {what} | {len(found)} | {simulated} | {median:.2%} | {most:.2%} | {worst:.2%} "
        f"| {close:.0%} |"
    )


def _bursts(arrivals: str) -> list[str]:
    lines = []
    groups: dict[str, list[dict[str, str]]] = {}
    for row in burst_rows(arrivals):
        name = row["policy"]
        if row["visibility"] == "computed":
            name += ", causal"
        groups.setdefault(name, []).append(row)
    for name, rows in sorted(groups.items()):
        found, simulated = [], 0
        for row in rows:
            scenario = burst_scenario(row, arrivals)
            form = closed_form(scenario, scenario.policy.name, scenario.policy.params)
            if form is None:
                simulated += 1
                continue
            found.append((form.mean, float(row["mean_ttft"]), form.p95, float(row["p95_ttft"])))
        lines.append(_line(f"one {arrivals} burst, {name}", found, simulated))
    return lines


def _windows() -> list[str]:
    found, simulated = [], 0
    for row in test_rows("window_means_60.csv"):
        scenario = window_scenario(row["setup"], "window", row["policy"])
        form = closed_form(scenario, scenario.policy.name, scenario.policy.params)
        if form is None:
            simulated += 1
            continue
        found.append((form.mean, float(row["mean_ttft_s"]), form.p95, float(row["p95_ttft_s"])))
    return [_line("whole windows, all policies of the table", found, simulated)]


def _steady() -> list[str]:
    groups: dict[str, list[tuple[float, float, float, float]]] = {}
    for row in test_rows("steady.csv"):
        scenario = steady_scenario(row)
        if why_not(scenario, row["policy"]) is not None:
            continue
        form = closed_form(scenario, row["policy"])
        assert form is not None
        truth = float(row["mean_ttft_s"])
        groups.setdefault(row["policy"], []).append(
            (form.mean, truth, form.p95, float(row["p95_ttft_s"]))
        )
    return [_line(f"steady traffic, {name}", found, 0) for name, found in sorted(groups.items())]


def table() -> str:
    """Return the table as Markdown."""
    lines = [
        "Relative error of the mean TTFT against runs of the simulator behind *Biting the Bullet*",
        "(github.com/jwlaboratory/inference-sim, 547d2d5), and the share of p95 within 10%.",
        "",
        "| question | cells in closed form | simulated | median | 90% | worst | p95 |",
        "|---|---|---|---|---|---|---|",
        *_bursts("even"),
        *_bursts("poisson"),
        *_windows(),
        *_steady(),
    ]
    return "\n".join(lines)


def main() -> None:
    """Replace the table between the two marks."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    README.write_text(f"{before}{START}\n{table()}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
