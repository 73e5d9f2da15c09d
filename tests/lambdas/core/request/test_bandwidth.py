"""A timetable's limits: against the clock on the wall, minute by minute, and where that is put forward or back."""

from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lambdas.core.request.bandwidth import MOST_SPANS, WEEK, BandwidthLimit, Timetable, limit_at, next_change, spans

MINUTE, DAY = 60, 86_400
BERLIN = "Europe/Berlin"
OFFICE = ["mon", "tue", "wed", "thu", "fri"]
ZONES = ["UTC", BERLIN, "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Chatham"]

times = st.builds(lambda minute: f"{minute // 60:02}:{minute % 60:02}", st.integers(0, 24 * 60 - 1))
entries = st.fixed_dictionaries(
    {
        "from": times,
        "days": st.lists(st.sampled_from(WEEK), min_size=1, max_size=7, unique=True),
        "mbps": st.integers(1, 5) | st.just("none"),
    }
)
moments = st.datetimes(datetime(2024, 1, 1), datetime(2030, 1, 1)).map(lambda at: at.replace(tzinfo=UTC).timestamp())  # noqa: DTZ001


def table(rows: list[dict[str, Any]], zone: str = "UTC") -> Timetable:
    return Timetable.from_document({"timetable": rows, "timeZone": zone})


def without_ties(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({row["from"]: row for row in rows}.values())


tables = st.builds(
    lambda rows, zone: table(without_ties(rows), zone),
    st.lists(entries, min_size=1, max_size=6),
    st.sampled_from(ZONES),
)


def on_the_wall(timetable: Timetable, at: float) -> int | None:
    """The entry that a person finds who reads the clock and goes back through the week: the definition."""
    clock = datetime.fromtimestamp(at, ZoneInfo(timetable.time_zone))
    begun = clock.weekday() * 1440 + clock.hour * 60 + clock.minute
    starts = [
        (WEEK.index(day) * 1440 + int(entry.start[:2]) * 60 + int(entry.start[3:]), entry.limit)
        for entry in timetable.timetable
        for day in entry.days
    ]
    return min(starts, key=lambda start: (begun - start[0]) % (7 * 1440))[1]


def local(text: str, zone: str = BERLIN, fold: int = 0) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone), fold=fold).timestamp()


def clock_is_changed_within(zone: str, at: float, days: int) -> bool:
    offsets = {
        datetime.fromtimestamp(at + hour * 3600, ZoneInfo(zone)).utcoffset() for hour in range(-24 * days, 24 * days)
    }
    return len(offsets) > 1


@given(tables, moments)
def test_the_limit_is_that_of_the_entry_that_began_last_by_the_clock_on_the_wall(
    timetable: Timetable, at: float
) -> None:
    # Entries that begin while clocks are changed have tests of their own.
    if not clock_is_changed_within(timetable.time_zone, at, 1):
        assert limit_at(timetable, at) == on_the_wall(timetable, at)


@given(tables, moments)
def test_the_limit_is_the_same_until_it_changes_next_and_then_the_one_foretold(timetable: Timetable, at: float) -> None:
    now, found = limit_at(timetable, at), next_change(timetable, at)
    if found is None:
        assert {limit_at(timetable, at + hour * 3600) for hour in range(8 * 24)} == {now}
        return
    then, limit = found
    assert at < then <= at + 8 * DAY
    assert limit != now
    assert limit_at(timetable, then) == limit
    for share in (0.25, 0.5, 0.75):
        assert limit_at(timetable, at + share * (then - at)) == now
    assert limit_at(timetable, then - 1) == now or then - 1 < at


@given(tables, moments, st.floats(0, 3 * DAY))
def test_spans_say_the_limit_of_every_moment_to_come(timetable: Timetable, at: float, after: float) -> None:
    found = spans(timetable, at)
    assert [start for start, _, _ in found] == [0.0, *(end for _, end, _ in found[:-1])]
    assert len(found) <= MOST_SPANS
    assert found[-1][1] == inf
    if after < found[-1][0]:
        (limit,) = [mbps for start, end, mbps in found if start <= after < end]
        # Unix seconds with a fraction are exact to less than a microsecond.
        assert limit in (limit_at(timetable, at + after), limit_at(timetable, at + after + 1e-6))


@given(tables, moments, st.floats(0, 200))
def test_no_limit_until_then_is_above_the_highest(timetable: Timetable, at: float, seconds: float) -> None:
    limit = BandwidthLimit().set_to(limit_at(timetable, at))
    highest = limit.highest(timetable, at, seconds)
    held = [limit_at(timetable, at + seconds * share) for share in (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)]
    assert highest is None or all(mbps is not None and mbps <= highest for mbps in held)
    person = limit.changed_to(7, at)
    assert person.highest(timetable, at, seconds) == 7


def test_every_minute_of_a_week_has_its_limit() -> None:
    timetable = table([{"from": "08:00", "days": OFFICE, "mbps": 100}, {"from": "18:00", "mbps": "none"}], BERLIN)
    monday = local("2026-11-23T00:00")
    limits = [limit_at(timetable, monday + minute * MINUTE) for minute in range(7 * 1440)]
    assert limits == [on_the_wall(timetable, monday + minute * MINUTE) for minute in range(7 * 1440)]
    assert limits.count(100) == 5 * 10 * 60


def test_an_entry_holds_from_its_first_second() -> None:
    timetable = table([{"from": "08:00", "mbps": 100}, {"from": "18:00", "mbps": "none"}], BERLIN)
    eight = local("2026-11-24T08:00")
    assert (limit_at(timetable, eight - 0.001), limit_at(timetable, eight)) == (None, 100)
    assert next_change(timetable, eight - 0.001) == (eight, 100)
    assert next_change(timetable, eight) == (local("2026-11-24T18:00"), None)


def test_the_last_entry_of_the_week_holds_into_the_next_one() -> None:
    timetable = table([{"from": "18:00", "days": ["fri"], "mbps": 5}, {"from": "08:00", "days": ["wed"], "mbps": 100}])
    assert limit_at(timetable, local("2026-11-24T12:00", "UTC")) == 5
    assert next_change(timetable, local("2026-11-20T18:00", "UTC")) == (local("2026-11-25T08:00", "UTC"), 100)


def test_entries_with_the_same_limit_are_no_change() -> None:
    timetable = table([{"from": "08:00", "mbps": 100}, {"from": "18:00", "mbps": 100}])
    assert next_change(timetable, 0.0) is None


def test_a_time_that_the_clock_skips_comes_an_hour_later() -> None:
    # On 29 March 2026 clocks in Berlin go from 02:00 to 03:00.
    timetable = table([{"from": "02:30", "mbps": 100}, {"from": "18:00", "mbps": "none"}], BERLIN)
    assert next_change(timetable, local("2026-03-29T00:00")) == (local("2026-03-29T03:30"), 100)


def test_a_time_that_the_clock_skips_does_not_outlast_the_entry_that_follows_it() -> None:
    timetable = table([{"from": "02:30", "mbps": "none"}, {"from": "03:15", "mbps": 100}], BERLIN)
    for hour in range(3, 24):
        assert limit_at(timetable, local(f"2026-03-29T{hour:02}:15")) == 100


def test_a_time_that_clocks_show_twice_counts_when_it_comes_first() -> None:
    # On 25 October 2026 clocks in Berlin go from 03:00 back to 02:00.
    timetable = table([{"from": "01:00", "mbps": "none"}, {"from": "02:30", "mbps": 100}], BERLIN)
    first = local("2026-10-25T02:30")
    assert next_change(timetable, first - 3600) == (first, 100)
    assert {limit_at(timetable, first + minute * MINUTE) for minute in range(90)} == {100}


def test_the_time_of_day_stays_where_clocks_are_changed() -> None:
    timetable = table([{"from": "08:00", "mbps": 100}, {"from": "18:00", "mbps": "none"}], BERLIN)
    for day in ("2026-03-28", "2026-03-29", "2026-03-30", "2026-10-24", "2026-10-25", "2026-10-26"):
        eight = local(f"{day}T08:00")
        assert (limit_at(timetable, eight - 1), limit_at(timetable, eight)) == (None, 100)
    assert local("2026-03-29T08:00") - local("2026-03-28T08:00") == timedelta(hours=23).total_seconds()


@pytest.mark.parametrize("wish", [None, 400])
def test_a_limit_without_a_timetable_never_changes(wish: int | None) -> None:
    assert (limit_at(wish, 0.0), next_change(wish, 0.0)) == (wish, None)


def test_what_a_person_has_set_holds_until_they_go_back_to_the_timetable() -> None:
    timetable = table([{"from": "08:00", "mbps": 100}, {"from": "18:00", "mbps": "none"}])
    day, night = 9 * 3600.0, 19 * 3600.0
    limit = BandwidthLimit().set_to(limit_at(timetable, day))
    assert limit.followed(timetable, day) is None
    followed = limit.followed(timetable, night)
    assert followed is not None
    assert (followed.mbps, followed.lowest_mbps, followed.changes[-1].by) == (None, 100, "timetable")
    by_hand = followed.changed_to(50, night + 1)
    assert by_hand.followed(timetable, night + 2) is None
    assert by_hand.followed(timetable, day + DAY) is None
    back = by_hand.changed_to(None, night + 3, "timetable")
    assert back.followed(timetable, night + 4) is None
    again = back.followed(timetable, day + DAY)
    assert again is not None
    assert again.mbps == 100
