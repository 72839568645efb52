"""Every row of the table of exact waits, by the dispatcher and hence by the exact methods."""

from __future__ import annotations

import pytest

from kvcost.queueing import mgc, tail_rate
from tests.queueing.reference import rows

TABLE = rows("mgc_reference.csv")
PRECISE = rows("precise_waits.csv")

ROUNDING = 1e-16
"""The table's own error on waits of 1e-10 services and less, where 50 digits say otherwise."""


def _kinds():
    kinds = {}
    for row in TABLE:
        kinds.setdefault(f"{row['law']} scv {row['service_scv']:g}", []).append(row)
    return kinds


@pytest.mark.parametrize("kind", sorted(_kinds()))
def test_every_row(kind):
    for row in _kinds()[kind]:
        where = {key: row[key] for key in ("service", "servers", "utilization")}
        wait = mgc(**where)
        assert wait.error.kind == "exact"
        assert wait.mean_low == wait.mean == wait.mean_high
        assert wait.mean == pytest.approx(row["mean_wait"], rel=1e-8, abs=ROUNDING), where
        assert wait.probability_of_wait == pytest.approx(
            row["probability_of_wait"], rel=1e-8, abs=1e-14
        ), where
        assert wait.p95 == pytest.approx(row["wait_p95"], rel=1e-6, abs=1e-8), where
        assert wait.p99 == pytest.approx(row["wait_p99"], rel=1e-6, abs=1e-8), where
        if row["mean_square_wait"] is not None:
            assert wait.second_moment == pytest.approx(
                row["mean_square_wait"], rel=1e-8, abs=ROUNDING
            ), where
        assert tail_rate(**where) == pytest.approx(row["tail_rate"], rel=1e-10), where


def test_table_is_whole():
    assert len(TABLE) == 461


@pytest.mark.parametrize(
    "row", PRECISE, ids=lambda row: f"{row['law']}-{row['servers']}-{row['utilization']}"
)
def test_against_fifty_digits(row):
    """See `tests.queueing.precise`, which computed the table."""
    wait = mgc(service=row["service"], servers=row["servers"], utilization=row["utilization"])
    assert wait.mean == pytest.approx(row["mean_wait"], rel=wait.error.relative, abs=0)
    assert wait.probability_of_wait == pytest.approx(row["probability_of_wait"], rel=1e-12, abs=0)
