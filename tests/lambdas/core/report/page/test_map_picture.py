"""Where regions and arrows of the map lie."""

import re
from itertools import pairwise

import pytest

from lambdas.core.report.page.map_picture import FRAMES, NARROWEST, WIDE, MapFrame, map_picture
from tests.lambdas import maps
from tests.lambdas.maps import LARGE, REGIONS, measured, network


def numbers(path: str) -> list[float]:
    return [float(text) for text in re.findall(r"-?[0-9.]+", path)]


@pytest.mark.parametrize("frame", FRAMES, ids=lambda frame: frame.name)
@pytest.mark.parametrize("count", [2, 3, 10, 30])
def test_everything_lies_within_the_picture(count: int, frame: MapFrame) -> None:
    regions = [f"xx-{chr(97 + number // 10)}-{number % 10}" for number in range(count)]
    drawn = map_picture(network({}, regions).links, regions, frame)
    assert len({(place.x, place.y) for place in drawn.places}) == count
    for arrow in drawn.arrows:
        xs, ys = numbers(arrow.curve)[::2], numbers(arrow.curve)[1::2]
        assert min(xs) > 0
        assert max(xs) < frame.width
        assert min(ys) > 0
        assert max(ys) < frame.height


def test_there_is_an_arrow_for_each_link_as_broad_as_its_rate() -> None:
    west, ireland, *_ = REGIONS
    known = {(LARGE, f"{west}>{ireland}"): measured(300.0), (LARGE, f"{ireland}>{west}"): measured(100.0)}
    drawn = map_picture(network(known, REGIONS[:2]).links, REGIONS[:2], WIDE)
    broad, narrow = drawn.arrows
    assert (broad.figure.counted, narrow.figure.counted) == (300.0, 100.0)
    assert broad.breadth == pytest.approx(3 * narrow.breadth, rel=0.01)


def test_there_and_back_lie_apart() -> None:
    drawn = map_picture(network({}, REGIONS[:2]).links, REGIONS[:2], WIDE)
    middles = {arrow.figure.from_region: numbers(arrow.curve)[2] for arrow in drawn.arrows}
    assert len(set(middles.values())) == 2


def test_the_broadest_are_drawn_first_and_a_link_that_carries_nothing_is_still_seen() -> None:
    found = maps.wide(10)
    drawn = map_picture(found.links, found.regions, WIDE)
    assert all(one.breadth >= other.breadth for one, other in pairwise(drawn.arrows))
    dead = {(LARGE, f"{one}>{other}"): measured(0.0) for one in REGIONS[:2] for other in REGIONS[:2] if one != other}
    nothing = map_picture(network(dead, REGIONS[:2]).links, REGIONS[:2], WIDE)
    assert [arrow.breadth for arrow in nothing.arrows] == [NARROWEST, NARROWEST]


def test_arrows_are_coloured_by_who_says_so() -> None:
    found = maps.varied()
    drawn = map_picture(found.links_of(LARGE).values(), found.regions, WIDE)
    assert {arrow.origin for arrow in drawn.arrows} == {"measured", "configured", "published"}
