from lambdas.core.fleet.replacements import replacements
from tests.lambdas.builders import node


def test_relays_that_went_out_are_listed_in_order_with_their_successors() -> None:
    nodes = [
        node(
            "source", 2, state="LOST", joined_at=1010.0, ended_at=1030.0, reason="slow", not_replaced="nothing is left"
        ),
        node("source", 1, state="LOST", joined_at=1010.0, ended_at=1020.0, reason="died", successor="source-1-1"),
        node("source", 1, 1, state="TERMINATED", joined_at=1025.0, ended_at=1040.0),
        node("destination", 1, state="TERMINATED", joined_at=1010.0, ended_at=1040.0),
    ]
    assert [found.to_document() for found in replacements(nodes)] == [
        {"nodeId": "source-1-0", "at": 1020.0, "cause": "died", "successor": "source-1-1"},
        {"nodeId": "source-2-0", "at": 1030.0, "cause": "slow", "notReplaced": "nothing is left"},
    ]


def test_relay_that_never_carried_data_is_none() -> None:
    assert replacements([node(state="LOST", ended_at=1020.0, reason="not ready"), node(slot=2, state="REJECTED")]) == []


def test_relay_that_still_drained_when_the_transfer_ended_is_one() -> None:
    drained = node(state="TERMINATED", joined_at=1010.0, ended_at=1040.0, reason="spot", successor="source-1-1")
    assert [found.successor for found in replacements([drained])] == ["source-1-1"]
