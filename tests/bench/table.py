"""Write the speed table of README.md from a run of the benchmarks, as ``make bench`` does.

Usage: ``python tests/bench/table.py RESULTS.json``, the file that ``--benchmark-json`` wrote.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from kvcost.units import format_seconds

README = Path(__file__).parent.parent.parent / "README.md"
START, END = "<!-- speed: written by make bench -->", "<!-- end of speed -->"


def table(results: dict[str, Any]) -> str:
    """Return the medians as Markdown, a row a benchmark, with the machine above."""
    machine = results["machine_info"]
    cpu = machine.get("cpu", {})
    processor = cpu.get("brand_raw", "an unnamed processor")
    where = f"{cpu.get('count', '?')} cores of {processor}, Python {machine['python_version']}"
    lines = [
        f"Medians on {where}; a busy machine gives times up to twice as long.",
        "",
        "| question | who | median |",
        "|---|---|---|",
    ]
    for bench in results["benchmarks"]:
        bench["group"] = bench["group"] or bench["name"].split("[")[0].replace("_", " ")
    for bench in sorted(results["benchmarks"], key=lambda bench: (bench["group"], bench["name"])):
        who = bench["name"].removeprefix("test_").removeprefix("bench_").replace("_", " ")
        median = format_seconds(bench["stats"]["median"], digits=3)
        lines.append(f"| {bench['group']} | {who} | {median} |")
    return "\n".join(lines)


def main(path: str) -> None:
    """Replace the table between the two marks."""
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(START)
    _, after = rest.split(END)
    fresh = table(json.loads(Path(path).read_text(encoding="utf-8")))
    README.write_text(f"{before}{START}\n{fresh}\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1])
