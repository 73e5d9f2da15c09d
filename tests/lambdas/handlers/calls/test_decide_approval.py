from typing import Any

import pytest

from lambdas.core.errors import InvalidApproval, NotAwaitingApproval
from lambdas.core.estimate.approval import ApprovalDecision
from lambdas.core.record import transfer_life
from lambdas.handlers.calls.decide_approval import decide_approval
from tests.lambdas.builders import estimate, transfer
from tests.lambdas.cloud import Cloud


def waiting() -> Cloud:
    cloud = Cloud()
    cloud.transfers.create(transfer(approval="required"))
    cloud.transfers.change(transfer(), transfer_life.note(estimate=estimate(3).model_copy(update={"chosen_pairs": 2})))
    cloud.tokens.put_approval("first", "token-a")
    return cloud


def decide(cloud: Cloud, decision: str, transfer_id: str = "first", **more: Any) -> dict[str, Any]:
    document = {"transferId": transfer_id, "decision": decision, **more}
    return decide_approval(ApprovalDecision.from_document(document), cloud.world)


@pytest.mark.parametrize(("given", "sent"), [({"pairs": 3}, 3), ({"pairs": 0}, 0), ({}, 2)])
def test_approval_sends_the_row_or_the_recommended_one(given: dict[str, Any], sent: int) -> None:
    cloud = waiting()
    assert decide(cloud, "approve", **given) == {"transferId": "first", "decision": "approve", "pairs": sent}
    assert cloud.executions.answers == [("success", ("token-a", {"pairs": sent}))]


def test_rejection_fails_the_task_with_the_reason() -> None:
    cloud = waiting()
    decide(cloud, "reject", reason="too dear")
    assert cloud.executions.answers == [("failure", ("token-a", "ApprovalRejected", "rejected by person: too dear"))]


def test_row_that_is_not_there_is_told_at_once_and_the_transfer_goes_on_waiting() -> None:
    cloud = waiting()
    with pytest.raises(InvalidApproval, match="40 is not a row"):
        decide(cloud, "approve", pairs=40)
    assert cloud.executions.answers == []


def test_transfer_that_does_not_wait_is_named() -> None:
    with pytest.raises(NotAwaitingApproval, match="no transfer 'other' waits for approval"):
        decide(waiting(), "approve", "other")


@pytest.mark.parametrize("decision", ["approve", "reject"])
def test_second_answer_is_told_that_it_came_too_late(decision: str) -> None:
    cloud = waiting()
    cloud.executions.over.add("token-a")
    with pytest.raises(NotAwaitingApproval, match="answered already, stopped or timed out"):
        decide(cloud, decision)
