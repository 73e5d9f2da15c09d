from lambdas.core.report.page.events import page_events
from lambdas.core.report.timeline import Course
from lambdas.core.request.bandwidth import LimitChange
from tests.lambdas.builders import node

COURSE = Course(zero_at=1000.0, rates_from=0.0, interval_seconds=1, paths=[], lanes=[], lanes_left_out=0)


def test_relays_that_join_together_are_one_event() -> None:
    nodes = [node(role, slot, joined_at=1010.0 + slot / 4) for role in ("source", "destination") for slot in (1, 2)]
    (found,) = page_events(nodes, COURSE, end=60.0)
    assert (found.second, found.kind, len(found.node_ids)) == (10.25, "joined", 4)


def test_a_lost_relay_is_told_with_its_reason_and_is_not_one_with_those_that_left() -> None:
    lost = node("source", 1, state="LOST", joined_at=1005.0, ended_at=1030.0, reason="spot interruption")
    left = node("source", 2, state="REJECTED", ended_at=1030.2, reason="slower than the kept half")
    found = page_events([lost, left], COURSE, end=60.0)
    told = [(one.kind, one.node_ids, one.reason) for one in found[1:]]
    assert told == [
        ("lost", ["source-1-0"], "spot interruption"),
        ("left", ["source-2-0"], "slower than the kept half"),
    ]


def test_each_limit_that_was_set_is_told_also_where_they_come_close() -> None:
    changes = [LimitChange(at=1020.0, mbps=400), LimitChange(at=1020.4), LimitChange(at=1090.0, mbps=8)]
    found = page_events([], COURSE.with_limits(changes), end=60.0)
    assert [(one.kind, one.second, one.reason) for one in found] == [
        ("limit", 20.0, "400 Mbit/s (50 MB/s)"),
        ("limit", 20.4, "lifted"),
    ]


def test_what_came_before_the_first_or_after_the_last_byte_is_not_told() -> None:
    early = node(joined_at=999.0, ended_at=1060.0, state="TERMINATED")
    assert page_events([early, node("source", 2)], COURSE, end=60.0) == []
