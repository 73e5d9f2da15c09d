"""The course of a transfer keeps every byte and stays bounded."""

from itertools import pairwise

import pytest

from lambdas.core.chunks.chunk import Chunk
from lambdas.core.report.tally import Tally
from lambdas.core.report.timeline import MAX_BARS, MAX_INTERVALS, MAX_LANES, MAX_RATES, Bars, Course, interval
from tests.lambdas.builders import chunk
from tests.lambdas.traffic import Traffic


def of(chunks: list[Chunk]) -> Course:
    found = Tally.of(chunks).course([])
    assert found is not None
    return found


def delivered(number: int, start: float, end: float, path: str = "direct", lane: int = 0, attempt: int = 1) -> Chunk:
    return chunk(
        number, state="DELIVERED", path_id=path, lane=lane, started_at=start, delivered_at=end, attempt=attempt
    )


def test_rates_are_those_of_the_traffic_and_add_up_to_its_bytes() -> None:
    found = of(Traffic({"direct": 20.0, "pair-1": 30.0}, {"direct": 0.0, "pair-1": 8.0}, size_mb=1600).chunks())
    direct, pair = found.paths
    assert (direct.path_id, pair.path_id, found.interval_seconds) == ("direct", "pair-1", 1)
    assert direct.rates[3] == pytest.approx(20.0, rel=0.05)
    assert pair.rates[:7] == [0.0] * 7
    assert pair.rates[12] == pytest.approx(30.0, rel=0.05)
    assert sum(direct.rates) + sum(pair.rates) == pytest.approx(1600, rel=1e-4)


def test_each_chunk_is_a_bar_of_its_lane_while_they_are_few() -> None:
    found = of(
        [delivered(0, 1000.5, 1002.0), delivered(1, 1001.5, 1003.0, attempt=3), delivered(2, 1000.7, 1001.0, "pair-1")]
    )
    assert (found.zero_at, found.rates_from) == (1000.5, -0.5)
    direct, pair = found.lanes
    shown = [(bar.start, bar.end, bar.retries) for bar in direct.bars]
    assert shown == [(0.0, 1.0, 0), (1.0, 2.5, 2)]  # the first was on disk after the lane had turned to the second
    assert (pair.path_id, pair.bars[0].start) == ("pair-1", 0.2)


def test_many_chunks_make_a_bounded_picture_that_forgets_none() -> None:
    found = of([delivered(i, 1000 + i // 4 * 0.5, 1000.5 + i // 4 * 0.5, lane=i % 4) for i in range(20_000)])
    bars = [bar for lane in found.lanes for bar in lane.bars]
    assert MAX_BARS / 2 < len(bars) <= MAX_BARS
    assert (sum(bar.chunks for bar in bars), sum(bar.bytes for bar in bars)) == (20_000, 2_000_000)
    for lane in found.lanes:
        assert all(one.end <= other.start for one, other in pairwise(lane.bars))
    assert len(found.paths[0].rates) <= MAX_INTERVALS


def test_each_path_keeps_its_first_lanes() -> None:
    found = of([delivered(i, 1000.0, 1001.0, f"pair-{i % 40 + 1}", i // 40) for i in range(200)])
    assert (len(found.lanes), found.lanes_left_out) == (MAX_LANES, 100)
    assert {lane.path_id for lane in found.lanes} == {f"pair-{n}" for n in range(1, 41)}
    assert [lane.path_id for lane in found.lanes][:3] == ["pair-1", "pair-1", "pair-1"]


def test_gatherer_holds_no_more_than_twice_the_bars() -> None:
    bars = Bars()
    for i in range(10_000):
        bars.add(delivered(i, 1000 + i / 10, 1000.1 + i / 10))
        assert bars._count <= 2 * MAX_BARS


@pytest.mark.parametrize(
    ("seconds", "paths", "width"), [(1, 1, 1), (600, 1, 1), (601, 1, 2), (600, 65, 10), (86_400 * 7, 1, 1800)]
)
def test_interval_is_the_shortest_within_the_bounds(seconds: int, paths: int, width: int) -> None:
    assert interval(seconds, paths) == width
    assert -(-seconds // width) * paths <= MAX_RATES


def test_nothing_delivered_has_no_course() -> None:
    assert (
        Tally.of([chunk(0), chunk(1, state="FAILED", attempt=5, reason="stream-lost after 5 attempts")]).course([])
        is None
    )


def test_time_of_data_ends_with_the_last_payload_byte() -> None:
    directories = chunk(2, state="DELIVERED", bytes=0, phase=1, started_at=1003.4, delivered_at=1003.5)
    tally = Tally.of([delivered(0, 1000.5, 1002.0), delivered(1, 1001.5, 1003.0), directories])
    assert (tally.seconds, tally.chunks) == (2.5, 3)
    assert Tally.of([directories]).seconds == 0.0
