"""The map in a terminal: which form has room, and what each cell says."""

import io

import pytest
from rich.console import Console

from cli.map_view import SHOWN_WAYS, map_view
from lambdas.core.estimate.network_map import NetworkMap, Wanted
from tests.lambdas import maps
from tests.lambdas.maps import DAY, LARGE, NOW, REGIONS, measured, network


def shown(found: NetworkMap, width: int = 120, *, colour: bool = False) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream, width=width, highlight=False, force_terminal=colour, color_system="standard" if colour else None
    )
    console.print(map_view(found, console))
    return stream.getvalue()


def test_a_cell_has_the_rate_who_says_so_and_the_age_of_the_last_sample() -> None:
    lines = shown(maps.varied()).splitlines()
    first = next(place for place, line in enumerate(lines) if line.startswith("  us-west-2 "))
    assert lines[first].split() == ["us-west-2", "–", "310", "95.0", "60.0"]
    assert lines[first + 1].split() == ["measured", "2", "h", "measured", "10", "min", "configured"]
    assert lines[first + 3].split() == ["measured", "3", "d!", "measured", "1", "h", "published"]


def test_a_rate_that_bursts_has_what_lasts_beside_it_and_the_legend_says_so() -> None:
    text = shown(maps.varied())
    assert "110 → 16.0" in text
    assert "110 → 16: 110 MB/s at first, 16 once network credits are spent" in text
    assert "! stale: older than a day" in text


def test_the_legend_has_only_what_occurs() -> None:
    text = shown(network({}, REGIONS[:2]))
    assert "stale" not in text
    assert "last sample" not in text
    assert "third region" not in text


@pytest.mark.parametrize("width", [60, 80, 120, 200])
@pytest.mark.parametrize("count", [2, 4, 10, 20])
def test_no_line_is_wider_than_the_terminal_and_no_rate_is_cut(width: int, count: int) -> None:
    regions = [
        f"ap-{'south' if number % 2 else 'north'}{chr(97 + number // 10)}-{number % 10}" for number in range(count)
    ]
    found = network({(LARGE, f"{regions[0]}>{regions[1]}"): measured(12_345.0, age=3 * DAY)}, regions)
    text = shown(found, width)
    assert max(map(len, text.splitlines())) <= width
    assert "11,728" in text  # 5 % less, since it is stale
    assert "…" not in text


def test_forms_follow_the_room() -> None:
    ten = maps.wide(10)
    assert "m9min" in shown(ten, 120)
    assert "measured 9 min" in shown(ten, 60)
    assert "measured 9 min" in shown(ten, 220)
    assert "m measured (m2h: two hours ago)" in shown(ten, 120)


def test_rates_are_coloured_by_the_widest_link() -> None:
    west, ireland, singapore, _ = REGIONS
    known = {(LARGE, f"{one}>{other}"): measured(9.0) for one in REGIONS[:3] for other in REGIONS[:3] if one != other}
    known |= {(LARGE, f"{west}>{ireland}"): measured(300.0), (LARGE, f"{ireland}>{singapore}"): measured(120.0)}
    text = shown(network(known, REGIONS[:3]), colour=True)
    for code, rate in ((32, "300"), (33, "120"), (31, "9.00")):
        assert f"\x1b[{code}m{rate}" in text
    assert "\x1b" not in shown(network(known, REGIONS[:3]))


def test_ways_through_a_third_region_are_told_known_ones_first() -> None:
    lines = [line for line in shown(maps.varied()).splitlines() if line.count("→") == 2 and "×" in line]
    assert lines[0].split() == [
        "us-west-2",
        "→",
        "eu-west-1",
        "→",
        "ap-southeast-1",
        "95.0",
        "240",
        "2.53",
        "×",
        "0.04",
    ]
    assert "310?" in lines[1]
    assert "? nobody has measured or configured both links" in shown(maps.varied())


def test_of_many_ways_the_widest_are_shown_and_the_others_counted() -> None:
    found = maps.wide(10)
    lines = [line for line in shown(found).splitlines() if line.count("→") == 2]
    assert len(lines) == SHOWN_WAYS
    assert f"and {len(found.ways) - SHOWN_WAYS} ways more: cpt map --html, cpt map --json" in shown(found)
    times = [float(line.split()[-3]) for line in lines]
    assert times == sorted(times, reverse=True)


def test_where_no_third_region_helps_it_says_so() -> None:
    assert "no third region makes a way 1.15 times as wide" in shown(network({}, REGIONS[:3]))


def test_a_deployment_of_one_region_is_told_why_there_is_nothing() -> None:
    empty = NetworkMap.of([], Wanted(regions=REGIONS[:1], instance_types=[LARGE]), NOW)
    assert "there are no links" in shown(empty)


def test_what_aws_did_not_tell_is_beneath() -> None:
    found = network({}, REGIONS[:2]).model_copy(update={"notes": ["egress-gb: no answer within 3 s"]})
    assert "egress-gb: no answer within 3 s" in shown(found)
