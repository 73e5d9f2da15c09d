import pytest

from lambdas.core import fleet
from lambdas.core.fleet import LaunchDecision, Measurement
from tests.lambdas.builders import node, paths


def test_pairs_take_the_newest_generation_of_each_slot() -> None:
    nodes = [
        node("source", 1, 0, "LOST"),
        node("source", 1, 1, "READY"),
        node("destination", 1, 0, "JOINED"),
        node("source", 2, 0, "READY"),
        node("destination", 2, 0, "SPAWNED"),
    ]
    (pair,) = fleet.pairs(nodes, "READY", "JOINED")
    assert (pair.slot, pair.generation, pair.source.node_id) == (1, 1, "source-1-1")


def test_pairs_are_ordered_by_number_not_by_text() -> None:
    nodes = [node(role, slot, state="READY") for slot in (10, 9, 1) for role in fleet.ROLES]
    assert [pair.slot for pair in fleet.pairs(nodes, "READY")] == [1, 9, 10]


def test_lost_newest_generation_hides_the_older_one() -> None:
    nodes = [node("source", 1, 0, "JOINED"), node("source", 1, 1, "LOST"), node("destination", 1, 0, "JOINED")]
    assert fleet.pairs(nodes, "JOINED") == []


def test_ranking_is_by_inter_region_then_by_the_ratio() -> None:
    found = fleet.rank([Measurement(1, 10, 50), Measurement(2, 20, 20), Measurement(3, 10, 80), Measurement(4, 0, 0)])
    assert [m.slot for m in found] == [2, 3, 1, 4]
    assert fleet.lower_half(found, 2) == [1, 4]
    assert fleet.lower_half(found, 9) == []


def test_public_address_that_is_needed_and_absent_is_an_error() -> None:
    with pytest.raises(LookupError):
        paths().outward("10.0.0.1", None)


@pytest.mark.parametrize(
    ("code", "decision"),
    [
        ("InsufficientInstanceCapacity", LaunchDecision.NEXT_TYPE),
        ("VcpuLimitExceeded", LaunchDecision.FEWER_PAIRS),
        ("UnauthorizedOperation", LaunchDecision.MISSING_PERMISSION),
        ("RequestLimitExceeded", LaunchDecision.RETRY_LATER),
        ("InvalidAMIID.NotFound", LaunchDecision.FAIL),
    ],
)
def test_each_class_of_launch_error_has_its_decision(code: str, decision: LaunchDecision) -> None:
    assert fleet.decide_launch(code) is decision
