"""The map: all links of what was asked for, ways through third regions, and what is refused."""

import json
from pathlib import Path

import pytest

from lambdas.core.errors import InvalidRequest
from lambdas.core.estimate.network_map import LEAST_TIMES, MOST_LINKS, NetworkMap, Wanted
from lambdas.core.estimate.profile import Profile
from tests.lambdas import maps
from tests.lambdas.maps import LARGE, REGIONS, SMALL, measured, network
from tests.paths import CONTRACTS

WEST, IRELAND, SINGAPORE, _ = REGIONS
THREE = REGIONS[:3]
EXAMPLES = CONTRACTS / "examples" / "good" / "network-map"


def rates(**by_link: float) -> dict[tuple[str, str], Profile]:
    """Of three regions by their first letters, e.g. `wi=100`: from the west to Ireland."""
    names = {region[0]: region for region in ("west", "ireland", "singapore")}
    regions = dict(zip(names, (WEST, IRELAND, SINGAPORE), strict=True))
    return {(LARGE, f"{regions[link[0]]}>{regions[link[1]]}"): measured(rate) for link, rate in by_link.items()}


def ways(**by_link: float) -> list[tuple[str, str, str]]:
    slow = {"wi": 10.0, "iw": 10.0, "ws": 10.0, "sw": 10.0, "is": 10.0, "si": 10.0}
    found = network(rates(**{**slow, **by_link}), THREE)
    return [(way.from_region, way.through, way.to_region) for way in found.ways]


def test_every_type_is_on_every_pair_of_regions_there_and_back() -> None:
    found = maps.varied()
    assert len(found.links) == 2 * 4 * 3
    for kind in (LARGE, SMALL):
        assert set(found.links_of(kind)) == {(one, other) for one in REGIONS for other in REGIONS if one != other}


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.json")), ids=lambda path: path.stem)
def test_golden_examples_are_read_and_written_as_they_are(example: Path) -> None:
    document = json.loads(example.read_text())
    assert NetworkMap.from_document(document).to_document() == document


def test_a_way_through_a_third_region_counts_from_1_15_times_the_direct_one_on() -> None:
    assert ways(ws=100.0, wi=115.0, **{"is": 200.0}) == [(WEST, IRELAND, SINGAPORE)]
    assert ways(ws=100.0, wi=114.9, **{"is": 200.0}) == []
    assert LEAST_TIMES == 1.15


def test_its_width_is_that_of_its_narrower_link_and_it_pays_both_borders() -> None:
    found = network(rates(ws=50.0, wi=300.0, **{"is": 120.0}), THREE)
    (way,) = [one for one in found.ways if one.to_region == SINGAPORE and one.from_region == WEST]
    assert (way.width, way.direct, way.times) == (120.0, 50.0, 2.4)
    assert way.usd_per_gb == pytest.approx(0.04)
    assert way.is_known


def test_a_way_over_a_link_that_is_only_published_is_marked() -> None:
    found = network(rates(ws=50.0, wi=300.0), THREE)
    assert [(way.through, way.is_known) for way in found.ways] == [(IRELAND, False)]


def test_a_stale_link_makes_a_way_by_what_is_left_of_it() -> None:
    known = rates(ws=100.0, **{"is": 200.0})
    known[LARGE, f"{WEST}>{IRELAND}"] = measured(130.0, 20.0, 5, 2 * maps.DAY)
    assert [way for way in network(known, THREE).ways if way.to_region == SINGAPORE] == []


def test_of_equally_wide_ways_the_cheaper_is_taken() -> None:
    west, ireland, singapore, brazil = REGIONS
    links = {(west, ireland): 200.0, (ireland, singapore): 200.0, (west, brazil): 200.0, (brazil, singapore): 200.0}
    known = {(LARGE, f"{one}>{other}"): measured(rate) for (one, other), rate in links.items()}
    known[LARGE, f"{west}>{singapore}"] = measured(10.0)
    (way,) = [one for one in network(known).ways if (one.from_region, one.to_region) == (west, singapore)]
    assert way.through == ireland


def test_a_direct_link_that_carries_nothing_is_no_division() -> None:
    found = network(rates(ws=0.0, wi=10.0, **{"is": 10.0}), THREE)
    assert [way.times for way in found.ways if way.direct == 0.0] == [None]


def test_two_regions_have_no_third() -> None:
    assert network({}, THREE[:2]).ways == []


def test_what_is_left_out_is_all_that_the_deployment_has() -> None:
    wanted = Wanted().within(REGIONS, [LARGE, SMALL])
    assert (wanted.regions, wanted.instance_types) == (REGIONS, [LARGE, SMALL])
    assert len(wanted.prices()) == 12


def test_what_is_named_twice_is_there_once_in_the_order_of_its_names() -> None:
    asked = Wanted(regions=[SINGAPORE, WEST, SINGAPORE], instance_types=[SMALL, SMALL])
    assert next(asked.within(REGIONS, [LARGE, SMALL]).links()).region_pair == f"{SINGAPORE}>{WEST}"
    assert len(list(asked.within(REGIONS, [LARGE, SMALL]).links())) == 2


def test_a_deployment_of_one_region_has_an_empty_map() -> None:
    assert list(Wanted().within([WEST], [LARGE]).links()) == []


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        (
            Wanted(regions=[WEST, "eu-north-1"]),
            rf"\$\.map\.regions\[1\]: 'eu-north-1' is not enrolled; regions of this deployment: {', '.join(REGIONS)}",
        ),
        (
            Wanted(instance_types=["c9.huge"]),
            rf"\$\.map\.instanceTypes\[0\]: 'c9.huge' is not a relay type .*; allowed: {LARGE}, {SMALL}",
        ),
        (Wanted(regions=[WEST]), r"\$\.map\.regions: one region alone has no links"),
    ],
)
def test_what_the_deployment_does_not_have_is_refused_with_what_it_has(asked: Wanted, problem: str) -> None:
    with pytest.raises(InvalidRequest, match=problem):
        asked.within(REGIONS, [LARGE, SMALL])


def test_all_problems_are_told_at_once() -> None:
    with pytest.raises(InvalidRequest) as refused:
        Wanted(regions=["eu-north-1", "eu-north-2"], instance_types=["c9.huge"]).within(REGIONS, [LARGE])
    assert len(refused.value.problems) == 3


def test_more_links_than_an_answer_holds_are_refused() -> None:
    regions = [f"xx-{chr(97 + number // 10)}-{number % 10}" for number in range(60)]
    with pytest.raises(InvalidRequest, match=rf"3,540 links; name fewer types or regions: {MOST_LINKS:,} are the most"):
        Wanted().within(regions, [LARGE])


def test_a_link_takes_less_than_2_kb_of_an_answer() -> None:
    known = {(SMALL, f"{one}>{other}"): _full() for one in REGIONS for other in REGIONS if one != other}
    found = network(known, kinds=[SMALL])
    assert len(found.to_json()) < 2_000 * len(found.links)
    assert 2_000 * MOST_LINKS < 6 * 1024 * 1024


def _full() -> Profile:
    return measured(110.123456789012, 5.5, 99, gain=maps.history(0.9, 0.01, 4), intraRegion=maps.history(333.123456789))
