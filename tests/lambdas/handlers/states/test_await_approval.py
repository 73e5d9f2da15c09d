import pytest

from lambdas.core.errors import TransferFenced
from lambdas.core.record import transfer_life
from lambdas.handlers.states.await_approval import AwaitInput, await_approval
from tests.lambdas.builders import estimate, transfer
from tests.lambdas.cloud import Cloud


def prepared() -> Cloud:
    cloud = Cloud()
    cloud.transfers.create(transfer(approval="required"))
    return cloud


def event(token: str = "token-a") -> AwaitInput:
    return AwaitInput(transfer=transfer(approval="required"), estimate=estimate(2), task_token=token)


def test_people_are_asked_by_event_and_letter_and_the_token_is_kept() -> None:
    cloud = prepared()
    await_approval(event(), cloud.world)
    assert cloud.tokens.approval("first") == "token-a"
    ((kind, detail),) = cloud.events.put_events
    assert (kind, detail["transferId"], detail["recommendedPairs"]) == ("Approval Required", "first", 2)
    ((subject, _),) = cloud.notifications.sent
    assert subject == "Approve first?"


def test_nobody_is_told_the_token() -> None:
    cloud = prepared()
    answer = await_approval(event(), cloud.world)
    assert "token-a" not in repr(
        (answer, cloud.events.put_events, cloud.notifications.sent, cloud.transfers.get("first"))
    )


def test_token_of_a_later_attempt_replaces_the_earlier_one() -> None:
    cloud = prepared()
    await_approval(event(), cloud.world)
    await_approval(event("token-b"), cloud.world)
    assert cloud.tokens.approval("first") == "token-b"


def test_transfer_that_is_being_torn_down_asks_nobody_and_keeps_no_token() -> None:
    cloud = prepared()
    cloud.transfers.change(transfer(), transfer_life.FENCE)
    with pytest.raises(TransferFenced):
        await_approval(event(), cloud.world)
    assert (cloud.tokens.approval("first"), cloud.events.put_events, cloud.notifications.sent) == (None, [], [])
