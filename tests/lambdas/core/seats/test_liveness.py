"""Two ends, looked at once a minute by a watcher whose clock is the only one that counts."""

from math import inf

import pytest

from lambdas.core.chunks.progress import Progress
from lambdas.core.seats.epochs import first_epoch
from lambdas.core.seats.liveness import (
    MOST_STILL_SECONDS,
    UNHEARD_SECONDS,
    UNSTARTED_SECONDS,
    Restarts,
    Seats,
    still_seconds,
)
from tests.lambdas.builders import plan, progress

STILL = 100.0
BOTH = ("r0", "s0")


def report(sequence: int, at: float, start: int = 1) -> Progress:
    return progress(sequence, start=start).model_copy(update={"at": at})


def both(sender: Progress | None, receiver: Progress | None) -> dict[str, Progress | None]:
    return {"s0": sender, "r0": receiver}


def running() -> Seats:
    """Both reported at 1000 by the watcher's clock; theirs are days off."""
    return Seats.begun(1, 990.0, BOTH).seen(both(report(1, 5.0), report(1, 10**6)), 1000.0)


def test_ends_whose_sequences_grow_advance_whatever_their_clocks_say() -> None:
    ends = running()
    assert ends.advance
    assert not ends.beaten().advance
    later = ends.beaten().seen(both(report(2, 4.0), report(2, 10**6 - 50)), 1060.0)
    assert later.advance
    assert later.silent(1060.0, STILL) is None


def test_a_process_that_came_back_by_itself_is_of_the_start_that_should_run_and_is_counted() -> None:
    back = report(2, 7.0).model_copy(update={"epoch": first_epoch(1) + 2})
    ends = running().seen(both(back, report(2, 7.0)), 1060.0)
    assert ends.silent(1060.0, STILL) is None
    assert ends.restarts == Restarts(sender=2, receiver=0)
    again = ends.restarted("s0", 2, 1200.0).seen(both(report(1, 9.0, start=2), report(3, 9.0)), 1230.0)
    assert again.restarts == Restarts(sender=3, receiver=0)


@pytest.mark.parametrize(("sender", "receiver"), [(1, 2), (2, 1)])
def test_one_that_does_not_advance_keeps_the_heartbeat_back(sender: int, receiver: int) -> None:
    ends = running().beaten().seen(both(report(sender, 6.0), report(receiver, 6.0)), 1060.0)
    assert not ends.advance
    assert ends.seen(both(report(2, 7.0), report(2, 7.0)), 1120.0).advance


@pytest.mark.parametrize("side", ["s0", "r0"])
def test_an_end_whose_report_stays_the_same_is_silent(side: str) -> None:
    ends = running()
    reports = both(report(2, 6.0), report(2, 6.0)) | {side: report(1, 5.0 if side == "s0" else 10**6)}
    assert ends.seen(reports, 1000.0 + UNHEARD_SECONDS).silent(1000.0 + UNHEARD_SECONDS, STILL) is None
    assert ends.seen(reports, 1001.0 + UNHEARD_SECONDS).silent(1001.0 + UNHEARD_SECONDS, STILL) == side


def test_an_end_that_reports_and_stands_still_has_as_long_as_the_longest_sync_takes() -> None:
    ends = running()
    for at, found in ((1060.0, None), (1100.0, None), (1101.0, "s0")):
        ends = ends.seen(both(report(1, at), report(int(at), at)), at)
        assert ends.silent(at, STILL) == found


def test_where_both_stand_still_it_is_the_receiver_that_the_sender_waits_for() -> None:
    ends = running().seen(both(report(1, 6.0), report(1, 6.0)), 1101.0)
    assert ends.silent(1101.0, STILL) == "r0"


def hanging(sequence: int, at: float, start: int = 1) -> Progress:
    return report(sequence, at, start).model_copy(update={"in_file_system_seconds": 60.0})


def test_a_sender_that_waits_for_the_receivers_file_system_is_not_the_one_to_start_again() -> None:
    """The receiver stood still later: until its call took long it said that it waited for the sender."""
    ends = running().seen(both(report(1, 6.0), report(2, 6.0)), 1010.0)
    ends = ends.seen(both(report(1, 7.0), hanging(2, 7.0)), 1101.0)
    assert ends.silent(1101.0, STILL) is None
    ends = ends.seen(both(report(1, 8.0), hanging(2, 8.0)), 1111.0)
    assert ends.silent(1111.0, STILL) == "r0"
    assert ends.seen(both(report(1, 9.0), report(3, 9.0)), 1112.0).silent(1112.0, STILL) == "s0"


def test_a_receiver_that_hangs_before_its_first_report_is_known_by_the_one_before() -> None:
    ends = running().seen(both(report(2, 6.0), hanging(1, 6.0)), 1101.0).restarted("r0", 2, 1101.0)
    assert ends.seats["r0"].in_file_system == 60.0
    mended = ends.seen(both(report(3, 7.0), report(1, 1.0, start=2)), 1110.0)
    assert mended.seats["r0"].in_file_system is None


def test_one_that_is_not_heard_of_comes_before_one_that_stands_still() -> None:
    ends = running().seen(both(report(1, 5.0), report(1, 6.0)), 1101.0)
    assert ends.silent(1101.0, STILL) == "s0"


def test_an_end_that_was_never_heard_of_has_the_time_of_its_start() -> None:
    ends = Seats.begun(1, 1000.0, BOTH).seen(both(None, report(1, 1.0)), 1000.0)
    late = 1001.0 + UNSTARTED_SECONDS
    assert ends.seen(both(None, report(2, 2.0)), 1120.0).silent(1120.0, STILL) is None
    assert ends.seen(both(None, report(3, 3.0)), late).silent(late, STILL) == "s0"


def test_restart_gives_both_their_time_and_reports_of_the_earlier_process_count_no_more() -> None:
    ends = running().restarted("s0", 2, 1100.0)
    assert (ends.seats["s0"].start, ends.seats["s0"].restarts) == (2, 1)
    stale = ends.seen(both(report(9, 9.0), report(2, 9.0)), 1160.0)
    assert stale.seats["s0"] == ends.seats["s0"]
    assert not stale.advance
    assert stale.silent(1160.0, STILL) is None
    fresh = stale.seen(both(report(0, 1.0, start=2), report(3, 10.0)), 1220.0)
    assert fresh.advance
    assert fresh.silent(1220.0, STILL) is None


def test_where_nothing_is_moved_but_measured_the_sender_is_alone() -> None:
    ends = Seats.begun(1, 1000.0, ["s0"])
    assert ends.of("r0") is None
    assert ends.seen({"s0": report(1, 1.0)}, 1001.0).advance


@pytest.mark.parametrize(
    ("size", "rate", "seconds"),
    [
        (10**6, 20.0, 30.1),
        (10**6, inf, UNHEARD_SECONDS),
        (10**12, 20.0, MOST_STILL_SECONDS),
        (10**12, 1000.0, 30 + 2 * 1024 * 8.388608 / 1000),
    ],
)
def test_the_time_comes_from_sizes_and_rates(size: int, rate: float, seconds: float) -> None:
    large = plan(size=size).model_copy(update={"chunk_size_bytes": 8 << 20})
    assert still_seconds(large, rate) == pytest.approx(seconds)


def test_what_was_seen_comes_back_as_it_was_written() -> None:
    ends = running().restarted("r0", 2, 1100.0).troubled("r0", "no disk")
    assert Seats.from_document(ends.to_document()) == ends
    assert ends.seats["r0"].trouble == "no disk"
