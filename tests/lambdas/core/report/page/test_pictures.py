"""Coordinates: areas hold what was carried, labels have room, everything lies inside."""

import re
from itertools import pairwise

import pytest

from lambdas.core.report.page.events import PageEvent
from lambdas.core.report.page.pictures import FRAMES, SHADES, WIDE, Frame, lane_picture, rate_picture
from lambdas.core.report.timeline import Course, PathRates
from tests.page import scenarios


def course(*rates: list[float]) -> Course:
    paths = [PathRates(path_id="direct" if n == 0 else f"pair-{n}", rates=one) for n, one in enumerate(rates)]
    return Course(zero_at=1000.0, rates_from=0.0, interval_seconds=2, paths=paths, lanes=[], lanes_left_out=0)


def corners(outline: str) -> list[tuple[float, float]]:
    return [(float(x), float(y)) for x, y in re.findall(r"([\d.]+),([\d.]+)", outline)]


def test_areas_lie_one_on_top_of_the_other_in_steps() -> None:
    picture = rate_picture(course([10.0, 10.0], [0.0, 20.0]), [], WIDE)
    direct, pair = (corners(area.outline) for area in picture.areas)
    x, y = picture.x, picture.y
    assert direct == [
        (x.at(0), y.at(10)), (x.at(2), y.at(10)), (x.at(2), y.at(10)), (x.at(4), y.at(10)),
        (x.at(4), y.at(0)), (x.at(2), y.at(0)), (x.at(2), y.at(0)), (x.at(0), y.at(0)),
    ]  # fmt: skip
    assert pair == [(x.at(2), y.at(30)), (x.at(4), y.at(30)), (x.at(4), y.at(10)), (x.at(2), y.at(10))]


def test_a_path_that_pauses_has_two_pieces() -> None:
    picture = rate_picture(course([5.0, 0.0, 5.0]), [], WIDE)
    assert picture.areas[0].outline.count("M") == picture.areas[0].outline.count("Z") == 2


def test_paths_beyond_the_colours_are_one_area_with_the_last() -> None:
    picture = rate_picture(course(*([1.0] for _ in range(20))), [], WIDE)
    assert [area.shade for area in picture.areas] == list(range(SHADES))
    assert corners(picture.areas[-1].outline)[0][1] == picture.y.at(20.0)


@pytest.mark.parametrize("frame", FRAMES)
def test_labels_of_events_never_touch(frame: Frame) -> None:
    events = [PageEvent(second / 4, "joined", ["source-1-0"], "") for second in range(16)]
    marks = rate_picture(course([1.0] * 2), events, frame).marks
    assert [mark.number for mark in marks] == list(range(1, 17))
    for row in {mark.row for mark in marks}:
        assert all(right - left >= 18 for left, right in pairwise(mark.x for mark in marks if mark.row == row))


@pytest.mark.parametrize("name", ["succeeded", "large", "short"])
@pytest.mark.parametrize("frame", FRAMES)
def test_everything_lies_inside_its_frame(name: str, frame: Frame) -> None:
    found = scenarios.ALL[name]().course
    assert found is not None
    rates, lanes = rate_picture(found, [], frame), lane_picture(found, frame)
    points = [point for area in rates.areas for point in corners(area.outline)]
    assert all(frame.left <= x <= frame.last and rates.top <= y <= rates.bottom for x, y in points)
    assert all(lanes.top <= row.y and row.y + lanes.row_height <= lanes.bottom for row in lanes.rows)
    assert len(lanes.rows) == len(found.lanes)
    boxes = [match for row in lanes.rows for match in re.findall(r"M([\d.]+),[\d.]+h([\d.]+)", row.bars)]
    assert len(boxes) == sum(len(lane.bars) for lane in found.lanes)
    assert all(frame.left <= float(x) and float(x) + float(width) <= frame.last + 1 for x, width in boxes)


def test_chunks_that_were_sent_again_are_outlined_and_crossed() -> None:
    found = scenarios.succeeded().course
    assert found is not None
    picture = lane_picture(found, WIDE)
    again = sum(bar.retries > 0 for lane in found.lanes for bar in lane.bars)
    assert sum(row.retried.count("z") for row in picture.rows) == again == 10
    # A cross begins in a corner of the square that its first stroke crosses, in the middle of its box.
    box_and_cross = r"M([\d.]+),([\d.]+)h([\d.]+)v([\d.]+)h-[\d.]+zM([\d.]+),([\d.]+)l([\d.]+)"
    crossed = [match for row in picture.rows for match in re.findall(box_and_cross, row.retried)]
    assert len(crossed) == 9  # one box is too small for a cross
    for left, top, width, height, x, y, side in ([float(number) for number in match] for match in crossed):
        assert (x + side / 2, y + side / 2) == pytest.approx((left + width / 2, top + height / 2), abs=0.11)
