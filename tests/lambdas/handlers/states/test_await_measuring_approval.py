from lambdas.handlers.states.await_approval import AwaitInput
from lambdas.handlers.states.await_measuring_approval import await_measuring_approval
from tests.lambdas.builders import estimate, transfer
from tests.lambdas.cloud import Cloud


def test_people_are_asked_how_many_pairs_are_measured_and_the_token_is_kept() -> None:
    cloud, accepted = Cloud(), transfer(profile="measure", approval="required")
    cloud.transfers.create(accepted)
    await_measuring_approval(AwaitInput(transfer=accepted, estimate=estimate(1), task_token="token-a"), cloud.world)
    assert cloud.tokens.approval("first") == "token-a"
    ((kind, detail),) = cloud.events.put_events
    assert (kind, detail["recommendedPairs"]) == ("Approval Required", 1)
    assert len(cloud.notifications.sent) == 1
