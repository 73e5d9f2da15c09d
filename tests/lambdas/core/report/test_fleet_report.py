from typing import Any

from lambdas.core.record.transfer_record import Spawned
from lambdas.core.report import fleet_report
from lambdas.core.report.fleet_report import Start
from tests.lambdas.builders import node, transfer

SPAWNED = Spawned(wanted=2, launched=1, notes=["why"])


def test_start_up_is_split_in_launch_agent_and_daemon() -> None:
    quick = node("source", 1, requested_at=10.0, running_at=13.0, online_at=31.5, ready_at=32.0)
    stuck = node("destination", 1, requested_at=10.0, running_at=14.0)
    report = fleet_report.build(transfer(), SPAWNED, [quick, stuck])
    assert report is not None
    assert report.starts == [
        Start(node_id="source-1-0", launch=3.0, agent=18.5, daemon=0.5),
        Start(node_id="destination-1-0", launch=4.0),
    ]


def test_relays_are_counted_by_market_and_zone_and_those_of_the_user_apart() -> None:
    nodes = [
        node("source", 1, market="spot"),
        node("source", 1, 1),
        node("destination", 1, availability_zone="eu-west-1b"),
        node("destination", 2, provider="lent"),
    ]
    report = fleet_report.build(transfer(), SPAWNED, nodes)
    assert report is not None
    assert (report.wanted, report.launched, report.notes) == (2, 1, ["why"])
    assert (report.spot, report.on_demand, report.existing, report.other_zones) == (1, 2, 1, 1)


def test_relays_that_carried_nothing_are_said_with_how_far_they_came_and_why() -> None:
    end: dict[str, Any] = {"state": "TERMINATED", "reason": "no data is left"}
    nodes = [
        node("source", 1, joined_at=40.0, **end),
        node("source", 2, running_at=14.0, **end),
        node("destination", 1, **end),
        node("destination", 2, **end),
        node("destination", 3, state="REJECTED", reason="slower than others"),
    ]
    report = fleet_report.build(transfer(), SPAWNED, nodes)
    assert report is not None
    assert report.notes == [
        "why",
        "in us-west-2 source-2-0 carried nothing: its SSM agent did not answer; no data is left",
        "in eu-west-1 destination-1-0, destination-2-0 carried nothing: EC2 did not say that it runs; no data is left",
    ]


def test_no_fleet_where_none_was_wanted() -> None:
    assert fleet_report.build(transfer(), None, []) is None
