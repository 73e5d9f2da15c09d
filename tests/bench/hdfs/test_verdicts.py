"""Which bar a row has, and what it is computed from: times of both tools go in, rows come out."""

from dataclasses import replace

import pytest

from bench.hdfs import counts, pairs, small, timelines
from bench.hdfs.counts import OURS, THEIR_BEST, THEIR_STOCK, Series
from bench.hdfs.network import Rates
from bench.hdfs.pairs import LIKE_WORKERS, TOO_SMALL, Point
from bench.hdfs.timelines import Timeline
from bench.results import Result
from lambdas.core.models.distcp import Stages

RATES = Rates(worker_mb_s=5.0, inside_mb_s=50.0, map_mib_s=1.25)
SERIES = Series(
    file_mib=32,
    rates=RATES,
    start_seconds={THEIR_STOCK: 6.0, THEIR_BEST: 8.0},
    seconds={
        OURS: {7: [40.0], 8: [50.0]},
        THEIR_STOCK: {7: [32.0, 30.0, 34.0], 8: [58.0]},
        THEIR_BEST: {7: [34.0], 8: [40.0]},
    },
    data_seconds={7: [25.0], 8: [28.4]},
)


def row(rows: list[Result], words: str) -> Result:
    [found] = [one for one in rows if words in one.case]
    return found


def test_without_t0_the_data_of_cpt_is_compared_with_what_distcp_takes_beside_its_start() -> None:
    rows = counts.verdicts(SERIES)
    assert row(rows, "at its best, whole").measured == pytest.approx(50 / 40)
    assert row(rows, "at its best, without T_0").measured == pytest.approx(25 / 26)
    assert not row(rows, "at its best, whole").holds
    assert row(rows, "at its best, without T_0").holds


def test_the_bound_is_that_of_the_largest_number_of_files() -> None:
    bound = 8 * 33.554432 / (10 * 1448 / 1514)
    assert row(counts.verdicts(SERIES), "of the bound").measured == pytest.approx(bound / 28.4)


def test_only_the_step_of_the_stock_configuration_has_a_bar() -> None:
    rows = counts.verdicts(SERIES)
    stock, best = (row(rows, f"{tool}, 8 files over 7") for tool in (THEIR_STOCK, THEIR_BEST))
    assert stock.measured == pytest.approx(58 / 32)
    assert stock.bar == 1.5
    assert best.bar is None


def test_the_longest_t0_counts_beside_a_map() -> None:
    assert row(counts.verdicts(SERIES), "over T_0").measured == pytest.approx(33.554432 / RATES.map_mb_s / 8)


def test_numbers_of_files_without_a_step_have_no_row_for_it() -> None:
    few = {tool: {7: [10.0]} for tool in counts.TOOLS}
    rows = counts.verdicts(replace(SERIES, seconds=few, data_seconds={7: [9.0]}))
    assert [one for one in rows if "over 7" in one.case] == []


def point(files: int, pairs_: int, data: float, model: float, *, kind: str = LIKE_WORKERS, usd: float = 0.0) -> Point:
    return Point(files, pairs_, kind, data + 20, data, model, usd)


def test_the_gain_of_pairs_is_told_beside_the_models() -> None:
    [found] = pairs.gains([point(12, 0, 44, 42), point(12, 2, 24, 21)])
    assert found.measured == pytest.approx((44 / 24) / 2)
    assert found.holds


def test_the_fewest_pairs_are_those_whose_whole_time_is_no_longer_than_the_other_tools() -> None:
    points = [point(12, 0, 40, 40), point(12, 1, 30, 30), point(12, 2, 20, 20)]
    assert pairs.fewest(points, {12: 55.0}) == {12: 1}
    assert pairs.fewest(points, {12: 39.0}) == {12: None}


def test_small_relays_are_told_beside_large_ones_by_time_and_money() -> None:
    points = [point(8, 2, 20, 20, usd=0.004), point(8, 2, 19, 19, kind=TOO_SMALL, usd=0.0005)]
    time, saved = pairs.money(points)
    assert time.measured == pytest.approx(0.95)
    assert saved.measured == pytest.approx(87.5)


def test_a_kind_without_the_other_one_has_no_row() -> None:
    assert pairs.money([point(8, 2, 20, 20)]) == []


def test_small_files_are_told_by_the_calls_that_they_take() -> None:
    found = small.Small(
        files=10_000,
        start_seconds=6.0,
        seconds={OURS: [45.0], THEIR_BEST: [106.0]},
        data_seconds=[25.0],
        calls_a_file={OURS: 8.0, THEIR_BEST: 9.0},
        calls_a_second=4000.0,
    )
    bound, ratio, whole = small.verdicts(found)
    assert bound.measured == pytest.approx(400 / 500)
    assert ratio.measured == pytest.approx(4.0)
    assert whole.measured == pytest.approx(106 / 45)


def test_the_share_of_staging_is_compared_between_few_and_many_files() -> None:
    few = Timeline(2, Stages(2.0, 16.0, 2.0), {THEIR_STOCK: 40.0}, 10.0)
    many = Timeline(12, Stages(12.0, 36.0, 12.0), {THEIR_STOCK: 60.0}, 30.0)
    rows = timelines.verdicts(few, many)
    assert row(rows, "share of export and import").measured == pytest.approx(2.0)
    assert row(rows, ": 2 files, staged over").measured == pytest.approx(0.5)
    assert row(rows, "12 files, streamed over staged").measured == pytest.approx(0.5)
