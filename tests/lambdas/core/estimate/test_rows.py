from math import ceil
from pathlib import Path
from random import Random
from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.estimate import pre_tests
from lambdas.core.estimate.budget import held_back, needed
from lambdas.core.estimate.data_time import seconds_for
from lambdas.core.estimate.figures import LIMIT_NOTE, Figure
from lambdas.core.estimate.pair_route import PairRoute
from lambdas.core.estimate.pair_use import better_half, pair_uses
from lambdas.core.estimate.row_cost import control_plane_dollars
from lambdas.core.estimate.rows import build_row, build_rows
from tests.lambdas.builders import figure, figures

GB = 10**9
rates = st.floats(0.5, 2000)


def with_tail(seconds: float, size_mb: float, chunk_mib: int, lanes: int) -> float:
    """With half a chunk of each of twice the planned lanes, which all but the last one wait for."""
    return seconds + chunk_mib * 1.048576 * 2 * lanes * seconds / size_mb / 2 * (1 - 1 / lanes)


def test_with_relays_a_row_has_the_tail_of_its_lanes() -> None:
    lanes = Figure(value=2, low=1, high=4, origin="assumed", note="x")
    rows = build_rows(2 * GB, 8, figures().model_copy(update={"lanes": lanes}))
    assert rows[0].seconds == 100.0
    assert rows[3].seconds == pytest.approx(with_tail(5 + (2000 - 100) / 80, 2000, 8, 4), abs=0.001)
    assert rows[8].seconds == pytest.approx(with_tail(5 + (2000 - 100) / 160, 2000, 4, 9), abs=0.001)
    # The tail is 1 to 4 % (docs/design/008).
    assert 1.01 < rows[3].seconds / 28.75 < 1.04


def test_rows_follow_the_zero_wait_model() -> None:
    rows = build_rows(2 * GB, 8, figures())
    assert [row.pairs for row in rows] == list(range(9))
    assert rows[0].seconds == 100.0
    assert rows[3].seconds == pytest.approx(5 + (2000 - 100) / 80)
    assert rows[8].seconds == pytest.approx(5 + (2000 - 100) / 160)
    assert rows[3].speedup == pytest.approx(100 / 28.75, abs=0.001)
    # Egress, relays, and the requests of the control plane: some two tenths of a cent, and 954 chunks in place of 477.
    assert rows[0].cost_usd == pytest.approx(0.04 + 0.0017, abs=0.0005)
    assert rows[3].cost_usd == pytest.approx(0.04 + 6 * 60 * 0.1 / 3600 + 0.0047, abs=0.0003)


def test_a_million_small_files_cost_more_than_one_of_their_size() -> None:
    many = figures().model_copy(update={"entries": 10**6})
    [one], [million] = build_rows(1024 * 10**6, 0, figures()), build_rows(1024 * 10**6, 0, many)
    # Objects and compute of the listing 0.0030, and 500 chunks in place of 489.
    assert million.cost_usd - one.cost_usd == pytest.approx(0.0030, rel=0.1)


def test_what_is_sent_twice_and_what_a_gateway_passes_on_is_paid() -> None:
    used = figures().model_copy(update={"repeated": figure(0.02), "gateway": figure(0.02)})
    plain, more = build_rows(2 * GB, 0, figures())[0], build_rows(2 * GB, 0, used)[0]
    assert more.cost_usd - plain.cost_usd == pytest.approx(2 * (1.02 * 0.04 - 0.02), abs=1e-6)


def test_what_crosses_zones_is_paid_in_every_row() -> None:
    used = figures().model_copy(update={"cross_zone": figure(0.02, "published")})
    free, charged = build_rows(2 * GB, 3, figures()), build_rows(2 * GB, 3, used)
    assert [b.cost_usd - a.cost_usd for a, b in zip(free, charged, strict=True)] == pytest.approx([2 * 0.02] * 4)


def test_relays_are_paid_until_they_are_ended_not_until_the_last_byte() -> None:
    """H4: 8 pairs and 120 s of data, ended 60 s later, were a third too cheap."""
    size = round((5 * 20 + 115 * 160) * 1e6)  # 160 MB/s from the fifth second on
    plain, later = (build_rows(size, 8, figures(**more))[8] for more in ({}, {"relay_tail": 60.0}))
    assert plain.seconds == later.seconds == pytest.approx(120)
    assert later.cost_usd - plain.cost_usd == pytest.approx(16 * 60 * 0.1 / 3600, abs=1e-6)


def test_where_the_sides_differ_each_is_paid_at_its_own_price() -> None:
    hours = [figure(0.05), figure(0.15)]
    used = figures().model_copy(update={"relay_hours": hours})
    asked = used.model_copy(update={"pair_route": PairRoute(asked=[4, 1])})
    row, even = build_rows(20 * GB, 1, asked)[1], build_rows(20 * GB, 1, used)[1]
    assert row.seconds == even.seconds
    # Three more of the cheap side: not 0.1 dollars an hour each, the mean of both. Each has requests of its own.
    five, two = (control_plane_dollars(20 * GB, pairs, row.seconds, used) for pairs in (3, 1))
    more = 3 * 0.05 * ceil(row.seconds) / 3600 + five - two
    assert row.cost_usd - even.cost_usd == pytest.approx(more, abs=1e-6)


def test_a_pre_test_costs_time_and_money() -> None:
    plain, tested = build_rows(2 * GB, 2, figures())[2], build_rows(2 * GB, 2, figures(), 10.0)[2]
    assert tested.seconds > plain.seconds
    assert tested.cost_usd > plain.cost_usd


def test_what_a_pre_test_sends_is_paid() -> None:
    # Both have their relays for less than a minute, which is paid in any case.
    free, paid = (build_rows(2 * GB, 2, figures(egress=usd, direct=80.0), 10.0) for usd in (0.0, 0.02))
    probes = [2 * pairs * 20.0 * 10 / 1000 * 0.02 for pairs in range(3)]
    assert [b.cost_usd - a.cost_usd for a, b in zip(free, paid, strict=True)] == pytest.approx(
        [2 * 0.02 + usd for usd in probes], abs=1e-6
    )
    assert [row.probes_usd_at_most for row in paid] == [None, *map(pytest.approx, probes[1:])]
    assert [row.cost_usd_at_most for row in paid] == [None] * 3


def test_a_budget_has_to_bear_probes_that_are_as_fast_as_is_possible() -> None:
    used = figures().model_copy(update={"pair": figure(20.0).model_copy(update={"high": 60.0})})
    row, exact = (build_rows(2 * GB, 2, one, 10.0)[2] for one in (used, figures()))
    assert row.cost_usd == exact.cost_usd
    more = 4 * 40.0 * 10 / 1000 * 0.02
    assert row.most_usd - row.cost_usd == pytest.approx(more, abs=1e-6)
    held = [held_back(2, pair_uses(2, one), one, pre_test=True) for one in (used, figures())]
    assert needed(row, used) - needed(exact, figures()) == pytest.approx(more + held[0] - held[1], abs=1e-6)


@pytest.mark.parametrize(("pairs", "seconds"), [(0, 0.0), (1, 12.5), (16, 12.5)])
def test_a_pre_test_takes_as_long_for_many_pairs_as_for_one(pairs: int, seconds: float) -> None:
    assert pre_tests.seconds(10.0, pairs) == seconds


def test_hops_of_one_path_are_measured_one_after_another() -> None:
    assert pre_tests.seconds(10.0, 5, hops=3) == 32.5


def test_the_daemon_gives_the_probe_within_the_region_the_same_share() -> None:
    defaults = Path("relay-ami/relay/src/defaults.rs").read_text()
    assert f"INTRA_PROBE_SHARE: f64 = {pre_tests.INNER_SHARE};" in defaults


def test_each_row_says_what_limits_it() -> None:
    limits = [row.limit for row in build_rows(2 * GB, 8, figures(destination=100.0))]
    assert limits[0] == "the direct path carries 20.0 MB/s"
    assert limits[3] == "paths: 20.0 direct + 60.0 = 80.0 MB/s"
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
    assert seconds_for(20 * GB, 2, figures(), 20.0, 0.2) < seconds_for(20 * GB, 2, figures(), 10.0)


@pytest.mark.parametrize("pairs", [1, 2, 4, 8, 32])
def test_better_half_of_few_pairs_is_less_above_the_mean_than_that_of_many(pairs: int) -> None:
    random = Random(1)
    drawn = [fmean(sorted(random.gauss(0, 1) for _ in range(2 * pairs))[pairs:]) for _ in range(20_000)]
    assert better_half(pairs) == pytest.approx(fmean(drawn), abs=0.012)  # four standard errors for one pair


def test_a_row_with_a_pre_test_counts_on_the_better_half_from_its_end_on() -> None:
    (row,) = build_rows(100 * GB, 4, figures(pair_spread=0.3), 10.0)[4:]
    rate = 20 * (1 + 4 * (1 + 0.3 * better_half(4)))
    assert row.pre_test
    assert row.seconds == pytest.approx(17.5 + (100_000 - 17.5 * 20) / rate, abs=0.001)
    plain = build_rows(100 * GB, 4, figures(pair_spread=0.3))[4]
    # A spread that was measured: rows without the pre-test that is made anyway are a sixth too long.
    assert plain.seconds / row.seconds > 1.13


def test_energy_is_that_of_both_ends_and_of_relays_until_they_end() -> None:
    rows = build_rows(2 * GB, 3, figures())
    assert rows[0].energy_wh == pytest.approx(202.5 * 2 * 100 / 3600, abs=0.001)
    assert rows[3].energy_wh == pytest.approx(202.5 * 8 * rows[3].seconds / 3600, abs=0.001)
    tested = build_rows(100 * GB, 3, figures(), 10.0)[3]
    assert tested.energy_wh == pytest.approx(202.5 * (8 * tested.seconds + 6 * 17.5) / 3600, abs=0.001)


@pytest.mark.parametrize(("name", "pairs"), [("source", 2), ("direct", 0)])
def test_a_limit_that_the_user_gave_is_called_theirs(name: str, pairs: int) -> None:
    limited = figures().model_copy(update={name: Figure(value=1.0, origin="configured", note=LIMIT_NOTE)})
    assert build_row(10**9, pairs, limited).limit == "the limit in the request is 1.0 MB/s"
    assert "limit in the request" not in build_row(10**9, pairs, figures()).limit
