"""What stands beside the rate where the request has a timetable."""

from typing import Any

import pytest

from cli.watch_events import LimitChanged, happened, progress
from lambdas.core.request.bandwidth import BandwidthLimit
from lambdas.core.watch.transfer_state import TransferState, state_of
from tests.cli.test_live import lines
from tests.cli.transfers import records

# Tuesday 24 November 2026, 12:00 in Berlin.
NOON = 1795518000.0
OFFICE = {"from": "08:00", "days": ["mon", "tue", "wed", "thu", "fri"], "mbps": 100}
WEEK = {"timetable": [OFFICE, {"from": "18:00", "mbps": "none"}], "timeZone": "Europe/Berlin"}


def state(at: float, mbps: int | None, wish: Any = WEEK, limit: BandwidthLimit | None = None) -> TransferState:
    noted = {"bandwidth": limit.to_document()} if limit else {}
    found = records(request={"bandwidthLimitMbps": wish}, **noted)
    held = {} if mbps is None else {"bandwidthLimitMbps": mbps}
    found["membership"] = {"membership": {"paths": [{"pathId": "direct"}], **held}}
    return state_of("nightly", found, [], lambda: at)


@pytest.mark.parametrize(
    ("at", "mbps", "words"),
    [
        (NOON, 100, "(limit 12.5 MB/s by its timetable until Tue 18:00 Europe/Berlin, then none)"),
        (NOON + 7 * 3600, None, "(no limit by its timetable until Wed 08:00 Europe/Berlin, then 12.5 MB/s)"),
        (
            NOON + 3 * 86_400 + 7 * 3600,
            None,
            "(no limit by its timetable until Mon 08:00 Europe/Berlin, then 12.5 MB/s)",
        ),
    ],
)
def test_the_limit_and_when_the_timetable_changes_it_stand_beside_the_rate(
    at: float, mbps: int | None, words: str
) -> None:
    found = progress(state(at, mbps))
    assert found is not None
    assert words in found.words()
    assert words in " ".join(lines(state(at, mbps)))


def test_a_persons_limit_is_said_to_be_one() -> None:
    by_hand = BandwidthLimit(mbps=100).changed_to(40, NOON)
    found = progress(state(NOON, 40, limit=by_hand))
    assert found is not None
    assert "29.8 MB/s (limit 5 MB/s by hand)" in found.words()
    back = by_hand.changed_to(100, NOON, "timetable")
    again = progress(state(NOON, 100, limit=back))
    assert again is not None
    assert "by its timetable until" in again.words()
    told = [event.words() for event in happened(state(NOON, 100, limit=back)) if isinstance(event, LimitChanged)]
    assert told == ["limit 40 Mbit/s (5 MB/s)", "limit 100 Mbit/s (12.5 MB/s) by the timetable"]


def test_a_timetable_of_one_limit_foretells_no_change() -> None:
    found = progress(state(NOON, 400, {"timetable": [{"from": "00:00", "mbps": 400}]}))
    assert found is not None
    assert "(limit 50 MB/s by its timetable)" in found.words()


def test_a_number_is_a_limit_as_before() -> None:
    assert state(NOON, 100, 100).timetable is None
    assert "(limit 12.5 MB/s)" in " ".join(lines(state(NOON, 100, 100)))
