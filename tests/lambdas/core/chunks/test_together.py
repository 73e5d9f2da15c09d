"""What several daemons of one side have done in all."""

from lambdas.core.chunks.progress import STALE_SECONDS, together
from tests.lambdas.builders import progress


def test_one_report_stays_as_it_is_and_none_is_none() -> None:
    one = progress(7, sent=10)
    assert together([one]) is one
    assert together([]) is None


def test_what_was_moved_is_summed_up_and_the_first_byte_is_the_earliest() -> None:
    one = progress(7, sent=10, rate=2.0, failed=1).model_copy(update={"first_byte_at": 5.0, "saved_bytes": 3})
    other = progress(3, sent=4, rate=1.0).model_copy(update={"first_byte_at": 4.0, "at": 1001.0})
    found = together([one, other])
    assert found is not None
    assert (found.bytes, found.moved_bytes, found.wire_bytes, found.failed_chunks) == (14, 14, 11, 1)
    assert (found.rate, found.first_byte_at, found.at) == (3.0, 4.0, 1001.0)
    assert len(found.lanes) == len(one.lanes) + len(other.lanes)


def test_a_daemon_that_reports_no_more_has_moved_what_it_moved_and_moves_nothing() -> None:
    dead = progress(7, sent=10, rate=2.0)
    live = progress(3, sent=4, rate=1.0).model_copy(update={"at": dead.at + STALE_SECONDS + 1})
    found = together([dead, live])
    assert found is not None
    assert (found.bytes, found.rate, found.lanes) == (14, 1.0, live.lanes)
