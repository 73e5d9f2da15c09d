"""Bytes on the wire: processes of one start count on, those of the next begin anew, and several senders add up."""

from lambdas.core.spending.sent import SeatSent, Sent


def test_a_new_start_begins_at_zero_and_what_the_last_one_sent_stays() -> None:
    found = Sent().after(1, 100).after(1, 250).after(2, 30)
    assert (found.bytes, found.start, found.start_bytes, found.earlier_bytes) == (280, 2, 30, 250)


def test_a_late_report_takes_nothing_back() -> None:
    found = Sent().after(2, 100)
    assert found.after(1, 900) == found
    assert found.after(2, 50).bytes == 100


def test_several_senders_add_up() -> None:
    found = Sent().after(1, 100).after(1, 40, "s1").after(1, 60, "s1")
    assert found.bytes == 160
    assert found.of("s1") == SeatSent(start=1, start_bytes=60)
    assert found.of("s2").own_bytes == 0
