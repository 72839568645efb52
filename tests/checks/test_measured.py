"""Values out of the files that a benchmark wrote."""

from __future__ import annotations

import json

import pytest

BENCH = {
    "results": {"ttft": {"p99": 0.88, "p50": "310 ms", "p.9": 0.5, "none": None, "yes": True}},
    "runs": [{"p99": 0.7}, {"p99": 0.9}],
}
TABLE = "policy,rate,p99\njsq,24,0.41\njsq,28,0.93\nrandom,24,1.9\n"


@pytest.fixture(autouse=True)
def files(folder):
    (folder / "bench.json").write_text(json.dumps(BENCH), encoding="utf-8")
    (folder / "bench.csv").write_text(TABLE, encoding="utf-8")
    (folder / "nan.json").write_text('{"p99": NaN}', encoding="utf-8")
    (folder / "broken.json").write_text("{", encoding="utf-8")
    (folder / "ragged.csv").write_text("a,b\n1\n", encoding="utf-8")
    (folder / "empty.csv").write_text("a,b\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("source", "seconds"),
    [
        ({"file": "bench.json", "field": "results.ttft.p99", "unit": "s"}, 0.88),
        ({"file": "bench.json", "field": "results.ttft.p99", "unit": "ms"}, 0.00088),
        ({"file": "bench.json", "field": "results.ttft.p50"}, 0.31),
        ({"file": "bench.json", "field": ["results", "ttft", "p.9"], "unit": "s"}, 0.5),
        ({"file": "bench.json", "field": "runs.1.p99", "unit": "s"}, 0.9),
        (
            {
                "file": "bench.csv",
                "column": "p99",
                "where": {"policy": "jsq", "rate": 28.0},
                "unit": "s",
            },
            0.93,
        ),
        ({"file": "bench.csv", "column": "p99", "where": {"policy": "random"}, "unit": "s"}, 1.9),
    ],
)
def test_a_value_is_found(one, source, seconds):
    outcome = one("ttft", max_ttft="0.6 s", measured=source)
    assert outcome.value == pytest.approx(seconds, rel=1e-12)
    assert outcome.met == (seconds <= 0.6)


def test_any_quantity_may_come_from_a_file(one):
    mean = {"file": "bench.json", "field": "results.ttft.p50"}
    facts = {"servers": 8, "arrival_rate": "24/s", "max_utilization": "95%"}
    assert one("stable", **facts, service_mean=mean).value == pytest.approx(24 * 0.31 / 8)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"file": "bench.json", "field": "results.ttft.p98", "unit": "s"}, "the nearest there are"),
        (
            {"file": "bench.json", "field": "results.ttft.p99"},
            'measured 0.88 has no unit: write "0',
        ),
        ({"file": "bench.json", "field": "results.ttft"}, "is no finite number"),
        ({"file": "bench.json", "field": "results.ttft.none", "unit": "s"}, "is no finite number"),
        ({"file": "bench.json", "field": "results.ttft.yes", "unit": "s"}, "is no finite number"),
        ({"file": "bench.json", "field": "results.ttft.p99.x", "unit": "s"}, "no object or list"),
        ({"file": "bench.json", "field": "runs.2.p99", "unit": "s"}, "field runs.2 of bench.json"),
        ({"file": "bench.json", "unit": "s"}, "measured.field None must be a path"),
        ({"file": "bench.json", "field": "a..b", "unit": "s"}, "must be a path"),
        ({"file": "bench.json", "field": "runs", "unit": 1}, "measured.unit 1 must be"),
        ({"file": "bench.json", "feild": "runs", "unit": "s"}, "the nearest are field"),
        ({"file": "nan.json", "field": "p99", "unit": "s"}, "is no finite number"),
        ({"file": "gone.json", "field": "p99", "unit": "s"}, "gone.json: No such file"),
        ({"file": "broken.json", "field": "p99", "unit": "s"}, "broken.json: is not JSON"),
        ({"file": "bench.txt", "field": "p99"}, "must be the path of a .json or .csv file"),
        ({"field": "p99"}, "measured.file None must be the path"),
        ({"file": "bench.csv", "column": "p98", "unit": "s"}, "the nearest are p99"),
        ({"file": "bench.csv", "column": "p99", "unit": "s"}, "3 rows match"),
        (
            {"file": "bench.csv", "column": "p99", "where": {"policy": "rr"}, "unit": "s"},
            "0 rows match",
        ),
        (
            {"file": "bench.csv", "column": "p99", "where": {"polcy": "rr"}, "unit": "s"},
            "the nearest are policy",
        ),
        (
            {"file": "bench.csv", "column": "policy", "where": {"policy": "random"}},
            "cannot be read",
        ),
        ({"file": "ragged.csv", "column": "a", "unit": "s"}, "longer or shorter than its header"),
        ({"file": "empty.csv", "column": "a", "unit": "s"}, "holds no rows"),
    ],
)
def test_what_is_not_there_is_an_error_and_no_pass(refused, source, said):
    assert said in refused("ttft", max_ttft="1 h", measured=source)


def test_a_file_is_read_once(read, folder, monkeypatch):
    from kvcost.checks import measured

    loads = []
    original = measured._load
    monkeypatch.setattr(
        measured, "_load", lambda *words: (loads.append(words), original(*words))[1]
    )
    budget = (
        '[[budget]]\nname = "{}"\nkind = "ttft"\nmax_ttft = "1 s"\n'
        'measured = {{file = "bench.json", field = "results.ttft.p99", unit = "s"}}\n'
    )
    assert len(read("".join(budget.format(place) for place in range(9))).budgets) == 9
    assert len(loads) == 1
