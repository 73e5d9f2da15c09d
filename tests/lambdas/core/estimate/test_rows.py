import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.estimate.rows import build_rows, seconds_for
from tests.lambdas.builders import figure, figures

GB = 10**9
rates = st.floats(0.5, 2000)


def test_rows_follow_the_zero_wait_model() -> None:
    rows = build_rows(2 * GB, 8, figures())
    assert [row.pairs for row in rows] == list(range(9))
    assert rows[0].seconds == 100.0
    assert rows[3].seconds == pytest.approx(5 + (2000 - 100) / 80)
    assert rows[8].seconds == pytest.approx(5 + (2000 - 100) / 160)
    assert rows[3].speedup == pytest.approx(100 / 28.75, abs=0.001)
    # Some two hundred requests of the control plane are a tenth of a cent.
    assert rows[0].cost_usd == pytest.approx(0.04, abs=0.002)
    assert rows[3].cost_usd == pytest.approx(0.04 + 6 * 60 * 0.1 / 3600, abs=0.002)


def test_a_pre_test_costs_time_and_money() -> None:
    plain, tested = build_rows(2 * GB, 2, figures())[2], build_rows(2 * GB, 2, figures(), 20.0)[2]
    assert tested.seconds > plain.seconds
    assert tested.cost_usd > plain.cost_usd


def test_each_row_says_what_limits_it() -> None:
    limits = [row.limit for row in build_rows(2 * GB, 8, figures(destination=100.0))]
    assert limits[0] == "the direct path carries 20.0 MB/s"
    assert limits[3] == "the direct path and 3 pairs carry 80.0 MB/s"
    assert limits[8] == "the destination machine receives at most 100.0 MB/s"
    assert "source machine" in build_rows(2 * GB, 8, figures())[8].limit
    assert build_rows(GB // 20, 1, figures())[1].limit == "done before relays serve (5 s)"


def test_a_slow_disk_limits_as_a_network_does() -> None:
    slow = figures().model_copy(update={"source_disk": figure(50.0, "measured")})
    assert build_rows(2 * GB, 8, slow)[8].limit == "the source's disk reads at most 50.0 MB/s"
    slow = figures().model_copy(update={"destination_disk": figure(15.0, "measured")})
    rows = build_rows(2 * GB, 1, slow)
    assert rows[0].seconds == rows[1].seconds == pytest.approx(2000 / 15, abs=0.001)
    assert rows[0].limit == "the destination's disk writes at most 15.0 MB/s"


@given(st.integers(0, 10**14), rates, rates, rates, rates, st.floats(0, 300), st.integers(0, 8), st.floats(0, 60))
def test_no_row_is_slower_than_the_direct_one_or_cheaper_than_what_leaves_the_region(
    size: int, source: float, destination: float, direct: float, pair: float, spawn: float, most: int, test: float
) -> None:
    used = figures(source=source, destination=destination, direct=direct, pair=pair, spawn=spawn)
    rows = build_rows(size, most, used, test)
    assert all(row.seconds <= rows[0].seconds + 1e-3 for row in rows)
    assert all(row.cost_usd >= size / 1e9 * 0.02 - 1e-6 for row in rows)


def test_better_pairs_after_a_pre_test_are_faster() -> None:
    assert seconds_for(20 * GB, 2, figures(), 20.0, 0.2) < seconds_for(20 * GB, 2, figures(), 20.0)
